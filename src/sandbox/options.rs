//! What the sandbox is started with. Everything that comes from outside (clock, token, file) is in
//! here, so that nothing below reads the environment.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::clock::Clock;
use super::fault::Scenario;
use super::query::Tenant;
use super::store::Storage;

/// How a sandbox is run.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Port 0 takes any free port; [`Running::address`](super::Running::address) tells which.
    pub listen: SocketAddr,
    pub storage: Storage,
    pub token: RequiredToken,
    /// The tenant's name as it stands in objects and references.
    pub tenant: String,
    /// What it is filled with before it answers.
    pub tenant_file: Option<Tenant>,
    pub clock: Clock,
    pub rate: RequestRate,
    pub deletion: Deletion,
    /// The faults that it starts with.
    pub scenario: Scenario,
    /// Each request is appended here as a line of JSON, beside what is kept in memory.
    pub log_file: Option<PathBuf>,
    /// Requests kept in memory; the oldest go first.
    pub log_size: usize,
    /// Bytes of the log file after which it begins anew.
    pub log_file_size: u64,
    /// How long a connection may take to send the header of its next request.
    pub header_timeout: Duration,
}

impl SandboxOptions {
    /// A sandbox on a free port of the loopback, with no limit of requests and immediate deletes.
    #[must_use]
    pub fn new(storage: Storage, token: RequiredToken, clock: Clock) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            storage,
            token,
            tenant: "sandbox-tenant".into(),
            tenant_file: None,
            clock,
            rate: RequestRate::Unlimited,
            deletion: Deletion::Immediate,
            scenario: Scenario::default(),
            log_file: None,
            log_size: 10_000,
            log_file_size: 256 * 1024 * 1024,
            header_timeout: Duration::from_secs(30),
        }
    }
}

/// How many requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRate {
    Unlimited,
    /// The request after these within one second of the clock gets a 429; `retry_after` is its
    /// `Retry-After` header in seconds, which the service is not known to send.
    PerSecond {
        requests: u32,
        retry_after: Option<u64>,
    },
}

/// How an endpoint goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone when the delete is answered.
    Immediate,
    /// It stays, marked with a `deletion_timestamp` this far ahead, and is gone after it.
    Graceful(Duration),
}

/// The secret that a request must show; its text is in no output.
#[derive(Clone)]
pub struct RequiredToken(String);

impl RequiredToken {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `shown` is the token, in a time that tells nothing but its length.
    #[must_use]
    pub fn admits(&self, shown: &[u8]) -> bool {
        let ours = self.0.as_bytes();
        let different = ours.iter().zip(shown).fold(0, |different, (ours, theirs)| different | (ours ^ theirs));
        ours.len() == shown.len() && std::hint::black_box(different) == 0
    }
}

impl fmt::Debug for RequiredToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

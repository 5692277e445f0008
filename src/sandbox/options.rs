//! The options of a sandbox. Everything from outside (clock, token, file) is in here, so that nothing
//! below reads the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::fault::Scenario;
use super::object::Deletion;
use super::query::Tenant;
use super::store::Storage;
use crate::model::{Clock, displayed};

/// The options of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Port 0 takes any free port; [`Running::address`](super::Running::address) is the real one.
    pub listen: SocketAddr,
    /// Where objects are kept.
    pub storage: Storage,
    /// What a request must contain.
    pub token: RequiredToken,
    /// The tenant's name in objects and references.
    pub tenant: String,
    /// What it contains at the start.
    pub tenant_file: Option<Tenant>,
    /// The time of the service.
    pub clock: Clock,
    /// When a deleted object is gone.
    pub deletion: Deletion,
    /// The faults that it starts with.
    pub scenario: Scenario,
    /// Each request is appended here as a line of JSON, beside the log in memory.
    pub log_file: Option<PathBuf>,
    /// Requests in memory; the oldest are dropped first.
    pub log_size: usize,
    /// Bytes of the log file after which it restarts.
    pub log_file_size: u64,
    /// How long a connection may take to send the header of its next request.
    pub header_timeout: Duration,
}

impl SandboxOptions {
    /// A sandbox on a free port of the loopback, with immediate deletes.
    pub fn new(storage: Storage, token: RequiredToken, clock: Clock) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            storage,
            token,
            tenant: "sandbox-tenant".into(),
            tenant_file: None,
            clock,
            deletion: Deletion::Immediate,
            scenario: Scenario::default(),
            log_file: None,
            log_size: 10_000,
            log_file_size: 256 * 1024 * 1024,
            header_timeout: Duration::from_secs(30),
        }
    }
}

/// The secret that a request must contain; no output contains it.
#[derive(Clone)]
pub struct RequiredToken(String);

impl RequiredToken {
    /// The secret `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `given` is the token, in a time that depends on its length only.
    pub fn admits(&self, given: &[u8]) -> bool {
        let ours = self.0.as_bytes();
        let different = ours.iter().zip(given).fold(0, |different, (ours, theirs)| different | (ours ^ theirs));
        ours.len() == given.len() && std::hint::black_box(different) == 0
    }
}

displayed!(Debug: RequiredToken, |_| "Token(…)");

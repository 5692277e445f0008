//! The options of a sandbox. Everything from the environment (clock, token, files) is passed here.

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
    /// The address; port 0 means any free port, which [`Running::address`](super::Running::address) returns.
    pub listen: SocketAddr,
    /// Where objects are kept.
    pub storage: Storage,
    /// The token that a request must contain.
    pub token: RequiredToken,
    /// The tenant's name in objects and references.
    pub tenant: String,
    /// The initial content.
    pub tenant_file: Option<Tenant>,
    /// The time of the service.
    pub clock: Clock,
    /// When a deleted object is removed.
    pub deletion: Deletion,
    /// The faults at the start.
    pub scenario: Scenario,
    /// A file to which each request is appended as a line of JSON, in addition to the log in memory.
    pub log_file: Option<PathBuf>,
    /// How many requests the log in memory contains; the oldest are dropped first.
    pub log_size: usize,
    /// The size in bytes after which the log file restarts.
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

/// The secret that a request must contain; it never appears in output.
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

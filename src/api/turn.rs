//! The turn of a write. It has a permit and places in the rate limit for the reads of an object and the write that
//! follows, so that no limit delays the write after its reads. Each try of a write takes a new turn.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use crate::transport::Clearance;

use super::error::ApiError;
use super::pool::ClientPool;
use super::rate_limit::Admission;
use super::retry::AttemptHistory;

/// The permit and the places of a turn, until it ends.
pub(super) struct HeldTurn {
    pool: ClientPool,
    admission: Admission,
    requests: u32,
    left: AtomicU32,
    _permit: Option<OwnedSemaphorePermit>,
}

impl HeldTurn {
    pub(super) fn new(pool: ClientPool, permit: Option<OwnedSemaphorePermit>, requests: u32) -> Self {
        let admission = pool.throttle.admit(Instant::now(), requests);
        Self { pool, admission, requests, left: AtomicU32::new(requests), _permit: permit }
    }

    pub(super) fn wait(&self) -> Duration {
        self.admission.wait
    }

    /// Takes a place of the turn, if one is left. Returns how long its request waited: the first one waited for all.
    pub(super) fn take(&self) -> Option<Duration> {
        let take = |left: u32| left.checked_sub(1);
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(if before == self.requests { self.admission.wait } else { Duration::ZERO })
    }
}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        self.pool.throttle.give_back(&self.admission, *self.left.get_mut());
    }
}

/// How a write is sent.
pub struct WriteDeparture<'a> {
    /// Its `x-request-id`.
    pub request_id: &'a str,
    /// Called directly before it is sent; if it returns `false`, nothing is sent.
    pub clearance: Clearance<'a>,
    /// How earlier tries of the same write failed.
    pub tried: &'a mut AttemptHistory,
}

/// A write that failed.
#[derive(Debug)]
pub struct WriteFailure {
    /// The failure.
    pub error: ApiError,
    /// If it certainly took no effect: the wait after which it may be sent again.
    pub again: Option<Duration>,
}

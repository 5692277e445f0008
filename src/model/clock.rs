//! The current time, which the caller provides: tests control it, and can watch an upgrade or an expiring scroll id
//! without waiting.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::displayed;

/// A source of wall-clock time, cheap to clone and shared by every part of a run or of a sandbox.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Reads the time from `source`, which may be called from any thread.
    pub fn new(source: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// The time since `earlier`; zero where the clock was set back.
    pub fn since(&self, earlier: Timestamp) -> Duration {
        Duration::try_from(self.now().duration_since(earlier)).unwrap_or_default()
    }
}

displayed!(Debug: Clock, |_| "Clock");

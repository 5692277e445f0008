//! Where the sandbox reads the time. The caller passes the source in, so that a test decides what
//! time it is and an upgrade or an expiring scroll id can be watched without waiting.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A source of wall-clock time, cheap to clone and shared by every part of the sandbox.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Reads the time from `source`, which may be called from any thread.
    pub fn new(source: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// RFC 3339 with nanoseconds and `Z`, the form in which the service writes every timestamp.
#[must_use]
pub fn written(time: Timestamp) -> String {
    format!("{time:.9}")
}

//! Where the sandbox reads the time. The caller passes the source in, so that a test decides what
//! time it is and an upgrade or an expiring scroll id can be watched without waiting.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A source of wall-clock time, cheap to clone and shared by every part of the sandbox.
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
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// RFC 3339 with `Z` and 0, 3, 6 or 9 digits of a second, the form in which proto3 JSON has every timestamp.
pub fn written(time: Timestamp) -> String {
    match time.subsec_nanosecond() {
        0 => format!("{time:.0}"),
        nanos if nanos % 1_000_000 == 0 => format!("{time:.3}"),
        nanos if nanos % 1_000 == 0 => format!("{time:.6}"),
        _ => format!("{time:.9}"),
    }
}

/// [`written`] for a field.
pub fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&written(*time))
}

/// [`serialize`] for a field that may be `null`.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub fn serialize_optional<S: Serializer>(time: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    time.map(written).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_has_0_3_6_or_9_digits() {
        for (time, text) in [
            ("2026-11-21T10:00:00.000000000Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T10:00:00.1Z", "2026-11-21T10:00:00.100Z"),
            ("2026-11-21T10:00:00.1234Z", "2026-11-21T10:00:00.123400Z"),
            ("2026-11-21T10:00:00.12345678Z", "2026-11-21T10:00:00.123456780Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"),
        ] {
            assert_eq!(written(time.parse().expect("a time")), text);
        }
    }
}

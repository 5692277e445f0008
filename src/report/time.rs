//! Times as reports write them: in UTC.

use jiff::Timestamp;

/// A time to the second, as RFC 3339.
#[must_use]
pub fn to_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

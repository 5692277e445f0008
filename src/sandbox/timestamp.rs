//! Times as the sandbox writes them.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// RFC 3339 with `Z` and 0, 3, 6 or 9 fractional digits, the form of every timestamp in proto3 JSON.
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

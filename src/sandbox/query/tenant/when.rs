//! Times and durations as a tenant file writes them: `now`, `-2h`, `+10m`, `-1d12h`, RFC 3339.

use jiff::{SignedDuration, Timestamp};

use crate::sandbox::query::window::shifted;

/// The longest duration, so that sums of times stay within the calendar.
const LONGEST: i64 = 3_660 * 86_400;

/// The time that `text` means at `now`; nothing where it is none.
#[must_use]
pub fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    if text == "now" {
        return Some(now);
    }
    if let Some(back) = text.strip_prefix('-').and_then(duration) {
        return Some(shifted(now, -back));
    }
    if let Some(ahead) = text.strip_prefix('+').and_then(duration) {
        return Some(shifted(now, ahead));
    }
    text.parse().ok()
}

/// A duration such as `90s`, `15m`, `2h30m` or `1d`; nothing where the text is none.
#[must_use]
pub fn duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim();
    let mut total: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let length = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let count: i64 = rest[..length].parse().ok()?;
        let unit = match rest[length..].chars().next()? {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        total = total.checked_add(count.checked_mul(unit)?)?;
        rest = &rest[length + 1..];
    }
    (total <= LONGEST).then(|| SignedDuration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_relative() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("now", Some("2026-11-21T12:00:00Z")),
            ("-2h", Some("2026-11-21T10:00:00Z")),
            ("+90s", Some("2026-11-21T12:01:30Z")),
            ("-1d12h", Some("2026-11-20T00:00:00Z")),
            ("2026-01-01T01:00:00+01:00", Some("2026-01-01T00:00:00Z")),
            ("2h", None),
            ("-2 hours", None),
            ("-", None),
            ("yesterday", None),
            ("-99999999999999999999h", None),
            ("-9999999h", None),
        ] {
            let expected = expected.map(|text| text.parse().unwrap());
            assert_eq!(moment(text, now), expected, "{text}");
        }
    }
}

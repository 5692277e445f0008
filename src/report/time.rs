//! Times as reports write them: in UTC, to the minute for people, with their age where it matters.

use std::time::Duration;

use jiff::Timestamp;

/// A time to the second, as RFC 3339.
#[must_use]
pub fn to_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// An RFC 3339 time up to its minute; any other text as it is.
#[must_use]
pub fn minute(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

/// An RFC 3339 time up to its minute, with its age at `now`.
#[must_use]
pub fn with_age(time: &str, now: Option<Timestamp>) -> String {
    let ago = now.and_then(|now| Duration::try_from(now.duration_since(time.parse().ok()?)).ok());
    match ago {
        Some(ago) => format!("{} ({} ago)", minute(time), age(ago)),
        None => minute(time),
    }
}

/// A length of time in the unit that a person would choose.
#[must_use]
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_age_beside_it() {
        let now = "2026-11-21T16:02:11Z".parse().ok();
        assert_eq!(with_age("2026-11-19T14:02:11.5Z", now), "2026-11-19 14:02 UTC (2 d ago)");
        assert_eq!(with_age("2026-11-19T14:02:11Z", None), "2026-11-19 14:02 UTC");
        // A clock that is behind knows no age, and a text that is not a time stays as it is.
        assert_eq!(with_age("2026-11-22T14:02:11Z", now), "2026-11-22 14:02 UTC");
        assert_eq!(with_age("soon", now), "soon");
    }
}

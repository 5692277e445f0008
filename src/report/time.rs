//! Times as reports write them: in UTC, to the minute for people, with their age where it matters.

use std::time::Duration;

use jiff::Timestamp;

/// A time to the second, as RFC 3339.
pub fn to_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// A time up to its minute.
pub fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// A time up to its minute, with its age at `now`.
pub fn with_age(time: Timestamp, now: Option<Timestamp>) -> String {
    let ago = now.and_then(|now| Duration::try_from(now.duration_since(time)).ok());
    match ago {
        Some(ago) => format!("{} ({} ago)", minute(time), age(ago)),
        None => minute(time),
    }
}

/// How long something took.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

/// A length of time in the unit that a person would choose.
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
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        let now = Some(time("2026-11-21T16:02:11Z"));
        assert_eq!(with_age(time("2026-11-19T14:02:11.5Z"), now), "2026-11-19 14:02 UTC (2 d ago)");
        assert_eq!(with_age(time("2026-11-19T14:02:11Z"), None), "2026-11-19 14:02 UTC");
        // A clock that is behind knows no age, and a time with another offset is given in UTC as well.
        assert_eq!(with_age(time("2026-11-22T14:02:11Z"), now), "2026-11-22 14:02 UTC");
        assert_eq!(minute(time("2026-11-22T01:02:11+02:00")), "2026-11-21 23:02 UTC");
    }
}

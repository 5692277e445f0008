//! Times of these areas. The time window of a query is given as texts, RFC 3339 or Unix seconds: a missing end follows
//! from the other one, and without both it is the last ten minutes. A tenant file may contain times relative to the
//! time of reading: `now`, `-2h`, `+10m`, `-1d12h`.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use serde::de::{Deserialize as _, Deserializer, Error as _};

use crate::sandbox::answer::ErrorResponse;

/// The longest duration, so that sums of times stay within the calendar.
const LONGEST: i64 = 3_660 * 86_400;

/// How far a window reaches when only one of its ends is given.
const DEFAULT_REACH: SignedDuration = SignedDuration::from_mins(10);

/// A span of time that includes both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl TimeWindow {
    /// The window between two texts, of which an empty one is missing: a missing start is ten minutes before the end, a
    /// missing end ten minutes after the start, and if both are missing the end is `now`.
    pub fn between(start: &str, end: &str, now: Timestamp) -> Result<Self, ErrorResponse> {
        let start = time_of("start_time", start)?;
        let end = time_of("end_time", end)?;
        let (from, to) = match (start, end) {
            (Some(from), Some(to)) => (from, to),
            (Some(from), None) => (from, shifted(from, DEFAULT_REACH)),
            (None, end) => {
                let to = end.unwrap_or(now);
                (shifted(to, -DEFAULT_REACH), to)
            }
        };
        Self::ordered(from, to)
    }

    /// The window from `start`, by default `reach` before `now`, to `end`, by default `now`.
    pub fn recent(start: &str, end: &str, reach: SignedDuration, now: Timestamp) -> Result<Self, ErrorResponse> {
        let from = time_of("start_time", start)?.unwrap_or_else(|| shifted(now, -reach));
        let to = time_of("end_time", end)?.unwrap_or(now);
        Self::ordered(from, to)
    }

    fn ordered(from: Timestamp, to: Timestamp) -> Result<Self, ErrorResponse> {
        if from > to {
            return Err(ErrorResponse::invalid(format!(
                "the time range is backwards: `start_time` {from} is after `end_time` {to}"
            )));
        }
        Ok(Self { from, to })
    }
}

/// A time as the service reads it; `None` for the empty text.
fn time_of(field: &'static str, text: &str) -> Result<Option<Timestamp>, ErrorResponse> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let unix = || Timestamp::from_second(text.parse().ok()?).ok();
    let wrong = || format!("`{field}` is `{text}`, which is neither RFC 3339 nor unix seconds");
    text.parse().ok().or_else(unix).map(Some).ok_or_else(|| ErrorResponse::invalid(wrong()))
}

/// `time` moved by `by`, within the range of a timestamp.
pub fn shifted(time: Timestamp, by: SignedDuration) -> Timestamp {
    // `saturating_add` fails only for spans with calendar units, which a duration never has.
    time.saturating_add(by).unwrap_or(time)
}

/// A duration such as `90s`, `15m`, `2h30m` or `1d`; `None` for another text.
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

thread_local! {
    /// What relative times are relative to: serde passes no context to a field.
    static NOW: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// Runs `read` with relative times resolved against `now`.
pub fn relative_to<T>(now: Timestamp, read: impl FnOnce() -> T) -> T {
    NOW.set(Some(now));
    let read = read();
    NOW.set(None);
    read
}

/// The time that relative times are relative to.
pub fn now() -> Timestamp {
    NOW.get().unwrap_or_default()
}

fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    if text == "now" {
        return Some(now);
    }
    match text.split_at_checked(1) {
        Some(("-", back)) if duration(back).is_some() => duration(back).map(|back| shifted(now, -back)),
        Some(("+", ahead)) => duration(ahead).map(|ahead| shifted(now, ahead)),
        _ => text.parse().ok(),
    }
}

/// Reads a time of a tenant file.
pub fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    let problem = || D::Error::custom(format!("`{text}` is not a valid time; write `now`, `-2h`, `+10m` or RFC 3339"));
    parse(&text, now()).ok_or_else(problem)
}

/// Reads a time of a tenant file that may be null.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    #[derive(serde::Deserialize)]
    struct Time(#[serde(deserialize_with = "required")] Timestamp);
    Ok(Option::<Time>::deserialize(deserializer)?.map(|time| time.0))
}

/// Reads a duration of a tenant file, or as it is stored.
pub fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SignedDuration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let read = duration(&text).or_else(|| text.parse().ok()).filter(SignedDuration::is_positive);
    read.ok_or_else(|| D::Error::custom(format!("`{text}` is not a valid duration; write one such as `20m`")))
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
            assert_eq!(parse(text, now), expected, "{text}");
        }
    }
}

//! The time window of a query. Times are texts, RFC 3339 or unix seconds; what is missing follows
//! from what is given, and a query without any time looks at the last ten minutes.

use jiff::{SignedDuration, Timestamp};

/// How far a window reaches when only one of its ends is given.
const DEFAULT_REACH: SignedDuration = SignedDuration::from_mins(10);

/// A span of time that includes both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// Why two texts are no window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error("`{field}` is `{text}`, which is neither RFC 3339 nor unix seconds")]
    Unreadable { field: &'static str, text: String },
    #[error("the time range is backwards: `start_time` {from} is after `end_time` {to}")]
    Backwards { from: Timestamp, to: Timestamp },
}

impl TimeWindow {
    /// The window between two texts, the empty text being a missing one: a missing start is ten
    /// minutes before the end, a missing end ten minutes after the start, and of a missing pair the
    /// end is `now`.
    ///
    /// # Errors
    /// A text that is no time, or an end before the start.
    pub fn between(start: &str, end: &str, now: Timestamp) -> Result<Self, WindowError> {
        let start = moment("start_time", start)?;
        let end = moment("end_time", end)?;
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
    ///
    /// # Errors
    /// A text that is no time, or an end before the start.
    pub fn recent(start: &str, end: &str, reach: SignedDuration, now: Timestamp) -> Result<Self, WindowError> {
        let from = moment("start_time", start)?.unwrap_or_else(|| shifted(now, -reach));
        let to = moment("end_time", end)?.unwrap_or(now);
        Self::ordered(from, to)
    }

    fn ordered(from: Timestamp, to: Timestamp) -> Result<Self, WindowError> {
        if from > to {
            return Err(WindowError::Backwards { from, to });
        }
        Ok(Self { from, to })
    }
}

/// A time as the service reads it; `None` for the empty text.
///
/// # Errors
/// [`Error::Unreadable`] with the name of the field.
pub fn moment(field: &'static str, text: &str) -> Result<Option<Timestamp>, WindowError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let unix = || Timestamp::from_second(text.parse().ok()?).ok();
    text.parse().ok().or_else(unix).map(Some).ok_or_else(|| WindowError::Unreadable { field, text: text.to_owned() })
}

/// `time` moved by `by`, kept within what a timestamp can hold.
#[must_use]
pub fn shifted(time: Timestamp, by: SignedDuration) -> Timestamp {
    // The saturating form only refuses spans with calendar units, and a duration has none.
    time.saturating_add(by).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-21T12:00:00Z";

    fn between(start: &str, end: &str) -> Result<(String, String), String> {
        TimeWindow::between(start, end, NOW.parse().unwrap())
            .map(|window| (window.from.to_string(), window.to.to_string()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_missing_follows_from_what_is_given() {
        for (start, end, from, to) in [
            ("", "", "2026-11-21T11:50:00Z", NOW),
            ("", "2026-11-21T10:00:00Z", "2026-11-21T09:50:00Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T10:00:00Z", "", "2026-11-21T10:00:00Z", "2026-11-21T10:10:00Z"),
            ("1570007981", "2019-10-02T11:00:00+01:00", "2019-10-02T09:19:41Z", "2019-10-02T10:00:00Z"),
        ] {
            assert_eq!(between(start, end), Ok((from.into(), to.into())), "{start} {end}");
        }
    }

    #[test]
    fn a_backwards_or_unreadable_range_is_refused() {
        assert_eq!(
            between("2026-11-21T10:00:01Z", "2026-11-21T10:00:00Z").unwrap_err(),
            "the time range is backwards: `start_time` 2026-11-21T10:00:01Z is after `end_time` 2026-11-21T10:00:00Z"
        );
        assert_eq!(
            between("", "yesterday").unwrap_err(),
            "`end_time` is `yesterday`, which is neither RFC 3339 nor unix seconds"
        );
    }

    #[test]
    fn times_at_the_edge_of_the_calendar_do_not_overflow() {
        assert!(between("", &Timestamp::MIN.to_string()).is_ok());
        assert!(between("999999999999999999", "").is_err());
    }
}

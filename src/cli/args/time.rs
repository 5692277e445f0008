//! Times as people write them: so long ago, RFC 3339, or seconds since 1970.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use crate::cli::Result;
use crate::report::time::to_second;

/// The time that `text`, given with `flag`, means at `now`.
///
/// # Errors
/// A text that is not a valid time.
pub fn read(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    parse(text.trim(), now).ok_or_else(|| {
        error!(Usage, "`{flag} {text}` is not a valid time")
            .hint("write 90s, 15m, 1h, 2d or 1w for so long ago, 2026-11-21T10:00:00Z, or seconds since 1970")
    })
}

fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    if text == "now" {
        return Some(now);
    }
    // Fewer digits mean a year or a date without dashes; more digits mean such a date with its time.
    if (9..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Timestamp::from_second(text.parse().ok()?).ok();
    }
    // The library also reads `ago`, but returns a negative length for it.
    let length = text.strip_prefix('-').or_else(|| text.strip_suffix(" ago").map(str::trim_end)).unwrap_or(text);
    // A `+` would mean the future, but every length here reaches into the past.
    if let Some(ago) = duration(length).filter(|_| !length.starts_with('+')) {
        return now.checked_sub(ago).ok();
    }
    text.parse().ok()
}

/// Parses a length of time such as `90s`, `1h30m` or `2d`, where a day has 24 hours; `None` if the text is not one.
pub fn duration(text: &str) -> Option<SignedDuration> {
    // The library would read `10:00:00` as ten hours, but it is a time of day.
    let span: Span = text.parse().ok().filter(|_| !text.contains(':'))?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok().filter(|length| !length.is_negative())
}

/// A range of time, either end of which may be left to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// Its start.
    pub since: Option<Timestamp>,
    /// Its end.
    pub until: Option<Timestamp>,
}

impl TimeRange {
    /// The range of `--since` and `--until`.
    ///
    /// # Errors
    /// A text that is not a valid time, or a range that is backwards.
    pub fn read(since: Option<&str>, until: Option<&str>, now: Timestamp) -> Result<Self> {
        let since = since.map(|text| read("--since", text, now)).transpose()?;
        let until = until.map(|text| read("--until", text, now)).transpose()?;
        if let Some(since) = since
            && since > until.unwrap_or(now)
        {
            let (since, until) = (to_second(since), until.map_or_else(|| "now".to_owned(), to_second));
            return Err(error!(Usage, "the time range is backwards: `--since` {since} is after `--until` {until}"));
        }
        Ok(Self { since, until })
    }

    /// The range in words; `reach` is how far the service looks back by default.
    pub fn words(&self, reach: &str, now: Timestamp) -> String {
        match (self.since, self.until) {
            (None, None) => format!("last {reach}"),
            (None, Some(until)) => format!("the {reach} until {}", to_second(until)),
            (Some(since), None) => length(now.duration_since(since))
                .map_or_else(|| format!("since {}", to_second(since)), |length| format!("last {length}")),
            (Some(since), Some(until)) => format!("{} to {}", to_second(since), to_second(until)),
        }
    }
}

/// A length of time in its largest whole unit: `hour`, `2 hours`, `90 minutes`. `None` if the number is too long to
/// read.
fn length(time: SignedDuration) -> Option<String> {
    let seconds = time.as_secs();
    let units = [(7 * 86_400, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let whole = |(unit, _): &&(i64, &str)| seconds >= *unit && seconds % unit == 0;
    match units.iter().find(whole) {
        Some((unit, name)) if seconds == *unit => Some((*name).to_owned()),
        Some((unit, name)) => Some(seconds / unit).filter(|units| *units < 200).map(|units| format!("{units} {name}s")),
        None => Some("moment".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit_status::ExitStatus;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = time("2026-11-21T12:00:00Z");
        for (text, wanted) in [
            ("now", Some("2026-11-21T12:00:00Z")),
            ("1h", Some("2026-11-21T11:00:00Z")),
            ("10:00:00", None),
            ("202611301200", None),
            ("10:00:00 ago", None),
            ("1d 10:00:00", None),
            ("-1h", Some("2026-11-21T11:00:00Z")),
            ("1d12h", Some("2026-11-20T00:00:00Z")),
            ("1w", Some("2026-11-14T12:00:00Z")),
            ("2 hours", Some("2026-11-21T10:00:00Z")),
            ("1h ago", Some("2026-11-21T11:00:00Z")),
            ("2d ago", Some("2026-11-19T12:00:00Z")),
            ("90s  ago", Some("2026-11-21T11:58:30Z")),
            ("-1h ago", None),
            ("1h ago ago", None),
            (" ago", None),
            ("now ago", None),
            ("1763715600 ago", None),
            ("--1h", None),
            ("+1h", None),
            ("-+1h", None),
            ("+1h ago", None),
            ("1mo", None),
            ("1763715600", Some("2025-11-21T09:00:00Z")),
            ("2026", None),
            ("20261121", None),
            ("100000000", Some("1973-03-03T09:46:40Z")),
            ("2026-11-21T13:00:00+02:00", Some("2026-11-21T11:00:00Z")),
            ("yesterday", None),
            ("1h ", Some("2026-11-21T11:00:00Z")),
            ("h", None),
            ("-", None),
            ("", None),
            ("99999999999999999999", None),
            ("9999999999d", None),
            ("1é", None),
        ] {
            assert_eq!(read("--since", text, now).ok(), wanted.map(time), "{text}");
        }
    }

    #[test]
    fn a_backwards_range_is_a_mistake_of_the_command_line() {
        let now = time("2026-11-21T12:00:00Z");
        let error = TimeRange::read(Some("1h"), Some("2h"), now).expect_err("backwards");
        assert_eq!(error.status, ExitStatus::Usage);
        assert_eq!(
            error.to_string(),
            "the time range is backwards: `--since` 2026-11-21T11:00:00Z is after `--until` 2026-11-21T10:00:00Z"
        );
        assert!(TimeRange::read(Some("2026-12-01T00:00:00Z"), None, now).is_err());
        assert!(TimeRange::read(Some("2h"), Some("1h"), now).is_ok());
    }

    #[test]
    fn a_range_is_reported_in_words() {
        let now = time("2026-11-21T12:00:00Z");
        let words = |since, until| TimeRange::read(since, until, now).expect("a range").words("10 minutes", now);
        assert_eq!(words(None, None), "last 10 minutes");
        assert_eq!(words(Some("1h"), None), "last hour");
        assert_eq!(words(Some("90m"), None), "last 90 minutes");
        assert_eq!(words(Some("2026-11-21T10:59:59+01:00"), None), "since 2026-11-21T09:59:59Z");
        assert_eq!(words(Some("2d"), Some("1d")), "2026-11-19T12:00:00Z to 2026-11-20T12:00:00Z");
    }
}

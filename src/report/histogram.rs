//! Counts over time as one line: a column a piece of time, both ends labelled, and the peak in words.
//! Times are in UTC.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::Charset;

/// Counts of pieces of time of the same length, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSeries {
    /// When the first piece begins.
    pub start: Timestamp,
    /// Seconds of a piece, at least 1.
    pub step: i64,
    /// The count of each piece.
    pub counts: Vec<u64>,
}

/// Lengths of a piece that people know, in seconds.
const STEPS: [i64; 14] =
    [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400, 7 * 86_400];

/// The shortest known length of which at most `most` pieces cover `seconds`.
#[must_use]
pub fn step(seconds: i64, most: usize) -> i64 {
    let most = i64::try_from(most.max(2)).unwrap_or(i64::MAX);
    let fits = |step: &i64| seconds / step < most;
    STEPS.into_iter().find(fits).unwrap_or_else(|| seconds / (most - 1) + 1)
}

impl TimeSeries {
    /// The series from `from` to `to` in pieces of `step` seconds, each beginning at a multiple of
    /// it, out of counts with the beginning of their piece. Pieces without a count have none.
    #[must_use]
    pub fn of(counts: &[(Timestamp, u64)], from: Timestamp, to: Timestamp, step: i64) -> Self {
        let step = step.max(1);
        let floor = |second: i64| second - second.rem_euclid(step);
        let (first, last) = (floor(from.as_second()), floor(to.as_second()));
        let pieces = usize::try_from((last - first) / step + 1).unwrap_or(1).min(100_000);
        let mut series = vec![0; pieces];
        for (time, count) in counts {
            let piece = usize::try_from((floor(time.as_second()) - first) / step).ok();
            if let Some(piece) = piece.and_then(|piece| series.get_mut(piece)) {
                *piece += count;
            }
        }
        Self { start: Timestamp::from_second(first).unwrap_or(from), step, counts: series }
    }

    fn time(&self, piece: usize) -> Timestamp {
        let seconds = i64::try_from(piece).unwrap_or(i64::MAX).saturating_mul(self.step);
        self.start.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
    }
}

/// The line, in at most `width` columns as long as the labels leave room. Nothing where there is no
/// count.
#[must_use]
pub fn draw(series: &TimeSeries, width: usize, charset: Charset) -> String {
    let Some((peak_at, peak)) = peak(&series.counts).filter(|(_, peak)| *peak > 0) else { return String::new() };
    let end = series.counts.len();
    let days = i64::try_from(end).unwrap_or(i64::MAX).saturating_mul(series.step) > 86_400;
    let from = label(series.start, days, series.step);
    let to = label(series.time(end), days, series.step);
    let message = format!("peak {peak} {} at {}", per(series.step), label(series.time(peak_at), days, series.step));
    let room = width.saturating_sub(2 + from.len() + 1 + 1 + to.len() + 9 + message.len()).max(8);
    let merged = merge(&series.counts, room);
    let most = merged.iter().copied().max().unwrap_or_default();
    let line: String = merged.iter().map(|count| block(*count, most, charset)).collect();
    format!("  {from} {line} {to} UTC     {message}\n")
}

/// The first piece with the most.
fn peak(counts: &[u64]) -> Option<(usize, u64)> {
    counts.iter().copied().enumerate().rev().max_by_key(|(_, count)| *count)
}

/// The counts in at most `room` columns: neighbours are added up.
fn merge(counts: &[u64], room: usize) -> Vec<u64> {
    let together = counts.len().div_ceil(room.max(1)).max(1);
    counts.chunks(together).map(|chunk| chunk.iter().sum()).collect()
}

fn block(count: u64, most: u64, charset: Charset) -> char {
    let levels: [char; 8] = match charset {
        Charset::Unicode => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        Charset::Ascii => ['.', ':', '-', '=', '+', '*', '#', '@'],
    };
    if count == 0 {
        return ' ';
    }
    let level = (u128::from(count) * 8).div_ceil(u128::from(most.max(1)));
    levels[usize::try_from(level).unwrap_or(8).clamp(1, 8) - 1]
}

fn label(time: Timestamp, days: bool, step: i64) -> String {
    let format = match (days, step < 60) {
        (true, _) if step >= 86_400 => "%Y-%m-%d",
        (true, _) => "%m-%d %H:%M",
        (false, true) => "%H:%M:%S",
        (false, false) => "%H:%M",
    };
    time.to_zoned(TimeZone::UTC).strftime(format).to_string()
}

fn per(step: i64) -> String {
    let unit = |count: i64, one: &str| match count {
        1 => format!("{} {one}", if one == "hour" { "an" } else { "a" }),
        count => format!("in {count} {one}s"),
    };
    match step {
        step if step % 86_400 == 0 => unit(step / 86_400, "day"),
        step if step % 3_600 == 0 => unit(step / 3_600, "hour"),
        step if step % 60 == 0 => unit(step / 60, "minute"),
        step => unit(step, "second"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn hour() -> TimeSeries {
        let counts: Vec<(Timestamp, u64)> = [("10:03", 3), ("10:20", 5), ("10:32", 14), ("10:33", 9), ("10:58", 1)]
            .map(|(at, count)| (time(&format!("2026-11-21T{at}:00Z")), count))
            .to_vec();
        TimeSeries::of(&counts, time("2026-11-21T10:00:10Z"), time("2026-11-21T10:59:59Z"), 60)
    }

    #[test]
    fn a_line_shows_both_ends_and_the_peak() {
        insta::assert_snapshot!(draw(&hour(), 120, Charset::Unicode), @"  10:00    ▂                ▃           █▆                        ▁  11:00 UTC     peak 14 a minute at 10:32");
    }

    #[test]
    fn a_narrow_line_adds_neighbours_up() {
        insta::assert_snapshot!(draw(&hour(), 70, Charset::Ascii), @"  10:00  :    -   @*       . 11:00 UTC     peak 14 a minute at 10:32");
    }

    #[test]
    fn the_step_is_one_that_people_know() {
        for (seconds, wanted) in [(600, 10), (3_600, 60), (86_400, 1_800), (30 * 86_400, 43_200), (1, 1), (0, 1)] {
            assert_eq!(step(seconds, 61), wanted, "{seconds}");
        }
        let decade = 3_650 * 86_400;
        assert!(decade / step(decade, 61) < 61);
    }

    #[test]
    fn what_lies_outside_and_what_is_empty_is_left_out() {
        let (from, to) = (time("2026-11-21T10:00:00Z"), time("2026-11-21T10:05:00Z"));
        let series =
            TimeSeries::of(&[(time("2026-11-21T09:00:00Z"), 7), (time("2027-01-01T00:00:00Z"), 7)], from, to, 60);
        assert_eq!(series.counts, [0; 6]);
        assert_eq!(draw(&series, 100, Charset::Unicode), "");
        let (from, to) = (time("2026-01-01T00:00:00Z"), time("2026-03-01T00:00:00Z"));
        let series = TimeSeries::of(&[(time("2026-02-03T00:00:00Z"), 8)], from, to, 86_400);
        assert!(draw(&series, 120, Charset::Unicode).ends_with("2026-03-02 UTC     peak 8 a day at 2026-02-03\n"));
        assert_eq!(per(3_600), "an hour");
        assert_eq!(per(300), "in 5 minutes");
    }
}

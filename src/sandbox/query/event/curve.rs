//! How generated events spread over their time: a daily rhythm, one burst, and for event `i` a moment
//! that never lies before that of event `i - 1`, so that a time range can be found by bisection.

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::draw::Draw;
use super::vocabulary::HOURS;

/// Slices that a curve has at most; within a slice events are spread evenly.
const SLICES: usize = 4_096;

/// How many times the usual number of events a slice of the burst has.
const BURST: f64 = 12.0;

/// The moments of `count` events.
#[derive(Debug)]
pub struct Curve {
    seed: u64,
    count: u64,
    from: Timestamp,
    milliseconds: f64,
    /// For each slice the sum of the weights up to its end.
    sums: Vec<f64>,
    burst: Range<u64>,
}

impl Curve {
    /// Spreads `count` events over `from..to`; a span that is empty or backwards has one moment.
    #[must_use]
    pub fn new(seed: u64, count: u64, from: Timestamp, to: Timestamp) -> Self {
        let milliseconds = (to.as_millisecond() - from.as_millisecond()).max(0);
        // A slice a minute, so that the rhythm is smooth, within bounds for very short and long spans.
        let slices = usize::try_from(milliseconds / 60_000).unwrap_or(SLICES).clamp(64, SLICES);
        let draw = Draw::new(seed, 0);
        let burst_length = (slices / 48).max(1);
        // In the second half, because a reader looks at the latest events first.
        let burst_start = slices / 2 + draw.below(1, (slices / 2 - burst_length) as u64) as usize;
        let burst_slices = burst_start..burst_start + burst_length;
        let milliseconds = milliseconds as f64;
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(slices);
        for slice in 0..slices {
            let middle = milliseconds * (slice as f64 + 0.5) / slices as f64;
            let weight = rhythm(from, middle as i64);
            sum += if burst_slices.contains(&slice) { weight * BURST } else { weight };
            sums.push(sum);
        }
        let mut curve = Self { seed, count, from, milliseconds, sums, burst: 0..0 };
        let index = |slice: usize| {
            let before = slice.checked_sub(1).and_then(|slice| curve.sums.get(slice)).copied().unwrap_or_default();
            (before / sum * count as f64) as u64
        };
        curve.burst = index(burst_slices.start)..index(burst_slices.end);
        curve
    }

    /// The events that the burst is made of.
    #[must_use]
    pub fn burst(&self) -> &Range<u64> {
        &self.burst
    }

    /// When event `index` happened, in whole milliseconds.
    #[must_use]
    pub fn time(&self, index: u64) -> Timestamp {
        let jitter = Draw::new(self.seed, index).share(2);
        let total = self.sums.last().copied().unwrap_or(1.0);
        let target = (index as f64 + jitter) / self.count.max(1) as f64 * total;
        let slice = self.sums.partition_point(|sum| *sum <= target).min(self.sums.len() - 1);
        let before = slice.checked_sub(1).map_or(0.0, |slice| self.sums[slice]);
        let inside = ((target - before) / (self.sums[slice] - before)).clamp(0.0, 1.0);
        let offset = (slice as f64 + inside) / self.sums.len() as f64 * self.milliseconds;
        let moment = self.from.as_millisecond() + offset as i64;
        Timestamp::from_millisecond(moment).unwrap_or(self.from)
    }

    /// The first event at or after `time`, or the number of events.
    #[must_use]
    pub fn first_at(&self, time: Timestamp) -> u64 {
        self.bisect(|moment| moment < time)
    }

    /// The first event after `time`, or the number of events.
    #[must_use]
    pub fn first_after(&self, time: Timestamp) -> u64 {
        self.bisect(|moment| moment <= time)
    }

    fn bisect(&self, before: impl Fn(Timestamp) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.time(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The weight of the moment `offset` milliseconds after `from`, between the weights of its hours.
fn rhythm(from: Timestamp, offset: i64) -> f64 {
    let moment = Timestamp::from_millisecond(from.as_millisecond() + offset).unwrap_or(from);
    let time = Offset::UTC.to_datetime(moment).time();
    let hour = usize::try_from(time.hour()).unwrap_or_default();
    let (now, next) = (HOURS[hour % 24], HOURS[(hour + 1) % 24]);
    f64::from(now) + (f64::from(next) - f64::from(now)) * f64::from(time.minute()) / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(count: u64) -> Curve {
        Curve::new(7, count, "2026-11-20T12:00:00Z".parse().unwrap(), "2026-11-21T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn time_never_goes_back_and_stays_in_the_range() {
        for count in [1, 2, 50_000] {
            let curve = day(count);
            let times: Vec<_> = (0..count).map(|index| curve.time(index)).collect();
            assert!(times.is_sorted());
            assert!(times[0] >= curve.from);
            assert!(times[times.len() - 1].to_string().as_str() <= "2026-11-21T12:00:00Z");
        }
    }

    #[test]
    fn a_range_is_found_as_a_scan_would_find_it() {
        let curve = day(5_000);
        for text in ["2026-11-20T11:00:00Z", "2026-11-20T18:30:00Z", "2026-11-21T03:00:00Z", "2026-11-22T00:00:00Z"] {
            let time = text.parse().unwrap();
            let scanned = (0..5_000).filter(|index| curve.time(*index) < time).count() as u64;
            assert_eq!(curve.first_at(time), scanned);
        }
        let exact = curve.time(2_500);
        assert!(curve.first_at(exact) <= 2_500 && curve.first_after(exact) > 2_500);
    }

    #[test]
    fn the_night_is_quiet_and_the_burst_is_loud() {
        let curve = day(100_000);
        let between =
            |from: &str, to: &str| curve.first_at(to.parse().unwrap()) - curve.first_at(from.parse().unwrap());
        let night = between("2026-11-21T03:00:00Z", "2026-11-21T04:00:00Z");
        let afternoon = between("2026-11-20T15:00:00Z", "2026-11-20T16:00:00Z");
        assert!(night * 3 < afternoon, "{night} {afternoon}");
        let burst = curve.burst().clone();
        let length = curve.time(burst.end).as_second() - curve.time(burst.start).as_second();
        let rate = (burst.end - burst.start) as f64 / length as f64;
        assert!(rate > 3.0 * 100_000.0 / 86_400.0, "{rate}");
    }

    #[test]
    fn an_empty_span_has_one_moment() {
        let from = "2026-11-20T12:00:00Z".parse().unwrap();
        let curve = Curve::new(1, 10, from, from);
        assert_eq!(curve.time(9), from);
        assert_eq!(Curve::new(1, 0, from, from).first_at(from), 0);
    }
}

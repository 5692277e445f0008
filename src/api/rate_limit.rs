//! How fast requests are sent: waits and randomness, which the caller passes in, and the limit of requests per second
//! with its burst, which slows down after a 429 and recovers slowly.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::model::share::locked;

/// A wait in progress.
type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How to wait, and the source of randomness.
#[derive(Clone)]
pub struct Timing {
    wait: Arc<dyn Fn(Duration) -> Waiting + Send + Sync>,
    chance: Arc<dyn Fn() -> f64 + Send + Sync>,
}

impl Timing {
    /// Real waits on the runtime's timer; `seed` makes the random spread of waits.
    pub fn real(seed: u64) -> Self {
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        Self {
            wait: Arc::new(|time| Box::pin(tokio::time::sleep(time))),
            chance: Arc::new(move || locked(&random).f64()),
        }
    }

    /// No waits at all: each one is only reported to `note`. For tests and rehearsals.
    pub fn noted(note: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self {
            wait: Arc::new(move |time| {
                note(time);
                Box::pin(std::future::ready(()))
            }),
            chance: Arc::new(|| 1.0),
        }
    }

    /// Waits for this time.
    pub async fn wait(&self, time: Duration) {
        if !time.is_zero() {
            (self.wait)(time).await;
        }
    }

    pub(super) fn fraction(&self) -> f64 {
        (self.chance)()
    }
}

/// A limit of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests per second, above 0.
    pub per_second: f64,
    /// Requests that may be sent at once after a pause, at least 1.
    pub burst: u32,
}

impl RateLimit {
    /// For a service that does not publish its limits: clients that are not refused send 2 to 10 requests per second
    /// (API.md 2.2).
    pub const CAREFUL: RateLimit = RateLimit { per_second: 10.0, burst: 20 };
}

/// The longest interval after refusals, unless the user asked for a longer one.
const SLOWEST: Duration = Duration::from_secs(5);
/// The interval after the first refusal if there was no limit.
const FIRST_SLOW: Duration = Duration::from_millis(100);

/// Assigns a time to every request.
#[derive(Debug)]
pub(super) struct RateLimiter {
    base: Duration,
    burst: u32,
    state: Mutex<LimiterState>,
}

#[derive(Debug)]
struct LimiterState {
    /// The current interval between two requests.
    interval: Duration,
    /// How many requests may be sent at once; if negative, how many wait.
    places: f64,
    /// The time to which `places` refers. Nothing is sent before it.
    at: Instant,
    /// How often the rate was reduced so far.
    pauses: u32,
}

/// Places in the queue of requests.
#[derive(Debug)]
pub(super) struct Admission {
    /// The wait until the last place.
    pub(super) wait: Duration,
    pauses: u32,
}

impl LimiterState {
    /// Moves to a later time, at which there are up to `most` places.
    fn rest(&mut self, until: Instant, most: f64) {
        let rested = until.saturating_duration_since(self.at).as_secs_f64() / self.interval.as_secs_f64();
        // With a zero interval this is infinite, or NaN if no time has passed: then `min` returns `most`.
        self.places = (self.places + rested).min(most);
        self.at = self.at.max(until);
    }
}

impl RateLimiter {
    pub(super) fn new(rate: Option<RateLimit>, now: Instant) -> Self {
        let base =
            rate.map_or(Duration::ZERO, |rate| Duration::try_from_secs_f64(1.0 / rate.per_second).unwrap_or(SLOWEST));
        let burst = rate.map_or(1, |rate| rate.burst.max(1));
        let state = LimiterState { interval: base, places: f64::from(burst), at: now, pauses: 0 };
        Self { base, burst, state: Mutex::new(state) }
    }

    /// Takes places for requests that are ready at `now`, and returns how long they must wait so that all of them can
    /// be sent.
    pub(super) fn admit(&self, now: Instant, requests: u32) -> Admission {
        let mut state = locked(&self.state);
        state.rest(now, f64::from(self.burst));
        state.places -= f64::from(requests);
        let paused = state.at.saturating_duration_since(now);
        let wait = paused + state.interval.mul_f64((-state.places).max(0.0));
        Admission { wait, pauses: state.pauses }
    }

    /// Gives back unused places, unless the rate was reduced since then, which starts a new queue.
    pub(super) fn give_back(&self, admission: &Admission, requests: u32) {
        let mut state = locked(&self.state);
        if state.pauses == admission.pauses {
            state.places += f64::from(requests);
        }
    }

    /// How often the rate was reduced so far.
    pub(super) fn pauses(&self) -> u32 {
        locked(&self.state).pauses
    }

    /// Call after a 429 for a request that was sent after this many `pauses`: halves the rate, but only once for all
    /// requests that were sent at the same too fast rate.
    pub(super) fn slow(&self, pauses: u32) {
        let mut state = locked(&self.state);
        if state.pauses == pauses {
            state.interval = (state.interval * 2).clamp(FIRST_SLOW, SLOWEST.max(self.base));
            state.pauses = state.pauses.wrapping_add(1);
        }
    }

    /// Sends nothing for this time, and then without a burst.
    pub(super) fn pause(&self, now: Instant, pause: Duration) {
        locked(&self.state).rest(now + pause, 1.0);
    }

    /// Call after an answer: moves the rate back towards the configured one.
    pub(super) fn recover(&self) {
        let mut state = locked(&self.state);
        if state.interval > self.base {
            let faster = state.interval.mul_f64(0.9);
            state.interval = if faster < Duration::from_millis(5) { self.base } else { faster.max(self.base) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_in_step() {
        let now = Instant::now();
        let throttle = RateLimiter::new(Some(RateLimit { per_second: 10.0, burst: 3 }), now);
        let waits: Vec<u128> = (0..6).map(|_| throttle.admit(now, 1).wait.as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 300]);
        assert_eq!(throttle.admit(now + Duration::from_mins(1), 1).wait, Duration::ZERO);
    }

    #[test]
    fn a_limit_below_the_pace_after_refusals_is_kept() {
        let now = Instant::now();
        let throttle = RateLimiter::new(Some(RateLimit { per_second: 0.1, burst: 1 }), now);
        let wait = || throttle.admit(now, 1).wait.as_secs();
        assert_eq!([wait(), wait()], [0, 10]);
        throttle.slow(0);
        throttle.pause(now, Duration::ZERO);
        assert_eq!([wait(), wait()], [20, 30]);
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let now = Instant::now();
        let throttle = RateLimiter::new(None, now);
        assert!((0..1000).all(|_| throttle.admit(now, 1).wait.is_zero()));
    }

    #[test]
    fn a_refusal_pauses_everyone_and_the_pace_comes_back() {
        let now = Instant::now();
        let throttle = RateLimiter::new(None, now);
        throttle.slow(0);
        throttle.pause(now, Duration::from_secs(2));
        assert_eq!(throttle.admit(now, 1).wait, Duration::from_secs(2));
        assert_eq!(throttle.admit(now, 1).wait, Duration::from_millis(2100));
        for _ in 0..40 {
            throttle.recover();
        }
        let later = now + Duration::from_mins(1);
        assert!(throttle.admit(later, 1).wait.is_zero() && throttle.admit(later, 1).wait.is_zero());
    }

    #[test]
    fn a_pause_holds_for_a_burst_too() {
        let now = Instant::now();
        let throttle = RateLimiter::new(Some(RateLimit { per_second: 10.0, burst: 5 }), now);
        throttle.slow(0);
        throttle.pause(now, Duration::from_secs(1));
        assert!(throttle.admit(now, 1).wait >= Duration::from_secs(1));
    }

    #[test]
    fn what_is_refused_together_slows_once_and_the_row_gets_as_fast_as_the_pace() {
        let now = Instant::now();
        // The time until so many more are admitted, each of which is answered, after the refusal of so many at once.
        let took = |refused: u32, more: u32| {
            let throttle = RateLimiter::new(Some(RateLimit { per_second: 10.0, burst: 20 }), now);
            (0..refused).for_each(|_| assert!(throttle.admit(now, 1).wait.is_zero()));
            for _ in 0..refused {
                throttle.slow(0);
                throttle.pause(now, Duration::from_secs(1));
            }
            let mut time = now;
            for _ in 0..refused + more {
                time += throttle.admit(time, 1).wait;
                throttle.recover();
            }
            time - now
        };
        // Ten a second are the pace, and five after a refusal.
        let one = took(1, 60);
        assert!(one > Duration::from_secs(7) && one < Duration::from_secs(10), "{one:?}");
        let eight = took(8, 60);
        assert!(eight < one + Duration::from_secs(2), "{eight:?}");
        let again = RateLimiter::new(Some(RateLimit { per_second: 10.0, burst: 1 }), now);
        (0..3).for_each(|pauses| again.slow(pauses));
        let wait = |_| again.admit(now, 1).wait.as_millis();
        assert_eq!([0, 1].map(wait), [0, 800], "what leaves at the slower pace and is refused slows again");
    }

    #[test]
    fn a_turn_waits_once_for_all_of_its_requests_and_gives_back_what_it_does_not_use() {
        let now = Instant::now();
        let throttle = RateLimiter::new(Some(RateLimit { per_second: 10.0, burst: 2 }), now);
        let turn = throttle.admit(now, 3);
        assert_eq!(turn.wait, Duration::from_millis(100));
        throttle.give_back(&turn, 2);
        assert_eq!(throttle.admit(now, 1).wait, Duration::ZERO);
        let turn = throttle.admit(now, 3);
        throttle.slow(0);
        throttle.pause(now, Duration::from_secs(2));
        throttle.give_back(&turn, 3);
        assert!(throttle.admit(now, 1).wait >= Duration::from_secs(2), "a pause is not made shorter");
    }
}

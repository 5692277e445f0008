//! Decides whether a request is sent again, and after what wait: a pure function of its operation, its failure, and
//! earlier failures.

use std::time::Duration;

use super::error::{Certainty, Failure};
use super::operations::RetryClass;

/// How many refusals for now are waited out: a 429 can be a quota, which waiting does not end (API.md 2.1).
const MOST_REFUSALS: u32 = 6;
/// Repeats after a 502, 503 or 504, a time-out, a cut or missing connection.
const MOST_FAILURES: u32 = 3;
/// Repeats after a 500, which can be a refusal of the request (API.md 2.1).
const MOST_INTERNAL: u32 = 1;
/// The first wait; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait; a longer `Retry-After` ends the attempts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The failures of a request so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttemptHistory {
    /// Refusals for now.
    pub refusals: u32,
    /// Answers with 500.
    pub internal: u32,
    /// All other failures.
    pub failures: u32,
}

impl AttemptHistory {
    /// The number of all failures.
    pub(super) fn total(&self) -> u32 {
        self.refusals + self.internal + self.failures
    }

    /// The number of earlier failures of the same kind as `failure`, and how many repeats this kind allows.
    fn of(&mut self, failure: &Failure) -> (&mut u32, u32) {
        match failure {
            _ if failure.is_for_now() => (&mut self.refusals, MOST_REFUSALS),
            Failure::Status(refusal) if refusal.status == 500 => (&mut self.internal, MOST_INTERNAL),
            _ => (&mut self.failures, MOST_FAILURES),
        }
    }

    /// The number of earlier repeats for the kind of `failure`, and how many this kind allows.
    pub(super) fn repeats(mut self, failure: &Failure) -> (u32, u32) {
        let (before, most) = self.of(failure);
        (*before, most)
    }

    /// This history with one more failure.
    #[must_use]
    pub fn and(mut self, failure: &Failure) -> Self {
        *self.of(failure).0 += 1;
        self
    }
}

/// The wait before a request is sent again after `failure`, or `None` if it is not. `repeat` is the class of its
/// operation; `fraction`, from 0 to 1, spreads the waits of many clients.
///
/// # Guarantees
/// - An operation of [`RetryClass::Once`] is sent again only if it never reached the service.
/// - A write is sent again only if it certainly took no effect: no connection, or a refusal for now.
/// - The number of repeats is bounded for every kind of failure.
pub fn decide(repeat: RetryClass, failure: &Failure, tried: &AttemptHistory, fraction: f64) -> Option<Duration> {
    let (before, most) = tried.repeats(failure);
    let allowed = match (repeat, failure) {
        (_, Failure::Connect(_)) => true,
        (RetryClass::Once, _) => false,
        _ if failure.is_for_now() => true,
        (RetryClass::Write, _) => false,
        (RetryClass::Read, Failure::Status(refusal)) => matches!(refusal.status, 408 | 500 | 502..=504),
        (RetryClass::Read, failure) => matches!(failure, Failure::TimedOut(_) | Failure::Cut(_)),
    };
    if !allowed || before >= most {
        return None;
    }
    debug_assert!(
        repeat == RetryClass::Read || failure.certainty() != Certainty::Unknown,
        "a write of unknown effect is settled by a read"
    );
    let backoff = backoff(if failure.is_for_now() { tried.refusals } else { tried.failures }, fraction);
    let after = match failure {
        Failure::Status(refusal) => refusal.retry_after.unwrap_or(backoff),
        _ => backoff,
    };
    Some(after).filter(|after| *after <= LONGEST_WAIT)
}

/// A wait that doubles from [`FIRST_WAIT`] to [`LONGEST_WAIT`], of which `fraction` chooses between half and all.
fn backoff(before: u32, fraction: f64) -> Duration {
    let whole = FIRST_WAIT.saturating_mul(1 << before.min(10)).min(LONGEST_WAIT);
    whole.mul_f64(0.5 + 0.5 * fraction.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::error::ErrorStatus;

    fn status(status: u16, retry_after: Option<u64>) -> Failure {
        let retry_after = retry_after.map(Duration::from_secs);
        Failure::Status(Box::new(ErrorStatus { status, retry_after, ..ErrorStatus::default() }))
    }

    fn cut() -> Failure {
        Failure::Cut(String::new())
    }

    fn connect() -> Failure {
        Failure::Connect(String::new())
    }

    /// How often a request is sent when every attempt ends alike.
    fn sent(repeat: RetryClass, failure: &Failure) -> u32 {
        let mut tried = AttemptHistory::default();
        for count in 1..100 {
            match decide(repeat, failure, &tried, 0.5) {
                None => return count,
                Some(_) => tried = tried.and(failure),
            }
        }
        panic!("endless")
    }

    #[test]
    fn a_read_is_repeated_a_bounded_number_of_times() {
        assert_eq!(sent(RetryClass::Read, &status(500, None)), 2);
        for failure in [status(502, None), status(503, None), status(504, None), cut(), connect()] {
            assert_eq!(sent(RetryClass::Read, &failure), 4, "{failure:?}");
        }
        assert_eq!(sent(RetryClass::Read, &status(429, None)), 7);
        for status_code in [400, 401, 403, 404, 409, 501] {
            assert_eq!(sent(RetryClass::Read, &status(status_code, None)), 1, "{status_code}");
        }
        assert_eq!(sent(RetryClass::Read, &Failure::Html), 1);
        assert_eq!(sent(RetryClass::Read, &Failure::Tls(String::new())), 1);
    }

    #[test]
    fn a_write_is_repeated_only_where_it_certainly_took_no_effect() {
        for failure in [status(500, None), status(502, None), status(503, None), status(504, None), cut()] {
            assert_eq!(sent(RetryClass::Write, &failure), 1, "{failure:?}");
        }
        assert_eq!(sent(RetryClass::Write, &Failure::TimedOut(Duration::ZERO)), 1);
        assert_eq!(sent(RetryClass::Write, &connect()), 4);
        assert_eq!(sent(RetryClass::Write, &status(429, None)), 7);
    }

    #[test]
    fn the_event_query_is_never_repeated_after_it_may_have_reached_the_service() {
        for failure in [status(429, Some(1)), status(500, None), status(503, None), cut()] {
            assert_eq!(sent(RetryClass::Once, &failure), 1, "{failure:?}");
        }
        assert_eq!(sent(RetryClass::Once, &connect()), 4);
    }

    #[test]
    fn retry_after_is_kept_and_a_long_one_ends_the_attempts() {
        let tried = AttemptHistory::default();
        let again = |after| Some(Duration::from_secs(after));
        assert_eq!(decide(RetryClass::Read, &status(429, Some(7)), &tried, 0.9), again(7));
        assert_eq!(decide(RetryClass::Read, &status(503, Some(2)), &tried, 0.9), again(2));
        assert_eq!(decide(RetryClass::Write, &status(429, Some(3600)), &tried, 0.9), None);
    }

    #[test]
    fn waits_double_up_to_a_cap() {
        let waits: Vec<Duration> = (0..10).map(|before| backoff(before, 1.0)).collect();
        assert_eq!(waits[0], Duration::from_millis(500));
        assert_eq!(waits[1], Duration::from_secs(1));
        assert_eq!(waits[9], LONGEST_WAIT);
        assert_eq!(backoff(0, 0.0), Duration::from_millis(250));
        assert_eq!(backoff(u32::MAX, 7.0), LONGEST_WAIT);
        // A service that refuses for now is waited for by its refusals, one that fails by its failures.
        let tried = AttemptHistory { refusals: 3, failures: 1, ..AttemptHistory::default() };
        for (code, millis) in [(429, 4000), (503, 1000)] {
            let decided = decide(RetryClass::Read, &status(code, None), &tried, 1.0);
            assert_eq!(decided, Some(Duration::from_millis(millis)), "{code}");
        }
    }
}

//! The settings of one run: how many changes at once, how long verification polls, and the clock.

use std::time::Duration;

use tokio::sync::watch;

use crate::api::Timing;
use crate::model::{Clock, RunId, SealedSecrets};
use crate::plan::Ignore;

/// The settings of a run.
#[derive(Clone)]
pub struct ApplyOptions {
    /// The run, which the ownership annotations of every written object name.
    pub run: RunId,
    /// Changes in flight at the same time, at least 1.
    pub concurrency: usize,
    /// Becomes `true` when the user interrupts the run.
    pub stop: watch::Receiver<bool>,
    /// Whether the configuration says that this service checks versions.
    pub version_checked: bool,
    /// Fields that the configuration ignores.
    pub ignore: Ignore,
    /// The secrets of the definitions.
    pub sealed: SealedSecrets,
    /// How long the verification polls.
    pub poll_policy: PollPolicy,
    /// The source of the current time.
    pub clock: Clock,
    /// How waits are made.
    pub pace: Timing,
}

impl ApplyOptions {
    /// The result of `work`, or `None` if the user interrupts the run first.
    pub(super) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            result = work => Some(result),
            Ok(_) = stop.wait_for(|stopped| *stopped) => None,
        }
    }
}

/// How long the verification polls while differences remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollPolicy {
    /// The first wait between two reads; each further wait is twice as long.
    pub first: Duration,
    /// All waits together.
    pub whole: Duration,
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), whole: Duration::from_secs(15) }
    }
}

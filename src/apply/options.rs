//! The settings of one run: how many changes at once, how long verification polls, and the clock.

use std::time::Duration;

use tokio::sync::watch;

use crate::api::Timing;
use crate::model::{Clock, RunId, SealedSecrets};
use crate::plan::Ignore;

/// How a run is made.
#[derive(Clone)]
pub struct ApplyOptions {
    /// The run; the ownership annotations of everything that is written name it.
    pub run: RunId,
    /// Changes in flight at the same time, at least 1.
    pub concurrency: usize,
    /// Becomes `true` when a person interrupts the run.
    pub stop: watch::Receiver<bool>,
    /// The configuration says that this service checks versions.
    pub version_checked: bool,
    /// Fields that the configuration leaves out.
    pub ignore: Ignore,
    /// The secrets of the definitions.
    pub sealed: SealedSecrets,
    /// How long verification is waited for.
    pub poll_policy: PollPolicy,
    /// What time it is.
    pub clock: Clock,
    /// How waits are made.
    pub pace: Timing,
}

/// How long verification is waited for while differences remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollPolicy {
    /// The first wait between two looks; each further one doubles it.
    pub first: Duration,
    /// All waits together.
    pub whole: Duration,
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), whole: Duration::from_secs(15) }
    }
}

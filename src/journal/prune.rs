//! The removal of old runs.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::history::{RunHistory, history};
use super::{JournalError, stored};
use crate::model::RunId;
use crate::run::RunSummary;
use crate::state::StateStore;

/// Which runs a prune keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// This number of the newest runs.
    Newest(usize),
    /// Runs that began at this time or later.
    Since {
        /// The time.
        time: Timestamp,
        /// The current time: a run with a later start has a wrong time, and is kept.
        now: Timestamp,
    },
}

/// Removes old runs and returns which. Open runs are kept, and so are the runs that a kept run has resumed.
///
/// # Errors
/// The medium.
pub fn prune(state: &StateStore, keep: Retention) -> Result<Vec<RunId>, JournalError> {
    let RunHistory { runs, unreadable } = history(state)?;
    let began = |run: &RunSummary| run.started.parse::<Timestamp>();
    let (newest, now) = match keep {
        Retention::Newest(count) => (runs.len().saturating_sub(count), None),
        Retention::Since { time, now } => {
            // The first run in this period and all after it are kept. A run without a readable time counts as in it.
            let is_since = |run: &RunSummary| began(run).map_or(true, |began| (time..=now).contains(&began));
            (runs.iter().position(is_since).unwrap_or(runs.len()), Some(now))
        }
    };
    let is_ahead = |run: &RunSummary| now.is_some_and(|now| began(run).is_ok_and(|began| began > now));
    // An unreadable run does not say which run it resumed.
    let may_be_resumed = |run: &RunSummary| {
        let begun = stored::path(state, &run.run);
        let mut later = unreadable.iter().filter(|(path, _)| *path > begun);
        !run.unfinished.is_empty() && later.any(|(path, _)| stored::is_named_for(path, run.stack.as_deref()))
    };
    let mut stays: BTreeSet<&RunId> = BTreeSet::new();
    for (at, run) in runs.iter().enumerate().rev() {
        if at >= newest || run.is_open() || is_ahead(run) || may_be_resumed(run) || stays.contains(&run.run) {
            stays.insert(&run.run);
            stays.extend(&run.resumes);
        }
    }
    let mut gone: Vec<RunId> = runs.iter().map(|run| &run.run).filter(|run| !stays.contains(run)).cloned().collect();
    // A run that was killed before it sent anything is removed with the runs around it.
    let empty = unreadable.iter().filter(|(_, error)| matches!(error, JournalError::NoHeader(_)));
    let empty = empty.filter_map(|(path, _)| stored::run(path));
    let oldest = gone.iter().max().cloned();
    gone.extend(empty.filter(|run| oldest.as_ref().is_some_and(|oldest| run < oldest)));
    stored::remove(state, &gone)?;
    Ok(gone)
}

//! The removal of old runs.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::history::{RunHistory, history};
use super::{JournalError, stored};
use crate::model::RunId;
use crate::run::RunSummary;
use crate::state::StateStore;

/// What a prune leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The newest runs, so many.
    Newest(usize),
    /// Runs that began at this time or later.
    Since {
        /// The time.
        time: Timestamp,
        /// What time it is: a run that began later has a wrong time, and stays.
        now: Timestamp,
    },
}

/// Removes old runs and says which. A run that is open stays, and so does every run that a run which
/// stays has resumed.
///
/// # Errors
/// The medium.
pub fn prune(state: &StateStore, keep: Retention) -> Result<Vec<RunId>, JournalError> {
    let RunHistory { runs, unreadable } = history(state)?;
    let began = |run: &RunSummary| run.started.parse::<Timestamp>();
    let (newest, now) = match keep {
        Retention::Newest(count) => (runs.len().saturating_sub(count), None),
        Retention::Since { time, now } => {
            // Whatever has no readable time is kept, and what follows a run of this time.
            let is_since = |run: &RunSummary| began(run).map_or(true, |began| (time..=now).contains(&began));
            (runs.iter().position(is_since).unwrap_or(runs.len()), Some(now))
        }
    };
    let is_ahead = |run: &RunSummary| now.is_some_and(|now| began(run).is_ok_and(|began| began > now));
    // Which one it has resumed, a run that cannot be read does not say.
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
    // A run that was killed before it sent anything is worth no more than those around it.
    let empty = unreadable.iter().filter(|(_, error)| matches!(error, JournalError::NoHeader(_)));
    let empty = empty.filter_map(|(path, _)| stored::run(path));
    let oldest = gone.iter().max().cloned();
    gone.extend(empty.filter(|run| oldest.as_ref().is_some_and(|oldest| run < oldest)));
    stored::remove(state, &gone)?;
    Ok(gone)
}

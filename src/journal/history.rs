//! A summary of each run of a state store, and which later runs superseded or resumed it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::read::parse;
use super::{JournalError, stored};
use crate::model::RunId;
use crate::run::{RunRecord, RunSummary};
use crate::state::StateStore;

/// All runs of a state store.
#[derive(Debug, Default)]
pub struct RunHistory {
    /// The runs in the order in which they began, even if the clock was set back.
    pub runs: Vec<RunSummary>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, JournalError)>,
}

/// Reads a summary of each run.
///
/// # Errors
/// The directory cannot be read. A single unreadable file is listed in the result.
pub fn history(state: &StateStore) -> Result<RunHistory, JournalError> {
    history_of(state, stored::files(state)?)
}

/// Like [`history`], but only the run itself and later runs of its stack: the ones that may have resumed it.
///
/// # Errors
/// Those of [`history`].
pub fn history_since(state: &StateStore, record: &RunRecord) -> Result<RunHistory, JournalError> {
    let (first, stack) = (stored::path(state, record.run()), record.header.plan.stack.as_deref());
    let is_later = |path: &PathBuf| *path >= first && stored::is_named_for(path, stack);
    history_of(state, stored::files(state)?.into_iter().filter(is_later).collect())
}

fn history_of(state: &StateStore, paths: Vec<PathBuf>) -> Result<RunHistory, JournalError> {
    let (mut history, mut left) = (RunHistory::default(), BTreeSet::new());
    stored::each(state, paths, |path, bytes| match bytes.and_then(|bytes| parse(&path, &bytes)) {
        Ok(record) => {
            let mut run = RunSummary::of(&record);
            if !left.is_empty() {
                run.taken_over = record.made().into_iter().filter(|key| left.contains(*key)).cloned().collect();
            }
            left.extend(run.unfinished.iter().cloned());
            history.runs.push(run);
        }
        Err(error) => history.unreadable.push((path, error)),
    })?;
    history.runs.sort_by(|a, b| a.run.cmp(&b.run));
    settle(&mut history.runs);
    Ok(history)
}

/// Marks which later runs superseded or resumed each run; `runs` are in their order.
fn settle(runs: &mut [RunSummary]) {
    let resumed: BTreeMap<RunId, RunId> =
        runs.iter().filter_map(|run| Some((run.resumes.clone()?, run.run.clone()))).collect();
    for (at, by) in superseded(runs) {
        runs[at].superseded_by = Some(by);
    }
    for run in runs {
        run.resumed_by = resumed.get(&run.run).cloned();
    }
}

/// Each superseded run, with the later run that superseded it.
fn superseded(runs: &[RunSummary]) -> Vec<(usize, RunId)> {
    // A resume carries out an old plan, so it supersedes only runs that began before the run that it resumes.
    fn planned(run: &RunSummary) -> &RunId {
        run.resumes.as_ref().map_or(&run.run, |resumed| resumed.min(&run.run))
    }
    fn of(run: &RunSummary) -> (&Option<String>, &str, &Option<String>) {
        (&run.stack, &run.base_url, &run.sandbox)
    }
    let mut makers: Vec<&RunSummary> = runs.iter().filter(|run| !run.taken_over.is_empty()).collect();
    makers.sort_by_key(|run| planned(run));
    let mut makers = makers.into_iter().rev().peekable();
    // For each object that later runs changed, the last of those runs.
    let mut made = BTreeMap::<_, &RunId>::new();
    let (mut superseded, mut rolled_back) = (Vec::new(), BTreeMap::<&RunId, &RunId>::new());
    for (at, run) in runs.iter().enumerate().rev() {
        let rollback = rolled_back.get(&run.run).copied();
        rolled_back.extend(run.rolls_back.as_ref().filter(|_| run.done > 0).map(|undone| (undone, &run.run)));
        // A finished run, as nearly every run is, leaves nothing for a later run to make.
        if !run.is_open() && !run.is_incomplete() {
            superseded.extend(rollback.map(|by| (at, by.clone())));
            continue;
        }
        while let Some(maker) = makers.next_if(|maker| *planned(maker) > run.run) {
            for key in &maker.taken_over {
                let last = made.entry((of(maker), key)).or_insert(&maker.run);
                *last = (&maker.run).max(*last);
            }
        }
        let (mut parts, mut earlier) = (vec![run], &runs[..at]);
        // A run resumes only earlier runs, unless its file was altered.
        while let Some(resumed) = parts.last().and_then(|part| part.resumes.as_ref())
            && let Ok(at) = earlier.binary_search_by(|run| run.run.cmp(resumed))
        {
            parts.push(&earlier[at]);
            earlier = &earlier[..at];
        }
        let last = || run.unfinished.iter().map(|key| made.get(&(of(run), key)).copied()).collect::<Option<Vec<_>>>();
        let by = runs[at + 1..].iter().find(|later| later.supersedes(&parts)).map(|later| &later.run);
        superseded.extend(by.or_else(|| last()?.into_iter().max()).map(|by| (at, by.clone())));
    }
    superseded
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::read::{load, read};
use super::{JournalError, file, runs};
use crate::model::Key;
use crate::plan::{ActionKind, Fate, Kept, RunId, RunRecord, RunSummary};

/// All runs of a state directory.
#[derive(Debug, Default)]
pub struct History {
    /// The runs, oldest first.
    pub runs: Vec<RunSummary>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, JournalError)>,
}

/// What a prune leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest runs, so many.
    Newest(usize),
    /// Runs that began at this time or later.
    Since(jiff::Timestamp),
}

impl History {
    /// The newest run of a stack against a service, where it is open: an apply says so first.
    #[must_use]
    pub fn open(&self, stack: Option<&str>, base_url: &str) -> Option<&RunSummary> {
        let mut of_stack =
            self.runs.iter().rev().filter(|run| run.stack.as_deref() == stack && run.base_url == base_url);
        of_stack.next().filter(|run| run.is_open())
    }
}

/// Reads all runs in short.
///
/// # Errors
/// The directory cannot be read. A single file that cannot be read is told in the answer.
pub fn history(state: &Path) -> Result<History, JournalError> {
    let mut history = History::default();
    for path in files(state)? {
        match read(&path) {
            Ok(record) => history.runs.push(RunSummary::of(&record)),
            Err(error) => history.unreadable.push((path, error)),
        }
    }
    history.runs.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    let resumed: Vec<(RunId, RunId)> =
        history.runs.iter().filter_map(|run| Some((run.resumes.clone()?, run.run.clone()))).collect();
    for run in &mut history.runs {
        run.resumed_by = resumed.iter().rev().find(|(earlier, _)| *earlier == run.run).map(|(_, later)| later.clone());
    }
    Ok(history)
}

fn files(state: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let directory = runs(state);
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::io("read", directory)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(JournalError::io("read", &directory))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The run that a person names: `last`, a run, or the beginning of one, with the runs it resumed.
///
/// # Errors
/// [`JournalError::NoRun`], [`JournalError::Ambiguous`], and those of [`read`].
pub fn find(state: &Path, text: &str) -> Result<RunRecord, JournalError> {
    let run = match text {
        "last" => history(state)?.runs.pop().map(|newest| newest.run).ok_or_else(|| no_run(state, text))?,
        text => named(state, text)?,
    };
    load(state, &run)
}

fn no_run(state: &Path, text: &str) -> JournalError {
    JournalError::NoRun { run: text.to_owned(), state: state.to_owned() }
}

/// The run whose name this is, or begins so.
fn named(state: &Path, text: &str) -> Result<RunId, JournalError> {
    let runs: Vec<RunId> = files(state)?.iter().filter_map(|path| RunId::new(path.file_stem()?.to_str()?)).collect();
    let begin: Vec<&RunId> = runs.iter().filter(|run| run.as_str().starts_with(text)).collect();
    match (begin.iter().find(|run| run.as_str() == text), begin.as_slice()) {
        (Some(run), _) | (None, [run]) => Ok((*run).clone()),
        (None, []) => Err(no_run(state, text)),
        (None, many) => Err(JournalError::Ambiguous { run: text.to_owned(), count: many.len() }),
    }
}

/// The run that a person names, or the newest of those that went on with it.
///
/// # Errors
/// Those of [`find`].
pub fn find_newest(state: &Path, text: &str) -> Result<RunRecord, JournalError> {
    let runs = history(state)?.runs;
    let mut newest = match text {
        "last" => runs.last().map(|newest| newest.run.clone()).ok_or_else(|| no_run(state, text))?,
        text => named(state, text)?,
    };
    // A run is resumed by later ones alone, so one pass in their order finds the last of the chain.
    for later in runs {
        if later.resumes.as_ref() == Some(&newest) {
            newest = later.run;
        }
    }
    load(state, &newest)
}

/// Removes old runs and says which. A run that is open stays, and so does every run that a run which
/// stays has resumed.
///
/// # Errors
/// The medium.
pub fn prune(state: &Path, keep: Keep) -> Result<Vec<RunId>, JournalError> {
    let runs = history(state)?.runs;
    let newest = match keep {
        Keep::Newest(count) => runs.len().saturating_sub(count),
        // Whatever has no readable time is kept.
        Keep::Since(time) => runs
            .iter()
            .position(|run| run.started.parse::<jiff::Timestamp>().map_or(true, |started| started >= time))
            .unwrap_or(runs.len()),
    };
    let mut stays: BTreeSet<&RunId> = BTreeSet::new();
    for (at, run) in runs.iter().enumerate().rev() {
        if at >= newest || run.is_open() || stays.contains(&run.run) {
            stays.insert(&run.run);
            stays.extend(&run.resumes);
        }
    }
    let gone: Vec<RunId> = runs.iter().map(|run| &run.run).filter(|run| !stays.contains(run)).cloned().collect();
    for run in &gone {
        let path = file(state, run);
        std::fs::remove_file(&path).map_err(JournalError::io("remove", path))?;
    }
    Ok(gone)
}

/// The endpoints that runs of a stack against a service wrote or found as wanted, at any time. A run
/// that cannot be read is left out.
///
/// # Errors
/// The directory cannot be read.
pub fn applied_keys(state: &Path, stack: Option<&str>, base_url: &str) -> Result<BTreeSet<Key>, JournalError> {
    let mut applied = BTreeSet::new();
    let mut records: Vec<RunRecord> = files(state)?.iter().filter_map(|path| read(path).ok()).collect();
    records.sort_by(|a, b| (&a.header.started, &a.header.run).cmp(&(&b.header.started, &b.header.run)));
    for record in records {
        let plan = &record.header.plan;
        if plan.stack.as_deref() != stack || plan.service.base_url != base_url {
            continue;
        }
        for kept in &record.kept {
            if let Kept::Outcome(step) = kept {
                note(&mut applied, step.action, &step.key, &step.fate);
            }
        }
    }
    Ok(applied)
}

fn note(applied: &mut BTreeSet<Key>, action: ActionKind, key: &Key, fate: &Fate) {
    match (action, fate.is_done()) {
        // What we deleted ourselves is not missing.
        (ActionKind::Delete, true) => {
            applied.remove(key);
        }
        (ActionKind::Create | ActionKind::Replace | ActionKind::Mark, true) => {
            applied.insert(key.clone());
        }
        (_, false) => {}
    }
}

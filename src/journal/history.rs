use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::{load, read};
use super::{JournalError, file, runs};
use crate::model::Key;
use crate::plan::{ActionKind, Ending, Fate, Kept, Progress, RunId, RunRecord};

/// All runs of a state directory.
#[derive(Debug, Default)]
pub struct History {
    /// The runs, oldest first.
    pub runs: Vec<Summary>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, JournalError)>,
}

/// One run in short.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, where it did.
    pub ended: Option<String>,
    /// Who ran it.
    pub user: Option<String>,
    /// The stack.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
    /// The commit that the definitions came from.
    pub commit: Option<String>,
    /// What was planned.
    pub planned: Counts,
    /// Changes that are done.
    pub done: usize,
    /// How it ended.
    pub ending: Ending,
    /// The run that this one resumed.
    pub resumes: Option<RunId>,
    /// The run that this one rolled back.
    pub rolls_back: Option<RunId>,
    /// The run that went on with this one and settled it.
    pub resumed_by: Option<RunId>,
}

/// Planned changes by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Creates.
    pub create: usize,
    /// Replaces.
    pub replace: usize,
    /// Marks.
    pub mark: usize,
    /// Deletes.
    pub delete: usize,
}

/// What a prune leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest runs, so many.
    Newest(usize),
    /// Runs that began at this time or later.
    Since(jiff::Timestamp),
}

impl Summary {
    fn of(record: &RunRecord) -> Self {
        let plan = &record.header.plan;
        let count = |kind| plan.count(kind);
        let done = |progress: &Progress<'_>| matches!(progress, Progress::Fated(fate) if fate.is_done());
        Self {
            run: record.header.run.clone(),
            started: record.header.started.clone(),
            ended: record.closing.as_ref().map(|closing| closing.ended.clone()),
            user: record.header.user.clone(),
            stack: plan.stack.clone(),
            base_url: plan.service.base_url.clone(),
            commit: plan.source.commit.clone(),
            planned: Counts {
                create: count(ActionKind::Create),
                replace: count(ActionKind::Replace),
                mark: count(ActionKind::Mark),
                delete: count(ActionKind::Delete),
            },
            done: record.progress().iter().filter(|(_, progress)| done(progress)).count(),
            ending: record.ending(),
            resumes: record.header.resumes.clone(),
            rolls_back: record.header.rolls_back.clone(),
            resumed_by: None,
        }
    }

    /// Whether something is left that a resume would settle or send.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.ending != Ending::Finished && self.resumed_by.is_none()
    }
}

impl History {
    /// The newest run of a stack against a service, where it is open: an apply says so first.
    #[must_use]
    pub fn open(&self, stack: Option<&str>, base_url: &str) -> Option<&Summary> {
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
            Ok(record) => history.runs.push(Summary::of(&record)),
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
    let none = || JournalError::NoRun { run: text.to_owned(), state: state.to_owned() };
    if text == "last" {
        let newest = history(state)?.runs.pop().ok_or_else(none)?;
        return load(state, &newest.run);
    }
    let runs: Vec<RunId> = files(state)?.iter().filter_map(|path| RunId::new(path.file_stem()?.to_str()?)).collect();
    let begin: Vec<&RunId> = runs.iter().filter(|run| run.as_str().starts_with(text)).collect();
    match (begin.iter().find(|run| run.as_str() == text), begin.as_slice()) {
        (Some(run), _) | (None, [run]) => load(state, run),
        (None, []) => Err(none()),
        (None, many) => Err(JournalError::Ambiguous { run: text.to_owned(), count: many.len() }),
    }
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

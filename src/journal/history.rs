//! All runs of a state directory: the list of them, the search for one, and the removal of old ones.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{Timestamp, civil, tz::TimeZone};
use serde::Deserialize;

use super::read::{load, parse, read};
use super::{JournalError, Line, RUNS, runs};
use crate::file::{Directory, limit, open_own, read_own};
use crate::model::{Key, RunId};
use crate::plan::{ActionKind, ServiceId};
use crate::run::{ChangeResult, RunRecord, RunSummary};

/// All runs of a state directory.
#[derive(Debug, Default)]
pub struct RunHistory {
    /// The runs in the order in which they began, whatever the clock said.
    pub runs: Vec<RunSummary>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, JournalError)>,
}

/// What a prune leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The newest runs, so many.
    Newest(usize),
    /// Runs that began at this time or later.
    Since(Timestamp),
}

/// The newest run of a stack against a service, where it is open: an apply says so first. Files that
/// cannot be read are passed over.
///
/// # Errors
/// The directory cannot be read.
pub fn open_run(state: &Path, stack: Option<&str>, base_url: &str) -> Result<Option<RunSummary>, JournalError> {
    for path in files(state)?.into_iter().rev() {
        if RunHead::read(&path).is_some_and(|head| head.is_of(stack, base_url))
            && let Ok(bytes) = read_own(&path, limit::JOURNAL)
        {
            let record = if ended_well(&bytes) { None } else { parse(&path, &bytes).ok() };
            return Ok(record.map(|record| RunSummary::of(&record)).filter(RunSummary::is_open));
        }
    }
    Ok(None)
}

/// The time that a new run is named by: `now`, or just after the newest run where the clock went back.
/// Names alone put runs in their order, so they never go back.
///
/// # Errors
/// The directory cannot be read.
pub fn naming_time(state: &Path, now: Timestamp) -> Result<Timestamp, JournalError> {
    let names = files(state)?;
    let newest = names.iter().rev().find_map(|path| named_time(path.file_stem()?.to_str()?));
    let after = newest.and_then(|newest| newest.checked_add(Duration::from_millis(1)).ok());
    Ok(after.map_or(now, |after| after.max(now)))
}

/// The time in the name of a run. A name of an earlier version ends with the second, and comes after
/// every longer one of that second.
fn named_time(name: &str) -> Option<Timestamp> {
    const WIDTH: usize = "2026-11-21T05-59-56".len();
    let second = civil::DateTime::strptime("%Y-%m-%dT%H-%M-%S", name.get(..WIDTH)?).ok()?;
    let rest = name.get(WIDTH..)?.strip_prefix('-').and_then(|rest| rest.split('-').next()).unwrap_or_default();
    let is_fraction = rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds = if is_fraction { rest.parse().ok()? } else { 999 };
    let second = second.to_zoned(TimeZone::UTC).ok()?.timestamp();
    second.checked_add(Duration::from_millis(milliseconds)).ok()
}

/// Those of the runs that are of a stack against a service, oldest first.
fn heads(paths: Vec<PathBuf>, stack: Option<&str>, base_url: &str) -> Vec<(RunHead, PathBuf)> {
    let mut heads: Vec<_> = paths.into_iter().filter_map(|path| Some((RunHead::read(&path)?, path))).collect();
    heads.retain(|(head, _)| head.is_of(stack, base_url));
    heads.sort_by(|(a, _), (b, _)| a.run.cmp(&b.run));
    heads
}

/// Whether the closing line is there, has no interruption, and no write stayed in doubt. To read
/// the whole run takes a hundred times as long, so only the others are.
fn ended_well(bytes: &[u8]) -> bool {
    let last = bytes.strip_suffix(b"\n").and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
    let closed = last.and_then(|line| serde_json::from_slice(line).ok());
    let in_doubt = memchr::memmem::find(bytes, b"\"in_doubt\"").is_some();
    matches!(closed, Some(Line::Closing(closing)) if !closing.interrupted) && !in_doubt
}

/// What the first line of a run says of whose it is; the plan in it is passed over.
#[derive(Deserialize)]
struct RunHead {
    run: RunId,
    plan: PlanHead,
}

#[derive(Deserialize)]
struct PlanHead {
    #[serde(default)]
    stack: Option<String>,
    service: ServiceId,
}

impl RunHead {
    fn read(path: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct First {
            header: Second,
        }
        #[derive(Deserialize)]
        struct Second {
            header: RunHead,
        }
        let mut line = Vec::new();
        let file = BufReader::new(open_own(path).ok()?);
        file.take(limit::JOURNAL).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice::<First>(&line).ok().map(|first| first.header.header)
    }

    fn is_of(&self, stack: Option<&str>, base_url: &str) -> bool {
        self.plan.stack.as_deref() == stack && self.plan.service.base_url == base_url
    }
}

/// Reads all runs in short.
///
/// # Errors
/// The directory cannot be read. A single file that cannot be read is part of the answer.
pub fn history(state: &Path) -> Result<RunHistory, JournalError> {
    let mut history = RunHistory::default();
    for path in files(state)? {
        match read(&path) {
            Ok(record) => history.runs.push(RunSummary::of(&record)),
            Err(error) => history.unreadable.push((path, error)),
        }
    }
    history.runs.sort_by(|a, b| a.run.cmp(&b.run));
    let resumed: Vec<(RunId, RunId)> =
        history.runs.iter().filter_map(|run| Some((run.resumes.clone()?, run.run.clone()))).collect();
    for run in &mut history.runs {
        run.resumed_by = resumed.iter().rev().find(|(earlier, _)| *earlier == run.run).map(|(_, later)| later.clone());
    }
    Ok(history)
}

fn files(state: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let Some(directory) = Directory::find_private(state, RUNS)? else { return Ok(Vec::new()) };
    let paths = directory.names()?.into_iter().map(|name| runs(state).join(name));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    paths.sort();
    Ok(paths)
}

/// The run that a person names: `last`, a run, or the beginning of one, with the runs it resumed. For a
/// command that shows runs: `last` is the newest of all.
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

/// Whose runs are meant by `last`.
#[derive(Debug, Clone)]
pub struct RunOwner {
    /// The stack, if there is one.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
}

/// The same for a command that changes something: `last` is the newest of one stack on one service.
///
/// # Errors
/// [`JournalError::NoLast`], and those of [`find`].
pub fn find_of(state: &Path, text: &str, whose: &RunOwner) -> Result<RunRecord, JournalError> {
    load(state, &run_of(state, text, whose)?)
}

fn run_of(state: &Path, text: &str, whose: &RunOwner) -> Result<RunId, JournalError> {
    match text {
        "last" => last(state, whose),
        text => named(state, text),
    }
}

fn last(state: &Path, RunOwner { stack, base_url }: &RunOwner) -> Result<RunId, JournalError> {
    const SHOWN: usize = 5;
    let paths = files(state)?;
    if let Some((newest, _)) = heads(paths.clone(), stack.as_deref(), base_url).pop() {
        return Ok(newest.run);
    }
    let whose =
        |stack: Option<&str>| stack.map_or_else(|| "without a stack".to_owned(), |stack| format!("of stack `{stack}`"));
    let others: BTreeSet<String> = paths
        .iter()
        .filter_map(|path| RunHead::read(path))
        .map(|head| format!("{} on {}", whose(head.plan.stack.as_deref()), head.plan.service.base_url))
        .collect();
    let shown = others.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let there = match others.len() {
        0 => String::new(),
        count if count > SHOWN => format!("; there are runs {shown} and {} more", count - SHOWN),
        _ => format!("; there are runs {shown}"),
    };
    let (stack, base_url) = (whose(stack.as_deref()), base_url.clone());
    Err(JournalError::NoLast { stack, base_url, state: state.to_owned(), there })
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
/// Those of [`find_of`].
pub fn find_newest(state: &Path, text: &str, whose: &RunOwner) -> Result<RunRecord, JournalError> {
    let runs = history(state)?.runs;
    let mut newest = run_of(state, text, whose)?;
    // Each run is passed once, so a circle of altered files ends as well.
    for _ in 0..runs.len() {
        let Some(later) = runs.iter().rfind(|run| run.resumes.as_ref() == Some(&newest)) else { break };
        newest = later.run.clone();
    }
    load(state, &newest)
}

/// Removes old runs and says which. A run that is open stays, and so does every run that a run which
/// stays has resumed.
///
/// # Errors
/// The medium.
pub fn prune(state: &Path, keep: Retention) -> Result<Vec<RunId>, JournalError> {
    let runs = history(state)?.runs;
    let newest = match keep {
        Retention::Newest(count) => runs.len().saturating_sub(count),
        // Whatever has no readable time is kept.
        Retention::Since(time) => runs
            .iter()
            .position(|run| run.started.parse::<Timestamp>().map_or(true, |started| started >= time))
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
    let directory = Directory::find_private(state, RUNS)?;
    for (run, directory) in gone.iter().zip(directory.iter().cycle()) {
        directory.remove(Path::new(&format!("{run}.jsonl")))?;
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
    for (_, path) in heads(files(state)?, stack, base_url) {
        let Ok(bytes) = read_own(&path, limit::JOURNAL) else { continue };
        // Intents are nearly all of a file, and say nothing here.
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"outcome\""));
        for line in lines.filter_map(|line| serde_json::from_slice(line).ok()) {
            if let Line::Outcome(step) = line {
                note(&mut applied, step.action, &step.key, &step.result);
            }
        }
    }
    Ok(applied)
}

fn note(applied: &mut BTreeSet<Key>, action: ActionKind, key: &Key, result: &ChangeResult) {
    match (action, result.is_done()) {
        // What we deleted ourselves is not missing.
        (ActionKind::Delete, true) => {
            applied.remove(key);
        }
        (ActionKind::Create | ActionKind::Replace | ActionKind::Annotate, true) => {
            applied.insert(key.clone());
        }
        (_, false) => {}
    }
}

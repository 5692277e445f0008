//! Finds runs: by owner, by the name a user gives, the last run of a stack, and the last run that resumed another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::history::{RunHistory, history};
use super::read::{load, load_present, parse};
use super::{JournalError, Line, lock, stored};
use crate::model::RunId;
use crate::plan::ServiceId;
use crate::run::{RunHeader, RunRecord, RunSummary};
use crate::state::StateStore;

/// The stack, service and environment whose runs are searched.
#[derive(Debug, Clone)]
pub struct RunOwner {
    /// The stack, if there is one.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
    /// The embedded service, as `RunHeader` names it.
    pub sandbox: Option<String>,
    /// The environment; `None` for all of them.
    pub environment: Option<String>,
}

impl RunOwner {
    /// The owner of a run in any environment.
    pub(super) fn of(header: &RunHeader) -> Self {
        let (stack, base_url) = (header.plan.stack.clone(), header.plan.service.base_url.clone());
        RunOwner { stack, base_url, sandbox: header.sandbox.clone(), environment: None }
    }
}

/// The owner in the first line of a run; the rest of its plan is skipped.
#[derive(Deserialize)]
pub(super) struct RunHead {
    run: RunId,
    sandbox: Option<String>,
    plan: PlanHead,
}

#[derive(Deserialize)]
struct PlanHead {
    stack: Option<String>,
    service: ServiceId,
    #[serde(default)]
    source: SourceHead,
}

#[derive(Default, Deserialize)]
struct SourceHead {
    environment: Option<String>,
}

impl RunHead {
    /// Reads the owner of a run. If its first line cannot be read alone, the whole file is parsed.
    fn read(state: &StateStore, path: &Path) -> Result<Self, JournalError> {
        if let Some(head) = stored::first_line(state, path).as_deref().and_then(header_of) {
            return Ok(head);
        }
        let RunHeader { run, sandbox, plan, .. } = parse(path, &stored::bytes(state, path)?)?.header;
        let source = SourceHead { environment: plan.source.environment };
        Ok(Self { run, sandbox, plan: PlanHead { stack: plan.stack, service: plan.service, source } })
    }

    pub(super) fn is_of(&self, RunOwner { stack, base_url, sandbox, environment }: &RunOwner) -> bool {
        let is_of_environment = environment.is_none() || self.plan.source.environment == *environment;
        let is_of_service = self.plan.service.base_url == *base_url && self.sandbox == *sandbox;
        self.plan.stack == *stack && is_of_service && is_of_environment
    }
}

/// The fields `H` of the header in a first line.
pub(super) fn header_of<H: DeserializeOwned>(line: &[u8]) -> Option<H> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum First<H> {
        Header { header: H },
    }
    serde_json::from_slice(line).ok().map(|First::Header { header }| header)
}

/// Passes over an unreadable run that belongs to another stack or sent nothing; any other is an error.
pub(super) fn pass_over(path: &Path, error: JournalError, stack: Option<&str>) -> Result<(), JournalError> {
    match error {
        JournalError::NoHeader(_) => Ok(()),
        _ if !stored::is_named_for(path, stack) => Ok(()),
        error => Err(JournalError::LaterUnreadable { path: path.to_owned(), source: Box::new(error) }),
    }
}

/// The newest run of a stack against a service if it is open: an apply reports it first. `None` if a later run cannot
/// be read.
///
/// # Errors
/// The directory cannot be read.
pub fn open_run(state: &StateStore, owner: &RunOwner) -> Result<Option<RunSummary>, JournalError> {
    let newest = match newest_of(state, owner) {
        Err(JournalError::LaterUnreadable { .. }) => None,
        newest => newest?,
    };
    let Some((_, path)) = newest else { return Ok(None) };
    let Ok(bytes) = stored::bytes(state, &path) else { return Ok(None) };
    let record = if ended_well(&bytes) { None } else { parse(&path, &bytes).ok() };
    Ok(record.map(|record| RunSummary::of(&record)).filter(RunSummary::is_open))
}

/// Whether the run has a closing line without interruption and no write in doubt. Reading a whole run takes a hundred
/// times as long, so only runs that fail this check are read.
fn ended_well(bytes: &[u8]) -> bool {
    let last = bytes.strip_suffix(b"\n").and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
    let closed = last.and_then(|line| serde_json::from_slice(line).ok());
    let in_doubt = memchr::memmem::find(bytes, b"\"in_doubt\"").is_some();
    matches!(closed, Some(Line::Closing(closing)) if !closing.interrupted) && !in_doubt
}

/// The newest of the runs of a stack against a service.
///
/// # Errors
/// A later run of the stack, or the directory, cannot be read.
fn newest_of(state: &StateStore, owner: &RunOwner) -> Result<Option<(RunHead, PathBuf)>, JournalError> {
    let stack = owner.stack.as_deref();
    for path in stored::files_of(state, stack)?.into_iter().rev() {
        match RunHead::read(state, &path) {
            Ok(head) if head.is_of(owner) => return Ok(Some((head, path))),
            Ok(_) => {}
            Err(error) => pass_over(&path, error, stack)?,
        }
    }
    Ok(None)
}

/// Checks that a run which has just taken the lock is the last of its stack, and that the run it resumes or undoes was
/// not superseded or resumed: other runs could begin and end before the lock was taken.
///
/// # Errors
/// [`JournalError::Overtaken`], [`JournalError::Superseded`], [`JournalError::Resumed`]; those of [`find_newest`].
pub(super) fn check_order(state: &StateStore, header: &RunHeader) -> Result<(), JournalError> {
    let owner = RunOwner::of(header);
    // The run that begins last has the last name. A run without a time in its name was renamed by a user.
    let order = |run: &RunId| (run.time(), run.to_string());
    let is_later = |run: &RunId| order(run) > order(&header.run);
    match newest_of(state, &owner) {
        Ok(Some((RunHead { run, .. }, _))) if is_later(&run) => {
            return Err(JournalError::Overtaken { run, stack: lock::protected(header) });
        }
        // All runs with a later name could be read, so the unreadable one is earlier.
        Err(JournalError::LaterUnreadable { path, .. }) if !stored::run(&path).is_some_and(|run| is_later(&run)) => {}
        newest => _ = newest?,
    }
    if let Some(run) = &header.rolls_back {
        let whole = find_whole(state, run.as_str(), &owner)?;
        if whole.run() != run {
            return Err(JournalError::Resumed { run: run.clone(), by: whole.run().clone() });
        }
    }
    let Some(run) = &header.resumes else { return Ok(()) };
    let newest = find_newest(state, run.as_str(), &owner)?;
    match newest.run() == run {
        true => Ok(()),
        false => Err(JournalError::Superseded { run: run.clone(), by: newest.run().clone() }),
    }
}

/// The run that a user names (`last`, an id, or the beginning of one), with the runs it resumed as far as they exist.
/// For commands that show runs: `last` is the newest run of all stacks.
///
/// # Errors
/// [`JournalError::NoRun`], [`JournalError::Ambiguous`], and those of [`load`].
pub fn find(state: &StateStore, text: &str) -> Result<RunRecord, JournalError> {
    let run = match text {
        "last" => newest(state)?.ok_or_else(|| no_run(state, text))?,
        text => named(state, text)?,
    };
    load_present(state, &run).map(|(record, _)| record)
}

/// The newest run that began.
///
/// # Errors
/// The newest run cannot be read: an earlier one is not used in its place.
fn newest(state: &StateStore) -> Result<Option<RunId>, JournalError> {
    for path in stored::files(state)?.into_iter().rev() {
        match stored::bytes(state, &path).and_then(|bytes| parse(&path, &bytes)) {
            Ok(record) => return Ok(Some(record.header.run)),
            // The store does not answer, so it is unknown which run is the newest.
            Err(error @ JournalError::State(_)) => return Err(error),
            Err(JournalError::NoHeader(_)) => {}
            Err(error) => return Err(JournalError::LaterUnreadable { path, source: Box::new(error) }),
        }
    }
    Ok(None)
}

/// The run that a rollback undoes, with the runs that resumed it; `last` is the newest of one stack on one service.
///
/// # Errors
/// [`JournalError::NoLast`], and those of [`find`].
pub fn find_whole(state: &StateStore, text: &str, whose: &RunOwner) -> Result<RunRecord, JournalError> {
    let RunHistory { runs, unreadable } = history(state)?;
    let newest = last_part(&runs, run_of(state, text, whose)?);
    if runs.iter().any(|run| run.run == newest && !run.unfinished.is_empty()) {
        require_later(state, &newest, unreadable, whose)?;
    }
    load(state, &newest)
}

/// The run that a user names, or the newest run that resumed it.
///
/// # Errors
/// Those of [`find_whole`].
pub fn find_newest(state: &StateStore, text: &str, whose: &RunOwner) -> Result<RunRecord, JournalError> {
    let RunHistory { runs, unreadable } = history(state)?;
    let newest = last_part(&runs, run_of(state, text, whose)?);
    if let Some(by) = runs.iter().find(|run| run.run == newest).and_then(|run| run.superseded_by.clone()) {
        return Err(JournalError::Superseded { run: newest, by });
    }
    require_later(state, &newest, unreadable, whose)?;
    load(state, &newest)
}

fn run_of(state: &StateStore, text: &str, whose: &RunOwner) -> Result<RunId, JournalError> {
    match text {
        "last" => last(state, whose),
        text => named(state, text),
    }
}

fn last(state: &StateStore, owner: &RunOwner) -> Result<RunId, JournalError> {
    const SHOWN: usize = 5;
    if let Some((newest, _)) = newest_of(state, owner)? {
        return Ok(newest.run);
    }
    let whose = |stack: Option<&str>, environment: Option<&str>| {
        let stack = stack.map_or_else(|| "without a stack".to_owned(), |stack| format!("of stack `{stack}`"));
        stack + &environment.map(|environment| format!(" in environment `{environment}`")).unwrap_or_default()
    };
    let others: BTreeSet<String> = stored::files(state)?
        .into_iter()
        .filter_map(|path| RunHead::read(state, &path).ok())
        .map(|head| {
            let whose = whose(head.plan.stack.as_deref(), head.plan.source.environment.as_deref());
            match head.sandbox {
                Some(sandbox) => format!("{whose} in the sandbox {sandbox}"),
                None => format!("{whose} on {}", head.plan.service.base_url),
            }
        })
        .collect();
    let shown = others.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let there = match others.len() {
        0 => String::new(),
        count if count > SHOWN => format!("; there are runs {shown} and {} more", count - SHOWN),
        _ => format!("; there are runs {shown}"),
    };
    let stack = whose(owner.stack.as_deref(), owner.environment.as_deref());
    let base_url = owner.base_url.clone();
    Err(JournalError::NoLast { stack, base_url, state: state.place(), there })
}

fn no_run(state: &StateStore, text: &str) -> JournalError {
    JournalError::NoRun { run: text.to_owned(), state: state.place() }
}

/// The run with this name, or the only one whose name begins with it.
fn named(state: &StateStore, text: &str) -> Result<RunId, JournalError> {
    let runs: Vec<RunId> = stored::files(state)?.iter().filter_map(|path| stored::run(path)).collect();
    let begin: Vec<&RunId> = runs.iter().filter(|run| run.as_str().starts_with(text)).collect();
    match (begin.iter().find(|run| run.as_str() == text), begin.as_slice()) {
        (Some(run), _) | (None, [run]) => Ok((*run).clone()),
        (None, []) => Err(no_run(state, text)),
        (None, many) => Err(JournalError::Ambiguous { run: text.to_owned(), count: many.len() }),
    }
}

/// Fails if an unreadable run may have resumed this run.
fn require_later(
    state: &StateStore,
    run: &RunId,
    unreadable: Vec<(PathBuf, JournalError)>,
    whose: &RunOwner,
) -> Result<(), JournalError> {
    let begun = stored::path(state, run);
    let is_other = |path: &Path| RunHead::read(state, path).is_ok_and(|head| !head.is_of(whose));
    let mut later = unreadable.into_iter().filter(|(path, _)| *path > begun && !is_other(path));
    later.try_for_each(|(path, error)| pass_over(&path, error, whose.stack.as_deref()))
}

/// The last run in the chain that resumed a run; the run itself if it was not resumed.
fn last_part(runs: &[RunSummary], mut run: RunId) -> RunId {
    // At most one step per run, so that a circle in altered files ends too.
    for _ in 0..runs.len() {
        let Some(later) = runs.iter().rfind(|later| later.resumes.as_ref() == Some(&run)) else { break };
        run = later.run.clone();
    }
    run
}

//! All runs of a state store: the list of them, the search for one, and the removal of old ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::read::{load, load_present, parse};
use super::{JournalError, Line, lock, stored};
use crate::model::{Key, RunId};
use crate::plan::{ActionKind, BlockReason, ServiceId};
use crate::run::{ChangeResult, RunHeader, RunRecord, RunSummary};
use crate::state::StateStore;

/// All runs of a state store.
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
    Since {
        /// The time.
        time: Timestamp,
        /// What time it is: a run that began later has a wrong time, and stays.
        now: Timestamp,
    },
}

/// The newest run of a stack against a service, where it is open: an apply says so first. Nothing where a later one
/// cannot be read.
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

/// The time that a new run is named by: `now`, or just after the newest run where the clock went back.
/// Names alone put runs in their order, so they never go back.
///
/// # Errors
/// The directory cannot be read.
pub fn naming_time(state: &StateStore, now: Timestamp) -> Result<Timestamp, JournalError> {
    let names = stored::files(state)?;
    let newest = names.iter().rev().find_map(|path| stored::run(path)?.time());
    let after = newest.and_then(|newest| newest.checked_add(Duration::from_millis(1)).ok());
    Ok(after.map_or(now, |after| after.max(now)))
}

/// The newest of the runs of a stack against a service.
///
/// # Errors
/// A later run of the stack cannot be read; the directory.
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

/// Checks that a run which has the lock is the last of its stack, and that what it resumes or undoes is as it was: until then
/// other runs could begin and end.
///
/// # Errors
/// [`JournalError::Overtaken`], [`JournalError::Superseded`], [`JournalError::Resumed`]; those of [`find_newest`].
pub(super) fn check_order(state: &StateStore, header: &RunHeader) -> Result<(), JournalError> {
    let owner = RunOwner::of(header);
    // Names put runs in their order: the one that begins last has the last name. What has no time in it was renamed by hand.
    let order = |run: &RunId| (run.time(), run.to_string());
    let is_later = |run: &RunId| order(run) > order(&header.run);
    match newest_of(state, &owner) {
        Ok(Some((RunHead { run, .. }, _))) if is_later(&run) => {
            return Err(JournalError::Overtaken { run, stack: lock::protected(header) });
        }
        // What is later has the later names, and all of them could be read.
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

/// Whether a run that cannot be read is none of the stack, or sent nothing.
fn pass_over(path: &Path, error: JournalError, stack: Option<&str>) -> Result<(), JournalError> {
    match error {
        JournalError::NoHeader(_) => Ok(()),
        _ if !stored::is_named_for(path, stack) => Ok(()),
        error => Err(JournalError::LaterUnreadable { path: path.to_owned(), source: Box::new(error) }),
    }
}

/// The name of a new run: `time` is that of [`naming_time`], so that names are in the order of the runs.
pub fn run_name(time: Timestamp, stack: Option<&str>, chance: u64) -> RunId {
    let time = time.strftime("%Y-%m-%dT%H-%M-%S-%3f").to_string();
    let text = format!("{time}-{}-{:04x}", stored::named_stack(stack), chance & 0xffff);
    // Digits, letters and dashes of at most 70 characters: always an id.
    RunId::new(&text).unwrap_or_else(|| unreachable!("`{text}` is an id"))
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
    /// That of a run. Where its first line cannot be read, the whole says why, or of whom it is.
    fn read(state: &StateStore, path: &Path) -> Result<Self, JournalError> {
        if let Some(head) = stored::first_line(state, path).as_deref().and_then(Self::of) {
            return Ok(head);
        }
        let RunHeader { run, sandbox, plan, .. } = parse(path, &stored::bytes(state, path)?)?.header;
        let source = SourceHead { environment: plan.source.environment };
        Ok(Self { run, sandbox, plan: PlanHead { stack: plan.stack, service: plan.service, source } })
    }

    fn of(line: &[u8]) -> Option<Self> {
        header_of(line)
    }

    fn is_of(&self, RunOwner { stack, base_url, sandbox, environment }: &RunOwner) -> bool {
        let is_of_environment = environment.is_none() || self.plan.source.environment == *environment;
        let is_of_service = self.plan.service.base_url == *base_url && self.sandbox == *sandbox;
        self.plan.stack == *stack && is_of_service && is_of_environment
    }
}

/// What is read of the header in a first line.
fn header_of<H: DeserializeOwned>(line: &[u8]) -> Option<H> {
    #[derive(Deserialize)]
    struct First<H> {
        header: Second<H>,
    }
    #[derive(Deserialize)]
    struct Second<H> {
        header: H,
    }
    serde_json::from_slice::<First<H>>(line).ok().map(|first| first.header.header)
}

/// What the first line of a run says that it was to do.
#[derive(Deserialize)]
struct PlannedRun {
    run: RunId,
    resumes: Option<RunId>,
    plan: PlannedChanges,
}

#[derive(Deserialize)]
struct PlannedChanges {
    changes: Vec<PlannedChange>,
    #[serde(default)]
    blocked: Vec<PlannedBlock>,
}

#[derive(Deserialize)]
struct PlannedChange {
    key: Key,
    action: BTreeMap<ActionKind, IgnoredAny>,
}

#[derive(Deserialize)]
struct PlannedBlock {
    reason: BlockReason,
    change: Option<PlannedChange>,
}

impl PlannedChanges {
    /// What was to be created, or could not be because it was blocked. What somebody else made was there.
    fn creates(self) -> BTreeSet<Key> {
        let missing = self.blocked.into_iter().filter(|held| held.reason.leaves_missing());
        let all = self.changes.into_iter().chain(missing.filter_map(|held| held.change));
        all.filter(|change| change.action.contains_key(&ActionKind::Create)).map(|change| change.key).collect()
    }
}

/// Reads all runs in short.
///
/// # Errors
/// The directory cannot be read. A single file that cannot be read is part of the answer.
pub fn history(state: &StateStore) -> Result<RunHistory, JournalError> {
    history_of(state, stored::files(state)?)
}

/// The same of what can have continued a run: the later ones of its stack, and itself.
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

/// Says of all runs, in their order, which later ones settled them.
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

/// Each run that a later one superseded, with that.
fn superseded(runs: &[RunSummary]) -> Vec<(usize, RunId)> {
    // What is resumed is a plan of then, so a run made something after those alone that are before both.
    fn planned(run: &RunSummary) -> &RunId {
        run.resumes.as_ref().map_or(&run.run, |resumed| resumed.min(&run.run))
    }
    fn of(run: &RunSummary) -> (&Option<String>, &str, &Option<String>) {
        (&run.stack, &run.base_url, &run.sandbox)
    }
    let mut makers: Vec<&RunSummary> = runs.iter().filter(|run| !run.taken_over.is_empty()).collect();
    makers.sort_by_key(|run| planned(run));
    let mut makers = makers.into_iter().rev().peekable();
    // Of what later runs made, the last that did.
    let mut made = BTreeMap::<_, &RunId>::new();
    let (mut superseded, mut rolled_back) = (Vec::new(), BTreeMap::<&RunId, &RunId>::new());
    for (at, run) in runs.iter().enumerate().rev() {
        let rollback = rolled_back.get(&run.run).copied();
        rolled_back.extend(run.rolls_back.as_ref().filter(|_| run.done > 0).map(|undone| (undone, &run.run)));
        // What is finished leaves nothing that a later run could make, and nearly every run is.
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
        // A run resumes earlier ones alone, unless its file was altered.
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

/// The run that a person names: `last`, a run, or the beginning of one, with the runs it resumed, as far as they are there.
/// For a command that shows runs: `last` is the newest of all.
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
/// It cannot be read: an earlier one is not taken for it.
fn newest(state: &StateStore) -> Result<Option<RunId>, JournalError> {
    for path in stored::files(state)?.into_iter().rev() {
        match stored::bytes(state, &path).and_then(|bytes| parse(&path, &bytes)) {
            Ok(record) => return Ok(Some(record.header.run)),
            // The store does not answer: which run is the newest is not known.
            Err(error @ JournalError::State(_)) => return Err(error),
            Err(JournalError::NoHeader(_)) => {}
            Err(error) => return Err(JournalError::LaterUnreadable { path, source: Box::new(error) }),
        }
    }
    Ok(None)
}

/// Whose runs are meant.
#[derive(Debug, Clone)]
pub struct RunOwner {
    /// The stack, if there is one.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
    /// The embedded service, as `RunHeader` names it.
    pub sandbox: Option<String>,
    /// The environment; nothing for all of them.
    pub environment: Option<String>,
}

impl RunOwner {
    /// The owner of a run, whatever its environment.
    pub(super) fn of(header: &RunHeader) -> Self {
        let (stack, base_url) = (header.plan.stack.clone(), header.plan.service.base_url.clone());
        RunOwner { stack, base_url, sandbox: header.sandbox.clone(), environment: None }
    }
}

/// The run that a rollback undoes, with what went on with it: `last` is the newest of one stack on one service.
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

/// The run whose name this is, or begins so.
fn named(state: &StateStore, text: &str) -> Result<RunId, JournalError> {
    let runs: Vec<RunId> = stored::files(state)?.iter().filter_map(|path| stored::run(path)).collect();
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

/// Refuses unreadable runs that may have resumed a run.
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

/// The last of the runs that went on with a run; itself, where it was not resumed.
fn last_part(runs: &[RunSummary], mut run: RunId) -> RunId {
    // Each run is passed once, so a circle of altered files ends as well.
    for _ in 0..runs.len() {
        let Some(later) = runs.iter().rfind(|later| later.resumes.as_ref() == Some(&run)) else { break };
        run = later.run.clone();
    }
    run
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

/// What the runs of a store last did with each endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastAction {
    /// When, in the order of the runs.
    pub at: Timestamp,
    /// When, by the clock of the machine.
    pub ended: Timestamp,
    /// Whether the endpoint was in place afterwards: not where it was deleted, or where its create was not made.
    pub left_in_place: bool,
}

/// What the runs of a stack against a service last did.
#[derive(Debug, Default)]
pub struct LastActions {
    /// With each object, as far as its presence is concerned.
    pub of: BTreeMap<Key, LastAction>,
    /// The newest run that cannot be read, or not whole, and may be one of them.
    pub unread: Option<RunId>,
}

/// How the lines of a run begin.
const LINES: [&[u8]; 4] = [b"{\"header\"", b"{\"intent\"", b"{\"outcome\"", b"{\"closing\""];

/// What the runs of a stack against a service last did.
///
/// # Errors
/// The directory cannot be read.
pub fn last_actions(state: &StateStore, owner: &RunOwner) -> Result<LastActions, JournalError> {
    let LastActions { of: mut last, mut unread } = LastActions::default();
    // When the first of the runs began that a run resumed.
    let mut origins: BTreeMap<RunId, Timestamp> = BTreeMap::new();
    let may_be_of = |line: &[u8]| RunHead::of(line).is_none_or(|head| head.is_of(owner));
    stored::each_of(state, owner.stack.as_deref(), may_be_of, |path, bytes| {
        let mut pass = |error| match pass_over(&path, error, owner.stack.as_deref()) {
            Ok(()) => {}
            Err(_) => unread = unread.take().max(stored::run(&path)),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return pass(error),
        };
        let lines = || bytes.split(|byte| *byte == b'\n');
        let Some(PlannedRun { run, resumes, plan }) = lines().next().and_then(header_of) else {
            return parse(&path, &bytes).err().into_iter().for_each(pass);
        };
        let begun = run.time().unwrap_or(Timestamp::MIN);
        let origin = resumes.as_ref().and_then(|earlier| origins.get(earlier).copied().or_else(|| earlier.time()));
        let origin = origin.unwrap_or(begun);
        origins.insert(run, origin);
        let mut not_made = plan.creates();
        let is_closed = lines().rfind(|line| !line.is_empty()).is_some_and(|line| line.starts_with(b"{\"closing\""));
        // Intents are nearly all of a file. Only a run that was killed leaves one without its result.
        let says = |line: &&[u8]| line.starts_with(b"{\"outcome\"") || (!is_closed && line.starts_with(b"{\"intent\""));
        let is_line = |line: &[u8]| line.is_empty() || LINES.iter().any(|beginning| line.starts_with(beginning));
        let mut are_whole = lines().all(is_line);
        for line in lines().filter(says) {
            let Ok(line) = serde_json::from_slice(line) else {
                are_whole = false;
                continue;
            };
            match line {
                Line::Outcome(step) => {
                    let step = step.into_owned();
                    let Some(left_in_place) = left_in_place(step.action, &step.result) else { continue };
                    not_made.remove(&step.key);
                    let ended = step.ended.unwrap_or(begun);
                    // What the resumed run had made is as old as that.
                    let earlier = resumes.as_ref().filter(|_| step.started.is_none()).and_then(RunId::time);
                    let at = earlier.unwrap_or(ended.max(begun));
                    let is_older = |known: &LastAction| earlier.is_some() && known.at > at;
                    if !last.get(&step.key).is_some_and(is_older) {
                        last.insert(step.key, LastAction { at, ended, left_in_place });
                    }
                }
                // Whether it took effect is not known: it does not prove that another client deleted it.
                Line::Intent(intent)
                    if matches!(intent.action, ActionKind::Create | ActionKind::Recreate | ActionKind::Delete) =>
                {
                    last.insert(intent.into_owned().key, LastAction { at: begun, ended: begun, left_in_place: false });
                }
                _ => {}
            }
        }
        // What it did not get to was missing before it. A resume that was killed need not say what was made already.
        let is_made = |known: &LastAction| known.left_in_place && origin < begun && known.at >= origin;
        for key in not_made {
            if !last.get(&key).is_some_and(is_made) {
                last.insert(key, LastAction { at: begun, ended: begun, left_in_place: false });
            }
        }
        if !are_whole {
            parse(&path, &bytes).err().into_iter().for_each(pass);
        }
    })?;
    Ok(LastActions { of: last, unread })
}

/// Whether an endpoint was in place after a step; nothing where the step does not show it.
fn left_in_place(action: ActionKind, result: &ChangeResult) -> Option<bool> {
    match action {
        ActionKind::Delete => (result.is_done() || result.may_have_taken_effect()).then_some(false),
        ActionKind::Create => match result {
            ChangeResult::Skipped { .. } => None,
            result => Some(result.is_done()),
        },
        // It may be between its delete and its create.
        ActionKind::Recreate if result.is_in_doubt() => Some(false),
        ActionKind::Replace | ActionKind::Recreate | ActionKind::Annotate => result.is_done().then_some(true),
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

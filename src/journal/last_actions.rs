//! What the runs of a stack last did with each object: whether a run or another client deleted a missing object.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::read::parse;
use super::search::{RunHead, RunOwner, header_of, pass_over};
use super::{JournalError, Line, stored};
use crate::model::{Key, RunId};
use crate::plan::{ActionKind, BlockReason};
use crate::run::ChangeResult;
use crate::state::StateStore;

/// What the runs of a stack last did with one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastAction {
    /// The time of the action in the order of the runs.
    pub at: Timestamp,
    /// The time of the action by the clock of the machine.
    pub ended: Timestamp,
    /// Whether the object existed afterwards: false after a delete, or where its create was not made.
    pub left_in_place: bool,
}

/// What the runs of a stack against a service last did.
#[derive(Debug, Default)]
pub struct LastActions {
    /// The last action on each object that affects whether it exists.
    pub of: BTreeMap<Key, LastAction>,
    /// The newest run that may belong to the stack but cannot be read completely.
    pub unread: Option<RunId>,
}

/// How the lines of a run begin.
const LINES: [&[u8]; 4] = [b"{\"header\"", b"{\"intent\"", b"{\"outcome\"", b"{\"closing\""];

/// The plan in the first line of a run, as far as it is needed here.
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
    /// The creates of the plan, blocked ones included unless the object already existed.
    fn creates(self) -> BTreeSet<Key> {
        let missing = self.blocked.into_iter().filter(|held| held.reason.leaves_missing());
        let all = self.changes.into_iter().chain(missing.filter_map(|held| held.change));
        all.filter(|change| change.action.contains_key(&ActionKind::Create)).map(|change| change.key).collect()
    }
}

/// What the runs of a stack against a service last did.
///
/// # Errors
/// The directory cannot be read.
pub fn last_actions(state: &StateStore, owner: &RunOwner) -> Result<LastActions, JournalError> {
    let LastActions { of: mut last, mut unread } = LastActions::default();
    // For each run, when the first run of its chain of resumes began.
    let mut origins: BTreeMap<RunId, Timestamp> = BTreeMap::new();
    let may_be_of = |line: &[u8]| header_of(line).is_none_or(|head: RunHead| head.is_of(owner));
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
        // Most lines are intents. Only a killed run leaves an intent without its result.
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
                    // A step without a start was made by the resumed run, so it is as old as that run.
                    let earlier = resumes.as_ref().filter(|_| step.started.is_none()).and_then(RunId::time);
                    let at = earlier.unwrap_or(ended.max(begun));
                    let is_older = |known: &LastAction| earlier.is_some() && known.at > at;
                    if !last.get(&step.key).is_some_and(is_older) {
                        last.insert(step.key, LastAction { at, ended, left_in_place });
                    }
                }
                // It may not have taken effect, so a missing object does not prove a delete by another client.
                Line::Intent(intent)
                    if matches!(intent.action, ActionKind::Create | ActionKind::Recreate | ActionKind::Delete) =>
                {
                    last.insert(intent.into_owned().key, LastAction { at: begun, ended: begun, left_in_place: false });
                }
                _ => {}
            }
        }
        // An object whose create was not reached was missing. A killed resume may not list the creates of the run it
        // resumed.
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

/// Whether the object existed after a step; `None` if the step does not show it.
fn left_in_place(action: ActionKind, result: &ChangeResult) -> Option<bool> {
    match action {
        ActionKind::Delete => (result.is_done() || result.may_have_taken_effect()).then_some(false),
        ActionKind::Create => match result {
            ChangeResult::Skipped { .. } => None,
            result => Some(result.is_done()),
        },
        // The delete may be done and the create not.
        ActionKind::Recreate if result.is_in_doubt() => Some(false),
        ActionKind::Replace | ActionKind::Recreate | ActionKind::Annotate => result.is_done().then_some(true),
    }
}

#[cfg(test)]
#[path = "last_actions_tests.rs"]
mod tests;

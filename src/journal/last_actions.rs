//! What the runs of a stack last did with each object: what is missing was deleted by a run, or by somebody else.

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

/// What the runs of a stack against a service last did.
///
/// # Errors
/// The directory cannot be read.
pub fn last_actions(state: &StateStore, owner: &RunOwner) -> Result<LastActions, JournalError> {
    let LastActions { of: mut last, mut unread } = LastActions::default();
    // When the first of the runs began that a run resumed.
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
#[path = "last_actions_tests.rs"]
mod tests;

//! What is known of a stack's past besides what the service shows: from git and the commits that live
//! objects name, from the drift state that a call names, and, where git cannot decide, from the runs
//! of this machine. It is asked only where something is missing.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::cli::commits::base;
use crate::cli::context::Context;
use crate::cli::exit_status::CommandError;
use crate::cli::plan_request::PlanRequest;
use crate::cli::stack::Stack;
use crate::cli::state;
use crate::drift::MissingCause;
use crate::git::Repository;
use crate::journal;
use crate::model::Key;
use crate::plan::Plan;

/// Lines of history, none of which leads to another, whose definitions are loaded.
const MOST_LINES: usize = 4;

/// Decides for every definition that is missing live whether it was deleted outside. `commits` are
/// those that the live objects of the stack name.
///
/// What git decides does not depend on the machine: the runs that a machine keeps are asked only where
/// git cannot decide. A drift state is part of the call, so what it knows always counts.
///
/// # Errors
/// The state directory cannot be read.
pub fn judge_missing(
    context: &Context,
    stack: &Stack,
    request: &PlanRequest<'_>,
    commits: &BTreeSet<String>,
    plan: &mut Plan,
) -> Result<(), CommandError> {
    if plan.missing().next().is_none() {
        return Ok(());
    }
    let history = applied_definitions(stack, commits);
    let store = state::store(context)?;
    let (name, base_url) = (plan.stack.clone(), plan.service.base_url.clone());
    // The journal of a long time is much to read.
    let journal = OnceCell::new();
    let in_journal = |key: &Key| {
        let applied = journal.get_or_init(|| journal::applied_keys(store, name.as_deref(), &base_url));
        applied.as_ref().is_ok_and(|applied| applied.contains(key))
    };
    let seen = |key: &Key| request.check.is_some_and(|drift_state| drift_state.knows(key));
    // Before a first apply nothing can have been deleted: only a check says that it cannot decide.
    let is_noted = request.check.is_some() || !commits.is_empty();
    plan.judge_missing(|key| {
        let reason = match history.as_ref().map(|history| history.missing(key)) {
            Ok(Ok(MissingCause::Pending)) if seen(key) => {
                return MissingCause::Deleted { commit: None };
            }
            Ok(Ok(missing)) => return missing,
            Ok(Err(reason)) => reason,
            Err(reason) => reason.clone(),
        };
        if seen(key) || in_journal(key) {
            return MissingCause::Deleted { commit: None };
        }
        MissingCause::Unknown { reason: is_noted.then_some(reason) }
    });
    match journal.into_inner() {
        Some(Err(error)) => Err(state::failed(context, error)),
        _ => Ok(()),
    }
}

/// The definitions at the newest commits that live objects name.
struct AppliedDefinitions {
    /// The newest of each line of history, with what it defines.
    newest: Vec<(String, BTreeSet<Key>)>,
    /// A commit that the clone lacks.
    lacks: Option<String>,
}

impl AppliedDefinitions {
    /// Whether a missing object was applied, or why that cannot be decided.
    fn missing(&self, key: &Key) -> Result<MissingCause, String> {
        let having: Vec<&String> =
            self.newest.iter().filter(|(_, keys)| keys.contains(key)).map(|(commit, _)| commit).collect();
        match (having.as_slice(), &self.lacks) {
            ([first, ..], _) if having.len() == self.newest.len() => {
                Ok(MissingCause::Deleted { commit: Some((*first).clone()) })
            }
            ([], None) => Ok(MissingCause::Pending),
            ([], Some(lacks)) => Err(format!("the clone lacks the applied commit {}", short(lacks))),
            _ => Err("commits of unrelated history were applied".to_owned()),
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// What was defined when the stack was last applied, as far as git shows it, or why it does not.
fn applied_definitions(stack: &Stack, commits: &BTreeSet<String>) -> Result<AppliedDefinitions, String> {
    if commits.is_empty() {
        return Err("no live object of the stack names a commit that was applied".to_owned());
    }
    let repository = stack.repository.open().map_err(|error| error.to_string())?;
    let mut known = Vec::new();
    let mut lacks = None;
    for named in commits {
        match repository.commit(named) {
            Ok(commit) => known.push(commit),
            Err(_) => lacks = Some(named.clone()),
        }
    }
    if let (true, Some(lacks)) = (known.is_empty(), &lacks) {
        let shallow = if repository.is_shallow().unwrap_or(false) { "shallow " } else { "" };
        return Err(format!("the {shallow}clone lacks the applied commit {}: fetch the history", short(lacks)));
    }
    // A shallow clone does not show which is the newest: then it has to be in each.
    let newest = repository.newest(&known).unwrap_or(known);
    if newest.len() > MOST_LINES {
        return Err(format!("{} commits of unrelated history were applied", newest.len()));
    }
    let at = |commit: &String| defined_at(stack, repository, commit).map(|keys| (commit.clone(), keys));
    Ok(AppliedDefinitions { newest: newest.iter().map(at).collect::<Result<_, _>>()?, lacks })
}

fn defined_at(stack: &Stack, repository: &Repository, commit: &str) -> Result<BTreeSet<Key>, String> {
    let unusable = |why: &str| format!("the definitions at the applied commit {} {why}", short(commit));
    let loaded =
        base::loaded_at(stack, repository, commit).map_err(|error| unusable(&format!("are unknown: {error}")))?;
    if loaded.desired.definitions.is_empty() {
        return Err(unusable("are not in this directory"));
    }
    Ok(loaded.desired.definitions.into_keys().collect())
}

/// Lets the ownership annotations that an apply of `plan` writes name the commit of the definitions: that of the
/// working tree, where it has the very definitions that are applied and no filter leaves a change out.
pub fn stamp(stack: &Stack, plan: &mut Plan) {
    if !stack.selection.is_all() || plan.changes.iter().all(|change| change.ownership.is_none()) {
        return;
    }
    let Ok(repository) = stack.repository.open() else { return };
    let Ok(head) = repository.head() else { return };
    let Ok(at_head) = base::loaded_at(stack, repository, &head) else { return };
    let [at_head, here] = [&at_head.desired, &stack.loaded.desired]
        .map(|desired| desired.definitions.iter().map(|(key, definition)| (key, &definition.endpoint)));
    if at_head.eq(here) {
        plan.stamp(&head);
    }
}

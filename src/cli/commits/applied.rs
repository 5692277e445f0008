//! What is known of a stack's past besides what the service shows: from git and the commits that live objects name,
//! from the drift state of the call, and from the runs of the state store. It is read only if a defined object is
//! missing.

use std::cell::OnceCell;

use crate::cli::commits::at_commit::{LookupError, StackRoot};
use crate::cli::commits::base;
use crate::cli::prelude::*;
use crate::cli::{Result, Stack, settings};
use crate::drift::{DriftState, GitPast, MissingCause, Past, Removal, short};
use crate::git::{EntryKind, HistoryCommit, Repository, TreeEntry};
use crate::journal::{self, LastAction, LastActions, RunOwner};
use crate::load::{Loaded, WantedKeys};
use crate::model::RunId;
use crate::plan::NamedCommits;

/// The maximum number of unrelated lines of history whose definitions are loaded.
const MOST_LINES: usize = 4;
/// The maximum number of commits after the applied one whose definitions are loaded.
const MOST_LATER: usize = 50;

/// Decides for every definition that is missing live whether it was deleted outside. `commits` are
/// those that the live objects of the stack name.
///
/// What git decides does not depend on the machine, with one exception: only the recorded runs know that trueup itself
/// deleted an endpoint, or could not create it, so that it was not deleted outside. A drift state is part of the call,
/// so it always counts.
///
/// # Errors
/// The state directory cannot be read.
pub async fn judge_missing(
    stack: &Stack<'_>,
    check: Option<&DriftState>,
    (commits, asked): (&NamedCommits, Timestamp),
    plan: &mut Plan,
) -> Result<()> {
    let context = stack.context;
    let missing: BTreeSet<Key> = plan.missing().map(|change| change.key.clone()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let last_seen = |key: &Key| check.and_then(|drift_state| drift_state.last_seen(key));
    let seen = missing.iter().filter(|key| last_seen(key).is_some()).cloned().collect();
    let history = applied_definitions(stack, commits, (&missing, &seen));
    let owner = settings::run_owner(context, plan.stack.clone(), plan.service.base_url.clone());
    // In any environment: another one may have deleted the object.
    let owner = RunOwner { environment: None, ..owner };
    let past = |key: &Key| match &history {
        Ok(history) => history.past(key),
        Err(reason) => GitPast::Unknown(reason.clone()),
    };
    let depends_on_runs = |key: &Key| last_seen(key).is_some() || !matches!(past(key), GitPast::NotDefined { .. });
    // Without a state directory, this machine has no runs.
    let may_have_runs = settings::named_state(context).is_some() || context.environment.state_directory().is_some();
    // A long journal takes long to read, so read it only if it can matter.
    let actions = match may_have_runs && missing.iter().any(depends_on_runs) {
        true => settings::ask_state(context, move |store| journal::last_actions(store, &owner)).await?,
        false => Ok(LastActions::default()),
    };
    let LastActions { of: actions, unread } =
        actions.map_err(|error| settings::store_failed(context, error).hint("nothing was sent"))?;
    // Before a first apply nothing can have been deleted, so only a check notes that it cannot decide.
    let is_noted = check.is_some() || !commits.is_empty();
    let taken = plan.source.snapshot.as_deref().and_then(|taken| taken.parse().ok()).unwrap_or(asked);
    // What a run left in place after the snapshot was taken, or while the lists were read, may be missing in them.
    let is_shown = |last: &&LastAction| !last.left_in_place || last.ended <= taken;
    let unshown = OnceCell::new();
    plan.judge_missing(|key| {
        let last = actions.get(key).filter(|_| depends_on_runs(key)).filter(is_shown).copied();
        let (git, seen) = (past(key), last_seen(key));
        let at = |in_place| last.filter(|last| last.left_in_place == in_place).map(|last| last.at);
        let is_asked = seen.is_some() && matches!(git, GitPast::Unknown(_));
        let unshown_until = is_asked.then(|| *unshown.get_or_init(|| unshown_until(stack, commits))).flatten();
        let (left_in_place, withdrawn) = (at(true), at(false));
        let applied = if let GitPast::Defined { applied, .. } = &git { Some(*applied) } else { None };
        let is_after = |run: &&RunId| run.time() > seen.max(left_in_place).max(applied);
        match (Past { git, unshown_until, seen, left_in_place, withdrawn }).cause() {
            MissingCause::Unknown(_) if !is_noted => MissingCause::Pending,
            MissingCause::Deleted { .. } if let Some(run) = unread.as_ref().filter(is_after) => {
                MissingCause::Unknown(format!("run {run} cannot be read"))
            }
            cause => cause,
        }
    });
    Ok(())
}

/// The later of two times: when the newest run began that a live object names with a commit, and the end of the second
/// of the newest commit that changed the stack.
fn unshown_until(stack: &Stack<'_>, commits: &NamedCommits) -> Option<Timestamp> {
    let run = commits.values().filter_map(|(_, last)| RunId::new(last)?.time()).max()?;
    let changed = || {
        let newest = stack.repository.open().ok()?.steps(1).ok()?.pop()?;
        Timestamp::from_second(newest.seconds + 1).ok()
    };
    Some(changed().map_or(run, |changed| run.max(changed)))
}

/// The definitions at the newest commits that live objects name.
struct AppliedDefinitions {
    /// The newest applied commit of each line of history, with what it defines.
    newest: Vec<AppliedCommit>,
    /// An applied commit that the clone lacks, the one applied last if there are several, and when its last run began.
    lacks: Option<(String, Timestamp)>,
    /// The missing endpoints that a later commit did not define, or why that is not known.
    removals: Result<BTreeMap<Key, Removal>, String>,
}

struct AppliedCommit {
    id: String,
    /// When the first and the last of the runs began that live objects name with this commit.
    first: Timestamp,
    last: Timestamp,
    keys: BTreeSet<Key>,
    /// The stack's directory in this commit, from the top of the repository.
    directory: String,
}

impl AppliedDefinitions {
    /// Whether a missing object was applied, or why that cannot be decided.
    fn past(&self, key: &Key) -> GitPast {
        let having: Vec<&AppliedCommit> = self.newest.iter().filter(|commit| commit.keys.contains(key)).collect();
        let first = self.newest.iter().map(|commit| commit.first).min().unwrap_or(Timestamp::MIN);
        let last = self.newest.iter().map(|commit| commit.last).max().unwrap_or(Timestamp::MAX);
        match (having.as_slice(), &self.lacks) {
            ([], None) => {
                let removal = self.removals.as_ref().map(|removals| removals.get(key).cloned());
                GitPast::NotDefined { applied: last, removal: removal.map_err(Clone::clone) }
            }
            // The commit that was applied last decides, and the lacking one may be that.
            (having, Some((lacks, run))) if having.is_empty() || *run >= last => {
                GitPast::Unknown(format!("the clone lacks the applied commit {}", short(lacks)))
            }
            ([one, ..], _) if having.len() == self.newest.len() => match &self.removals {
                Ok(removals) => {
                    GitPast::Defined { commit: one.id.clone(), applied: first, removal: removals.get(key).cloned() }
                }
                Err(reason) => GitPast::Unknown(reason.clone()),
            },
            _ => GitPast::Unknown("commits of unrelated history were applied".to_owned()),
        }
    }
}

/// What was defined when the stack was last applied, or why git does not show it. `missing` contains all missing
/// objects, then those of them that checks saw.
fn applied_definitions(
    stack: &Stack<'_>,
    commits: &NamedCommits,
    missing: (&BTreeSet<Key>, &BTreeSet<Key>),
) -> Result<AppliedDefinitions, String> {
    if commits.is_empty() {
        return Err("no live object of the stack names a commit that was applied".to_owned());
    }
    let repository = stack.repository.open().map_err(|error| error.to_string())?;
    let mut known = BTreeMap::new();
    let mut lacks: Option<(String, Timestamp)> = None;
    for (named, (first, last)) in commits {
        let [first, last] = [first, last].map(|run| RunId::new(run).and_then(|run| run.time()));
        let (first, last) = (first.unwrap_or(Timestamp::MIN), last.unwrap_or(Timestamp::MAX));
        match repository.commit(named) {
            Ok(commit) => {
                known.insert(commit, (first, last));
            }
            Err(_) if lacks.as_ref().is_some_and(|(_, run)| *run > last) => {}
            Err(_) => lacks = Some((named.clone(), last)),
        }
    }
    if let (true, Some((lacks, _))) = (known.is_empty(), &lacks) {
        let shallow = if repository.is_shallow() { "shallow " } else { "" };
        return Err(format!("the {shallow}clone lacks the applied commit {}: fetch the history", short(lacks)));
    }
    // A shallow clone does not show which commit is the newest: then an object has to be in each.
    let all: Vec<String> = known.keys().cloned().collect();
    let newest = repository.newest(&all).unwrap_or(all);
    if newest.len() > MOST_LINES {
        return Err(format!("{} commits of unrelated history were applied", newest.len()));
    }
    let at = |commit: &String| {
        let unusable = |why: &str| format!("the definitions at the applied commit {} {why}", short(commit));
        let unknown = |error: LookupError| unusable(&format!("are unknown: {error}"));
        let (loaded, root) = base::found_at(stack, repository, commit).map_err(unknown)?;
        if loaded.desired.definitions.is_empty() {
            return Err(unusable("are not in this directory"));
        }
        let (first, last) = known.get(commit).copied().unwrap_or((Timestamp::MIN, Timestamp::MAX));
        let keys = loaded.desired.definitions.into_keys().collect();
        Ok(AppliedCommit { id: commit.clone(), first, last, keys, directory: root.prefix })
    };
    let newest: Vec<AppliedCommit> = newest.iter().map(at).collect::<Result<_, _>>()?;
    let removals = removals(stack, repository, &newest, missing);
    Ok(AppliedDefinitions { newest, lacks, removals })
}

/// The endpoints that an applied commit, or one between it and the working tree, defined and a later one of these did
/// not: an apply of that one deleted them. What no applied commit defines is pending, unless a check saw it.
fn removals(
    stack: &Stack<'_>,
    repository: &Repository,
    newest: &[AppliedCommit],
    (missing, seen): (&BTreeSet<Key>, &BTreeSet<Key>),
) -> Result<BTreeMap<Key, Removal>, String> {
    let mut removals = BTreeMap::new();
    for applied in newest {
        let left: BTreeSet<&Key> = missing.intersection(&applied.keys).chain(seen).collect();
        if left.is_empty() {
            continue;
        }
        let later = LaterCommits::of(stack, repository, applied, &left)?;
        for key in left {
            if let Some(removal) = later.removal(key, applied.keys.contains(key))? {
                removals.entry(key.clone()).or_insert(removal);
            }
        }
    }
    Ok(removals)
}

/// The commits after an applied one, newest first.
struct LaterCommits<'r> {
    repository: &'r Repository,
    directories: BTreeSet<String>,
    commits: Vec<LaterCommit>,
}

struct LaterCommit {
    commit: HistoryCommit,
    /// What it defines, if it contains the stack.
    keys: Option<BTreeSet<Key>>,
    /// The ids of the later commits that descend from it; computed on demand.
    followers: OnceCell<Result<BTreeSet<String>, String>>,
}

impl<'r> LaterCommits<'r> {
    fn of(
        stack: &Stack<'_>,
        repository: &'r Repository,
        applied: &AppliedCommit,
        missing: &BTreeSet<&Key>,
    ) -> Result<Self, String> {
        let (commits, directories) = later_definitions(stack, repository, applied, missing)?;
        let later = |(commit, keys)| LaterCommit { commit, keys, followers: OnceCell::new() };
        Ok(Self { repository, directories, commits: commits.into_iter().map(later).collect() })
    }

    /// The newest commit that does not define an endpoint which was defined before it, and since when all lines of
    /// history after such commits define it again.
    fn removal(&self, key: &Key, is_applied: bool) -> Result<Option<Removal>, String> {
        let defines = |later: &LaterCommit| later.keys.as_ref().map(|keys| keys.contains(key));
        let mut found: Option<Removal> = None;
        let mut lacking = BTreeSet::new();
        for (at, one) in self.commits.iter().enumerate() {
            // A commit without the stack was not applied either.
            if defines(one) != Some(false) {
                continue;
            }
            let followers = self.followers(one)?;
            let is_before_another = !followers.is_disjoint(&lacking);
            lacking.insert(one.commit.id.clone());
            if is_before_another || !is_applied && !self.follows(one, &self.commits[at + 1..], defines)? {
                continue;
            }
            // A branch that was merged may be older than what the other side removed.
            let back = self.commits.iter().filter(|later| followers.contains(&later.commit.id));
            let back = back.filter(|later| defines(later) == Some(true)).map(|later| later.commit.seconds).min();
            // Commit times are whole seconds of several clocks: an event in the same second may come first.
            let again = back.and_then(|back| Timestamp::from_second(back.max(one.commit.seconds) + 1).ok());
            match &mut found {
                Some(newest) => {
                    newest.defined_again = newest.defined_again.zip(again).map(|(one, other)| one.max(other));
                }
                None => found = Some(Removal { commit: one.commit.id.clone(), defined_again: again }),
            }
        }
        Ok(found)
    }

    /// Whether one of the `earlier` commits defines the endpoint and is an ancestor of `one`.
    fn follows(
        &self,
        one: &LaterCommit,
        earlier: &[LaterCommit],
        defines: impl Fn(&LaterCommit) -> Option<bool>,
    ) -> Result<bool, String> {
        for earlier in earlier.iter().filter(|earlier| defines(earlier) == Some(true)) {
            if self.followers(earlier)?.contains(&one.commit.id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn followers<'s>(&self, one: &'s LaterCommit) -> Result<&'s BTreeSet<String>, String> {
        let ask = || {
            let directories: Vec<&str> = self.directories.iter().map(String::as_str).collect();
            let steps = self.repository.steps_since(&one.commit.id, &directories, MOST_LATER);
            Ok(steps.map_err(|error| error.to_string())?.into_iter().map(|step| step.id).collect())
        };
        one.followers.get_or_init(ask).as_ref().map_err(Clone::clone)
    }
}

/// Commits, each with what it defines, if it contains the stack.
type CommitDefinitions = Vec<(HistoryCommit, Option<BTreeSet<Key>>)>;

/// The commits after the applied one that changed the stack in any directory that it had, newest first, and those
/// directories.
fn later_definitions(
    stack: &Stack<'_>,
    repository: &Repository,
    applied: &AppliedCommit,
    missing: &BTreeSet<&Key>,
) -> Result<(CommitDefinitions, BTreeSet<String>), String> {
    let mut directories = BTreeSet::from([repository.prefix().to_owned(), applied.directory.clone()]);
    loop {
        let steps = repository
            .steps_since(&applied.id, &directories.iter().map(String::as_str).collect::<Vec<_>>(), MOST_LATER + 1)
            .map_err(|error| error.to_string())?;
        if steps.len() > MOST_LATER {
            let applied = short(&applied.id);
            return Err(format!("more than {MOST_LATER} commits changed the stack since {applied} was applied"));
        }
        let known = directories.len();
        let mut defined = CommitDefinitions::new();
        for step in steps {
            let keys = match base::found_at(stack, repository, &step.id) {
                Ok((loaded, root)) => {
                    directories.insert(root.prefix);
                    Ok(Some(loaded.desired.definitions.into_keys().collect()))
                }
                Err(LookupError::Absent | LookupError::NoEnvironment { .. }) => Ok(None),
                // With the variables or the trueup version of its time, it may have loaded.
                Err(LookupError::Wrong(_)) => in_texts(repository, &step.id, &directories, missing).map(Some),
                Err(error) => Err(error),
            };
            let keys = keys.map_err(|error| error.to_string())?;
            defined.push((step, keys));
        }
        if directories.len() == known {
            return Ok((defined, directories));
        }
    }
}

/// Those of these keys that the texts of a commit in these directories define, or may define.
fn in_texts(
    repository: &Repository,
    commit: &str,
    directories: &BTreeSet<String>,
    keys: &BTreeSet<&Key>,
) -> Result<BTreeSet<Key>, LookupError> {
    let wanted = WantedKeys::new(keys.iter().copied());
    let mut found = BTreeSet::new();
    for directory in directories {
        let entries = repository.entries(commit, directory)?;
        let is_read = |entry: &&TreeEntry| entry.kind == EntryKind::File && load::is_source(&entry.path);
        let files: Vec<&TreeEntry> = entries.iter().filter(is_read).collect();
        for (file, text) in files.iter().zip(repository.contents(&files)?) {
            found.extend(wanted.defined_in(&file.path, &text).into_keys().cloned());
        }
    }
    Ok(found)
}

/// Lets the ownership annotations that an apply of `plan` writes name the commit of the working tree, if it has exactly
/// the applied definitions and no filter leaves a change out. If the commit is not known to have them, the plan names
/// no commit either.
pub fn stamp(stack: &Stack<'_>, plan: &mut Plan) {
    let Some(head) = plan.source.commit.clone().filter(|_| !plan.changes.is_empty()) else { return };
    let Ok(repository) = stack.repository.open() else { return };
    let is_here = |(at_head, _): (Loaded, StackRoot)| {
        let [at_head, here] = [&at_head.desired, &stack.loaded.desired]
            .map(|desired| desired.definitions.iter().map(|(key, definition)| (key, &definition.endpoint)));
        at_head.eq(here)
    };
    if !base::found_at(stack, repository, &head).is_ok_and(is_here) {
        plan.source.commit = None;
    } else if stack.selection.is_all() && !plan.is_only_this_change() {
        plan.stamp(&head);
    }
}

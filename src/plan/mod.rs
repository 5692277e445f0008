//! A plan as one value: [`arrange`] decides for each object what will be done and why, computes the
//! guards, and lists what is blocked. A plan can be saved, is identified by the digest of what it will do,
//! and is applied only as an [`ApprovedPlan`]. No IO.

mod approve;
mod attribute;
mod blocked;
mod build;
mod change;
mod conflict;
mod consent;
mod digest;
mod guard;
mod input;
mod movement;
mod namespace;
mod note;
mod owner;
mod ownership_annotations;
mod pattern;
mod references;
mod referrers;
mod renamed;
mod rollback;
mod saved;
mod select;
mod settings;
mod soundness;
mod waves;

pub use crate::model::Cause;
pub use crate::model::policy::{GuardName, KeyAllowance, Prune};
pub use approve::{Approval, ApprovalError, ApprovedPlan};
pub use attribute::{DefinitionHistory, ONLY_THIS_CHANGE, PastDefinitions};
pub use blocked::{BlockReason, BlockedChange, BrokenReference, Unchangeable, WrittenReference};
pub use build::{PlanBuilder, arrange};
pub use change::{Action, ActionKind, Attribution, BeforeImage, Change, ChangePlaces, Commit, FieldChange};
pub use conflict::{Conflict, ThreeWay};
pub use consent::RecordedConsent;
pub use digest::Digest;
pub use guard::{Counts, GuardHit, RunLimits};
pub use input::PlanInput;
pub use movement::{MoveError, MoveInput, hand_over};
pub use note::Note;
pub use owner::foreign_stack;
pub use ownership_annotations::OwnershipAnnotations;
pub use pattern::PatternError;
pub use rollback::{AppliedWrite, RollbackInput, UndoneRun, rollback};
pub use saved::SavedError;
pub use select::{MatchedFilters, Selection, UnmatchedFilter};
pub use settings::{AllowError, Allowances, Ignore, PlanSettings};
pub use waves::{Waves, afterwards, candidates, targets};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{KindName, as_text};
use crate::model::policy::SettingChange;
use crate::model::share;
use crate::model::{Key, Layout, Namespace, RunId, Scope, SealedSecrets};

/// The commits in the annotations of live objects, each with the first and the last run recorded with it. A narrowed
/// apply keeps the commit of an object, so only the first run certainly applied the whole commit.
pub type NamedCommits = BTreeMap<String, (String, String)>;

/// The version of the format that trueup writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The number of changes that a thread takes at a time.
const AT_A_TIME: usize = 256;

/// What an apply would do, in order, to which state, and why.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of trueup that made it.
    pub tool_version: String,
    /// The service it is for.
    pub service: ServiceId,
    /// The stack; without one, nothing is ever deleted.
    pub stack: Option<String>,
    /// The settings that it was made with.
    pub settings: PlanSettings,
    /// Settings that differ from those at the base, or that the policy limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setting_changes: Vec<SettingChange>,
    /// Every list that was read, with its counts: `namespace` of endpoints, `kind:namespace` of others.
    pub scope: BTreeMap<Scope, ScopeState>,
    /// The changes: creates, then replaces and annotates, then deletes; each group sorted by key.
    pub changes: Vec<Change>,
    /// Single blocked changes, with their reasons.
    #[serde(default)]
    pub blocked: Vec<BlockedChange>,
    /// Guards that refuse the plan.
    #[serde(default)]
    pub guards: Vec<GuardHit>,
    /// The consents that it needs and that were given when it was made.
    #[serde(default)]
    pub allowed: Vec<RecordedConsent>,
    /// The number of changes, including blocked ones, that the filters of the call leave out.
    #[serde(default)]
    pub left_out: usize,
    /// What a reviewer should know.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// The notes that reports leave out, by [`Note::routine`]; for a plan from a file, reports show all.
    #[serde(skip)]
    pub hidden_notes: BTreeSet<String>,
    /// Where the definitions came from.
    #[serde(default)]
    pub source: PlanSource,
    /// The lists outside of `scope` that were read to find objects the stack left behind; empty in a plan from a file.
    #[serde(skip)]
    pub outside: BTreeSet<Scope>,
    /// The names of the tenant in the live objects that were read; empty in a plan from a file.
    #[serde(skip)]
    pub live_tenants: BTreeSet<String>,
    /// The secrets of the definitions; empty in a plan from a file.
    #[serde(skip)]
    pub sealed: SealedSecrets,
}

/// The service that a plan is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceId {
    /// Without `/api` and without a trailing slash.
    pub base_url: String,
    /// The layout of its paths.
    pub layout: Layout,
}

/// One kind in one namespace, as a plan saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeState {
    /// The result of its read.
    pub read: ScopeRead,
    /// The number of definitions in it that the filters of the call select.
    pub definitions: usize,
    /// How many of them need no change.
    pub in_sync: usize,
    /// `namespaces:` lists its namespace and `kinds:` its kind, so that deletes may be planned in it.
    pub pruned: bool,
    /// The filters of the call may select changes in it.
    pub selected: bool,
}

/// How much of a stack a plan or a check read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadScope {
    /// Definitions.
    pub endpoints: usize,
    /// Namespaces.
    pub namespaces: usize,
    /// Lists that could not be read.
    pub unread: usize,
    /// Namespaces that the filters leave out.
    pub left_out: usize,
}

/// The result of reading a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScopeRead {
    /// The list is complete.
    Complete {
        /// Live endpoints.
        live: usize,
        /// How many of them this stack owns or would adopt: the total for shares.
        owned: usize,
        /// How many of them have this stack's ownership annotations and are neither protected nor out of its
        /// reach, plus other objects that it would delete: the total for `empty-namespace`.
        #[serde(default)]
        removable: usize,
    },
    /// Nothing is concluded.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// Where the definitions of a plan came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanSource {
    /// The directory as it was given, or the run that is rolled back.
    #[serde(rename = "directory")]
    pub origin: PlanOrigin,
    /// The environment of the configuration, as the call names it.
    pub environment: Option<String>,
    /// Who made the plan, where it was saved or applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_by: Option<String>,
    /// The filters of the call, as they were written.
    pub filters: Vec<String>,
    /// The commit of the working tree. For a saved or applied plan, only if the commit has the definitions of the plan.
    pub commit: Option<String>,
    /// The base that changes were attributed against, as it was given.
    pub base: Option<String>,
    /// When the snapshot was taken that the plan was made from, RFC 3339; `None` where the plan was made
    /// from the service.
    pub snapshot: Option<String>,
    /// The kinds that were read besides endpoints.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<KindName>,
    /// List requests that the plan took.
    pub requests: u64,
}

/// What a plan is made from. In a file it is one text; a directory whose name could be read as another variant begins
/// with `./`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub enum PlanOrigin {
    /// The definitions of a directory, as it was given.
    Directory(String),
    /// The record of a run, which the plan undoes.
    Rollback(RunId),
    /// A transfer of objects from one stack to another.
    Move {
        /// The stack that owns them.
        from: String,
        /// The stack that gets them.
        to: String,
    },
}

/// How the text of a rollback begins.
const ROLLBACK_OF: &str = "rollback of ";
/// How the text of a move begins.
const MOVE_FROM: &str = "move from stack ";
/// What separates the two stacks of a move.
const MOVE_TO: &str = " to stack ";

impl Default for PlanOrigin {
    fn default() -> Self {
        PlanOrigin::Directory(String::new())
    }
}

impl fmt::Display for PlanOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanOrigin::Directory(directory) if [ROLLBACK_OF, MOVE_FROM].iter().any(|of| directory.starts_with(of)) => {
                write!(f, "./{directory}")
            }
            PlanOrigin::Directory(directory) => f.write_str(directory),
            PlanOrigin::Rollback(run) => write!(f, "{ROLLBACK_OF}{run}"),
            PlanOrigin::Move { from, to } => write!(f, "{MOVE_FROM}{from}{MOVE_TO}{to}"),
        }
    }
}

as_text!(PlanOrigin, |text| {
    if let Some(run) = text.strip_prefix(ROLLBACK_OF).and_then(RunId::new) {
        return Ok(PlanOrigin::Rollback(run));
    }
    Ok(match text.strip_prefix(MOVE_FROM).and_then(|stacks| stacks.split_once(MOVE_TO)) {
        Some((from, to)) => PlanOrigin::Move { from: from.to_owned(), to: to.to_owned() },
        None => PlanOrigin::Directory(text),
    })
});

impl Plan {
    /// The notes that a report shows.
    pub fn shown_notes(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.routine().is_none_or(|name| !self.hidden_notes.contains(name)))
    }

    /// The directory that this plan was made for; a rollback and a move name none.
    pub fn made_for(&self) -> Option<&str> {
        match &self.source.origin {
            PlanOrigin::Directory(directory) => Some(directory),
            PlanOrigin::Rollback(_) | PlanOrigin::Move { .. } => None,
        }
    }

    /// The run that this plan undoes, if it does.
    pub fn undone(&self) -> Option<&RunId> {
        match &self.source.origin {
            PlanOrigin::Rollback(run) => Some(run),
            PlanOrigin::Directory(_) | PlanOrigin::Move { .. } => None,
        }
    }

    /// The two stacks of a plan that transfers objects: the one that had them, and the one that gets them.
    pub fn handed_over(&self) -> Option<(&str, &str)> {
        match &self.source.origin {
            PlanOrigin::Move { from, to } => Some((from, to)),
            PlanOrigin::Directory(_) | PlanOrigin::Rollback(_) => None,
        }
    }

    /// Each pair of stacks where the second one gets objects of the first.
    pub fn transfers(&self) -> BTreeSet<(&str, &str)> {
        self.handed_over().into_iter().chain(self.changes.iter().filter_map(Change::transfer)).collect()
    }

    /// The two stacks of a plan that only transfers objects from the first to the second.
    pub fn transferred(&self) -> Option<(&str, &str)> {
        let is_all = self.handed_over().is_some() || self.changes.iter().all(Change::only_passes);
        let stacks = self.transfers();
        stacks.first().copied().filter(|_| is_all && stacks.len() == 1)
    }

    /// Whether it contains all definitions of its directory: no filter leaves out any.
    pub fn is_whole(&self) -> bool {
        let PlanSource { origin, filters, .. } = &self.source;
        matches!(origin, PlanOrigin::Directory(_)) && filters.is_empty() && self.left_out == 0
    }

    /// The plan with its changes in the order of the phases, everything by key, and its guards.
    fn order(mut self) -> Self {
        // Each key occurs once. A stable sort would take the memory of all changes again.
        self.changes.sort_unstable_by(|a, b| (a.action.kind().phase(), &a.key).cmp(&(b.action.kind().phase(), &b.key)));
        self.blocked.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        self.notes.sort();
        self.guard();
        self
    }

    /// Computes the guards again, after the changes were altered.
    pub fn guard(&mut self) {
        self.guards = guard::hits(self, &RunLimits::whole(self));
    }

    /// How many changes of this kind are planned.
    pub fn count(&self, kind: ActionKind) -> usize {
        self.of_kind(kind).count()
    }

    /// The changes of this kind.
    pub fn of_kind(&self, kind: ActionKind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.action.kind() == kind)
    }

    /// The changes, those that are blocked included.
    pub fn with_blocked(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(self.blocked.iter().filter_map(|entry| entry.change.as_ref()))
    }

    /// The changes, including blocked ones, by key. Searching the plan for each of many keys would take a walk through
    /// all changes each time.
    pub fn by_key(&self) -> BTreeMap<&Key, &Change> {
        let mut changes = BTreeMap::new();
        for change in self.with_blocked() {
            changes.entry(&change.key).or_insert(change);
        }
        changes
    }

    /// The noun for its objects in messages, to be put after a number.
    pub fn noun(&self) -> &'static str {
        // The source of a rollback has no kinds, so its changes count, too.
        let is_plain = self.source.kinds.is_empty() && self.changes.iter().all(|change| change.key.kind.is_endpoint());
        if is_plain { "endpoint" } else { "object" }
    }

    /// The number of definitions that need no change.
    pub fn in_sync(&self) -> usize {
        self.scope.values().map(|scope| scope.in_sync).sum()
    }

    /// What was read; lists that a filter leaves out or that could not be read do not count.
    pub fn read_scope(&self) -> ReadScope {
        let mut read = ReadScope::default();
        let mut namespaces: BTreeMap<&Namespace, [bool; 2]> = BTreeMap::new();
        for (scope, state) in &self.scope {
            let [is_selected, is_read] = namespaces.entry(&scope.namespace).or_default();
            *is_selected |= state.selected;
            match &state.read {
                _ if !state.selected => {}
                ScopeRead::Unknown { .. } => read.unread += 1,
                ScopeRead::Complete { .. } => {
                    *is_read = true;
                    read.endpoints += state.definitions;
                }
            }
        }
        read.namespaces = namespaces.values().filter(|[_, is_read]| *is_read).count();
        read.left_out = namespaces.values().filter(|[is_selected, _]| !is_selected).count();
        read
    }

    /// The noun for its lists in messages, to be put after a number.
    pub fn list_noun(&self) -> &'static str {
        if self.source.kinds.is_empty() { "namespace" } else { "list" }
    }

    /// The lists in the selection that could not be read, with the reasons.
    pub fn unknown(&self) -> impl Iterator<Item = (&Scope, &str)> {
        self.scope.iter().filter(|(_, state)| state.selected).filter_map(|(scope, state)| match &state.read {
            ScopeRead::Unknown { reason } => Some((scope, reason.as_str())),
            ScopeRead::Complete { .. } => None,
        })
    }

    /// Whether something other than an annotate would be done or is blocked: "changes pending".
    pub fn is_pending(&self) -> bool {
        !self.blocked.is_empty() || self.changes.iter().any(|change| change.action.kind() != ActionKind::Annotate)
    }

    /// Sets the place in the files of every change and field where it is known. Finding a place means reading
    /// a file again, so many changes are shared among threads, each with its own `places`.
    pub fn locate<P>(&mut self, places: impl Fn() -> P + Sync)
    where
        P: FnMut(&Key, Option<&FieldChange>) -> ChangePlaces,
    {
        let mut place = places();
        for entry in &mut self.blocked {
            entry.place = place(&entry.key, None).whole;
            entry.change.iter_mut().for_each(|change| change.locate(&mut place));
        }
        share::each(&mut self.changes, AT_A_TIME, || {
            let mut place = places();
            move |change: &mut Change| change.locate(&mut place)
        });
    }
}

impl Change {
    fn locate(&mut self, mut places: impl FnMut(&Key, Option<&FieldChange>) -> ChangePlaces) {
        self.place = places(&self.key, None).whole;
        if let Action::Replace { fields, .. } | Action::Recreate { fields, .. } = &mut self.action {
            for field in fields {
                let found = places(&self.key, Some(field));
                (field.place, field.places) = (found.whole, found.values);
            }
        }
    }
}

#[cfg(test)]
mod kind_tests;
#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

//! Builds a plan list by list, each when its read arrives. `namespace` plans the objects of one list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::namespace::{self, KeysByDigest};
use super::references;
use super::{MatchedFilters, NamedCommits, Note, Plan, PlanInput, ScopeRead, ScopeState};
use crate::kind::KindName;
use crate::model::{Definition, Key, ListRead, Live, LiveItem, Namespace, Scope};

/// Computes the changes and adds them to `plan`, which already has its service, stack, settings and source.
///
/// # Guarantees
/// - No change is planned for a kind in a namespace whose list is unknown.
/// - A delete is planned only for a stack, in a namespace that its configuration lists, of an object
///   whose annotations name the stack and prove that they were written for its key (or, with
///   `prune: all`, of one that no other stack owns).
/// - Filters select changes; they never add one.
/// - The targets of a create or replace are live or created by the same plan, where their list was read.
/// - The same input gives the same plan, in whatever order files and items arrive.
///
/// # Assumptions
/// Definitions are valid, and the lists of all their namespaces and kinds were requested.
///
/// # Caveats
/// Lists contain neither the referrers of an object to delete (see [`Plan::refer`]) nor whether a missing
/// object was ever applied (see [`Plan::judge_missing`]).
pub fn arrange(plan: Plan, input: PlanInput<'_>, live: &Live) -> Plan {
    let mut arrangement = PlanBuilder::new(plan, input);
    for (scope, read) in &live.lists {
        arrangement.take(scope, read);
    }
    arrangement.finish(live.requests)
}

/// Builds a plan list by list, in any order, so that each list can be dropped after its turn. See
/// [`arrange`].
pub struct PlanBuilder<'f> {
    input: PlanInput<'f>,
    definitions: HashMap<(&'f Namespace, KindName), Vec<&'f Definition>>,
    plan: Plan,
    commits: NamedCommits,
    by_digest: KeysByDigest<'f>,
    matched: MatchedFilters,
    /// The keys of all lists; `None` where only endpoints are read, because the targets of references are then unknown.
    live: Option<BTreeSet<Key>>,
}

impl<'f> PlanBuilder<'f> {
    /// A builder of `plan`, which has no lists yet.
    pub fn new(plan: Plan, input: PlanInput<'f>) -> Self {
        let mut definitions: HashMap<_, Vec<_>> = HashMap::new();
        for (key, definition) in &input.desired.definitions {
            definitions.entry((&key.namespace, key.kind)).or_default().push(definition);
        }
        let mut kinds = definitions.keys().map(|(_, kind)| *kind).chain(input.kinds.iter().copied());
        let live = kinds.any(|kind| !kind.is_endpoint()).then(BTreeSet::new);
        let (commits, by_digest, matched) = Default::default();
        Self { input, definitions, plan, commits, by_digest, matched, live }
    }

    /// Adds a list.
    pub fn take(&mut self, scope: &Scope, read: &ListRead) {
        self.matched.add_namespaces([&scope.namespace]);
        let wanted = self.definitions.get(&(&scope.namespace, scope.kind)).map_or(&[][..], Vec::as_slice);
        if matches!(read, ListRead::NotOffered) && wanted.is_empty() {
            return self.plan.notes.push(Note::NotOffered { scope: scope.clone() });
        }
        let (plan, commits, defined) = (&mut self.plan, &mut self.commits, &self.by_digest);
        let state = namespace::arrange(plan, commits, defined, &self.input, scope, read, wanted);
        self.plan.scope.insert(scope.clone(), state);
        self.plan.learn_tenants(read);
        if let ListRead::Complete { items } = read {
            if let Some(live) = &mut self.live {
                live.extend(items.keys().cloned());
            }
            if !self.input.selection.is_all() {
                self.note_matches(scope, items);
            }
        }
    }

    /// Records which filters match an object of a list.
    fn note_matches(&mut self, scope: &Scope, items: &BTreeMap<Key, LiveItem>) {
        let PlanInput { selection, desired, .. } = self.input;
        for definition in self.definitions.get(&(&scope.namespace, scope.kind)).into_iter().flatten() {
            let key = &definition.endpoint.key;
            selection.note(&mut self.matched, key, (Some(definition), items.get(key)));
        }
        for (key, item) in items.iter().filter(|(key, _)| !desired.definitions.contains_key(*key)) {
            selection.note(&mut self.matched, key, (None, Some(item)));
        }
    }

    /// What the filters matched in the lists so far; `None` where a list that they may reach is unknown, or was not
    /// added.
    pub fn matched(&self) -> Option<&MatchedFilters> {
        let PlanInput { selection, desired, .. } = self.input;
        let known = |scope: &Scope| match self.plan.scope.get(scope) {
            Some(ScopeState { read: ScopeRead::Complete { .. }, .. }) => true,
            None if self.plan.notes.contains(&Note::NotOffered { scope: scope.clone() }) => true,
            Some(_) | None => !selection.reaches(scope, desired),
        };
        let mut kinds = self.plan.source.kinds.clone();
        kinds.insert(KindName::ENDPOINT);
        let listed = Scope::each(self.input.namespaces, &kinds);
        let defined =
            self.definitions.keys().map(|(namespace, kind)| Scope { namespace: (*namespace).clone(), kind: *kind });
        let mut all = self.plan.scope.keys().cloned().chain(defined).chain(listed);
        all.all(|scope| known(&scope)).then_some(&self.matched)
    }

    /// The commits that the live objects of the stack name.
    pub fn commits(&self) -> &NamedCommits {
        &self.commits
    }

    /// The finished plan, which took this number of list requests.
    pub fn finish(self, requests: u64) -> Plan {
        let mut plan = self.plan;
        plan.source.requests = requests;
        plan.sealed = self.input.desired.sealed();
        let is_defined = |namespace: &Namespace| self.definitions.keys().any(|(defined, _)| *defined == namespace);
        let empty: Vec<_> = empty_namespaces(&plan).into_iter().filter(|namespace| is_defined(namespace)).collect();
        plan.notes.extend(empty.into_iter().map(|namespace| Note::EmptyNamespace { namespace }));
        if let Some(live) = &self.live {
            references::block_broken(&mut plan, &self.input, live);
        }
        plan.note_renamed();
        plan.order()
    }
}

/// The namespaces without live objects, where all their lists are complete.
fn empty_namespaces(plan: &Plan) -> BTreeSet<Namespace> {
    let is_empty = |state: &ScopeState| matches!(state.read, ScopeRead::Complete { live: 0, .. });
    let (empty, others): (Vec<_>, Vec<_>) = plan.scope.iter().partition(|(_, state)| is_empty(state));
    let mut empty: BTreeSet<Namespace> = empty.into_iter().map(|(scope, _)| scope.namespace.clone()).collect();
    for (scope, _) in others {
        empty.remove(&scope.namespace);
    }
    empty
}

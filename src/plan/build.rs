//! Builds a plan namespace by namespace, each when its read arrives. What is done with the objects of one is
//! in `namespace`.

use std::collections::{BTreeMap, HashMap};

use super::namespace::{self, endpoint};
use super::{MatchedFilters, NamedCommits, Plan, PlanInput, ScopeRead};
use crate::model::{Definition, Key, Live, LiveItem, Namespace, NamespaceRead};

/// Decides what will be done.
///
/// # Guarantees
/// - Nothing at all is planned in a namespace whose read is unknown.
/// - A delete is planned only for a stack, in a namespace that its configuration lists, of an object
///   whose annotations name the stack and prove that they were written for its key (or, with
///   `prune: all`, of one that no other stack owns).
/// - Filters choose among the changes; they never make one.
/// - The same input gives the same plan, whatever order files and items came in.
///
/// # Assumptions
/// Definitions are valid, and every namespace that a definition names was asked for.
///
/// # Caveats
/// Who refers to an endpoint that would go is not in a list: see [`Plan::refer`]. Whether a missing
/// object was ever applied is neither: see [`Plan::judge_missing`].
#[must_use]
pub fn arrange(input: PlanInput<'_>, live: &Live) -> Plan {
    let mut arrangement = PlanBuilder::new(input);
    for (namespace, read) in &live.namespaces {
        arrangement.take(namespace, read);
    }
    arrangement.finish(live.requests)
}

/// A plan that is made namespace by namespace, in any order, so that none has to be kept longer than
/// its turn takes. See [`arrange`].
pub struct PlanBuilder<'f> {
    input: PlanInput<'f>,
    definitions: HashMap<&'f Namespace, Vec<&'f Definition>>,
    plan: Plan,
    commits: NamedCommits,
    matched: MatchedFilters,
}

impl<'f> PlanBuilder<'f> {
    /// A plan over nothing yet.
    #[must_use]
    pub fn new(input: PlanInput<'f>) -> Self {
        let mut definitions: HashMap<_, Vec<_>> = HashMap::new();
        for (key, definition) in &input.desired.definitions {
            definitions.entry(&key.namespace).or_default().push(definition);
        }
        let plan = Plan {
            tool_version: input.tool_version.to_owned(),
            service: input.service.clone(),
            stack: input.stack.map(str::to_owned),
            settings: input.settings.clone(),
            source: input.source.clone(),
            ..Plan::default()
        };
        Self { input, definitions, plan, commits: NamedCommits::new(), matched: MatchedFilters::default() }
    }

    /// Takes in what a namespace contains.
    pub fn take(&mut self, namespace: &Namespace, read: &NamespaceRead) {
        let wanted = self.definitions.get(namespace).map_or(&[][..], Vec::as_slice);
        let scope = namespace::arrange(&mut self.plan, &mut self.commits, &self.input, namespace, read, wanted);
        self.plan.scope.insert(namespace.clone(), scope);
        if let NamespaceRead::Complete { items } = read
            && !self.input.selection.is_all()
        {
            self.note_matches(namespace, items);
        }
    }

    /// Notes which filters match something of a namespace.
    fn note_matches(&mut self, namespace: &Namespace, items: &BTreeMap<Key, LiveItem>) {
        let PlanInput { selection, desired, .. } = self.input;
        for definition in self.definitions.get(namespace).into_iter().flatten() {
            let key = &definition.endpoint.key;
            selection.note(&mut self.matched, key, Some(definition), items.get(key).and_then(endpoint));
        }
        for (key, item) in items.iter().filter(|(key, _)| !desired.definitions.contains_key(*key)) {
            selection.note(&mut self.matched, key, None, endpoint(item));
        }
    }

    /// What the filters matched of what was taken in; nothing where a namespace that they may reach is unknown, or is not
    /// among those taken in.
    #[must_use]
    pub fn matched(&self) -> Option<&MatchedFilters> {
        let PlanInput { selection, desired, .. } = self.input;
        let known = |namespace: &Namespace| {
            let read = self.plan.scope.get(namespace).map(|scope| &scope.read);
            matches!(read, Some(ScopeRead::Complete { .. })) || !selection.reaches(namespace, desired)
        };
        let listed = self.input.namespaces.into_iter().flatten();
        let mut all = self.plan.scope.keys().chain(self.definitions.keys().copied()).chain(listed);
        all.all(known).then_some(&self.matched)
    }

    /// The commits that the live objects of the stack name.
    #[must_use]
    pub fn commits(&self) -> &NamedCommits {
        &self.commits
    }

    /// The plan, for which so many lists were asked for.
    #[must_use]
    pub fn finish(self, requests: u64) -> Plan {
        let mut plan = self.plan;
        plan.source.requests = requests;
        plan.sealed = self.input.desired.sealed();
        plan.note_renamed();
        plan.order()
    }
}

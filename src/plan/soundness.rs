//! Checks that a plan from a file or a journal is consistent. A plan from `arrange` or a rollback always is;
//! an inconsistent one was written by hand, and its guards would count too little.

use std::collections::{BTreeMap, BTreeSet};

use super::owner::Owner;
use super::{Action, ActionKind, Change, Counts, Ignore, Plan, PlanOrigin, ScopeRead};
use crate::kind::KindName;
use crate::model::policy::{Prune, Safeguards};
use crate::model::{Key, ListRead, Live, LiveItem, Namespace, Ownership, Scope};

impl Plan {
    /// Checks that the changes agree with their keys, with the scope and with the settings.
    ///
    /// # Errors
    /// The contradiction, as a fragment.
    pub fn check(&self) -> Result<(), String> {
        let mut seen: BTreeSet<&Key> = BTreeSet::new();
        for change in &self.changes {
            if !seen.insert(&change.key) {
                return Err(format!("`{}` is changed twice", change.key));
            }
            self.check_change(change)?;
        }
        let is_annotate = |change: &&Change| change.action.kind() == ActionKind::Annotate;
        match self.changes.iter().find(|change| !is_annotate(change)).filter(|_| self.handed_over().is_some()) {
            Some(change) => Err(format!("it is a move, and `{}` would be changed otherwise", change.key)),
            None => Ok(()),
        }
    }

    fn check_change(&self, change: &Change) -> Result<(), String> {
        let key = &change.key;
        let object = &change.action.object().key;
        if object != key {
            return Err(format!("the change of `{key}` holds the endpoint `{object}`"));
        }
        let scope = self.scope.get(&key.into());
        if !scope.is_some_and(|scope| scope.selected && matches!(scope.read, ScopeRead::Complete { .. })) {
            return Err(format!("`{key}` is changed, and the plan did not read its list"));
        }
        let prune = self.settings.safeguards.prune;
        if self.undone().is_none()
            && matches!(change.action, Action::Delete { .. })
            && (!self.prunes(change, prune) || !scope.is_some_and(|scope| scope.pruned))
        {
            return Err(format!("`{key}` would be deleted, and the settings of the plan delete no such object"));
        }
        Ok(())
    }

    /// A delete of this plan that `prune` does not allow in these namespaces and kinds. A rollback deletes what its run
    /// created; only `prune: none` prevents that. See [`Plan::unowned_deletes`].
    pub fn delete_beyond(
        &self,
        prune: Prune,
        namespaces: &BTreeSet<Namespace>,
        kinds: &BTreeSet<KindName>,
    ) -> Option<&Key> {
        let is_beyond = |change: &&Change| match self.undone() {
            Some(_) => prune == Prune::None,
            None => {
                let is_listed = change.key.kind.is_endpoint() || kinds.contains(&change.key.kind);
                !is_listed || !namespaces.contains(&change.key.namespace) || !self.prunes(change, prune)
            }
        };
        self.of_kind(ActionKind::Delete).find(is_beyond).map(|change| &change.key)
    }

    /// The objects that this plan deletes although its stack does not own them.
    pub fn unowned_deletes(&self) -> impl Iterator<Item = &Key> {
        self.of_kind(ActionKind::Delete).filter(|change| !self.prunes(change, Prune::Owned)).map(|change| &change.key)
    }

    /// A change of this plan outside of the namespaces of its stack. Transfers in a move, or in the rollback of one, do
    /// not count.
    pub fn change_outside(&self, namespaces: &BTreeSet<Namespace>) -> Option<&Key> {
        let is_passed = |change: &Change| match &self.source.origin {
            PlanOrigin::Directory(_) => false,
            PlanOrigin::Rollback(_) => change.only_passes(),
            PlanOrigin::Move { .. } => true,
        };
        let mut bounded = self.changes.iter().filter(|change| !is_passed(change)).map(|change| &change.key);
        bounded.find(|key| !namespaces.contains(&key.namespace))
    }

    /// A setting that affected the writes of a plan of definitions and that is looser than `in_force`: what would have
    /// been written otherwise is unknown.
    pub fn looser_setting(&self, in_force: &Safeguards) -> Option<&'static str> {
        let PlanOrigin::Directory(_) = self.source.origin else { return None };
        let made = &self.settings.safeguards;
        let Ok(ignored) = Ignore::new(made.ignore.difference(&in_force.ignore)) else { return Some("ignore") };
        let is_stripped = |kind: &KindName| made.strict.contains(kind) && !in_force.strict.contains(kind);
        let unmarked = in_force.ownership_annotations && !made.ownership_annotations;
        self.changes.iter().find_map(|change| match &change.action {
            Action::Delete { .. } => None,
            Action::Replace { .. } | Action::Recreate { .. } if is_stripped(&change.key.kind) => Some("strict"),
            _ if unmarked => Some("ownership_annotations"),
            _ => (!ignored.fields(&change.key).is_empty()).then_some("ignore"),
        })
    }

    /// Whether `prune` deletes the object of this change.
    fn prunes(&self, change: &Change, prune: Prune) -> bool {
        self.stack.is_some()
            && match prune {
                Prune::All => true,
                Prune::Owned => change.action.before().is_some_and(|before| self.owns(&before.endpoint)),
                Prune::None => false,
            }
    }

    /// The lists that the guards count: all that were read and those of the changes, if any replaces or deletes.
    pub fn counted(&self) -> BTreeSet<Scope> {
        let mut counted: BTreeSet<Scope> = self.replaced_or_deleted().map(Scope::from).collect();
        if !counted.is_empty() {
            let read = self.scope.iter().filter(|(_, state)| matches!(state.read, ScopeRead::Complete { .. }));
            counted.extend(read.map(|(scope, _)| scope.clone()));
        }
        counted
    }

    /// The objects that it replaces, recreates or deletes.
    pub fn replaced_or_deleted(&self) -> impl Iterator<Item = &Key> {
        let counts = |kind: ActionKind| matches!(kind, ActionKind::Replace | ActionKind::Recreate | ActionKind::Delete);
        self.changes.iter().filter(move |change| counts(change.action.kind())).map(|change| &change.key)
    }

    /// The upper bounds for the totals of guards, from a new read of their lists: counts in a file cannot be trusted.
    pub fn counts(&self, live: &Live) -> BTreeMap<Scope, Counts> {
        let mut keys: BTreeMap<Scope, [BTreeSet<&Key>; 2]> =
            live.lists.keys().map(|scope| (scope.clone(), Default::default())).collect();
        for change in &self.changes {
            let [written, deleted] = keys.entry((&change.key).into()).or_default();
            match change.action.kind() {
                ActionKind::Delete | ActionKind::Recreate => {
                    written.insert(&change.key);
                    deleted.insert(&change.key);
                }
                ActionKind::Replace => drop(written.insert(&change.key)),
                ActionKind::Create | ActionKind::Annotate => {}
            }
        }
        let mut counts = BTreeMap::new();
        for (scope, [mut owned, mut removable]) in keys {
            if let Some(items) = live.lists.get(&scope).and_then(ListRead::items) {
                for (key, item) in items {
                    let LiveItem::Object(object) = item else { continue };
                    let ownership = Ownership::read(&object.endpoint.annotations);
                    let owner = Owner::of(ownership.as_ref(), key, self.stack.as_deref());
                    if !matches!(owner, Owner::Foreign(_)) {
                        owned.insert(key);
                    }
                    if owner.is_ours() {
                        removable.insert(key);
                    }
                }
            }
            counts.insert(scope, Counts { owned: owned.len(), removable: removable.len() });
        }
        counts
    }
}

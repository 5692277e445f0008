//! The referrers of the objects that a plan would delete. Lists do not contain them, so the planner requests
//! them for each delete. Other reasons that block deletes are added here as well.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Action, ActionKind, Allowances, BlockReason, BlockedChange, Change, KeyAllowance, Plan, Unchangeable, waves,
};
use crate::kind::KindName;
use crate::model::{Key, Name, RelatedObject};

impl Plan {
    /// The objects that would be deleted for good.
    pub fn deletes(&self) -> impl Iterator<Item = &Key> {
        self.of_kind(ActionKind::Delete).map(|change| &change.key)
    }

    /// The objects that would be deleted or recreated, also those that are blocked until a recreate is allowed: the
    /// planner requests the referrers of each.
    pub fn going(&self) -> impl Iterator<Item = &Key> {
        let goes = self.changes.iter().filter(|change| change.action.deletes()).map(|change| &change.key);
        goes.chain(self.blocked.iter().filter(|entry| entry.is_fixed()).map(|entry| &entry.key))
    }

    /// Blocks the deletes for which `reason` returns one. Returns whether it blocked any.
    pub fn block_deletes(&mut self, mut reason: impl FnMut(&Key) -> Option<BlockReason>) -> bool {
        self.block_changes(|change| match change.action {
            Action::Delete { .. } => reason(&change.key),
            _ => None,
        })
    }

    /// Adds the referrers of the objects that would be deleted: a delete with referrers is blocked unless it was
    /// allowed by name, and a delete whose referrers are unknown is always blocked.
    pub fn refer(&mut self, allow: &Allowances, mut referrers: impl FnMut(&Key) -> Result<Vec<RelatedObject>, String>) {
        loop {
            let referring = self.referring_afterwards();
            // A referrer that this plan deletes first, or that drops its reference, does not count.
            let refers = |key: &Key, one: &RelatedObject| {
                let afterwards = one.key().and_then(|one| referring.get(&one));
                afterwards.is_none_or(|targets| targets.contains(key))
            };
            for entry in self.blocked.iter_mut().filter(|entry| entry.is_fixed()) {
                let Ok(mut by) = referrers(&entry.key) else { continue };
                by.retain(|one| refers(&entry.key, one));
                // The consent to recreate it would not help.
                if !by.is_empty() {
                    entry.reason = BlockReason::Referred { by };
                }
            }
            let is_one_blocked = self.block_changes(|change| {
                if !change.action.deletes() {
                    return None;
                }
                match referrers(&change.key) {
                    Ok(mut by) => {
                        by.retain(|one| refers(&change.key, one));
                        let is_allowed = match &mut change.action {
                            Action::Delete { referrers, .. } => {
                                referrers.clone_from(&by);
                                allow.key(KeyAllowance::Referred, &change.key)
                            }
                            // For its referrers, a recreated object is a different one.
                            _ => false,
                        };
                        let is_blocked = !by.is_empty() && !is_allowed;
                        is_blocked.then_some(BlockReason::Referred { by })
                    }
                    Err(reason) => Some(BlockReason::Unchangeable(Unchangeable::ReferrersUnknown { reason })),
                }
            });
            // Blocked objects keep their references to others.
            if !is_one_blocked && !self.block_circles() && !self.block_replaced() {
                return;
            }
        }
    }

    /// Blocks the recreates of objects whose referrers can drop their references only after the objects exist again.
    /// Returns whether it blocked any.
    fn block_circles(&mut self) -> bool {
        let mut circles = waves::recreated_in_circles(&self.changes);
        !circles.is_empty()
            && self.block_changes(|change| circles.remove(&change.key).map(|by| BlockReason::Referred { by }))
    }

    /// Blocks deletes in this part of `whole` whose referrers would drop their references in changes that are left out.
    pub(super) fn block_still_referred(&mut self, whole: &Plan, allow: &Allowances) {
        let of_change = |change: &Change| match &change.action {
            Action::Delete { referrers, .. } => Some((change.key.clone(), referrers.clone())),
            Action::Recreate { .. } => Some((change.key.clone(), Vec::new())),
            _ => None,
        };
        let mut referrers: BTreeMap<Key, Vec<RelatedObject>> = self.changes.iter().filter_map(of_change).collect();
        if referrers.is_empty() {
            return;
        }
        for Change { key, action, .. } in &whole.changes {
            for target in action.before().map(|before| waves::target_keys(&before.endpoint)).unwrap_or_default() {
                let by = referrers.get_mut(&target).filter(|by| by.iter().all(|one| one.key().as_ref() != Some(key)));
                by.into_iter().for_each(|by| by.push(RelatedObject::from(key)));
            }
        }
        self.refer(allow, |key| Ok(referrers.get(key).cloned().unwrap_or_default()));
    }

    /// The objects that this plan deletes or replaces, each with what it refers to afterwards.
    fn referring_afterwards(&self) -> BTreeMap<Key, BTreeSet<Key>> {
        // The usual case: endpoints do not refer to one another.
        let is_mixed = self.changes.iter().any(|change| !change.key.kind.is_endpoint());
        let writes = [ActionKind::Replace, ActionKind::Recreate, ActionKind::Delete];
        let changed = self.changes.iter().filter(|change| is_mixed && writes.contains(&change.action.kind()));
        let targets =
            |change: &Change| waves::afterwards(change).as_deref().map(waves::target_keys).unwrap_or_default();
        // An object that moves to another namespace is deleted last, so it refers to its future targets until then.
        let mut moved: BTreeMap<(KindName, &Name), BTreeSet<Key>> = BTreeMap::new();
        for create in self.of_kind(ActionKind::Create).filter(|_| is_mixed) {
            moved.entry((create.key.kind, &create.key.name)).or_default().extend(targets(create));
        }
        let referring = |change: &Change| match change.action {
            Action::Delete { .. } => moved.get(&(change.key.kind, &change.key.name)).cloned().unwrap_or_default(),
            _ => targets(change),
        };
        changed.map(|change| (change.key.clone(), referring(change))).collect()
    }

    /// Blocks the changes for which `reason` returns one. Returns whether it blocked any.
    pub(super) fn block_changes(&mut self, mut reason: impl FnMut(&mut Change) -> Option<BlockReason>) -> bool {
        // In place: another vector would take the memory of all changes again.
        let mut reasons = Vec::new();
        let is_blocked = |change: &mut Change| {
            let reason = reason(change);
            let is_blocked = reason.is_some();
            reasons.extend(reason);
            is_blocked
        };
        let blocked: Vec<Change> = self.changes.extract_if(.., is_blocked).collect();
        let is_one_blocked = !blocked.is_empty();
        let blocked = blocked.into_iter().zip(reasons);
        self.blocked
            .extend(blocked.map(|(change, reason)| BlockedChange::new(change.key.clone(), reason, Some(change))));
        self.blocked.sort_by(|a, b| a.key.cmp(&b.key));
        self.guard();
        is_one_blocked
    }
}

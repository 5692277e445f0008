//! Who refers to the endpoints that a plan would delete. A list does not say, so the planner asks the
//! service for each delete. What else blocks a delete is also taken in here.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Action, ActionKind, Allowances, BlockReason, BlockedChange, Change, KeyAllowance, Plan, Unchangeable, waves,
};
use crate::kind::KindName;
use crate::model::{Key, Name, RelatedObject};

impl Plan {
    /// The endpoints that would go for good.
    pub fn deletes(&self) -> impl Iterator<Item = &Key> {
        self.of_kind(ActionKind::Delete).map(|change| &change.key)
    }

    /// The endpoints that would go, for good or to be created anew, once that is allowed: the planner asks the service who
    /// refers to each.
    pub fn going(&self) -> impl Iterator<Item = &Key> {
        let goes = self.changes.iter().filter(|change| change.action.deletes()).map(|change| &change.key);
        goes.chain(self.blocked.iter().filter(|entry| entry.is_fixed()).map(|entry| &entry.key))
    }

    /// Blocks the deletes for which there is a reason; whether there were any.
    pub fn block_deletes(&mut self, mut reason: impl FnMut(&Key) -> Option<BlockReason>) -> bool {
        self.block_changes(|change| match change.action {
            Action::Delete { .. } => reason(&change.key),
            _ => None,
        })
    }

    /// Takes in who refers to the endpoints that would go: a delete of one that others refer to, or
    /// of which that is not known, is blocked unless it was allowed by name.
    pub fn refer(&mut self, allow: &Allowances, mut referrers: impl FnMut(&Key) -> Result<Vec<RelatedObject>, String>) {
        loop {
            let referring = self.referring_afterwards();
            // What goes before it, or lets it go, does not refer to it then.
            let refers = |key: &Key, one: &RelatedObject| {
                let afterwards = one.key().and_then(|one| referring.get(&one));
                afterwards.is_none_or(|targets| targets.contains(key))
            };
            for entry in self.blocked.iter_mut().filter(|entry| entry.is_fixed()) {
                let Ok(mut by) = referrers(&entry.key) else { continue };
                by.retain(|one| refers(&entry.key, one));
                // The consent to create it anew would not help.
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
                            // What is created again is another object to those that refer to it.
                            _ => false,
                        };
                        let is_blocked = !by.is_empty() && !is_allowed;
                        is_blocked.then_some(BlockReason::Referred { by })
                    }
                    Err(reason) => Some(BlockReason::Unchangeable(Unchangeable::ReferrersUnknown { reason })),
                }
            });
            // What is blocked keeps referring to the others.
            if !is_one_blocked && !self.block_circles() && !self.block_replaced() {
                return;
            }
        }
    }

    /// Blocks the recreates of objects whose referrers can let go of them only after they are there again; whether there
    /// are any.
    fn block_circles(&mut self) -> bool {
        let mut circles = waves::recreated_in_circles(&self.changes);
        !circles.is_empty()
            && self.block_changes(|change| circles.remove(&change.key).map(|by| BlockReason::Referred { by }))
    }

    /// Blocks what goes in this part of `whole`, and would be let go by a change that the part leaves out.
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
        // Endpoints alone do not refer to one another: the usual case.
        let is_mixed = self.changes.iter().any(|change| !change.key.kind.is_endpoint());
        let writes = [ActionKind::Replace, ActionKind::Recreate, ActionKind::Delete];
        let changed = self.changes.iter().filter(|change| is_mixed && writes.contains(&change.action.kind()));
        let targets =
            |change: &Change| waves::afterwards(change).as_deref().map(waves::target_keys).unwrap_or_default();
        // What moves to another namespace goes after it is there: it refers to what it will refer to until then.
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

    /// Blocks the changes for which there is a reason; whether there were any.
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

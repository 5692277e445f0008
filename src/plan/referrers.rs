//! Who refers to the endpoints that a plan would delete. A list does not say, so the planner asks the
//! service for each delete. What else blocks a delete is also taken in here.

use super::{Action, Allowances, BlockReason, BlockedChange, Change, Plan, Unchangeable};
use crate::model::{Key, RelatedObject};

impl Plan {
    /// The endpoints that would go: the planner asks the service who refers to each.
    pub fn deletes(&self) -> impl Iterator<Item = &Key> {
        self.changes.iter().filter(|change| matches!(change.action, Action::Delete { .. })).map(|change| &change.key)
    }

    /// Blocks the deletes for which there is a reason.
    pub fn block_deletes(&mut self, mut reason: impl FnMut(&Key) -> Option<BlockReason>) {
        self.block_changes(|change| match change.action {
            Action::Delete { .. } => reason(&change.key),
            _ => None,
        });
    }

    /// Takes in who refers to the endpoints that would go: a delete of one that others refer to, or
    /// of which that is not known, is blocked unless it was allowed by name.
    pub fn refer(&mut self, allow: &Allowances, mut referrers: impl FnMut(&Key) -> Result<Vec<RelatedObject>, String>) {
        self.block_changes(|change| {
            let Action::Delete { referrers: known, .. } = &mut change.action else { return None };
            match referrers(&change.key) {
                Ok(by) => {
                    known.clone_from(&by);
                    let is_blocked = !by.is_empty() && !allow.referred(&change.key);
                    is_blocked.then_some(BlockReason::Referred { by })
                }
                Err(reason) => Some(BlockReason::Unchangeable(Unchangeable::ReferrersUnknown { reason })),
            }
        });
    }

    fn block_changes(&mut self, mut reason: impl FnMut(&mut Change) -> Option<BlockReason>) {
        // In place: another vector would take the memory of all changes again.
        let mut reasons = Vec::new();
        let is_blocked = |change: &mut Change| {
            let reason = reason(change);
            let is_blocked = reason.is_some();
            reasons.extend(reason);
            is_blocked
        };
        let blocked: Vec<Change> = self.changes.extract_if(.., is_blocked).collect();
        let blocked = blocked.into_iter().zip(reasons);
        self.blocked
            .extend(blocked.map(|(change, reason)| BlockedChange::new(change.key.clone(), reason, Some(change))));
        self.blocked.sort_by(|a, b| a.key.cmp(&b.key));
        self.guard();
    }
}

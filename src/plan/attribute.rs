//! Attributes differences: compares the definitions at the merge base (M), at the base's tip (B) and in
//! the working tree (H), where H differs from live. Absence is a value like any other.

use super::owner::foreign_stack;
use super::{
    Action, ActionKind, Allowances, Attribution, BlockReason, BlockedChange, Cause, Change, FieldChange, Ignore, Plan,
    Unchangeable, waves,
};
use crate::model::{Desired, Field, Json, Key, Object};

/// The definitions of a stack at a commit.
#[derive(Debug, Clone, Default)]
pub struct PastDefinitions {
    /// Its definitions.
    pub desired: Desired,
    /// The fields that its settings ignored.
    pub ignored: Ignore,
}

/// The definitions at the three points of history.
#[derive(Clone, Copy)]
pub struct DefinitionHistory<'a> {
    /// At the merge base.
    pub merge_base: &'a PastDefinitions,
    /// At the base's tip.
    pub base: &'a PastDefinitions,
    /// In the working tree.
    pub head: &'a Desired,
}

/// The rule for one value at the three points of history.
fn side<T: PartialEq>(merge_base: T, base: T, head: T, cause: Cause) -> Attribution {
    if base != merge_base && base != head {
        Attribution::BehindBase
    } else if head != merge_base && base == merge_base {
        Attribution::ThisChange
    } else if cause == Cause::Drift {
        Attribution::Drift
    } else {
        Attribution::PendingOnBase
    }
}

impl DefinitionHistory<'_> {
    fn whole(&self, key: &Key) -> [Option<&Object>; 3] {
        [&self.merge_base.desired, &self.base.desired, self.head]
            .map(|desired| desired.definitions.get(key).map(|definition| &definition.endpoint))
    }

    /// A field at each point; `None` where it was ignored.
    fn field(&self, key: &Key, field: &Field) -> [Option<Option<Json>>; 3] {
        let is_left = |past: &PastDefinitions| past.ignored.fields(key).contains(field);
        let [merge_base, base, head] = self.whole(key).map(|object| Some(object.map(|object| field.value(object))));
        [merge_base.filter(|_| !is_left(self.merge_base)), base.filter(|_| !is_left(self.base)), head]
    }
}

impl Plan {
    /// Attributes each changed field, and each object that is created or deleted, and raises the
    /// `behind-base` guard where any of them is behind the base.
    ///
    /// The plan's settings then record that a base was given, so that the digest of a plan reviewed with a base
    /// differs from that of a plan without, which cannot show what is behind the base.
    pub fn attribute(&mut self, history: DefinitionHistory<'_>) {
        self.settings.base = true;
        let blocked = self.blocked.iter_mut().filter_map(|entry| entry.change.as_mut());
        for change in self.changes.iter_mut().chain(blocked) {
            attribute(change, history);
        }
        self.guard();
    }
}

/// The filter that selects what the working tree changed.
pub const ONLY_THIS_CHANGE: &str = "--only-this-change";

impl Plan {
    /// The plan with only what the working tree changed, as a filter of the call: a replace keeps only its fields from
    /// the working tree. Fields that are left out stay unchanged in the ownership annotations, so that later plans find
    /// the same causes. The consents are those that this part needs.
    #[must_use]
    pub fn only_this_change(&self, allow: &Allowances) -> Plan {
        let mut plan = self.clone();
        let mut left_out = 0;
        plan.changes.retain_mut(|change| {
            let fields = change.fields().len();
            let stays = change.narrow();
            let is_whole = stays && change.fields().len() == fields;
            left_out += usize::from(!is_whole && change.action.kind() != ActionKind::Annotate);
            stays
        });
        let blocked = plan.blocked.len();
        plan.blocked.retain_mut(|held| held.change.as_mut().is_none_or(Change::narrow));
        plan.left_out += left_out + blocked - plan.blocked.len();
        // Whether the part blocks them is computed again.
        let unreplaced = |held: &mut BlockedChange| matches!(held.reason, BlockReason::Unreplaced { .. });
        let unreplaced = plan.blocked.extract_if(.., unreplaced).filter_map(|held| held.change);
        plan.changes.extend(unreplaced);
        plan.free_unfixed();
        let whole = self.by_key();
        plan.block_changes(|change| {
            whole.get(&change.key).filter(|whole| whole.fields().len() != change.fields().len())?;
            change.unwritable_part().map(BlockReason::Unchangeable)
        });
        plan.source.filters.push(ONLY_THIS_CHANGE.to_owned());
        plan.block_without_targets(self);
        plan.block_replaced();
        plan.block_still_referred(self, allow);
        plan = plan.order();
        let by = plan.allowed.first().and_then(|allowed| allowed.by.clone());
        plan.consent(&self.consents(), by.as_deref());
        plan
    }

    /// Frees the changes that only a field that is left out blocked: one that is immutable or needs a secret.
    fn free_unfixed(&mut self) {
        let stack = self.stack.as_deref();
        let is_foreign = |change: &Change| foreign_stack(change.action.object(), stack).is_some();
        let is_free = |held: &mut BlockedChange| {
            let change = held.change.as_ref().filter(|change| !is_foreign(change));
            let lacks_secret =
                |change: &Change| waves::afterwards(change).is_none_or(|after| change.missing_secret(&after).is_some());
            change.filter(|change| !change.is_fixed()).is_some_and(|change| match held.reason {
                BlockReason::Unchangeable(Unchangeable::SecretMissing { .. }) => !lacks_secret(change),
                _ => held.is_fixed(),
            })
        };
        let freed = self.blocked.extract_if(.., is_free).filter_map(|held| held.change);
        self.changes.extend(freed);
    }

    /// Whether the plan was narrowed to what the working tree changed.
    pub fn is_only_this_change(&self) -> bool {
        self.source.filters.iter().any(|filter| filter == ONLY_THIS_CHANGE)
    }
}

impl Change {
    /// The attribution of the change as one word: of a replace with several, the one that a reviewer has to see first.
    /// `None` without a base.
    pub fn whose(&self) -> Option<Attribution> {
        let sides = || self.attribution.into_iter().chain(self.fields().iter().filter_map(|field| field.attribution));
        [Attribution::ThisChange, Attribution::BehindBase, Attribution::Drift, Attribution::PendingOnBase]
            .into_iter()
            .find(|side| sides().any(|one| one == *side))
    }

    /// Whether its fields have different attributions.
    pub fn is_of_several(&self) -> bool {
        let mut sides = self.fields().iter().map(|field| (field.attribution, field.changed_here));
        let first = sides.next();
        sides.any(|side| Some(side) != first)
    }

    /// Keeps what the working tree changed, and returns whether that is anything. Fields that the base changed as well
    /// stay, and are still behind the base: without them, only half of the change would be made.
    fn narrow(&mut self) -> bool {
        let is_ours = |attribution, changed_here| attribution == Some(Attribution::ThisChange) || changed_here;
        let is_ours_in = |field: &FieldChange| is_ours(field.attribution, field.changed_here);
        if !is_ours(self.attribution, self.changed_here) && !self.fields().iter().any(is_ours_in) {
            return false;
        }
        let (Action::Replace { fields, before, .. } | Action::Recreate { fields, before }) = &mut self.action else {
            return true;
        };
        let others: Vec<Field> =
            fields.iter().filter(|field| !is_ours_in(field)).map(|field| field.field.clone()).collect();
        if others.is_empty() {
            return true;
        }
        fields.retain(is_ours_in);
        // Where the applied values are unknown, new annotations would give the other fields a false cause.
        self.ownership = self.ownership.as_ref().and_then(|ownership| ownership.keeping(&before.endpoint, &others));
        let is_fixed = self.is_fixed();
        match &mut self.action {
            Action::Replace { adopts, .. } => *adopts &= self.ownership.is_some(),
            Action::Recreate { fields, before } if !is_fixed => {
                self.action = Action::Replace { fields: fields.clone(), adopts: false, before: before.clone() };
            }
            _ => {}
        }
        true
    }

    /// Why it cannot be written without the rest: an option that the rest would have replaced stays and has a secret,
    /// or the write contains a hidden value that was not applied.
    fn unwritable_part(&self) -> Option<Unchangeable> {
        let secrets = self.action.before().map_or(&[][..], |before| &before.secrets);
        let lost = secrets.iter().find(|place| self.loses(place)).cloned();
        let unapplied = || self.unapplied().map(|path| Unchangeable::Unapplied { path });
        lost.map(|path| Unchangeable::Secret { path }).or_else(unapplied)
    }

    /// Whether a replace cannot change one of its fields.
    fn is_fixed(&self) -> bool {
        let kind = self.key.kind;
        self.fields().iter().any(|change| change.field.fixed(kind, &change.before, &change.after).is_some())
    }
}

fn attribute(change: &mut Change, history: DefinitionHistory<'_>) {
    let key = change.key.clone();
    match &mut change.action {
        Action::Create { .. } | Action::Delete { .. } => {
            let [merge_base, base, head] = history.whole(&key);
            change.changed_here = head != merge_base && base != merge_base && base != head;
            change.attribution = Some(side(merge_base, base, head, change.cause.unwrap_or(Cause::Pending)));
        }
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => {
            for change in fields {
                let [merge_base, base, head] = history.field(&key, &change.field);
                change.changed_here = head != merge_base && base != merge_base && base != head;
                change.attribution = Some(side(merge_base, base, head, change.cause));
            }
        }
        Action::Annotate { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributed(merge_base: u8, base: u8, head: u8, cause: Cause) -> &'static str {
        side(merge_base, base, head, cause).as_str()
    }

    #[test]
    fn a_base_that_moved_elsewhere_leaves_the_head_behind_whatever_live_is() {
        for cause in [Cause::Pending, Cause::Drift, Cause::Both, Cause::Unannotated] {
            assert_eq!(attributed(1, 2, 1, cause), "behind base");
            assert_eq!(attributed(1, 2, 3, cause), "behind base");
        }
    }

    #[test]
    fn a_head_that_moved_alone_is_this_change() {
        for cause in [Cause::Pending, Cause::Drift, Cause::Both, Cause::Unannotated] {
            assert_eq!(attributed(1, 1, 2, cause), "this change");
        }
    }

    #[test]
    fn a_head_equal_to_the_base_is_drift_where_the_mark_says_so_and_otherwise_pending_on_base() {
        for (merge_base, both) in [(1, 1), (1, 2)] {
            assert_eq!(attributed(merge_base, both, both, Cause::Drift), "drift");
            assert_eq!(attributed(merge_base, both, both, Cause::Pending), "pending on base");
            assert_eq!(attributed(merge_base, both, both, Cause::Both), "pending on base");
            assert_eq!(attributed(merge_base, both, both, Cause::Unannotated), "pending on base");
        }
    }

    #[test]
    fn absence_is_a_value() {
        let side = |merge_base: Option<u8>, base, head| side(merge_base, base, head, Cause::Pending).as_str();
        // The branch adds a definition.
        assert_eq!(side(None, None, Some(1)), "this change");
        // The base removed it and the branch still has it.
        assert_eq!(side(Some(1), None, Some(1)), "behind base");
        // The branch removes it.
        assert_eq!(side(Some(1), Some(1), None), "this change");
        // The base added it after the branch was cut.
        assert_eq!(side(None, Some(1), None), "behind base");
        // Neither knows it: an object that the base once removed and that was not applied.
        assert_eq!(side(None, None, None), "pending on base");
        // Both removed it.
        assert_eq!(side(Some(1), None, None), "pending on base");
        // Both added the same.
        assert_eq!(side(None, Some(1), Some(1)), "pending on base");
    }
}

//! Whose change a difference is: judged from the definitions at the merge base (M), at the base's tip
//! (B) and in the working tree (H), where H differs from live. Absence is a value like any other.

use super::{Action, Attribution, Cause, Change, Plan};
use crate::model::{Desired, Endpoint, Field, Json, Key};

/// The definitions at the three places of history.
#[derive(Clone, Copy)]
pub struct DefinitionHistory<'a> {
    /// At the merge base.
    pub merge_base: &'a Desired,
    /// At the base's tip.
    pub base: &'a Desired,
    /// In the working tree.
    pub head: &'a Desired,
}

/// The rule, over one value at three places.
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
    fn whole(&self, key: &Key) -> [Option<&Endpoint>; 3] {
        [self.merge_base, self.base, self.head]
            .map(|desired| desired.definitions.get(key).map(|definition| &definition.endpoint))
    }

    fn field(&self, key: &Key, field: &Field) -> [Option<Json>; 3] {
        self.whole(key).map(|endpoint| endpoint.map(|endpoint| field.value(endpoint)))
    }
}

impl Plan {
    /// Gives each changed field, and each whole object that appears or goes, its side, and lets the
    /// `behind-base` guard stand where one is behind the base.
    ///
    /// The guard's settings then say that there is a base: a plan that was reviewed with one has another
    /// digest than a plan without, which would not see what is behind it.
    pub fn attribute(&mut self, history: DefinitionHistory<'_>) {
        self.settings.base = true;
        let blocked = self.blocked.iter_mut().filter_map(|entry| entry.change.as_mut());
        for change in self.changes.iter_mut().chain(blocked) {
            attribute(change, history);
        }
        self.guard();
    }
}

fn attribute(change: &mut Change, history: DefinitionHistory<'_>) {
    let key = change.key.clone();
    match &mut change.action {
        Action::Create { .. } | Action::Delete { .. } => {
            let [merge_base, base, head] = history.whole(&key);
            change.attribution = Some(side(merge_base, base, head, change.cause.unwrap_or(Cause::Pending)));
        }
        Action::Replace { fields, .. } => {
            for change in fields {
                let [merge_base, base, head] = history.field(&key, &change.field);
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
        // Neither knows it: an object that the base once removed and nobody applied.
        assert_eq!(side(None, None, None), "pending on base");
        // Both removed it.
        assert_eq!(side(Some(1), None, None), "pending on base");
        // Both added the same.
        assert_eq!(side(None, Some(1), Some(1)), "pending on base");
    }
}

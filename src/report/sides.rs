//! Which differences a report tells in full, where a base branch says whose they are. What is not told
//! is counted; what is behind the base is always told by name, because an apply would revert it.

use std::borrow::Cow;

use crate::plan::{Action, ActionKind, Change, Held, Plan, Side};

/// Which differences a report tells in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sides {
    /// What the working tree changed, and what is behind the base; the others are counted.
    #[default]
    ThisChange,
    /// Every difference.
    All,
}

impl Sides {
    /// Whether everything is told: there is no base, or everything was asked for.
    #[must_use]
    pub fn tells_all(self, plan: &Plan) -> bool {
        plan.source.base.is_none() || self == Sides::All
    }

    /// The changes with the fields for which `is_told` holds; all of them where everything is told.
    pub(super) fn told(self, plan: &Plan, is_told: fn(Option<Side>) -> bool) -> Cow<'_, [Change]> {
        if self.tells_all(plan) {
            return Cow::Borrowed(&plan.changes);
        }
        Cow::Owned(plan.changes.iter().filter_map(|change| part(change, is_told)).collect())
    }

    /// Whether what is held back is told.
    pub(super) fn tells(self, held: &Held, plan: &Plan, is_told: fn(Option<Side>) -> bool) -> bool {
        self.tells_all(plan) || held.change.as_ref().is_none_or(|change| is_part(change, is_told))
    }
}

/// What a plan would do, as a reviewer counts it: what this change does by action, then what is behind
/// the base, then what is of others. Where everything is told, all of it by action.
pub(super) fn summary(plan: &Plan, sides: Sides, number: fn(usize) -> String) -> Vec<String> {
    let all = sides.tells_all(plan);
    let done: Vec<&Change> = plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Mark).collect();
    let (ours, others): (Vec<&Change>, Vec<&Change>) =
        done.into_iter().partition(|change| all || is_part(change, is_ours));
    let mut parts: Vec<String> = [ActionKind::Create, ActionKind::Replace, ActionKind::Delete]
        .into_iter()
        .map(|kind| (kind, ours.iter().filter(|change| change.action.kind() == kind).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{} to {kind}", number(count)))
        .collect();
    let behind = others.iter().filter(|change| change.is_behind_base()).count();
    let more = [(behind, "behind base"), (others.len() - behind, "not this change")];
    parts.extend(
        more.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", number(count))),
    );
    parts
}

/// Of this change, or of nobody that is known.
pub(super) fn is_ours(side: Option<Side>) -> bool {
    matches!(side, None | Some(Side::ThisChange))
}

/// Of this change, or what it would take back.
pub(super) fn concerns_us(side: Option<Side>) -> bool {
    is_ours(side) || side == Some(Side::BehindBase)
}

/// Whether any of a change is told.
pub(super) fn is_part(change: &Change, is_told: fn(Option<Side>) -> bool) -> bool {
    match &change.action {
        Action::Replace { fields, .. } => fields.iter().any(|field| is_told(field.side)),
        Action::Mark { .. } => true,
        Action::Create { .. } | Action::Delete { .. } => is_told(change.side),
    }
}

/// The part of a change that is told: of a replace only the fields that are.
fn part(change: &Change, is_told: fn(Option<Side>) -> bool) -> Option<Change> {
    is_part(change, is_told).then(|| {
        let mut change = change.clone();
        if let Action::Replace { fields, .. } = &mut change.action {
            fields.retain(|field| is_told(field.side));
        }
        change
    })
}

//! Which differences a report lists in full, if a base branch attributes them. The others are counted. What
//! is behind the base is always listed by name, because an apply would revert it.

use std::borrow::Cow;

use crate::plan::{Action, ActionKind, Attribution, BlockedChange, Change, Plan};

/// Which differences a report lists in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttributionDetail {
    /// What the working tree changed, and what is behind the base; the others are counted.
    #[default]
    ThisChange,
    /// Every difference.
    All,
}

impl AttributionDetail {
    /// Whether everything is listed: without a base, or if everything was asked for.
    #[must_use]
    pub fn lists_all(self, plan: &Plan) -> bool {
        plan.source.base.is_none() || self == AttributionDetail::All
    }

    /// The changes with the fields for which `is_listed` holds; all of them if everything is listed.
    pub(super) fn listed(self, plan: &Plan, is_listed: fn(Option<Attribution>) -> bool) -> Cow<'_, [Change]> {
        if self.lists_all(plan) {
            return Cow::Borrowed(&plan.changes);
        }
        Cow::Owned(plan.changes.iter().filter_map(|change| part(change, is_listed)).collect())
    }

    /// Whether a blocked change is listed.
    pub(super) fn lists(self, held: &BlockedChange, plan: &Plan, is_listed: fn(Option<Attribution>) -> bool) -> bool {
        self.lists_all(plan) || held.change.as_ref().is_none_or(|change| is_part(change, is_listed))
    }
}

/// What a plan would do, as a reviewer counts it: what this change does by action, then what is behind
/// the base, then what is of others. If everything is listed, all of it by action.
pub(super) fn summary(plan: &Plan, sides: AttributionDetail, number: fn(usize) -> String) -> Vec<String> {
    let all = sides.lists_all(plan);
    let done: Vec<&Change> =
        plan.changes.iter().filter(|change| change.action.kind() != ActionKind::Annotate).collect();
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
pub(super) fn is_ours(side: Option<Attribution>) -> bool {
    matches!(side, None | Some(Attribution::ThisChange))
}

/// Of this change, or what it would revert.
pub(super) fn concerns_us(side: Option<Attribution>) -> bool {
    is_ours(side) || side == Some(Attribution::BehindBase)
}

/// Whether any part of a change is listed.
pub(super) fn is_part(change: &Change, is_listed: fn(Option<Attribution>) -> bool) -> bool {
    match &change.action {
        Action::Replace { fields, .. } => fields.iter().any(|field| is_listed(field.attribution)),
        Action::Annotate { .. } => true,
        Action::Create { .. } | Action::Delete { .. } => is_listed(change.attribution),
    }
}

/// The part of a change that is listed: of a replace only those fields.
fn part(change: &Change, is_listed: fn(Option<Attribution>) -> bool) -> Option<Change> {
    is_part(change, is_listed).then(|| {
        let mut change = change.clone();
        if let Action::Replace { fields, .. } = &mut change.action {
            fields.retain(|field| is_listed(field.attribution));
        }
        change
    })
}

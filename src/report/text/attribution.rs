//! Whose change a difference is, for the person who reviews one change: that change in full, what is behind
//! the base by name, everything else as a count.

use crate::report::counted::count;
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{TextView, at_the_end, columns};
use crate::model::{Key, SourceLocation};
use crate::plan::{ActionKind, Attribution, BlockedChange, Change, Plan};
use crate::report::attribution::{is_ours, is_part};
use crate::report::{Role, safe};

/// The changes that are listed in full; of a replace only those fields.
pub(super) fn listed<'p>(plan: &'p Plan, view: &TextView) -> Cow<'p, [Change]> {
    view.detail.listed(plan, is_ours)
}

/// Whether a blocked change is listed.
pub(super) fn lists(held: &BlockedChange, plan: &Plan, view: &TextView) -> bool {
    view.detail.lists(held, plan, is_ours)
}

/// A difference of another side, by what it is about.
struct OtherDifference<'p> {
    side: Attribution,
    key: &'p Key,
    what: String,
    place: Option<&'p SourceLocation>,
}

fn all_others(plan: &Plan) -> Vec<OtherDifference<'_>> {
    let held = plan.blocked.iter().filter_map(|held| held.change.as_ref());
    let mut others = Vec::new();
    for change in plan.changes.iter().chain(held).filter(|change| change.action.kind() != ActionKind::Annotate) {
        let whole =
            change.attribution.map(|side| (side, format!("the {} of it", change.action.kind()), change.place.as_ref()));
        let fields = change
            .fields()
            .iter()
            .filter_map(|field| Some((field.attribution?, field.field.to_string(), field.place.as_ref())));
        let sides = whole.into_iter().chain(fields).filter(|(side, ..)| *side != Attribution::ThisChange);
        others.extend(sides.map(|(side, what, place)| OtherDifference { side, key: &change.key, what, place }));
    }
    others
}

/// What is not listed in full: what is behind the base by name, the rest by numbers.
pub(super) fn others(plan: &Plan, view: &TextView) -> String {
    if view.detail.lists_all(plan) {
        return String::new();
    }
    let base = plan.source.base.as_deref().unwrap_or_default();
    let base = safe::line(base);
    let others = all_others(plan);
    let mut text = String::new();
    if plan
        .changes
        .iter()
        .filter(|change| change.action.kind() != ActionKind::Annotate)
        .all(|one| !is_part(one, is_ours))
    {
        text.push_str("\n  no difference is from this change\n");
    }
    let behind: Vec<&OtherDifference<'_>> =
        others.iter().filter(|other| other.side == Attribution::BehindBase).collect();
    if !behind.is_empty() {
        let word = view.palette.paint(Role::Careful, "behind base");
        text.push_str(&format!("\n  {word}  {base} has newer changes that this change lacks:\n"));
        for other in &behind {
            let key = other.key.to_string();
            let left = format!("        {:<40}  {}", safe::line(&key), safe::line(&other.what));
            let place = other.place.map(super::at).unwrap_or_default();
            text.push_str(&format!("{}\n", at_the_end(&left, columns(&left), &place, columns(&place), view.width)));
        }
        text.push_str(&format!("        applying would revert merged work; merge {base} into this change first\n"));
    }
    let mut counts: BTreeMap<Attribution, usize> = BTreeMap::new();
    for other in others.iter().filter(|other| other.side != Attribution::BehindBase) {
        *counts.entry(other.side).or_default() += 1;
    }
    if !counts.is_empty() {
        let counts: Vec<String> =
            counts.into_iter().map(|(side, number)| format!("{} {side}", count(number, "difference"))).collect();
        text.push_str(&format!("\n  not this change: {} (--all shows them)\n", counts.join(", ")));
    }
    text
}

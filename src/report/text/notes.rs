use std::collections::BTreeMap;

use super::{TextView, count, some_of};
use crate::plan::{Note, Plan};
use crate::report::{Role, safe};

/// Names that are shown of each note.
const NAMES: usize = 6;

/// The notes of a plan, equal ones folded into one line.
pub(super) fn notes(plan: &Plan, view: &TextView) -> String {
    let word = view.palette.paint(Role::Quiet, "note");
    lines(plan).into_iter().map(|line| format!("  {word}  {line}\n")).collect()
}

/// The notes of a plan in words, a line each.
pub(in crate::report) fn lines(plan: &Plan) -> Vec<String> {
    lines_of(plan, |_| true)
}

/// Those of the notes, in words.
pub(in crate::report) fn lines_of(plan: &Plan, which: impl Fn(&Note) -> bool) -> Vec<String> {
    let mut kinds: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
    for note in plan.notes.iter().filter(|note| which(note)) {
        let (kind, name) = kind(note);
        kinds.entry(kind).or_default().push(name);
    }
    kinds.into_iter().map(|((kind, shared), names)| note_text(kind, &safe::line(&shared), &names)).collect()
}

/// Notes with one kind and one shared text are told together; the other text names each.
fn kind(note: &Note) -> ((u8, String), String) {
    match note {
        Note::EmptyNamespace { namespace } => ((0, String::new()), namespace.to_string()),
        Note::Owned { key, owner } => ((1, owner.clone()), key.to_string()),
        Note::Unmanaged { key } => ((2, key.namespace.to_string()), key.to_string()),
        Note::Orphan { key } => ((3, key.namespace.to_string()), key.to_string()),
        Note::Unmarked { key } => ((4, String::new()), key.to_string()),
        Note::ForeignEqual { key, stack } => ((5, stack.clone()), key.to_string()),
        Note::Unsupported { key, reason } => ((6, reason.clone()), key.to_string()),
        Note::UnknownField { key, path } => ((7, path.clone()), key.to_string()),
        Note::DroppedField { key, path } => ((16, path.clone()), key.to_string()),
        Note::Recreated { key, referrers } => {
            let by: Vec<String> = referrers.iter().map(ToString::to_string).collect();
            ((9, by.join(", ")), key.to_string())
        }
        Note::ReferrersNotAsked { key } => ((10, String::new()), key.to_string()),
        Note::Loaded { text } => ((8, text.clone()), String::new()),
        Note::Copied { key, of } => ((11, of.as_ref().map(ToString::to_string).unwrap_or_default()), key.to_string()),
        Note::Unstacked { key } => ((12, String::new()), key.to_string()),
        Note::Outside { key } => ((13, key.namespace.to_string()), key.to_string()),
        Note::OutsideUnread { namespace, reason } => ((14, reason.clone()), namespace.to_string()),
        Note::DeletesUnknown { key, reason } => ((15, reason.clone()), key.to_string()),
    }
}

fn note_text(kind: u8, shared: &str, names: &[String]) -> String {
    let list = some_of(names, NAMES);
    let endpoints = count(names.len(), "endpoint");
    let (is, belongs) = if names.len() == 1 { ("is", "belongs") } else { ("are", "belong") };
    match kind {
        0 => format!("{list}: nothing is there yet; the service answers the same for a namespace that does not exist"),
        1 => format!("{endpoints} {belongs} to another object ({shared}) and {is} left alone: {list}"),
        2 => format!("{} in {shared} {is} not managed here: {list}", count(names.len(), "live endpoint")),
        3 => format!(
            "{endpoints} of this stack in {shared} {is} defined no more and nothing may be deleted there \
             (list it under `namespaces:`): {list}"
        ),
        4 => format!("{endpoints} {is} in sync without a mark (--adopt takes ownership): {list}"),
        5 => format!("{endpoints} {is} as defined and {belongs} to stack {shared}: {list}"),
        6 => format!("{endpoints} cannot be read by this trueup ({shared}) and {is} left alone: {list}"),
        7 => format!(
            "{endpoints} {} the field {shared}, which this trueup does not know and keeps: {list}",
            if names.len() == 1 { "has" } else { "have" }
        ),
        16 => format!(
            "{endpoints} {} the field {shared}, which this trueup does not know and removes with the option that \
             contains it: {list}",
            if names.len() == 1 { "has" } else { "have" }
        ),
        9 if shared.is_empty() => format!("{endpoints} {is} created again and gets a new uid: {list}"),
        10 => format!(
            "{endpoints} would go, and the snapshot does not say who refers to {} (an apply asks; so does \
             `snapshot --referrers`): {list}",
            if names.len() == 1 { "it" } else { "them" }
        ),
        11 => {
            let of = if shared.is_empty() { "another endpoint" } else { shared };
            format!("{endpoints} {} the ownership annotations of {of}, copied, and {is} nobody's: {list}", carry(names))
        }
        12 => format!("{endpoints} {} applied without a stack and {is} taken over by this one: {list}", was(names)),
        13 => format!(
            "{endpoints} of this stack in {shared} {is} outside of `namespaces:` (list it again, or delete {} with \
             --prune-namespace {shared}): {list}",
            if names.len() == 1 { "it" } else { "them" }
        ),
        14 => format!(
            "{list}: this stack once had {}, and what is left there could not be read ({shared})",
            if names.len() == 1 { "it" } else { "them" }
        ),
        15 => {
            let missing = count(names.len(), "missing endpoint");
            format!("whether {missing} {} deleted outside cannot be decided ({shared}): {list}", was(names))
        }
        9 => format!("{endpoints} {is} created again and gets a new uid; {shared} referred to the old one: {list}"),
        _ => shared.to_owned(),
    }
}

fn carry(names: &[String]) -> &'static str {
    if names.len() == 1 { "carries" } else { "carry" }
}

fn was(names: &[String]) -> &'static str {
    if names.len() == 1 { "was" } else { "were" }
}

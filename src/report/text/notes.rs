//! The notes of a plan in words, equal ones folded into one line.

use std::collections::BTreeMap;

use super::{TextView, count, some_of};
use crate::plan::{Note, Plan};
use crate::report::{Role, safe};

/// Names that are shown of each note.
const NAMES: usize = 6;

/// The kinds of notes, in the order in which they are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NoteKind {
    EmptyNamespace,
    Owned,
    Unmanaged,
    Orphan,
    Unmarked,
    ForeignEqual,
    Unsupported,
    UnknownField,
    Loaded,
    Recreated,
    ReferrersNotAsked,
    Copied,
    Unstacked,
    Outside,
    OutsideUnread,
    DeletesUnknown,
    DroppedField,
}

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
    let mut kinds: BTreeMap<(NoteKind, String), Vec<String>> = BTreeMap::new();
    for note in plan.notes.iter().filter(|note| which(note)) {
        let (kind, name) = kind(note);
        kinds.entry(kind).or_default().push(name);
    }
    kinds.into_iter().map(|((kind, shared), names)| note_text(kind, &safe::line(&shared), &names)).collect()
}

/// The kind of a note, the text that it shares with others of its kind, and its own name. Notes of one kind
/// and one shared text make one line.
fn kind(note: &Note) -> ((NoteKind, String), String) {
    match note {
        Note::EmptyNamespace { namespace } => ((NoteKind::EmptyNamespace, String::new()), namespace.to_string()),
        Note::Owned { key, owner } => ((NoteKind::Owned, owner.clone()), key.to_string()),
        Note::Unmanaged { key } => ((NoteKind::Unmanaged, key.namespace.to_string()), key.to_string()),
        Note::Orphan { key } => ((NoteKind::Orphan, key.namespace.to_string()), key.to_string()),
        Note::Unmarked { key } => ((NoteKind::Unmarked, String::new()), key.to_string()),
        Note::ForeignEqual { key, stack } => ((NoteKind::ForeignEqual, stack.clone()), key.to_string()),
        Note::Unsupported { key, reason } => ((NoteKind::Unsupported, reason.clone()), key.to_string()),
        Note::UnknownField { key, path } => ((NoteKind::UnknownField, path.clone()), key.to_string()),
        Note::DroppedField { key, path } => ((NoteKind::DroppedField, path.clone()), key.to_string()),
        Note::Recreated { key, referrers } => {
            let by: Vec<String> = referrers.iter().map(ToString::to_string).collect();
            ((NoteKind::Recreated, by.join(", ")), key.to_string())
        }
        Note::ReferrersNotAsked { key } => ((NoteKind::ReferrersNotAsked, String::new()), key.to_string()),
        Note::Loaded { text } => ((NoteKind::Loaded, text.clone()), String::new()),
        Note::Copied { key, of } => {
            ((NoteKind::Copied, of.as_ref().map(ToString::to_string).unwrap_or_default()), key.to_string())
        }
        Note::Unstacked { key } => ((NoteKind::Unstacked, String::new()), key.to_string()),
        Note::Outside { key } => ((NoteKind::Outside, key.namespace.to_string()), key.to_string()),
        Note::OutsideUnread { namespace, reason } => ((NoteKind::OutsideUnread, reason.clone()), namespace.to_string()),
        Note::DeletesUnknown { key, reason } => ((NoteKind::DeletesUnknown, reason.clone()), key.to_string()),
    }
}

fn note_text(kind: NoteKind, shared: &str, names: &[String]) -> String {
    let list = some_of(names, NAMES);
    let endpoints = count(names.len(), "endpoint");
    let (is, belongs) = if names.len() == 1 { ("is", "belongs") } else { ("are", "belong") };
    match kind {
        NoteKind::EmptyNamespace => {
            format!("{list}: nothing is there yet; the service answers the same for a namespace that does not exist")
        }
        NoteKind::Owned => format!("{endpoints} {belongs} to another object ({shared}) and {is} left alone: {list}"),
        NoteKind::Unmanaged => {
            format!("{} in {shared} {is} not managed here: {list}", count(names.len(), "live endpoint"))
        }
        NoteKind::Orphan => format!(
            "{endpoints} of this stack in {shared} {is} no longer defined and nothing may be deleted there \
             (list it under `namespaces:`): {list}"
        ),
        NoteKind::Unmarked => {
            format!("{endpoints} {is} in sync without ownership annotations (--adopt takes ownership): {list}")
        }
        NoteKind::ForeignEqual => format!("{endpoints} {is} as defined and {belongs} to stack {shared}: {list}"),
        NoteKind::Unsupported => {
            format!("{endpoints} cannot be read by this trueup ({shared}) and {is} left alone: {list}")
        }
        NoteKind::UnknownField => format!(
            "{endpoints} {} the field {shared}, which this trueup does not know and keeps: {list}",
            if names.len() == 1 { "has" } else { "have" }
        ),
        NoteKind::DroppedField => format!(
            "{endpoints} {} the field {shared}, which this trueup does not know and removes with the option that \
             contains it: {list}",
            if names.len() == 1 { "has" } else { "have" }
        ),
        NoteKind::Recreated if shared.is_empty() => {
            format!("{endpoints} {is} created again and gets a new uid: {list}")
        }
        NoteKind::ReferrersNotAsked => format!(
            "{endpoints} would go, and the snapshot does not say who refers to {} (an apply asks; so does \
             `snapshot --referrers`): {list}",
            if names.len() == 1 { "it" } else { "them" }
        ),
        NoteKind::Copied => {
            let of = if shared.is_empty() { "another endpoint" } else { shared };
            format!("{endpoints} {} the ownership annotations of {of}, copied, and {is} nobody's: {list}", carry(names))
        }
        NoteKind::Unstacked => {
            format!("{endpoints} {} applied without a stack and {is} taken over by this one: {list}", was(names))
        }
        NoteKind::Outside => format!(
            "{endpoints} of this stack in {shared} {is} outside of `namespaces:` (list it again, or delete {} with \
             --prune-namespace {shared}): {list}",
            if names.len() == 1 { "it" } else { "them" }
        ),
        NoteKind::OutsideUnread => format!(
            "{list}: this stack once had {}, and what is left there could not be read ({shared})",
            if names.len() == 1 { "it" } else { "them" }
        ),
        NoteKind::DeletesUnknown => {
            let missing = count(names.len(), "missing endpoint");
            format!("whether {missing} {} deleted outside cannot be decided ({shared}): {list}", was(names))
        }
        NoteKind::Recreated => {
            format!("{endpoints} {is} created again and gets a new uid; {shared} referred to the old one: {list}")
        }
        NoteKind::Loaded => shared.to_owned(),
    }
}

fn carry(names: &[String]) -> &'static str {
    if names.len() == 1 { "carries" } else { "carry" }
}

fn was(names: &[String]) -> &'static str {
    if names.len() == 1 { "was" } else { "were" }
}

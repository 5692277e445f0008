//! What every document of a definition has, whatever its kind: which documents are none, the keys that are left out, and the
//! places of the problems that the model finds. A problem that only follows from another one is left out.

use super::diagnostic::Diagnostic;
use super::fields::{FieldProblem, Fields, first_line, is_free};
use super::item::{Item, MapEntry, TextSpan, Value};
use super::suggestion::did_you_mean;
use crate::kind;
use crate::kind::snake;
use crate::model::SERVICE_KEYS;
use crate::model::{Location, Object, Problem, SealedSecrets, Segment};

/// The key of a document that removes a definition.
pub(super) const REMOVE: &str = "$remove";

/// Documents of ours that are not definitions.
const OTHER_KINDS: [&str; 4] = ["tenant", "acknowledgements", "drift_state", "memory"];

/// A good definition.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) endpoint: Object,
    pub(super) sealed: SealedSecrets,
    pub(super) notes: Vec<Diagnostic>,
}

/// Whether a document is of another kind.
pub(super) fn is_other_kind(root: &Item<'_>) -> bool {
    let kind = root.get("kind").and_then(Item::text).unwrap_or_default();
    names_other_kind(kind, root.get("format_version").is_some())
}

/// Whether a `kind` is that of another document of ours; what commands write has a format version.
pub(super) fn names_other_kind(kind: &str, has_version: bool) -> bool {
    OTHER_KINDS.contains(&kind) || (has_version && !kind.is_empty() && kind::find(kind).is_none())
}

/// Only a document of an overlay removes.
pub(super) fn no_removal(fields: &mut Fields<'_, '_, '_>) {
    if let Some(entry) = fields.skip(REMOVE) {
        let diagnostic = entry.key_at.error(format!("`{REMOVE}` in a definition"), "");
        let help = "a document in an overlay removes a definition from one environment; here, delete the document";
        fields.decoder.fault(&fields.place.join(REMOVE), diagnostic.with_help(help));
    }
}

/// Takes the keys that only the service writes, with a note.
pub(super) fn service_keys(fields: &mut Fields<'_, '_, '_>, notes: &mut Vec<Diagnostic>) {
    let dropped: Vec<&MapEntry<'_>> = SERVICE_KEYS.into_iter().filter_map(|key| fields.skip(key)).collect();
    if let Some(first) = dropped.first() {
        let names: Vec<String> = dropped.iter().map(|entry| format!("`{}`", entry.key)).collect();
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        let what = format!("{} {is} written only by the service", names.join(", "));
        notes.push(first.key_at.error(what, format!("{it} left out")).into_note());
    }
}

/// The error for a text that is no kind, with the nearest one.
pub(super) fn unknown_kind_error(at: &TextSpan<'_>, text: &str) -> Diagnostic {
    let near = did_you_mean(text, kind::all().map(|kind| kind.name), String::new);
    at.error(format!("unknown kind `{text}`"), near)
}

/// Whether `problem` only follows from `fault`.
pub(super) fn follows(problem: &Problem, fault: &FieldProblem) -> bool {
    let path = problem.location.path();
    if path.starts_with(&fault.path) {
        return true;
    }
    let Some(Segment::Key(name)) = fault.path.last() else { return fault.path.starts_with(path) };
    let mentions =
        |text: &str| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == snake(name));
    // A list that lost an item to a fault would be counted short, so any problem above it follows.
    let above = fault.path.starts_with(path);
    let indexed = fault.path.iter().any(|segment| matches!(segment, Segment::Index(_)));
    above && (indexed || mentions(&problem.message) || mentions(&problem.label))
}

/// A problem of the model at its place in the text.
pub(super) fn located(problem: &Problem, root: &Item<'_>) -> Diagnostic {
    place(root, &problem.location).error(&problem.message, &problem.label)
}

/// What a path leads to.
pub(super) enum PathLookup<'i, 's> {
    /// The value, with its entry unless it is an item of a list.
    Value { item: &'i Item<'s>, entry: Option<&'i MapEntry<'s>> },
    /// Not there: the place of the nearest value above it.
    Above(TextSpan<'s>),
}

/// Follows a path, keys in either spelling.
pub(super) fn find<'i, 's>(root: &'i Item<'s>, path: &[Segment]) -> PathLookup<'i, 's> {
    let mut here = PathLookup::Value { item: root, entry: None };
    let mut above = root.entries().first().map_or(root.span, |entry| entry.key_at);
    for (depth, segment) in path.iter().enumerate() {
        let PathLookup::Value { item, entry } = here else { return here };
        if let Some(entry) = entry {
            above = entry.key_at;
        }
        let free = depth == 2 && is_free(path[..depth].iter().filter_map(Segment::key));
        here = match (segment, &item.value) {
            (Segment::Key(key), Value::Map(entries)) => {
                let same = |entry: &&MapEntry<'s>| entry.key == *key || (!free && snake(&entry.key) == *key);
                match entries.iter().find(same) {
                    Some(entry) => PathLookup::Value { item: &entry.item, entry: Some(entry) },
                    None => PathLookup::Above(above),
                }
            }
            (Segment::Index(index), Value::List(items)) => match items.get(*index) {
                Some(item) => PathLookup::Value { item, entry: None },
                None => PathLookup::Above(above),
            },
            _ => PathLookup::Above(above),
        };
    }
    here
}

/// Where to point for a spot.
fn place<'s>(root: &Item<'s>, spot: &Location) -> TextSpan<'s> {
    match find(root, spot.path()) {
        PathLookup::Above(at) => at,
        PathLookup::Value { item, entry: None } if spot.path().is_empty() => {
            item.entries().first().map_or(item.span, |entry| entry.key_at)
        }
        PathLookup::Value { item, entry: None } => first_line(item),
        PathLookup::Value { item, entry: Some(entry) } => {
            let value = matches!(spot, Location::Value(_)) && item.compact && !item.span.is_empty();
            if value { item.span } else { entry.key_at }
        }
    }
}

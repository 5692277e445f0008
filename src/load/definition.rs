//! Rules for definitions of every kind: which documents are not definitions, which keys are left out, and where a
//! problem that the model finds is written. A problem that only follows from another one is left out.

use super::diagnostic::Diagnostic;
use super::fields::{FieldProblem, Fields};
use super::item::{Item, MapEntry, TextSpan};
use super::suggestion::did_you_mean;
use crate::kind::{KindName, camel, snake};
use crate::model::{Object, Problem, SERVICE_KEYS, SealedSecrets, Segment};

/// The key of a document that removes a definition.
pub(super) const REMOVE: &str = "$remove";

/// Kinds of trueup's own documents that are not definitions.
const OTHER_KINDS: [&str; 4] = ["tenant", "acknowledgements", "drift_state", "memory"];

/// A valid definition.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) endpoint: Object,
    pub(super) sealed: SealedSecrets,
    pub(super) notes: Vec<Diagnostic>,
}

/// Whether a document is of another kind.
pub(super) fn is_other_kind(root: &Item<'_>) -> bool {
    let kind = root.get("kind").and_then(Item::text).unwrap_or_default();
    let has = |key: &str| root.get(key).is_some();
    names_other_kind(kind, has("format_version"), has("metadata") || has("spec"))
}

/// Whether `kind` names another document of trueup; documents that commands write have a format version. A few of their
/// kinds, such as `fleet`, are kinds of objects too.
pub(super) fn names_other_kind(kind: &str, has_version: bool, is_object: bool) -> bool {
    let is_written = || has_version && !kind.is_empty() && (KindName::find(kind).is_none() || !is_object);
    OTHER_KINDS.contains(&kind) || is_written()
}

/// Reports `$remove`, which only a document of an overlay may contain.
pub(super) fn no_removal(fields: &mut Fields<'_, '_, '_>) {
    if let Some(entry) = fields.skip(REMOVE) {
        let diagnostic = entry.key_at.error(format!("`{REMOVE}` in a definition"), "");
        let help = "a document in an overlay removes a definition from one environment; here, delete the document";
        fields.decoder.fault(&fields.place.join(REMOVE), diagnostic.with_help(help));
    }
}

/// Skips the keys that only the service writes, with a note.
pub(super) fn service_keys(fields: &mut Fields<'_, '_, '_>, notes: &mut Vec<Diagnostic>) {
    let dropped: Vec<&MapEntry<'_>> = SERVICE_KEYS.into_iter().filter_map(|key| fields.skip(key)).collect();
    if let Some(first) = dropped.first() {
        let names: Vec<String> = dropped.iter().map(|entry| format!("`{}`", entry.key)).collect();
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        let what = format!("{} {is} written only by the service", names.join(", "));
        notes.push(first.key_at.error(what, format!("{it} left out")).into_note());
    }
}

/// The most kinds with the same last word that a suggestion lists.
const MOST_MEANT: usize = 7;

/// The error for an unknown kind. It suggests the kinds that end in the same word, else the most similar one.
pub(super) fn unknown_kind_error(at: &TextSpan<'_>, text: &str) -> Diagnostic {
    // The service writes `ves.io.schema.views.origin_pool.Object`, Terraform `volterra_origin_pool`.
    let of_service = text.strip_suffix(".Object").and_then(|path| path.rsplit('.').next());
    let word = of_service.or_else(|| text.strip_prefix("volterra_")).unwrap_or(text);
    let ends = |kind: &&str| kind.strip_suffix(word).is_some_and(|before| before.is_empty() || before.ends_with('_'));
    let meant: Vec<&str> = KindName::all().map(KindName::as_str).filter(ends).collect();
    let near = match &meant[..] {
        [] => did_you_mean(text, KindName::all().map(KindName::as_str), String::new),
        [one] => format!("did you mean `{one}`?"),
        several if several.len() > MOST_MEANT => String::new(),
        several => format!("did you mean one of `{}`?", several.join("`, `")),
    };
    at.error(format!("unknown kind `{text}`"), near)
}

/// Whether `problem` only follows from `fault`.
pub(super) fn follows(problem: &Problem, fault: &FieldProblem) -> bool {
    let path = &problem.path;
    if path.starts_with(&fault.path) {
        return true;
    }
    let Some(Segment::Key(name)) = fault.path.last() else { return fault.path.starts_with(path) };
    let mentions =
        |text: &str| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == snake(name));
    // A list is too short without its faulty item, so any problem above it follows.
    let above = fault.path.starts_with(path);
    let indexed = fault.path.iter().any(|segment| matches!(segment, Segment::Index(_)));
    above && (indexed || mentions(&problem.message) || mentions(&problem.label))
}

/// A problem of the model at its place in the text; where nothing is written there, at the nearest value above it. Keys
/// may have either spelling.
pub(super) fn located(problem: &Problem, root: &Item<'_>) -> Diagnostic {
    let keys: Vec<&str> = problem.path.iter().filter_map(Segment::key).collect();
    let first = root.entries().first().map_or(root.span, |entry| entry.key_at);
    let (mut item, mut key_at, mut value_at) = (root, first, first);
    for (depth, key) in keys.iter().enumerate() {
        // The keys below these are free texts.
        let is_free = matches!(keys[..depth], ["metadata", "labels" | "annotations"]);
        let same = |entry: &&MapEntry<'_>| entry.key == *key || (!is_free && entry.key == camel(key));
        let Some(entry) = item.entries().iter().find(same) else {
            return key_at.error(&problem.message, &problem.label);
        };
        (item, key_at, value_at) = (&entry.item, entry.key_at, entry.value_at());
    }
    let at = if problem.is_of_key { key_at } else { value_at };
    at.error(&problem.message, &problem.label)
}

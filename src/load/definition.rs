//! A document as an endpoint, with every problem of it at once: what the decoder finds in the shape,
//! what the model finds in the values, and what the stack's settings forbid. A problem that only
//! follows from another one is left out.

use super::diagnostic::Diagnostic;
use super::fields::{Decoder, FieldProblem, Fields, KeySpelling, first_line, is_free};
use super::item::{Item, MapEntry, TextSpan, Value};
use super::overlays::REMOVE;
use super::rules::StackRules;
use super::suggestion::did_you_mean;
use crate::kind::{self, KindName};
use crate::model::shape::{ENDPOINT, NodeKind, SERVICE_KEYS, ShapeNode, snake};
use crate::model::{self, EmptyOption, Endpoint, Json, Location, Problem, SealedSecrets, Segment, WireEndpoint};

/// Documents of ours that are not definitions.
const OTHER_KINDS: [&str; 4] = ["tenant", "acknowledgements", "drift_state", "memory"];

/// What a document turned out to be.
#[derive(Debug)]
pub(super) enum Examined {
    /// Another kind of document.
    Skipped,
    /// A good definition.
    Endpoint { endpoint: Box<Endpoint>, sealed: SealedSecrets, notes: Vec<Diagnostic> },
    /// Everything that is wrong with it.
    Bad { problems: Vec<Diagnostic> },
}

/// Whether a document is of another kind.
pub(super) fn is_other_kind(root: &Item<'_>) -> bool {
    let kind = root.get("kind").and_then(Item::text).unwrap_or_default();
    names_other_kind(kind, root.get("format_version").is_some())
}

/// Whether a `kind` is that of another document of ours; plans, snapshots and runs have a format version.
pub(super) fn names_other_kind(kind: &str, has_version: bool) -> bool {
    OTHER_KINDS.contains(&kind) || (has_version && ["plan", "snapshot", "run"].contains(&kind))
}

/// Reads a document that is to be a definition.
pub(super) fn examine(root: &Item<'_>, rules: &StackRules) -> Examined {
    if is_other_kind(root) {
        return Examined::Skipped;
    }
    let mut decoder = Decoder::new(KeySpelling::Both).with_shape(&ENDPOINT);
    let mut notes = Vec::new();
    let Value::Map(_) = &root.value else {
        if let Value::Refused = root.value {
            return Examined::Bad { problems: Vec::new() };
        }
        let what = format!("the document is {}, not an endpoint", root.kind());
        let at = first_line(root);
        return Examined::Bad { problems: vec![at.error(what, "a mapping with `metadata` and `spec` is needed")] };
    };
    if let Some(problems) = unknown_kind(root) {
        return Examined::Bad { problems };
    }
    let raw = match Fields::open(&mut decoder, root, &root.span, Vec::new()) {
        Some(mut fields) => {
            let raw = document(&mut fields, &mut notes);
            fields.finish();
            raw
        }
        None => WireEndpoint::default(),
    };
    let faults = decoder.faults;
    let mut found = model::check(&raw);
    let endpoint = match raw.clone().endpoint() {
        Ok(endpoint) => Some(endpoint),
        Err(problems) => {
            found.extend(problems);
            None
        }
    };
    found.extend(rules.check(&raw, endpoint.as_ref()));
    found.retain(|problem| !faults.iter().any(|fault| follows(problem, fault)));
    match endpoint {
        Some(endpoint) if faults.is_empty() && found.is_empty() => {
            notes.extend(model::warnings(&raw).iter().map(|problem| located(problem, root).into_note()));
            Examined::Endpoint { endpoint: Box::new(endpoint), sealed: SealedSecrets::default(), notes }
        }
        _ => {
            let rendered = found.iter().map(|problem| located(problem, root));
            Examined::Bad {
                problems: faults.into_iter().filter_map(|fault| fault.diagnostic).chain(rendered).collect(),
            }
        }
    }
}

fn document(fields: &mut Fields<'_, '_, '_>, notes: &mut Vec<Diagnostic>) -> WireEndpoint {
    fields.given("kind");
    no_removal(fields);
    service_keys(fields, notes);
    // Every value has the type of its node, which is that of the wire form.
    serde_json::from_value(mapping(fields, &ENDPOINT)).unwrap_or_default()
}

/// Only a document of an overlay removes.
pub(super) fn no_removal(fields: &mut Fields<'_, '_, '_>) {
    if let Some(entry) = fields.skip(REMOVE) {
        let diagnostic = entry.key_at.error(format!("`{REMOVE}` in a definition"), "");
        let help = "a document in an overlay removes a definition from one environment; here, delete the document";
        fields.decoder.fault(&fields.join(REMOVE), diagnostic.with_help(help));
    }
}

/// Takes the keys that only the service writes, with a note.
pub(super) fn service_keys(fields: &mut Fields<'_, '_, '_>, notes: &mut Vec<Diagnostic>) {
    let dropped: Vec<&MapEntry<'_>> = SERVICE_KEYS.into_iter().filter_map(|key| fields.skip(key)).collect();
    if let Some(first) = dropped.first() {
        let names: Vec<String> = dropped.iter().map(|entry| format!("`{}`", entry.key)).collect();
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        let what = format!("{} {is} written only by the service", names.join(", "));
        let at = first.key_at;
        notes.push(Diagnostic::note(what, at.source, at.range(), format!("{it} left out")));
    }
}

/// Nothing else can be said of a document whose kind is unknown.
fn unknown_kind(root: &Item<'_>) -> Option<Vec<Diagnostic>> {
    let entry = root.entries().iter().find(|entry| entry.key == "kind" && !entry.item.is_null())?;
    let at = entry.value_at();
    let Some(text) = entry.item.text() else {
        let problem = at.error(format!("`kind` is {}", entry.item.kind()), "the name of a kind is needed here");
        // What was refused is a problem already.
        return Some(if let Value::Refused = entry.item.value { Vec::new() } else { vec![problem] });
    };
    let help = "to list the kinds: trueup kinds; to leave other files out: `files: {exclude: [...]}` in trueup.yaml";
    KindName::find(text).is_none().then(|| vec![unknown_kind_error(&at, text).with_help(help)])
}

/// The error for a text that is no kind, with the nearest one.
pub(super) fn unknown_kind_error(at: &TextSpan<'_>, text: &str) -> Diagnostic {
    let near = did_you_mean(text, kind::all().map(|kind| kind.name), String::new);
    at.error(format!("unknown kind `{text}`"), near)
}

/// The values of a mapping, by the shape.
pub(super) fn mapping(fields: &mut Fields<'_, '_, '_>, shape: &ShapeNode) -> Json {
    let value = |node: &ShapeNode| Some((node.key.to_owned(), value(fields, node)?));
    shape.children.iter().filter_map(value).collect()
}

/// The value of one key, by the shape; nothing where it is absent, null or wrong.
fn value(fields: &mut Fields<'_, '_, '_>, node: &ShapeNode) -> Option<Json> {
    match node.kind {
        NodeKind::Mapping => fields.nested(node.key, |fields| mapping(fields, node)),
        NodeKind::References => fields.list(node.key, |fields| mapping(fields, node)).map(Json::from),
        NodeKind::Text | NodeKind::Word => fields.text(node.key).map(Json::from),
        NodeKind::Integer | NodeKind::Seconds => fields.integer(node.key).map(Json::from),
        NodeKind::Flag => fields.boolean(node.key).map(Json::from),
        NodeKind::TextList => fields.texts(node.key).map(Json::from),
        NodeKind::TextMap => {
            Some(fields.map(node.key)?.into_iter().map(|(key, text)| (key, Json::from(text))).collect())
        }
        NodeKind::Empty => match fields.choice(node.key) {
            EmptyOption::Absent => None,
            EmptyOption::Null => Some(Json::Null),
            EmptyOption::Set => Some(Json::Object(serde_json::Map::new())),
        },
    }
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
    let at = place(root, &problem.location);
    let mut label = problem.label.clone();
    let mut help = None;
    // A long list of what is allowed goes below, the nearest one beside the value.
    if let Some(list) = label.strip_prefix("one of ") {
        let text = value_text(root, &problem.location);
        let near = text.map(|text| did_you_mean(text, list.split(", "), String::new)).unwrap_or_default();
        if !near.is_empty() || label.len() > 60 {
            help = Some(std::mem::replace(&mut label, near));
        }
    }
    let mut diagnostic = at.error(&problem.message, label);
    if let Some((spot, label)) = &problem.also {
        let second = place(root, spot);
        diagnostic = diagnostic.also(second.source, second.range(), label);
    }
    diagnostic.with_help(help.unwrap_or_default())
}

fn value_text<'i>(root: &'i Item<'_>, spot: &Location) -> Option<&'i str> {
    match find(root, spot.path()) {
        PathLookup::Value { item, .. } => item.text(),
        PathLookup::Above(_) => None,
    }
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

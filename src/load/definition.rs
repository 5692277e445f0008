//! A document as an endpoint, with every problem of it at once: what the decoder finds in the shape,
//! what the model finds in the values, and what the stack's settings forbid. A problem that only
//! follows from another one is left out.

use super::diagnostic::Diagnostic;
use super::fields::{Decoder, FieldProblem, Fields, KeySpelling, Suggestion, suggest};
use super::item::{Item, MapEntry, TextSpan, Value};
use super::rules::StackRules;
use super::text::Language;
use crate::model::{
    self, Endpoint, Location, Problem, Segment, WireDnsNameAdvanced, WireEndpoint, WireMetadata, WirePrefixes,
    WireReference, WireSelector, WireServiceInfo, WireSite, WireSnatPool, WireSpec, WireVirtualNetwork, WireWhere,
};

pub(super) use super::fields::canonical_key;

/// Root keys of a fetched object that only the service writes (API.md 1.2).
const SERVICE_KEYS: [&str; 8] = [
    "system_metadata",
    "resource_version",
    "status",
    "create_form",
    "replace_form",
    "referring_objects",
    "deleted_referred_objects",
    "disabled_referred_objects",
];

/// Documents of ours that are no definitions.
const OTHER_KINDS: [&str; 3] = ["tenant", "acknowledgements", "memory"];

/// What a document turned out to be.
#[derive(Debug)]
pub(super) enum Examined {
    /// No definition: another kind of document.
    Skipped,
    /// A good definition.
    Endpoint { endpoint: Box<Endpoint>, notes: Vec<Diagnostic> },
    /// Everything that is wrong with it.
    Bad { problems: Vec<Diagnostic> },
}

/// Whether a document says that it is no definition.
pub(super) fn is_other_kind(root: &Item<'_>) -> bool {
    let kind = root.get("kind").and_then(Item::text).unwrap_or_default();
    let versioned = ["plan", "snapshot"].contains(&kind);
    OTHER_KINDS.contains(&kind) || (versioned && root.get("format_version").is_some())
}

/// Reads a document that is to be a definition.
pub(super) fn examine(root: &Item<'_>, language: Language, rules: &StackRules) -> Examined {
    if is_other_kind(root) {
        return Examined::Skipped;
    }
    let mut decoder = Decoder::new(language, KeySpelling::Both);
    let mut notes = Vec::new();
    let Value::Map(_) = &root.value else {
        if let Value::Refused = root.value {
            return Examined::Bad { problems: Vec::new() };
        }
        let what = format!("the document is {}, not an endpoint", root.kind());
        let at = TextSpan::new(root.span.source, &first_line(root));
        return Examined::Bad { problems: vec![at.error(what, "a mapping with `metadata` and `spec` is needed")] };
    };
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
            notes.extend(model::deprecated(&raw).iter().map(|problem| located(problem, root).into_note()));
            Examined::Endpoint { endpoint: Box::new(endpoint), notes }
        }
        _ => {
            let rendered = found.iter().map(|problem| located(problem, root));
            Examined::Bad {
                problems: faults.into_iter().filter_map(|fault| fault.diagnostic).chain(rendered).collect(),
            }
        }
    }
}

fn first_line(item: &Item<'_>) -> std::ops::Range<usize> {
    let range = item.span.range();
    let length = item.span.slice().find('\n').unwrap_or(range.len());
    range.start..range.start + length
}

fn document(fields: &mut Fields<'_, '_, '_>, notes: &mut Vec<Diagnostic>) -> WireEndpoint {
    kind(fields);
    let dropped: Vec<&MapEntry<'_>> = SERVICE_KEYS.into_iter().filter_map(|key| fields.skip(key)).collect();
    if let Some(first) = dropped.first() {
        let names: Vec<String> = dropped.iter().map(|entry| format!("`{}`", entry.key)).collect();
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        let what = format!("{} {is} written by the service alone", names.join(", "));
        let at = first.key_at;
        notes.push(Diagnostic::note(what, at.source, at.range(), format!("{it} left out")));
    }
    WireEndpoint { metadata: fields.nested("metadata", metadata), spec: fields.nested("spec", spec) }
}

fn kind(fields: &mut Fields<'_, '_, '_>) {
    let Some(entry) = fields.given("kind") else { return };
    if entry.item.text() != Some("endpoint") {
        let what = format!("`kind` is `{}`", entry.item.text().unwrap_or(entry.item.kind()));
        let path = fields.join("kind");
        let diagnostic = entry.value_at().error(what, "`endpoint` is meant, or leave it out");
        let help = "leave other files out with `files: {exclude: [...]}` in trueup.yaml";
        fields.decoder.fault(&path, diagnostic.with_help(help));
    }
}

fn metadata(fields: &mut Fields<'_, '_, '_>) -> WireMetadata {
    WireMetadata {
        name: fields.text("name"),
        namespace: fields.text("namespace"),
        labels: fields.map("labels"),
        annotations: fields.map("annotations"),
        description: fields.text("description"),
        disable: fields.boolean("disable"),
    }
}

fn spec(fields: &mut Fields<'_, '_, '_>) -> WireSpec {
    WireSpec {
        dns_name: fields.text("dns_name"),
        dns_name_advanced: fields.nested("dns_name_advanced", |fields| WireDnsNameAdvanced {
            name: fields.text("name"),
            refresh_interval: fields.integer("refresh_interval"),
            strict_ttl: fields.choice("strict_ttl"),
        }),
        ip: fields.text("ip"),
        service_info: fields.nested("service_info", |fields| WireServiceInfo {
            discovery_type: fields.text("discovery_type"),
            service_name: fields.text("service_name"),
            service_selector: fields
                .nested("service_selector", |fields| WireSelector { expressions: fields.texts("expressions") }),
        }),
        protocol: fields.text("protocol"),
        port: fields.integer("port"),
        health_check_port: fields.integer("health_check_port"),
        snat_pool: fields.nested("snat_pool", |fields| WireSnatPool {
            no_snat_pool: fields.choice("no_snat_pool"),
            snat_pool: fields.nested("snat_pool", |fields| WirePrefixes {
                prefixes: fields.texts("prefixes"),
                ipv6_prefixes: fields.texts("ipv6_prefixes"),
            }),
        }),
        place: fields.nested("where", |fields| WireWhere {
            site: fields.nested("site", site),
            virtual_site: fields.nested("virtual_site", site),
            virtual_network: fields
                .nested("virtual_network", |fields| WireVirtualNetwork { reference: fields.list("ref", reference) }),
        }),
    }
}

fn site(fields: &mut Fields<'_, '_, '_>) -> WireSite {
    WireSite {
        reference: fields.list("ref", reference),
        refs: fields.list("refs", reference),
        network_type: fields.text("network_type"),
        disable_internet_vip: fields.choice("disable_internet_vip"),
        enable_internet_vip: fields.choice("enable_internet_vip"),
    }
}

fn reference(fields: &mut Fields<'_, '_, '_>) -> WireReference {
    WireReference {
        kind: fields.text("kind"),
        name: fields.text("name"),
        namespace: fields.text("namespace"),
        tenant: fields.text("tenant"),
        uid: fields.text("uid"),
    }
}

/// Whether `problem` only says that what `fault` injected is not there.
fn follows(problem: &Problem, fault: &FieldProblem) -> bool {
    let path = problem.location.path();
    if path.starts_with(&fault.path) {
        return true;
    }
    let Some(Segment::Key(name)) = fault.path.last() else { return fault.path.starts_with(path) };
    let mentions = |text: &str| {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == canonical_key(name))
    };
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
    // A long list of what is allowed stands below, and beside the value the one that is meant.
    if let Some(list) = label.strip_prefix("one of ") {
        let near = value_text(root, &problem.location).map(|text| suggest(text, list.split(", ")));
        let near = match near {
            Some(Suggestion::Near(near)) => format!("did you mean `{near}`?"),
            _ => String::new(),
        };
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
        let free = depth == 2 && matches!(&path[1], Segment::Key(key) if key == "labels" || key == "annotations");
        here = match (segment, &item.value) {
            (Segment::Key(key), Value::Map(entries)) => {
                let same = |entry: &&MapEntry<'s>| entry.key == *key || (!free && canonical_key(&entry.key) == *key);
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
        PathLookup::Value { item, entry: None } => TextSpan::new(item.span.source, &first_line(item)),
        PathLookup::Value { item, entry: Some(entry) } => {
            let value = matches!(spot, Location::Value(_)) && item.compact && !item.span.is_empty();
            if value { item.span } else { entry.key_at }
        }
    }
}

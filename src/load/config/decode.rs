//! Reads the settings of `trueup.yaml` key by key, with places and suggestions for what is wrong.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use globset::Glob;

use super::{Config, FileGlobs};
use crate::kind::{self, KindName};
use crate::load::definition::unknown_kind_error;
use crate::load::fields::Fields;
use crate::load::item::{MapEntry, Value};
use crate::load::suggestion::did_you_mean;
use crate::load::variable;
use crate::model::policy::{GateMode, Gates, Guards, IgnoreRule, Prune, Safeguards};
use crate::model::{Field, Layout, NAME_RULE, Name, NameError, Namespace, StringMap, label};

/// What the fields of an endpoint are called in `ignore:`.
fn field_names() -> String {
    let any = || "KEY".to_owned();
    let [description, disable, rest @ ..] = Field::FIXED;
    let first = [description, disable, Field::Label(any()), Field::Annotation(any())];
    first.into_iter().chain(rest).map(|field| field.to_string()).collect::<Vec<_>>().join(", ")
}

/// `true` for every kind but endpoint, which has nothing that a definition does not name; or a list of them.
fn strict(fields: &mut Fields<'_, '_, '_>) -> Option<BTreeSet<KindName>> {
    if matches!(fields.given("strict")?.item.value, Value::List(_)) {
        return kinds(fields, "strict");
    }
    let every = || kind::all().map(KindName::from).filter(|kind| !kind.is_endpoint()).collect();
    fields.boolean("strict").map(|strict| if strict { every() } else { BTreeSet::new() })
}

fn kinds(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<BTreeSet<KindName>> {
    let texts = fields.texts(key)?;
    let entry = fields.given(key)?;
    let Value::List(items) = &entry.item.value else { return None };
    let mut listed = BTreeSet::new();
    for (text, item) in texts.iter().zip(items) {
        let Some(kind) = KindName::find(text) else {
            let fault = unknown_kind_error(&item.span, text).with_help("to list the kinds: trueup kinds");
            let path = fields.join(key);
            fields.decoder.fault(&path, fault);
            continue;
        };
        listed.insert(kind);
    }
    Some(listed)
}

/// Paths as `explain` takes them, each of a field that its message does not have.
fn unchecked(fields: &mut Fields<'_, '_, '_>) -> Option<BTreeSet<String>> {
    let texts = fields.texts("unchecked")?;
    let entry = fields.given("unchecked")?;
    let Value::List(items) = &entry.item.value else { return None };
    let mut paths = BTreeSet::new();
    for (text, item) in texts.into_iter().zip(items) {
        if is_below_known(&text) {
            paths.insert(text);
            continue;
        }
        let fault = item.span.error(format!("`{text}` is not a path below a known field"), "KIND.spec.FIELD");
        let path = fields.join("unchecked");
        fields
            .decoder
            .fault(&path, fault.with_help("lists and maps have no step of their own, as in `trueup explain`"));
    }
    Some(paths)
}

fn is_below_known(path: &str) -> bool {
    let mut steps = path.split('.');
    let kind = steps.next().and_then(KindName::find).filter(|kind| !kind.is_endpoint());
    let (Some(kind), Some("spec")) = (kind, steps.next()) else { return false };
    let (Some(name), above) = (steps.next_back().filter(|name| !name.is_empty()), steps) else { return false };
    let below = |id: &'static str, step| kind::message(id).field(step).and_then(kind::Field::below);
    let known = above.into_iter().try_fold(kind.kind().spec, below);
    known.is_some() && *name == *kind::snake(name)
}

/// The settings of one mapping: the top level of the file, a layer of it, or several of them merged. What is not
/// set has its default; `prune` is none where the mapping does not set it.
pub(super) fn settings(fields: &mut Fields<'_, '_, '_>) -> Config {
    let mut config = Config {
        base_url: base_url(fields),
        layout: layout(fields),
        stack: name(fields, "stack"),
        labels: labels(fields),
        namespaces: namespaces(fields).unwrap_or_default(),
        kinds: kinds(fields, "kinds").unwrap_or_default(),
        unchecked: unchecked(fields).unwrap_or_default(),
        ..Config::default()
    };
    safeguards(fields, &mut config.safeguards);
    config.variables = variables(fields);
    config.files = fields
        .nested("files", |fields| FileGlobs { include: globs(fields, "include"), exclude: globs(fields, "exclude") })
        .unwrap_or_default();
    config.token_variable = token_variable(fields);
    config.rate_limit = rate_limit(fields);
    config.concurrency = number(fields, "concurrency", 1, 256).and_then(|number| usize::try_from(number).ok());
    config.allow_empty = fields.boolean("allow_empty").unwrap_or(false);
    config.safeguards.prune = prune(fields).unwrap_or(config.safeguards.prune);
    config
}

pub(super) fn wrong(
    fields: &mut Fields<'_, '_, '_>,
    entry: &MapEntry<'_>,
    key: &'static str,
    message: String,
    label: String,
) {
    let path = fields.join(key);
    let diagnostic = if label.len() > 60 {
        entry.value_at().error(message, "").with_help(label)
    } else {
        entry.value_at().error(message, label)
    };
    fields.decoder.fault(&path, diagnostic);
}

/// A text of the setting `key` with its entry.
pub(super) fn given<'i, 's>(fields: &mut Fields<'i, 's, '_>, key: &'static str) -> Option<(String, &'i MapEntry<'s>)> {
    let entry = fields.given(key)?;
    let path = fields.join(key);
    Some((fields.decoder.text(&entry.item, &entry.value_at(), &path)?, entry))
}

fn base_url(fields: &mut Fields<'_, '_, '_>) -> Option<String> {
    let (text, entry) = given(fields, "base_url")?;
    let label = match text.split_once("://") {
        Some(("http" | "https", rest)) => {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if host.contains('@') {
                let what = "`base_url` contains a user name or a password";
                let diagnostic = entry.value_at().error(what, "").without_source();
                let path = fields.join("base_url");
                fields.decoder.fault(&path, diagnostic.with_help("remove them: the token is given separately"));
                return None;
            } else if host.is_empty() || host.starts_with(':') {
                "a host is needed"
            } else if rest.contains(['?', '#']) {
                "end it after the host or the path"
            } else {
                return Some(text);
            }
        }
        _ => "https://TENANT.console.ves.volterra.io",
    };
    wrong(fields, entry, "base_url", "`base_url` is not a valid address of a service".to_owned(), label.to_owned());
    None
}

/// One of some words.
fn word<T: Copy>(fields: &mut Fields<'_, '_, '_>, key: &'static str, words: &[(&str, T)]) -> Option<T> {
    let (text, entry) = given(fields, key)?;
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let label = did_you_mean(&text, names.iter().copied(), || format!("one of {}", names.join(", ")));
        wrong(fields, entry, key, format!("unknown value `{text}` for `{key}`"), label);
    }
    found
}

fn layout(fields: &mut Fields<'_, '_, '_>) -> Option<Layout> {
    word(fields, "layout", &Layout::ALL.map(|layout| (layout.as_str(), layout)))
}

/// Sets what limits a run, as far as it is written; the rest stays as it is.
pub(super) fn safeguards(fields: &mut Fields<'_, '_, '_>, set: &mut Safeguards) {
    if let Some(found) = fields.nested("guards", |fields| guards(fields, set.guards)) {
        set.guards = found;
    }
    if let Some(found) = fields.nested("gates", |fields| gates(fields, set.gates)) {
        set.gates = found;
    }
    if let Some(rules) = fields.list("ignore", ignore) {
        set.ignore = rules.into_iter().flatten().collect();
    }
    if let Some(kinds) = strict(fields) {
        set.strict = kinds;
    }
    set.ownership_annotations = fields.boolean("ownership_annotations").unwrap_or(set.ownership_annotations);
    set.version_checked = fields.boolean("version_checked").unwrap_or(set.version_checked);
}

pub(super) fn prune(fields: &mut Fields<'_, '_, '_>) -> Option<Prune> {
    word(fields, "prune", &Prune::ALL.map(|prune| (prune.as_str(), prune)))
}

fn name(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<Name> {
    let (text, entry) = given(fields, key)?;
    match Name::parse(&text) {
        Ok(name) => Some(name),
        Err(error) => {
            wrong(fields, entry, key, format!("`{key}` is `{text}`, which {error}"), NAME_RULE.to_owned());
            None
        }
    }
}

pub(super) fn namespaces(fields: &mut Fields<'_, '_, '_>) -> Option<Vec<Namespace>> {
    let texts = fields.texts("namespaces")?;
    let entry = fields.given("namespaces")?;
    let Value::List(items) = &entry.item.value else { return None };
    let (mut listed, mut seen) = (Vec::new(), HashSet::new());
    for (text, item) in texts.iter().zip(items) {
        let fault = match Namespace::parse(text) {
            Err(NameError::Empty) => continue,
            Err(error) => format!("the namespace `{text}` {error}"),
            Ok(namespace) if !seen.insert(namespace.clone()) => format!("the namespace `{text}` is listed twice"),
            Ok(namespace) => {
                listed.push(namespace);
                continue;
            }
        };
        let path = fields.join("namespaces");
        fields.decoder.fault(&path, item.span.error(fault, "a DNS-1035 label, once"));
    }
    Some(listed)
}

pub(super) fn overlay(fields: &mut Fields<'_, '_, '_>) -> Option<String> {
    let (text, entry) = given(fields, "overlay")?;
    let clean: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if text.starts_with('/') || clean.is_empty() || clean.contains(&"..") {
        let what = format!("`overlay` is `{text}`, which is not a directory below this one");
        wrong(fields, entry, "overlay", what, "a path such as overlays/prod".to_owned());
        return None;
    }
    Some(clean.join("/"))
}

/// The numbers of the `mass-change` guard, and these where they are not set.
fn guards(fields: &mut Fields<'_, '_, '_>, default: Guards) -> Guards {
    Guards {
        percent: number(fields, "percent", 0, 100).and_then(|n| u8::try_from(n).ok()).unwrap_or(default.percent),
        least: number(fields, "least", 0, 1_000_000).and_then(|n| usize::try_from(n).ok()).unwrap_or(default.least),
    }
}

fn mode(fields: &mut Fields<'_, '_, '_>, key: &'static str, default: GateMode) -> GateMode {
    word(fields, key, &GateMode::ALL.map(|mode| (mode.as_str(), mode))).unwrap_or(default)
}

/// The modes and numbers of the gates, and these where they are not set.
fn gates(fields: &mut Fields<'_, '_, '_>, default: Gates) -> Gates {
    let mut gates = Gates {
        upgrade: mode(fields, "upgrade", default.upgrade),
        ddos: mode(fields, "ddos", default.ddos),
        ..default
    };
    if fields.given("events").is_some_and(|entry| matches!(entry.item.value, Value::Map(_))) {
        fields.nested("events", |fields| {
            gates.events = mode(fields, "mode", GateMode::Warn);
            let minutes = number(fields, "minutes", 1, 1440).and_then(|n| u32::try_from(n).ok());
            let threshold = number(fields, "threshold", 1, i64::MAX).and_then(|n| u64::try_from(n).ok());
            gates.events_minutes = minutes.unwrap_or(default.events_minutes);
            gates.events_threshold = threshold.unwrap_or(default.events_threshold);
        });
    } else {
        gates.events = mode(fields, "events", default.events);
    }
    gates
}

fn ignore(fields: &mut Fields<'_, '_, '_>) -> Option<IgnoreRule> {
    let object = glob(fields, "object");
    let field = match given(fields, "field") {
        None => None,
        Some((text, entry)) => {
            // That of an endpoint, or of any other kind: the glob may match objects of several.
            let of_any = || kind::all().find_map(|kind| Field::of_kind(kind.into(), &text).and(Field::of_key(&text)));
            let is_of_others =
                object.as_deref().is_some_and(|object| object.contains(':') && !object.starts_with("endpoint:"));
            let field = match is_of_others {
                true => of_any().or_else(|| Field::from_path(&text)),
                false => Field::from_path(&text).or_else(of_any),
            };
            if field.is_none() {
                wrong(
                    fields,
                    entry,
                    "field",
                    format!("`{text}` is not a field of an object"),
                    format!("of an endpoint it is one of {}", field_names()),
                );
            }
            Some(field?)
        }
    };
    Some(IgnoreRule { object: object?, field: field? })
}

fn glob(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<String> {
    let (text, entry) = given(fields, key)?;
    match Glob::new(&text) {
        Ok(_) => Some(text),
        Err(error) => {
            wrong(
                fields,
                entry,
                key,
                format!("`{text}` is not a valid pattern: {}", error.kind()),
                "a glob".to_owned(),
            );
            None
        }
    }
}

fn globs(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Vec<String> {
    let mut texts = fields.texts(key).unwrap_or_default();
    let Some(entry) = fields.given(key) else { return texts };
    texts.retain(|text| match Glob::new(text) {
        Ok(_) => true,
        Err(error) => {
            let what = format!("`{text}` is not a valid pattern: {}", error.kind());
            wrong(fields, entry, key, what, "globs over paths, such as archive/**".to_owned());
            false
        }
    });
    texts
}

fn variables(fields: &mut Fields<'_, '_, '_>) -> BTreeMap<String, String> {
    let map = fields.map("variables").unwrap_or_default();
    if let Some(entry) = fields.given("variables") {
        for inner in entry.item.entries().iter().filter(|inner| !variable::is_name(&inner.key)) {
            let path = fields.join("variables");
            let what = format!("`{}` is not a valid name of a variable", inner.key);
            let label = "letters, digits, `_`, `-` and `.`; a letter or `_` first";
            fields.decoder.fault(&path, inner.key_at.error(what, label));
        }
    }
    map.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect()
}

/// The labels of the stack, with the syntax that selectors can name.
fn labels(fields: &mut Fields<'_, '_, '_>) -> StringMap {
    let map = fields.map("labels").unwrap_or_default();
    for inner in fields.given("labels").map(|entry| entry.item.entries()).unwrap_or_default() {
        let value = map.get(&*inner.key).and_then(Option::as_deref).unwrap_or_default();
        let path = fields.join("labels");
        if let Some(rule) = label::key_fault(&inner.key) {
            let what = format!("`{}` is not a valid key of a label", inner.key);
            fields.decoder.fault(&path, inner.key_at.error(what, rule));
        } else if let Some(rule) = label::value_fault(value) {
            let what = format!("`{value}` is not a valid value of a label");
            fields.decoder.fault(&path, inner.value_at().error(what, rule));
        }
    }
    map.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()
}

fn token_variable(fields: &mut Fields<'_, '_, '_>) -> Option<String> {
    let (text, entry) = given(fields, "token_variable")?;
    let fits = text.starts_with("TRUEUP_TOKEN") && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !fits {
        let what = format!("`token_variable` is `{text}`");
        wrong(fields, entry, "token_variable", what, "a name that begins with TRUEUP_TOKEN".to_owned());
    }
    fits.then_some(text)
}

fn rate_limit(fields: &mut Fields<'_, '_, '_>) -> Option<f64> {
    let (text, entry) = given(fields, "rate_limit")?;
    let rate = text.parse::<f64>().ok().filter(|rate| (0.01..=10_000.0).contains(rate));
    if rate.is_none() {
        let what = format!("`rate_limit` is `{text}`");
        wrong(fields, entry, "rate_limit", what, "must be 0.01 to 10000 requests a second".to_owned());
    }
    rate
}

fn number(fields: &mut Fields<'_, '_, '_>, key: &'static str, least: i64, most: i64) -> Option<i64> {
    let number = fields.integer(key)?;
    if (least..=most).contains(&number) {
        return Some(number);
    }
    let entry = fields.given(key)?;
    let allowed =
        if most == i64::MAX { format!("must be {least} or more") } else { format!("must be {least} to {most}") };
    wrong(fields, entry, key, format!("`{key}` is {number}"), allowed);
    None
}

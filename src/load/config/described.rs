//! Reads settings and policies by their description, the JSON schema that editors check a file with. A rule that JSON
//! Schema cannot express is a `format` in it. trueup and editors show `errorMessage` for a value that does not fit.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, json};

use crate::kind::{self, KindName, label};
use crate::load::definition::unknown_kind_error;
use crate::load::diagnostic::Diagnostic;
use crate::load::fields::{Decoder, Fault, Fields, Place};
use crate::load::item::{Item, TextSpan, Value};
use crate::load::suggestion::did_you_mean;
use crate::model::policy::consents;
use crate::model::{Field, Json, NAME_RULE, Name, glob};

const IN_FILE: &str = "the file is a part of the program, and a test reads it";

/// What `trueup.yaml` may contain.
pub static SETTINGS: LazyLock<Json> = LazyLock::new(|| {
    let mut settings = document("settings");
    let shared: Vec<String> = settings["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    for layer in ["/properties/defaults", "/properties/environments/additionalProperties"] {
        let layer = settings.pointer_mut(layer).and_then(|layer| layer["properties"].as_object_mut()).expect(IN_FILE);
        for key in shared.iter().filter(|key| !matches!(key.as_str(), "defaults" | "environments")) {
            layer.insert(key.clone(), json!({"$ref": format!("#/properties/{key}")}));
        }
    }
    settings
});

/// What a policy may contain. Nothing in a policy is ignored, so null is not allowed.
pub static POLICY: LazyLock<Json> = LazyLock::new(|| {
    let mut policy = document("policy");
    without_null(&mut policy);
    policy
});

fn document(name: &str) -> Json {
    let mut all: Json = serde_json::from_str(include_str!("settings.json")).expect(IN_FILE);
    let mut document = all[name].take();
    document["$defs"] = all["$defs"].take();
    document["$defs"]["consent"]["enum"] = consents().collect();
    document
}

type SettingPaths = Vec<(Vec<&'static str>, Option<&'static Json>)>;

/// Every setting as its path of keys in a layer, with its default; a key that users choose is `*`.
pub fn setting_paths() -> SettingPaths {
    let mut paths = vec![(vec!["defaults"], None), (vec!["environments"], None)];
    collect_paths(&SETTINGS["properties"]["environments"]["additionalProperties"], &[], &mut paths);
    paths
}

/// The node that the `$ref` of a node names, if it has one.
fn target(description: &'static Json, node: &'static Json) -> Option<&'static Json> {
    Some(description.pointer(&node["$ref"].as_str()?[1..]).expect(IN_FILE))
}

fn default(node: &'static Json) -> Option<&'static Json> {
    node.get("default").or_else(|| default(target(&SETTINGS, node)?))
}

fn collect_paths(node: &'static Json, above: &[&'static str], paths: &mut SettingPaths) {
    if let Some(target) = target(&SETTINGS, node) {
        return collect_paths(target, above, paths);
    }
    node["anyOf"].as_array().into_iter().flatten().for_each(|option| collect_paths(option, above, paths));
    let named = node["properties"].as_object().into_iter().flatten().map(|(key, below)| (key.as_str(), below));
    let free = Some(&node["additionalProperties"]).filter(|below| below.is_object()).map(|below| ("*", below));
    for (key, below) in named.chain(free) {
        let path = [above, &[key]].concat();
        collect_paths(below, &path, paths);
        paths.push((path, default(below)));
    }
}

fn without_null(node: &mut Json) {
    match node {
        Json::Object(map) => {
            if let Some(types) = map.get_mut("type").and_then(Json::as_array_mut) {
                types.retain(|one| one != "null");
            }
            map.values_mut().for_each(without_null);
        }
        Json::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// The values of a mapping that fit the description, and a problem for each that does not.
pub(super) fn read(description: &'static Json, root: &Item<'_>) -> (Json, Vec<Diagnostic>) {
    let mut decoder = Decoder::new(None);
    let value = Reader { description }.value(&mut decoder, Place::root(root), description);
    let problems = decoder.faults.into_iter().filter_map(|fault| fault.diagnostic);
    (value.unwrap_or_else(|| json!({})), problems.collect())
}

/// Converts the values that were read to their type.
pub(super) fn typed<T: DeserializeOwned + Default>(read: Json, root: &Item<'_>, problems: &mut Vec<Diagnostic>) -> T {
    serde_json::from_value(read).unwrap_or_else(|problem| {
        problems.push(root.span.error(format!("this cannot be read: {problem}"), ""));
        T::default()
    })
}

struct Reader {
    description: &'static Json,
}

impl Reader {
    fn value(&self, decoder: &mut Decoder, place: Place<'_, '_>, node: &'static Json) -> Option<Json> {
        if let Some(target) = target(self.description, node) {
            return self.value(decoder, place, target);
        }
        if let Some(options) = node["anyOf"].as_array() {
            return self.value(decoder, place.clone(), self.option(options, place.item));
        }
        if let Some(words) = node["enum"].as_array() {
            return decoder.take(&place, word(&place, words));
        }
        let Place { item, at, .. } = &place;
        // An address may contain a password.
        if node["writeOnly"] == true && !is_of(type_of(node), &item.value) {
            let what = format!(
                "`{}` is {}, not {}",
                place.name(),
                item.kind(),
                if type_of(node) == "array" { "a list" } else { "a text" }
            );
            return decoder.take(&place, Err(Some(at.error(what, "").without_source())));
        }
        let scalar = match type_of(node) {
            "object" => return self.mapping(decoder, place, node),
            "array" => return self.list(decoder, &place, node),
            "boolean" => place.boolean().map(Json::from),
            "integer" => integer(&place, node),
            "number" => number(&place, node),
            _ => place.text().and_then(|text| match fault(node, &place, &text, *at) {
                None => Ok(text.into()),
                fault => Err(fault),
            }),
        };
        decoder.take(&place, scalar)
    }

    /// The option with the type of the written value, else the first.
    fn option(&self, options: &'static [Json], item: &Item<'_>) -> &'static Json {
        let resolved = |node| target(self.description, node).unwrap_or(node);
        options.iter().map(resolved).find(|node| is_of(type_of(node), &item.value)).unwrap_or(&options[0])
    }

    fn mapping(&self, decoder: &mut Decoder, place: Place<'_, '_>, node: &'static Json) -> Option<Json> {
        let mut fields = Fields::open(decoder, place.clone())?;
        let mut values = Map::new();
        match node["properties"].as_object() {
            Some(properties) => {
                for (name, below) in properties {
                    let Some(entry) = fields.entry(name) else { continue };
                    let path = place.join(name.as_str());
                    if entry.item.is_null() {
                        // In settings, null means the same as a missing key.
                        if std::ptr::eq(self.description, &raw const *POLICY) {
                            let label = "give a value, `[]` to allow none, or leave the key out";
                            fields.decoder.fault(&path, entry.key_at.error(format!("`{name}` has no value"), label));
                        }
                        continue;
                    }
                    let below = self.value(fields.decoder, Place::of(entry, path), below);
                    values.extend(below.map(|value| (name.clone(), value)));
                }
                fields.finish();
                for name in node["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                    if place.item.get(name).is_none_or(Item::is_null) {
                        decoder.fault(&place.path, place.at.error(format!("`{name}` is missing"), "it is required"));
                    }
                }
            }
            None => {
                for entry in fields.named() {
                    let below = place.entry(entry);
                    if let Some(rule) = key_fault(&node["propertyNames"], &entry.key) {
                        let what = format!("`{}` is not a valid key of `{}`", entry.key, place.name());
                        fields.decoder.fault(&below.path, error(entry.key_at, what, rule));
                    }
                    if !entry.item.is_null() {
                        let value = self.value(fields.decoder, below, &node["additionalProperties"]);
                        values.extend(value.map(|value| (entry.key.clone().into_owned(), value)));
                    }
                }
            }
        }
        Some(values.into())
    }

    fn list(&self, decoder: &mut Decoder, place: &Place<'_, '_>, node: &'static Json) -> Option<Json> {
        let items = decoder.take(place, place.items())?;
        let (mut values, mut seen) = (Vec::new(), HashSet::new());
        for (index, item) in items.iter().enumerate() {
            let place = place.item(index, item);
            if item.is_null() {
                decoder.fault(&place.path, place.wrong("a value"));
                continue;
            }
            let Some(value) = self.value(decoder, place.clone(), &node["items"]) else { continue };
            if node["uniqueItems"] == true && !seen.insert(value.to_string()) {
                let what = format!("`{}` is listed twice", value.as_str().unwrap_or_default());
                decoder.fault(&place.path, place.at.error(what, "leave one out"));
            } else {
                values.push(value);
            }
        }
        Some(values.into())
    }
}

/// Whether a value has the shape of this type: a list, a mapping, or a text.
fn is_of(of_type: &str, value: &Value<'_>) -> bool {
    match value {
        Value::List(_) => of_type == "array",
        Value::Map(_) => of_type == "object",
        Value::Text(..) | Value::Refused => !matches!(of_type, "array" | "object"),
    }
}

/// The type of a node; of several, the first, because null comes last.
fn type_of(node: &Json) -> &str {
    let first = node["type"].as_array().and_then(|types| types.first());
    first.unwrap_or(&node["type"]).as_str().unwrap_or_default()
}

/// A problem with a value; a long label becomes a help line.
pub(super) fn error(at: TextSpan<'_>, what: String, label: &str) -> Diagnostic {
    if label.len() > 60 { at.error(what, "").with_help(label) } else { at.error(what, label) }
}

fn word(place: &Place<'_, '_>, words: &'static [Json]) -> Result<Json, Fault> {
    let text = place.text()?;
    let words = words.iter().filter_map(Json::as_str);
    if words.clone().any(|word| word == text) {
        return Ok(text.into());
    }
    let label = did_you_mean(&text, words.clone(), || format!("one of {}", words.collect::<Vec<_>>().join(", ")));
    let what = format!("unknown value `{text}` for `{}`", place.name());
    Err(Some(error(place.at, what, &label)))
}

fn integer(place: &Place<'_, '_>, node: &'static Json) -> Result<Json, Fault> {
    let number: i64 = place.integer()?;
    let (least, most) = (node["minimum"].as_i64().unwrap_or(i64::MIN), node["maximum"].as_i64());
    if number >= least && most.is_none_or(|most| number <= most) {
        return Ok(number.into());
    }
    let allowed = most.map_or_else(|| format!("must be {least} or more"), |most| format!("must be {least} to {most}"));
    Err(Some(place.at.error(format!("`{}` is {number}", place.name()), allowed)))
}

fn number(place: &Place<'_, '_>, node: &'static Json) -> Result<Json, Fault> {
    let text = place.text()?;
    let (least, most) = (node["minimum"].as_f64(), node["maximum"].as_f64());
    let fits = |number: &f64| least.is_none_or(|least| *number >= least) && most.is_none_or(|most| *number <= most);
    let number = text.parse::<f64>().ok().filter(fits);
    number.map(Json::from).ok_or_else(|| {
        let what = format!("`{}` is `{text}`", place.name());
        Some(error(place.at, what, node["errorMessage"].as_str().unwrap_or_default()))
    })
}

fn fits_pattern(node: &'static Json, text: &str) -> bool {
    let matches = |node: &'static Json| {
        node["pattern"].as_str().map(|pattern| kind::expression(pattern).expect(IN_FILE).is_match(text))
    };
    matches(node).unwrap_or(true) && !matches(&node["not"]).unwrap_or(false)
}

/// The rule that a key breaks in a mapping whose keys users choose.
fn key_fault(node: &'static Json, key: &str) -> Option<&'static str> {
    match node["format"] == "label-key" {
        true => label::key_fault(key),
        false => (!fits_pattern(node, key)).then(|| node["errorMessage"].as_str().unwrap_or_default()),
    }
}

/// What is wrong with a text, by its format or its pattern.
fn fault(node: &'static Json, place: &Place<'_, '_>, text: &str, at: TextSpan<'_>) -> Option<Diagnostic> {
    let (key, message) = (place.name(), node["errorMessage"].as_str().unwrap_or_default());
    let is_item = place.path.last().is_some_and(|last| last.key().is_none());
    match node["format"].as_str().unwrap_or_default() {
        "directory" if directory(text).is_none() => {
            Some(error(at, format!("`{key}` is `{text}`, which is not a directory below this one"), message))
        }
        "field" if field(text, "").is_none() => {
            // A field of the spec is ignored as a whole, with everything below it.
            let whole = text.match_indices(['.', '[']).nth(1).map(|(at, _)| &text[..at]);
            let label = match whole.filter(|whole| field(whole, "").is_some()) {
                Some(whole) => format!("it is ignored with the whole field: `{whole}`"),
                None => {
                    format!("the fields of an endpoint are {}; of another kind: trueup explain KIND", field_names())
                }
            };
            Some(error(at, format!("`{text}` is not a field of an object"), &label))
        }
        "glob" => {
            let problem = glob(text).err()?;
            Some(error(at, format!("`{text}` is not a valid pattern: {}", problem.kind()), message))
        }
        "kind" if KindName::find(text).is_none() => {
            Some(unknown_kind_error(&at, text).with_help("to list the kinds: trueup kinds"))
        }
        "label-value" => {
            Some(error(at, format!("`{text}` is not a valid value of a label"), label::value_fault(text)?))
        }
        "name" => {
            let problem = Name::parse(text).err()?;
            let has = if is_item { "contains" } else { "is" };
            Some(error(at, format!("`{key}` {has} `{text}`, which {problem}"), NAME_RULE))
        }
        "service" if is_item => service(&format!("an item of `{key}`"), text, at),
        "service" => service(&format!("`{key}`"), text, at),
        "unchecked" if !is_below_known(text) => {
            let problem = error(at, format!("`{text}` is not a path below a known field"), message);
            Some(problem.with_help("lists and maps have no step of their own, as in `trueup explain`"))
        }
        _ if fits_pattern(node, text) => None,
        _ => Some(error(at, format!("`{key}` is `{text}`"), message)),
    }
}

/// What is wrong with an address. The problem does not show the address, which may contain a password.
fn service(what: &str, text: &str, at: TextSpan<'_>) -> Option<Diagnostic> {
    if text.contains('@') {
        let problem = at.error(format!("{what} contains a user name or a password"), "").without_source();
        return Some(problem.with_help("remove them: the token is given separately"));
    }
    let label = match text.split_once("://") {
        Some(("http" | "https", rest)) => {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if host.is_empty() || host.starts_with(':') {
                "a host is needed"
            } else if rest.contains(['?', '#']) {
                "end it after the host or the path"
            } else {
                return None;
            }
        }
        _ => "https://TENANT.console.ves.volterra.io",
    };
    Some(at.error(format!("{what} is not a valid address of a service"), "").without_source().with_help(label))
}

/// The normalized path of an overlay directory; `None` where it is not below the directory of the stack.
pub(super) fn directory(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!text.starts_with('/') && !parts.is_empty() && !parts.contains(&"..")).then(|| parts.join("/"))
}

/// Parses a field of the objects that the glob `object` matches: endpoints, or objects of any other kind.
pub(super) fn field(text: &str, object: &str) -> Option<Field> {
    // A unit of the spec is ignored as a whole.
    if text.strip_prefix("spec.").is_some_and(|rest| rest.contains(['.', '['])) {
        return None;
    }
    let of_any = || KindName::all().find_map(|kind| Field::of_kind(kind, text).and(Field::of_key(text)));
    match object.contains(':') && !object.starts_with("endpoint:") {
        true => of_any().or_else(|| Field::from_path(text)),
        false => Field::from_path(text).or_else(of_any),
    }
}

/// The names of the fields of an endpoint in `ignore:`.
fn field_names() -> String {
    let any = || "KEY".to_owned();
    let maps = [Field::Label(any()), Field::Annotation(any())];
    let (of_metadata, of_spec): (Vec<Field>, Vec<Field>) = Field::of_endpoint().partition(|field| !field.is_of_spec());
    let names = of_metadata.into_iter().chain(maps).chain(of_spec).map(|field| field.to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// Whether this path, in the notation of `explain`, names a field of a known message; the message need not have it.
fn is_below_known(path: &str) -> bool {
    let mut steps = path.split('.');
    let kind = steps.next().and_then(KindName::find).filter(|kind| !kind.is_endpoint());
    let (Some(kind), Some("spec")) = (kind, steps.next()) else { return false };
    let (Some(name), above) = (steps.next_back().filter(|name| !name.is_empty()), steps) else { return false };
    let below = |id: &'static str, step| kind::message(id).field(step).and_then(kind::Field::below);
    let known = above.into_iter().try_fold(kind.kind().spec, below);
    known.is_some() && *name == *kind::snake(name)
}

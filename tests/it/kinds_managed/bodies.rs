//! The bodies of the creates and replaces of every kind: all that the definition says, nothing that neither it nor the
//! service said before, and valid by the facts that the vendor published, from which the description was made.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use trueup::kind::{self, FieldKind, Flag, Kind};

use super::with_sealed_secrets;
use crate::requests::{Recorder, Sent};
use crate::sandbox::schema::not_tested;
use crate::support::answers::zero;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage, TOKEN};

/// The published facts as JSON Schemas.
struct Facts {
    messages: Map<String, Value>,
    kinds: BTreeMap<String, Value>,
}

impl Facts {
    /// Nothing where they are not beside this checkout.
    fn read() -> Option<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference/kinds/kinds.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            not_tested(&format!("the published facts of the kinds are not at {}", path.display()));
            return None;
        };
        let mut facts = Self { messages: Map::new(), kinds: BTreeMap::new() };
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            if let Some(id) = line["message"].as_str() {
                facts.messages.insert(id.to_owned(), of_message(&line));
            } else if let Some(id) = line["enum"].as_str() {
                let names: Vec<&Value> = list(&line["values"]).map(|value| &value[0]).collect();
                facts.messages.insert(format!("enum-{id}"), json!({"enum": names}));
            } else if let Some(kind) = line["kind"].as_str() {
                facts.kinds.insert(kind.to_owned(), line.clone());
            }
        }
        Some(facts)
    }

    /// What is wrong with the spec of a `create` or `replace`.
    fn problems(&self, kind: &Kind, verb: &str, spec: &Value) -> Vec<String> {
        let root = self.kinds[kind.name][verb].as_str().expect("a message");
        let (mut open, mut reached) = (vec![root.to_owned()], Map::new());
        while let Some(id) = open.pop() {
            if !reached.contains_key(&id) {
                let message = self.messages.get(&id).unwrap_or_else(|| panic!("{id} is not there"));
                references(message, &mut open);
                reached.insert(id, message.clone());
            }
        }
        let schema = json!({"$ref": format!("#/$defs/{root}"), "$defs": reached});
        let validator = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{root}: {error}"));
        validator.iter_errors(spec).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        Value::Object(entries) => {
            into.extend(entries.get("$ref").and_then(Value::as_str).map(|id| id["#/$defs/".len()..].to_owned()));
            entries.values().for_each(|value| references(value, into));
        }
        _ => {}
    }
}

/// A message: what is required of texts and messages, of each group one option, and nothing else.
fn of_message(message: &Value) -> Value {
    let mut properties = Map::new();
    let members = list(&message["groups"]).flat_map(|group| list(&group["members"]));
    // A member without a field of its own is an option without fields.
    properties.extend(members.filter_map(Value::as_str).map(|name| (name.to_owned(), of_type(&json!({}), "empty"))));
    properties.extend(
        list(&message["fields"]).map(|field| (field["name"].as_str().expect("a name").to_owned(), of_field(field))),
    );
    let is_enforced = |field: &&Value| {
        let is_left_out = ["internal", "deprecated", "openapi", "secret"].iter().any(|key| !field[key].is_null());
        let is_such = ["string", "message"].iter().any(|kind| field["type"] == *kind) && field["list"].is_null();
        field["required"] == true && is_such && !is_left_out
    };
    let required: Vec<&Value> = list(&message["fields"]).filter(is_enforced).map(|field| &field["name"]).collect();
    let one_option = |group: &Value| {
        let is_set: Vec<Value> = list(&group["members"]).map(|name| json!({"required": [name]})).collect();
        json!({"anyOf": [{"oneOf": is_set}, {"not": {"anyOf": is_set}}]})
    };
    let groups = list(&message["groups"]).map(one_option).chain([json!(true)]);
    json!({"type": "object", "properties": properties, "additionalProperties": false, "required": required,
        "allOf": groups.collect::<Vec<_>>()})
}

fn of_field(field: &Value) -> Value {
    let one = of_type(field, field["type"].as_str().expect("a type"));
    let is_list = field["list"] == true;
    let mut schema = if is_list { json!({"type": "array", "items": one}) } else { one };
    // Where the two sources disagree nobody knows; what the vendor keeps for itself is not enforced.
    if !field["openapi"].is_null() || !field["internal"].is_null() {
        return schema;
    }
    let rules = &field["rules"];
    let bounds = [
        ("min_items", "minItems"),
        ("max_items", "maxItems"),
        ("min_len", "minLength"),
        ("max_len", "maxLength"),
        ("min_pairs", "minProperties"),
        ("max_pairs", "maxProperties"),
        ("min", "minimum"),
        ("max", "maximum"),
        ("pattern", "pattern"),
    ];
    for (rule, keyword) in bounds.into_iter().filter(|(rule, _)| !rules[rule].is_null()) {
        // `\0` of a pattern is not everybody's syntax.
        let pattern = rules[rule].as_str().map(|pattern| pattern.replace("\\0", "\\x00").into());
        schema[keyword] = pattern.unwrap_or_else(|| rules[rule].clone());
    }
    if field["type"] == "string" && !is_list && rules["in"].is_array() {
        schema["enum"] = rules["in"].clone();
    }
    schema
}

fn of_type(field: &Value, kind: &str) -> Value {
    let of = field["of"].as_str().unwrap_or_default();
    match kind {
        "bool" => json!({"type": "boolean"}),
        "int32" | "uint32" => json!({"type": "integer"}),
        "int64" | "uint64" => json!({"type": ["integer", "string"]}),
        "float" | "double" => json!({"type": "number"}),
        "string" | "bytes" | "timestamp" | "duration" => json!({"type": "string"}),
        "empty" => json!({"type": "object", "maxProperties": 0}),
        "enum" => json!({"$ref": format!("#/$defs/enum-{of}")}),
        "message" => json!({"$ref": format!("#/$defs/{of}")}),
        "map" => {
            json!({"type": "object", "additionalProperties": of_type(field, field["value"].as_str().expect("a type"))})
        }
        _ => json!({}),
    }
}

/// A value without what says nothing, a zero outside of groups, and, for a replace, without what only a create has.
fn plain(id: &str, value: &Value, is_replace: bool) -> Value {
    let Value::Object(entries) = value else { return value.clone() };
    let message = kind::message(id);
    let part = |(key, value): (&String, &Value)| {
        let Some(field) = message.field(key) else { return Some((key.clone(), value.clone())) };
        let is_zero = message.group_of(key).is_none() && zero(field).as_ref() == Some(value);
        let is_left_out = is_zero || is_replace && field.is(Flag::CreateOnly);
        let value = match (field.below(), value) {
            (None, value) => value.clone(),
            (Some(id), Value::Array(items)) => items.iter().map(|item| plain(id, item, is_replace)).collect(),
            (Some(id), Value::Object(values)) if matches!(field.kind, FieldKind::Map(_)) => {
                values.iter().map(|(key, value)| (key.clone(), plain(id, value, is_replace))).collect()
            }
            (Some(id), value) => plain(id, value, is_replace),
        };
        (!is_left_out).then(|| (key.clone(), value))
    };
    entries.iter().filter_map(part).collect()
}

/// Whether two values without parts are the same: a number may be written as a text, and one with a fraction with more
/// digits than 32 bits have.
fn is_same(one: &Value, other: &Value) -> bool {
    let single = |value: &Value| value.to_string().parse::<f32>().ok().filter(|_| value.is_f64());
    if single(one).is_some() && single(one) == single(other) {
        return true;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    one.is_object() && other.is_object() || !one.is_null() && text(one) == text(other)
}

/// What was written and is not sent, by its path.
fn missing(written: &Value, sent: &Value, path: &str) -> Vec<String> {
    match (written, sent) {
        (Value::Object(entries), Value::Object(_)) => {
            entries.iter().flat_map(|(key, value)| missing(value, &sent[key], &format!("{path}/{key}"))).collect()
        }
        (Value::Array(items), Value::Array(all)) if items.len() == all.len() => {
            let each = items.iter().zip(all).enumerate();
            each.flat_map(|(at, (item, sent))| missing(item, sent, &format!("{path}/{at}"))).collect()
        }
        _ if is_same(written, sent) => Vec::new(),
        _ => vec![format!("{path}: {written} is sent as {sent}")],
    }
}

/// What is sent and was neither written nor shown before. What an item of a list has beyond what was written is that of one
/// item that was shown.
fn foreign(sent: &Value, written: &Value, shown: &Value, path: &str) -> Vec<String> {
    match sent {
        Value::Object(entries) if !entries.is_empty() => {
            let part =
                |(key, value): (&String, _)| foreign(value, &written[key], &shown[key], &format!("{path}/{key}"));
            entries.iter().flat_map(part).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let item = |(at, item): (usize, _)| {
                let candidates = [&Value::Null].into_iter().chain(list(shown));
                candidates.map(|shown| foreign(item, &written[at], shown, &format!("{path}/{at}"))).min_by_key(Vec::len)
            };
            items.iter().enumerate().filter_map(item).flatten().collect()
        }
        sent if is_same(sent, written) || is_same(sent, shown) || path.starts_with("/metadata/annotations/trueup/") => {
            Vec::new()
        }
        sent => vec![format!("{path}: {sent} is of nobody")],
    }
}

/// The kind of a write, and whether it is a replace.
fn write(sent: &Sent) -> Option<(&'static Kind, bool)> {
    let (prefix, rest) = sent.path.split_once("/namespaces/")?;
    let plural = rest.split('/').nth(1)?;
    let kind = kind::all().find(|kind| kind.plural == plural && kind.prefix == prefix)?;
    ["POST", "PUT"].contains(&sent.method.as_str()).then_some((kind, sent.method == "PUT"))
}

#[test]
fn a_body_of_any_kind_has_what_was_written_and_what_was_there_and_is_valid_by_the_published_facts() {
    let seed = objects::seed();
    let facts = Facts::read();
    let mut specs = Specs::new(seed);
    let service = Service::start();
    let recorder = Recorder::before(&service);
    let stage = Stage::new().env("TRUEUP_BASE_URL", &recorder.url).env("TRUEUP_TOKEN", TOKEN);
    let stage = stage.file("trueup.yaml", &objects::settings());
    let mut written: BTreeMap<&str, Value> = BTreeMap::new();
    for kind in objects::kinds() {
        let Some(spec) = with_sealed_secrets(&mut specs, kind) else { continue };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind), "labels": {"team": "one"},
            "description": "of a test", "disable": false});
        written.insert(kind.name, json!({"metadata": metadata, "spec": spec}));
    }
    let mut problems = Vec::new();
    // Everything is created, gets another label, and then another spec.
    for (step, least) in [("create", 138), ("label", 125), ("spec", 95)] {
        let mut shown = BTreeMap::new();
        for (name, object) in &mut written {
            let kind = kind::find(name).expect("a kind");
            match step {
                "label" => object["metadata"]["labels"]["team"] = json!("two"),
                "spec" => object["spec"] = with_sealed_secrets(&mut specs, kind).expect("there was one"),
                _ => {}
            }
            let spec = specs.respelt(kind.spec, &object["spec"]);
            let document = json!({"kind": name, "metadata": object["metadata"], "spec": spec});
            stage.write(&format!("d/{name}.json"), &document.to_string());
            let path = format!("{}/namespaces/{}/{}/a", kind.prefix, objects::namespace(kind), kind.plural);
            shown.insert(*name, serde_json::from_str(&service.send("GET", &path, None).1).unwrap_or(Value::Null));
        }
        recorder.take();
        // A spec that loses a secret, or changes what is fixed below its top, is refused; so is a write
        // that would lose a secret which nobody knows.
        stage.run("apply . --yes --allow mass-change").stderr_ignored();
        let mut count = 0;
        for sent in recorder.take() {
            let (Some((kind, is_replace)), Some(body)) = (write(&sent), &sent.body) else { continue };
            assert_eq!(is_replace, step != "create", "{} {}", sent.method, sent.path);
            count += 1;
            let object = &written[kind.name];
            let shown = if is_replace { &shown[kind.name] } else { &Value::Null };
            let mut found = foreign(body, object, shown, "");
            found.extend(missing(&object["metadata"], &body["metadata"], "/metadata"));
            found.extend(missing(&plain(kind.spec, &object["spec"], is_replace), &body["spec"], "/spec"));
            if let Some(facts) = &facts {
                let verb = if is_replace { "replace" } else { "create" };
                found.extend(facts.problems(kind, verb, &plain(kind.spec, &body["spec"], false)));
            }
            problems.extend(found.iter().map(|problem| format!("{step} {}{problem}", kind.name)));
        }
        eprintln!("{step}: {count} bodies");
        assert!(count >= least, "{step}: {count}");
    }
    let some = &problems[..problems.len().min(40)];
    assert!(problems.is_empty(), "TRUEUP_SEED={seed}: {}\n{}", problems.len(), some.join("\n"));
}

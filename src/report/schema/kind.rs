//! The JSON Schema of a kind, from its description. What it accepts is what the loader accepts: both spellings of keys,
//! `null` for what is left out, variables, numbers as texts, and words as numbers. Rules of the description that JSON Schema
//! does not have are left to the loader.

use serde_json::{Map, json};

use super::{DefinitionKind, removal, service_keys, variable};
use crate::kind::{self, Field, FieldKind, Flag, Group, Kind, Message, Naming, Part, Rule, Unit, camel};
use crate::model::Json;

/// The definitions that all kinds share; no message has such a name.
const METADATA: &str = "metadata";
const HOST: &str = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
const VARIABLE: &str = "variable";
const UNSET: &str = "null or variable";
const CHOSEN: &str = "chosen";
const GIVEN: &str = "given";
/// YAML reads a text without quotes as a number or a flag where it looks like one.
const TEXT: [&str; 3] = ["string", "number", "boolean"];

/// The schema of an object of this kind, in both spellings of its keys.
pub fn object(kind: &Kind, part: DefinitionKind) -> Json {
    let messages = kind.messages().into_iter();
    let mut definitions: Map<String, Json> =
        messages.map(|(id, message)| (id.to_owned(), of_message(message, part))).collect();
    definitions.extend([
        // An overlay needs the metadata as well: it names its object.
        (metadata_of(kind).to_owned(), of_metadata(kind.naming)),
        (VARIABLE.to_owned(), variable()),
        (UNSET.to_owned(), json!({"anyOf": [{"type": "null"}, variable()]})),
        // Null and empty values count as absent.
        (GIVEN.to_owned(), json!({"not": {"enum": [null, ""]}})),
        // The value of a variable is unknown.
        (CHOSEN.to_owned(), json!({"not": {"anyOf": [{"enum": [null, ""]}, variable()]}})),
    ]);
    let spec = json!({"anyOf": [reference(kind.spec), reference(VARIABLE)]});
    let mut properties = Map::new();
    service_keys(&mut properties);
    properties.extend([
        ("kind".to_owned(), json!({"const": kind.name})),
        ("metadata".to_owned(), reference(metadata_of(kind))),
        ("spec".to_owned(), spec),
    ]);
    let mut schema = json!({
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    });
    if part == DefinitionKind::Overlay {
        removal(&mut schema);
    }
    schema
}

/// The name of the definition for the metadata of objects of this kind.
fn metadata_of(kind: &Kind) -> &'static str {
    if kind.naming == Naming::Host { "metadata of a host" } else { METADATA }
}

/// The metadata of objects with such names.
pub fn of_metadata(naming: Naming) -> Json {
    let mut metadata = of_message(kind::metadata(), DefinitionKind::Whole);
    if naming == Naming::Host {
        let label = metadata["properties"]["name"].take();
        metadata["properties"]["name"] = json!({"anyOf": [label, {"type": TEXT, "pattern": HOST}]});
    }
    metadata
}

fn reference(id: &str) -> Json {
    json!({"$ref": format!("#/$defs/{}", id.replace(' ', "%20"))})
}

fn of_message(message: &Message, part: DefinitionKind) -> Json {
    let mut properties = Map::new();
    let mut rules = Vec::new();
    let is_whole = part == DefinitionKind::Whole;
    for field in &message.fields {
        let schema = if field.is(Flag::ReadOnly) {
            json!({"description": "Written by the service.", "deprecated": true})
        } else {
            of_field(field, message.group_of(field.name).is_some(), part)
        };
        // A secret that is left out stays as it is in the service.
        if is_whole && message.enforces(field) && !field.is(Flag::Secret) {
            rules.push(any_of([field.name], &json!({"not": {"type": "null"}})));
        }
        if camel(field.name) != field.name {
            let mut other = schema.clone();
            other["description"] = format!("Another spelling of `{}`, which is what trueup writes.", field.name).into();
            other["deprecated"] = true.into();
            properties.insert(camel(field.name), other);
        }
        properties.insert(field.name.to_owned(), schema);
    }
    for group in &message.groups {
        rules.push(at_most_one(group));
        // An overlay need not choose: the definition has what it does not change.
        if is_whole && group.needs_choice() {
            rules.push(any_of(group.members.iter().copied(), &reference(GIVEN)));
        }
    }
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !rules.is_empty() {
        schema["allOf"] = rules.into();
    }
    schema
}

/// One of these keys is present, in either spelling, with such a value.
fn any_of<'k>(keys: impl IntoIterator<Item = &'k str>, value: &Json) -> Json {
    let spellings = keys.into_iter().flat_map(|key| {
        let other = Some(camel(key)).filter(|other| other != key);
        std::iter::once(key.to_owned()).chain(other)
    });
    let is_there = |key: String| json!({"required": [key], "properties": {key: value}});
    json!({"anyOf": spellings.map(is_there).collect::<Vec<_>>()})
}

fn at_most_one(group: &Group) -> Json {
    let chosen = reference(CHOSEN);
    let mut choices: Vec<Json> = group.members.iter().map(|member| any_of([*member], &chosen)).collect();
    choices.push(json!({"not": any_of(group.members.iter().copied(), &chosen)}));
    json!({"oneOf": choices})
}

fn of_field(field: &Field, is_option: bool, part: DefinitionKind) -> Json {
    // Rules for internal fields are not enforced, nor are those for the value of a secret as a whole.
    let is_free = |part: Part| field.is(Flag::Internal) || field.is(Flag::Secret) && part == Part::Value;
    let rules = || field.rules.iter().filter(|(part, _)| !is_free(*part));
    let of = |schema: Json, part: Part| {
        rules().filter(|(of, _)| *of == part).fold(schema, |mut schema, (_, rule)| {
            add(&mut schema, rule);
            schema
        })
    };
    let mut schema = match &field.kind {
        kind if field.is_list => {
            json!({"type": "array", "items": {"anyOf": [of(of_kind(field, kind), Part::Items), reference(VARIABLE)]}})
        }
        FieldKind::Map(kind) => {
            let are_numbers = rules().any(|(of, rule)| *of == Part::Keys && rule.is_about_numbers());
            let key = if are_numbers { json!({"pattern": "^(0|[1-9][0-9]*)$"}) } else { json!({}) };
            json!({
                "type": "object",
                "propertyNames": of(key, Part::Keys),
                "additionalProperties": {"anyOf": [of(of_kind(field, kind), Part::Values), reference(UNSET)]},
            })
        }
        kind => of_kind(field, kind),
    };
    schema = of(schema, Part::Value);
    let mut forms = vec![schema];
    // A zero means that nothing is set, except as the choice of an option.
    if !is_option && !field.is(Flag::Needed) && rules().any(|(of, _)| *of == Part::Value) {
        forms.extend(zero(field).map(|zero| json!({"const": zero})));
    }
    // An empty word means none, and an empty text does not choose an option.
    let is_word = matches!(field.kind, FieldKind::Enum(_)) || is_option && field.kind == FieldKind::Text;
    if !field.is_list && is_word {
        forms.push(json!({"const": ""}));
    }
    let needs_value = field.kind == FieldKind::EMPTY && part == DefinitionKind::Whole;
    forms.push(reference(if needs_value { VARIABLE } else { UNSET }));
    let mut schema = json!({"anyOf": forms});
    if !field.meaning.is_empty() {
        let default = field.default.map(|default| format!(" Default: {default}.")).unwrap_or_default();
        schema["description"] = format!("{}{default}", field.meaning).into();
    }
    if field.is(Flag::Deprecated) {
        schema["deprecated"] = true.into();
    }
    schema
}

/// The value of a field that is not set, if a rule may reject it; for an enumeration, it is one of the forms.
fn zero(field: &Field) -> Option<Json> {
    match field.kind {
        _ if field.is_list => Some(json!([])),
        FieldKind::Integer { .. } | FieldKind::Float { .. } => Some(0.into()),
        FieldKind::Text | FieldKind::Bytes | FieldKind::Duration | FieldKind::Timestamp => Some("".into()),
        _ => None,
    }
}

fn of_kind(field: &Field, kind: &FieldKind) -> Json {
    match kind {
        FieldKind::Bool => json!({"type": "boolean"}),
        FieldKind::Integer { bits, is_signed } => {
            let mut schema = json!({"type": ["integer", "string"], "pattern": "^[0-9]+$"});
            let range = match (bits, is_signed) {
                (32, true) => json!([i32::MIN, i32::MAX]),
                (32, false) => json!([0, u32::MAX]),
                (_, true) => return schema,
                (_, false) => json!([0]),
            };
            for (key, bound) in ["minimum", "maximum"].into_iter().zip(range.as_array().into_iter().flatten()) {
                schema[key] = bound.clone();
            }
            schema
        }
        FieldKind::Float { .. } => json!({"type": ["number", "string"], "pattern": "[0-9]"}),
        FieldKind::Text | FieldKind::Bytes => json!({"type": TEXT}),
        FieldKind::Duration => json!({"type": "string", "pattern": "s$"}),
        FieldKind::Timestamp => json!({"type": "string", "format": "date-time", "pattern": "^[-+0-9]"}),
        FieldKind::Any => json!({}),
        FieldKind::Message("") => json!({"type": "object", "maxProperties": 0}),
        FieldKind::Message(id) => reference(id),
        FieldKind::Enum(id) => {
            let names: Vec<&str> = field.words().collect();
            let values = kind::values(id).iter().filter(|(name, _)| names.contains(name));
            let numbers = values.filter_map(|(_, number)| *number);
            let numbers = numbers.flat_map(|number| [number.into(), number.to_string().into()]);
            let words: Vec<Json> = names.iter().map(|name| (*name).into()).chain(numbers).collect();
            json!({"enum": words})
        }
        FieldKind::Map(value) => json!({"type": "object", "additionalProperties": of_kind(field, value)}),
    }
}

/// Adds a rule that JSON Schema can express. The loader checks the others.
fn add(schema: &mut Json, rule: &Rule) {
    match rule {
        Rule::Range { unit, least, most } => {
            let (low, high) = match unit {
                Unit::Number => ("minimum", "maximum"),
                Unit::Characters => ("minLength", "maxLength"),
                Unit::Items => ("minItems", "maxItems"),
                // A null entry does not count.
                Unit::Pairs | Unit::Bytes | Unit::Ports | Unit::PrefixLength => return,
            };
            for (key, bound) in [(low, least), (high, most)] {
                if let Some(bound) = bound {
                    schema[key] = serde_json::from_str(bound).unwrap_or_default();
                }
            }
        }
        Rule::In(values) if schema["type"] == json!(TEXT) => {
            // What looks like a number may be written as one.
            let other = |value: &&str| serde_json::from_str::<Json>(value).ok().filter(|value| !value.is_null());
            let others = values.iter().filter_map(other);
            schema["enum"] = values.iter().map(|value| Json::from(*value)).chain(others).collect();
        }
        // A quote needs no escape, and has none in the expressions of JSON Schema.
        Rule::Pattern(pattern) => schema["pattern"] = pattern.replace("\\\"", "\"").into(),
        Rule::Format(forms) if forms.contains(&"dns_1035_label") => {
            schema["pattern"] = json!("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$");
        }
        _ => {}
    }
}

//! The JSON Schema of a kind, from its description.

use serde_json::{Map, json};

use crate::kind::{self, Field, FieldKind, Flag, Group, Kind, Message, Part, Rule, Unit};
use crate::model::Json;
use crate::model::shape::camel;

/// The schema of an object of this kind, in both spellings of its keys; `metadata` is that of every object.
pub fn object(kind: &Kind, metadata: Json) -> Json {
    let messages = kind.messages().into_iter();
    let definitions: Map<String, Json> = messages.map(|(id, message)| (id.to_owned(), of_message(message))).collect();
    json!({
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {"kind": {"const": kind.name}, "metadata": metadata, "spec": reference(kind.spec)},
        "additionalProperties": false,
        "$defs": definitions,
    })
}

fn reference(id: &str) -> Json {
    json!({"$ref": format!("#/$defs/{id}")})
}

fn of_message(message: &Message) -> Json {
    let mut properties = Map::new();
    let mut rules = Vec::new();
    for field in &message.fields {
        let schema = if field.is(Flag::ReadOnly) {
            json!({"description": "Written by the service.", "deprecated": true})
        } else {
            of_field(field)
        };
        if is_enforced(field) && message.group_of(field.name).is_none() {
            rules.push(any_of([field.name]));
        }
        properties.insert(camel(field.name), schema.clone());
        properties.insert(field.name.to_owned(), schema);
    }
    rules.extend(message.groups.iter().map(of_group));
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !rules.is_empty() {
        schema["allOf"] = rules.into();
    }
    schema
}

/// Whether the service refuses an object without the field: it does so for texts and messages alone.
fn is_enforced(field: &Field) -> bool {
    let is_of_such = matches!(field.kind, FieldKind::Text | FieldKind::Message(_)) && !field.is_list;
    field.is(Flag::Required) && is_of_such && !field.is(Flag::Internal) && !field.is(Flag::Deprecated)
}

/// One of these keys is there, in either spelling.
fn any_of<'k>(keys: impl IntoIterator<Item = &'k str>) -> Json {
    let spellings = keys.into_iter().flat_map(|key| {
        let other = Some(camel(key)).filter(|other| other != key);
        std::iter::once(key.to_owned()).chain(other)
    });
    json!({"anyOf": spellings.map(|key| json!({"required": [key]})).collect::<Vec<_>>()})
}

fn of_group(group: &Group) -> Json {
    let mut choices: Vec<Json> = group.members.iter().map(|member| any_of([*member])).collect();
    if !group.is_required || group.default.is_some() {
        choices.push(json!({"not": any_of(group.members.iter().copied())}));
    }
    json!({"oneOf": choices})
}

fn of_field(field: &Field) -> Json {
    let mut schema = of_kind(&field.kind);
    if field.is_list {
        schema = json!({"type": "array", "items": schema});
    }
    for (part, rule) in &field.rules {
        let within = match part {
            Part::Value if !field.is_list && matches!(field.kind, FieldKind::Enum(_)) => continue,
            Part::Value => &mut schema,
            Part::Items => &mut schema["items"],
            Part::Keys => &mut schema["propertyNames"],
            Part::Values => &mut schema["additionalProperties"],
        };
        add(within, rule);
    }
    if field.is(Flag::Deprecated) {
        schema["deprecated"] = true.into();
    }
    schema
}

fn of_kind(kind: &FieldKind) -> Json {
    match kind {
        FieldKind::Bool => json!({"type": "boolean"}),
        FieldKind::Integer { bits: 64, .. } => json!({"type": ["integer", "string"]}),
        FieldKind::Integer { is_signed: true, .. } => json!({"type": "integer"}),
        FieldKind::Integer { .. } => json!({"type": "integer", "minimum": 0}),
        FieldKind::Float => json!({"type": "number"}),
        FieldKind::Text | FieldKind::Bytes | FieldKind::Duration => json!({"type": "string"}),
        FieldKind::Timestamp => json!({"type": "string", "format": "date-time"}),
        FieldKind::Any => json!({}),
        FieldKind::Empty => json!({"type": "object", "maxProperties": 0}),
        FieldKind::Message(id) => reference(id),
        FieldKind::Enum(id) => {
            let names: Vec<&str> = kind::values(id).iter().map(|(name, _)| *name).collect();
            json!({"enum": names})
        }
        FieldKind::Map(value) => json!({"type": "object", "propertyNames": {}, "additionalProperties": of_kind(value)}),
    }
}

/// Adds a rule that JSON Schema has. Others are the service's to check.
fn add(schema: &mut Json, rule: &Rule) {
    match rule {
        Rule::Range { unit, least, most } => {
            let (low, high) = match unit {
                Unit::Number => ("minimum", "maximum"),
                Unit::Characters => ("minLength", "maxLength"),
                Unit::Items => ("minItems", "maxItems"),
                Unit::Pairs => ("minProperties", "maxProperties"),
                Unit::Bytes | Unit::Ports | Unit::PrefixLength => return,
            };
            for (key, bound) in [(low, least), (high, most)] {
                if let Some(bound) = bound {
                    schema[key] = serde_json::from_str(bound).unwrap_or_default();
                }
            }
        }
        Rule::In(values) if schema["type"] == "string" => schema["enum"] = json!(values),
        Rule::Pattern(pattern) => schema["pattern"] = json!(pattern),
        _ => {}
    }
}

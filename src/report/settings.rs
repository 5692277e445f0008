//! The settings of `trueup.yaml`, as their JSON Schema describes them: `explain` and the schema cannot differ.

use serde_json::Value;

use super::schema::{self, SchemaKind};

/// A part of a path that a person chooses, such as the name of an environment.
pub(super) const CHOSEN: &str = "NAME";

/// A setting.
#[derive(Debug)]
pub(super) struct Setting {
    /// Its keys from the root of the file.
    pub(super) path: String,
    /// What is written there.
    pub(super) kind: &'static str,
    /// What is allowed; empty where the kind says everything.
    pub(super) allowed: String,
    /// What leaving it out means; empty where that is nothing.
    pub(super) default: String,
    /// What it is for.
    pub(super) meaning: String,
}

/// Every setting, each mapping before the settings in it.
pub(super) fn settings() -> Vec<Setting> {
    let schema = schema::of(SchemaKind::Config);
    let mut found = Vec::new();
    below(&schema, &schema, "", &mut found);
    found
}

/// The settings of a mapping, of the items of a list, or of what a person names.
fn below(node: &Value, schema: &Value, path: &str, into: &mut Vec<Setting>) {
    for (key, property) in node["properties"].as_object().into_iter().flatten() {
        // What a layer shares with the top level is explained there.
        if property["$ref"].as_str().is_some_and(|name| name.starts_with("#/properties/")) {
            continue;
        }
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let shared = property["$ref"].as_str().and_then(|name| schema.pointer(name.trim_start_matches('#')));
        let find = |key: &str| property.get(key).or_else(|| shared?.get(key)).unwrap_or(&Value::Null);
        into.push(Setting {
            path: path.clone(),
            kind: kind(&find),
            allowed: allowed(&find),
            default: match find("default") {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            meaning: find("description").as_str().unwrap_or_default().to_owned(),
        });
        below(property, schema, &path, into);
        below(&property["items"], schema, &path, into);
        below(&property["additionalProperties"], schema, &format!("{path}.{CHOSEN}"), into);
        for choice in property["anyOf"].as_array().into_iter().flatten() {
            below(choice, schema, &path, into);
        }
    }
}

/// What is written, in the terms that `explain` uses for fields.
fn kind<'v>(find: &impl Fn(&str) -> &'v Value) -> &'static str {
    let name = find("type");
    let name = name.as_str().or_else(|| name.as_array()?.first()?.as_str()).unwrap_or_default();
    match name {
        "string" => "text",
        "integer" => "whole number",
        "number" => "number",
        "boolean" => "true or false",
        "array" if find("items").get("properties").is_some() => "list of mappings",
        "array" => "list of texts",
        "object" if find("properties").is_object() => "mapping",
        "object" if find("additionalProperties").get("properties").is_some() => "mapping of names to mappings",
        "object" => "mapping of names to values",
        _ if find("anyOf").is_array() => "word or mapping",
        _ => "word",
    }
}

fn allowed<'v>(find: &impl Fn(&str) -> &'v Value) -> String {
    let words: Vec<&str> = find("enum").as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (words.as_slice(), find("minimum"), find("maximum")) {
        ([_, ..], ..) => format!("one of {}", words.join(", ")),
        (_, Value::Null, _) => String::new(),
        (_, least, Value::Null) => format!("{least} or more"),
        (_, least, most) => format!("{least} to {most}"),
    }
}

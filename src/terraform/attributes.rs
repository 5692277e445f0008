//! The attributes of a resource as the endpoint that the provider sends: a block is a list of at most one object,
//! an empty message is a flag, and an unset value is `null`, empty, zero or false.

use serde_json::{Map, Value};

use crate::model::shape::{ENDPOINT, NodeKind};
use crate::model::{Endpoint, Problem, WireEndpoint, check};

/// The endpoint that the attributes describe, or why there is none, as a fragment.
pub(super) fn endpoint(attributes: &Map<String, Value>) -> Result<Endpoint, String> {
    let mut metadata = Map::new();
    let mut spec = Map::new();
    let is_metadata = |name: &str| ENDPOINT.at("metadata").is_some_and(|node| node.child(name).is_some());
    for (name, value) in attributes {
        let target = if is_metadata(name) { &mut metadata } else { &mut spec };
        if let Some(value) = wire(name, value).filter(|_| name != "id") {
            target.insert(name.clone(), value);
        }
    }
    let object = serde_json::json!({ "metadata": metadata, "spec": spec });
    let wire: WireEndpoint = serde_json::from_value(object).map_err(|error| plain(&error))?;
    let problems = check(&wire);
    if problems.is_empty() { wire.endpoint().map_err(|problems| first(&problems)) } else { Err(first(&problems)) }
}

fn first(problems: &[Problem]) -> String {
    problems.first().map(|problem| problem.message.clone()).unwrap_or_default()
}

/// What serde says without a place: the JSON is made here, so nobody could look the place up.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The value as a request has it; nothing where it is unset.
fn wire(name: &str, value: &Value) -> Option<Value> {
    let kind = ENDPOINT.find(name).map(|node| node.kind);
    // Messages without fields are flags here. Of the lists only these are lists on the wire; others are blocks.
    let is_flag = kind == Some(NodeKind::Empty);
    let is_list = matches!(kind, Some(NodeKind::TextList | NodeKind::References));
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) if is_flag => Some(Value::Object(Map::new())),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::String(text) if text.is_empty() => None,
        // Configuration in JSON syntax may write a number as a text.
        Value::String(text) if matches!(kind, Some(NodeKind::Integer | NodeKind::Seconds)) => {
            text.parse::<u64>().ok().map(Value::from)
        }
        // Configuration may write the flag as its block.
        Value::Array(_) | Value::Object(_) if is_flag => Some(Value::Object(Map::new())),
        Value::Object(map) if kind == Some(NodeKind::TextMap) => {
            // An empty text is a value of a map.
            Some(Value::Object(map.clone())).filter(|_| !map.is_empty())
        }
        Value::Array(items) if is_list => {
            let items: Vec<Value> = items.iter().filter_map(|item| wire("", item)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(map) if is_list => wire("", &Value::Object(map.clone())).map(|one| Value::Array(vec![one])),
        Value::Array(items) => items.first().and_then(|item| wire(name, item)),
        Value::Object(map) => {
            // A block that is there counts, although it is empty: it may choose an option.
            Some(map.iter().filter_map(|(name, value)| Some((name.clone(), wire(name, value)?))).collect())
        }
        other => Some(other.clone()),
    }
}

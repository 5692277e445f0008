//! The attributes of a resource as the object that the provider sends: a block is a list of at most one object,
//! an empty message is a flag, and an unset value is `null`, empty, zero or false.

mod described;

use serde_json::{Map, Value};

use crate::kind::KindName;
use crate::model::shape::{ENDPOINT, NodeKind};
use crate::model::{Endpoint, Problem, WireEndpoint, check};

/// The object that the attributes describe, or why there is none, as a fragment.
pub(super) fn object(kind: KindName, attributes: &Map<String, Value>) -> Result<Endpoint, String> {
    if kind.is_endpoint() { endpoint(attributes) } else { described::object(kind, attributes) }
}

fn endpoint(attributes: &Map<String, Value>) -> Result<Endpoint, String> {
    let mut metadata = Map::new();
    let mut spec = Map::new();
    let is_metadata = |name: &str| ENDPOINT.at("metadata").is_some_and(|node| node.child(name).is_some());
    for (name, value) in attributes {
        let target = if is_metadata(name) { &mut metadata } else { &mut spec };
        if name != "id"
            && let Some(value) = wire(name, value)?
        {
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

/// What serde says without a place: the JSON is made here, so a place would be of no use.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The value as a request has it; nothing where it is unset. Why it has none, where it is neither.
fn wire(name: &str, value: &Value) -> Result<Option<Value>, String> {
    let kind = ENDPOINT.find(name).map(|node| node.kind);
    Ok(match (kind, value) {
        (_, Value::Null) => None,
        (Some(NodeKind::Empty), value) => is_set(name, value)?.then(|| Value::Object(Map::new())),
        (Some(NodeKind::Flag), value) => is_set(name, value)?.then_some(Value::Bool(true)),
        (Some(NodeKind::Integer | NodeKind::Seconds), value) => {
            let number = whole(value).ok_or_else(|| format!("`{name}` is not a whole number"))?;
            (number != 0).then(|| Value::from(number))
        }
        // An empty text is a value of a map.
        (Some(NodeKind::TextMap), Value::Object(map)) => (!map.is_empty()).then(|| value.clone()),
        (Some(NodeKind::TextList | NodeKind::References), Value::Array(items)) => {
            let items: Vec<Value> =
                items.iter().filter_map(|item| item_of(item).transpose()).collect::<Result<_, _>>()?;
            (!items.is_empty()).then_some(Value::Array(items))
        }
        (Some(NodeKind::TextList | NodeKind::References), item) => item_of(item)?.map(|item| Value::Array(vec![item])),
        (_, Value::String(text)) if text.is_empty() => None,
        // A block is a list of one; one that is there counts, although it is empty: it may choose an option.
        (Some(NodeKind::Mapping), Value::Array(items)) if items.len() > 1 => {
            return Err(format!("`{name}` has {} blocks, and only one is expected", items.len()));
        }
        (Some(NodeKind::Mapping), Value::Array(items)) => match items.first() {
            Some(item) => item_of(item)?,
            None => None,
        },
        (_, value @ Value::Object(_)) => item_of(value)?,
        // Attributes that no definition has: unset ones say nothing.
        (None, Value::Bool(false)) => None,
        (None, Value::Array(items)) if items.is_empty() => None,
        (None, Value::Number(number)) if number.as_f64() == Some(0.0) => None,
        (_, value) => Some(value.clone()),
    })
}

/// A block, or an item of a list.
fn item_of(item: &Value) -> Result<Option<Value>, String> {
    let Value::Object(map) = item else {
        return Ok(Some(item.clone()).filter(|item| !item.is_null() && item != ""));
    };
    let mut object = Map::new();
    for (name, value) in map {
        if let Some(value) = wire(name, value)? {
            object.insert(name.clone(), value);
        }
    }
    Ok(Some(Value::Object(object)))
}

/// Whether a flag is set. Configuration may write a text for it, and an option without fields as its block.
fn is_set(name: &str, value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(set) => Ok(*set),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text.is_empty() || text == "false" => Ok(false),
        Value::Array(blocks) => Ok(!blocks.is_empty()),
        Value::Object(_) => Ok(true),
        _ => Err(format!("`{name}` is neither `true` nor `false`")),
    }
}

/// A number without a fraction. Configuration in JSON syntax may write it as a text, which Terraform converts.
fn whole(value: &Value) -> Option<u64> {
    let number: serde_json::Number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) if text.is_empty() => return Some(0),
        Value::String(text) => serde_json::from_str(text).ok().filter(|_| !text.contains(char::is_whitespace))?,
        _ => return None,
    };
    // Exact for every number that a rule allows.
    let has_value = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    number.as_u64().or_else(|| number.as_f64().filter(has_value).and_then(|number| format!("{number}").parse().ok()))
}

//! The attributes of a resource as the endpoint that the provider sends: a block is a list of at most one object,
//! an empty message is a flag, and an unset value is `null`, empty, zero or false.

use serde_json::{Map, Value};

use crate::model::{Endpoint, Problem, WireEndpoint, check};

/// Attributes of `metadata`; all others but `id` belong to `spec`.
const METADATA: [&str; 6] = ["name", "namespace", "labels", "annotations", "description", "disable"];
/// Messages without fields, which the provider writes as flags.
const FLAGS: [&str; 4] = ["no_snat_pool", "strict_ttl", "disable_internet_vip", "enable_internet_vip"];
/// Lists of the interface; every other list is a block.
const LISTS: [&str; 5] = ["ref", "refs", "prefixes", "ipv6_prefixes", "expressions"];
/// Maps of texts, in which an empty text is a value.
const MAPS: [&str; 2] = ["labels", "annotations"];
/// Numbers, which configuration in JSON syntax may write as texts.
const NUMBERS: [&str; 3] = ["port", "health_check_port", "refresh_interval"];

/// The endpoint that the attributes describe, or why there is none, as a fragment.
pub(super) fn endpoint(attributes: &Map<String, Value>) -> Result<Endpoint, String> {
    let mut metadata = Map::new();
    let mut spec = Map::new();
    for (name, value) in attributes {
        let target = if METADATA.contains(&name.as_str()) { &mut metadata } else { &mut spec };
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
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) if FLAGS.contains(&name) => Some(Value::Object(Map::new())),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) if NUMBERS.contains(&name) => text.parse::<u64>().ok().map(Value::from),
        // Configuration may write the flag as its block.
        Value::Array(_) | Value::Object(_) if FLAGS.contains(&name) => Some(Value::Object(Map::new())),
        Value::Object(map) if MAPS.contains(&name) => Some(Value::Object(map.clone())).filter(|_| !map.is_empty()),
        Value::Array(items) if LISTS.contains(&name) => {
            let items: Vec<Value> = items.iter().filter_map(|item| wire("", item)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(map) if LISTS.contains(&name) => {
            wire("", &Value::Object(map.clone())).map(|one| Value::Array(vec![one]))
        }
        Value::Array(items) => items.first().and_then(|item| wire(name, item)),
        Value::Object(map) => {
            // A block that is there counts, although it is empty: it may choose an option.
            Some(map.iter().filter_map(|(name, value)| Some((name.clone(), wire(name, value)?))).collect())
        }
        other => Some(other.clone()),
    }
}

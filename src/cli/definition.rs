//! An endpoint as a definition file: the keys in the order in which a person would write them, and
//! nothing that the service fills in.

use serde_yaml::{Mapping, Value};

use crate::model::shape::order;
use crate::model::{Endpoint, UnknownField, is_ownership_annotation};
use crate::report::safe;

/// Labels under this prefix are the service's (API.md 3.5).
const PLATFORM_PREFIX: &str = "ves.io/";
/// The tenant of objects that the service shares with everybody; a reference to one must name it.
const SHARED_TENANT: &str = "ves-io";

/// Line breaks of YAML 1.1 that YAML 1.2 does not know: the library indents behind them, which a reader of
/// YAML 1.2 takes for a part of the text.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// The file of `endpoint`, with a line for editors when a schema is named, and a line for each live
/// field that a definition cannot hold.
pub fn text(endpoint: &Endpoint, unknown: &[UnknownField], schema: Option<&str>) -> String {
    let mut endpoint = endpoint.clone();
    endpoint.labels.retain(|key, _| !key.starts_with(PLATFORM_PREFIX));
    endpoint.annotations.retain(|key, _| !is_ownership_annotation(key));
    let wire = serde_json::to_value(&endpoint).unwrap_or_default();
    let tree = ordered(&wire).unwrap_or(Value::Null);
    let mut body = serde_yaml::to_string(&tree).unwrap_or_default();
    // Only in quotes is `<<` a key like any other.
    let has_merge_key = endpoint.labels.contains_key("<<") || endpoint.annotations.contains_key("<<");
    if has_merge_key || body.contains(OLD_BREAKS) {
        body = escaped(&tree);
    }
    let mut head = schema.map(|schema| format!("# yaml-language-server: $schema={schema}\n")).unwrap_or_default();
    for field in unknown {
        head.push_str(&format!("# not written, this trueup does not know it: {}\n", safe::line(&field.path)));
    }
    format!("{head}{body}")
}

/// The tree as JSON, which is YAML as well, with escapes for what a reader could take for a line break.
fn escaped(tree: &Value) -> String {
    let json = serde_json::to_string_pretty(tree).unwrap_or_default();
    let must_be_escaped = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c {
            c if must_be_escaped(c) || OLD_BREAKS.contains(&c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\n');
    text
}

/// A value with its keys in order, and without defaults.
fn ordered(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => Value::Number(number.as_u64()?.into()),
        Json::String(text) => Value::String(literal(text)),
        Json::Array(items) => Value::Sequence(items.iter().filter_map(ordered).collect()),
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_key(|key| (order(key), *key));
            let mut ordered_map = Mapping::new();
            for key in keys {
                let inner = match key.as_str() {
                    "labels" | "annotations" => texts(&map[key]),
                    key if says_something(key, &map[key]) => ordered(&map[key]),
                    _ => None,
                };
                if let Some(inner) = inner {
                    ordered_map.insert(Value::String(key.clone()), inner);
                }
            }
            Value::Mapping(ordered_map)
        }
    })
}

/// A value as a definition writes it: the start of a variable is escaped.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// Labels or annotations: any key, and each text as it is, the empty one too.
fn texts(map: &serde_json::Value) -> Option<Value> {
    let map = map.as_object().filter(|map| !map.is_empty())?;
    let entry = |(key, value): (&String, &serde_json::Value)| {
        (Value::String(key.clone()), Value::String(literal(value.as_str().unwrap_or_default())))
    };
    Some(Value::Mapping(map.iter().map(entry).collect()))
}

/// Whether a key of the wire form has to be written.
fn says_something(key: &str, value: &serde_json::Value) -> bool {
    match key {
        "description" => value != "",
        "disable" => value == true,
        "protocol" => value != "TCP",
        "snat_pool" => value.get("no_snat_pool").is_none(),
        "disable_internet_vip" | "uid" => !value.is_object() && !value.is_string(),
        "tenant" => value == SHARED_TENANT,
        _ => *value != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(body: serde_json::Value) -> Endpoint {
        serde_json::from_value(body).expect("an endpoint")
    }

    #[test]
    fn a_definition_holds_what_a_person_would_write() {
        let live = endpoint(serde_json::json!({
            "metadata": {"name": "cart", "namespace": "shop", "description": "", "disable": false,
                "labels": {"tier": "web", "port": "", "ves.io/app_type": "x"},
                "annotations": {"trueup/stack": "s", "trueup/applied": "1 r t", "team": "1.50"}},
            "spec": {"ip": "10.0.0.7", "protocol": "TCP", "port": 8443, "health_check_port": 0,
                "snat_pool": {"no_snat_pool": {}},
                "where": {"site": {"ref": [{"kind": "site", "name": "ce01", "namespace": "system", "tenant": "acme-x", "uid": "u"}],
                    "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}}}
        }));
        assert_eq!(
            text(&live, &[], None),
            "metadata:\n  name: cart\n  namespace: shop\n  labels:\n    port: ''\n    tier: web\n  annotations:\n    \
             team: '1.50'\nspec:\n  ip: 10.0.0.7\n  port: 8443\n  where:\n    site:\n      network_type: \
             VIRTUAL_NETWORK_SITE_LOCAL\n      ref:\n      - name: ce01\n        namespace: system\n"
        );
    }

    #[test]
    fn the_first_line_may_name_a_schema_for_editors() {
        let live = endpoint(serde_json::json!({
            "metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7"}
        }));
        assert!(text(&live, &[], Some("x.json")).starts_with("# yaml-language-server: $schema=x.json\nmetadata:\n"));
    }
}

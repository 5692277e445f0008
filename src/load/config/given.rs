//! Merges the limits of a run, from settings or a policy, onto their defaults. The description has checked the values.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Map;

use super::Config;
use super::described::field;
use crate::kind::KindName;
use crate::model::policy::{Policy, Safeguards};
use crate::model::{Json, StringMap};

/// The labels of a stack.
pub(super) fn labels<'de, D: Deserializer<'de>>(from: D) -> Result<StringMap, D::Error> {
    Ok(BTreeMap::deserialize(from)?.into_iter().collect())
}

/// The limits in settings; those that are not set have their defaults.
pub(super) fn safeguards<'de, D: Deserializer<'de>>(from: D) -> Result<Safeguards, D::Error> {
    over(&Config::default().safeguards, Map::deserialize(from)?).map_err(Error::custom)
}

/// The limits in a policy; what it does not set is unlimited.
pub(super) fn loosest<'de, D: Deserializer<'de>>(from: D) -> Result<Safeguards, D::Error> {
    over(&Policy::default().loosest, Map::deserialize(from)?).map_err(Error::custom)
}

fn over(limits: &Safeguards, mut given: Map<String, Json>) -> serde_json::Result<Safeguards> {
    let gates = given.get_mut("gates").and_then(Json::as_object_mut);
    if let Some((gates, events)) = gates.and_then(|gates| gates.remove("events").map(|events| (gates, events))) {
        // A single word is the mode.
        let mode = if events.is_string() { &events } else { events.get("mode").unwrap_or(&Json::Null) };
        gates.insert("events".to_owned(), if mode.is_null() { "warn".into() } else { mode.clone() });
        for key in ["minutes", "threshold"] {
            gates.extend(events.get(key).map(|number| (format!("events_{key}"), number.clone())));
        }
    }
    if let Some(rules) = given.get_mut("ignore").and_then(Json::as_array_mut) {
        rules.retain_mut(|rule| {
            let field = rule["object"].as_str().and_then(|object| field(rule["field"].as_str()?, object));
            field.is_some_and(|field| {
                rule["field"] = field.to_string().into();
                true
            })
        });
    }
    if let Some(strict @ Json::Bool(_)) = given.get_mut("strict") {
        // Every kind but endpoint, whose definitions cover every field.
        let kinds = KindName::all().filter(|kind| *strict == true && !kind.is_endpoint());
        *strict = kinds.map(KindName::as_str).collect();
    }
    let mut all = serde_json::to_value(limits)?;
    lay(&mut all, given.into());
    serde_json::from_value(all)
}

/// Merges mappings; any other value replaces the one below it.
fn lay(below: &mut Json, above: Json) {
    match (below, above) {
        (Json::Object(below), Json::Object(above)) => {
            above.into_iter().for_each(|(key, value)| lay(below.entry(key).or_insert(Json::Null), value));
        }
        (below, above) => *below = above,
    }
}

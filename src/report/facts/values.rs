//! The value of a field in words. Every report shows values with these texts. They are as the files and the service wrote
//! them, so drawers escape them.

use super::unit;
use crate::kind::KindName;
use crate::model::{Field, Json, StringMap, is_ownership_annotation};

/// The value of a field on one line; nothing is absence. Of several values in it each has its name.
pub fn words(kind: KindName, field: &Field, value: &Json) -> Option<String> {
    let Some(unit) = field.unit() else { return text(value) };
    let values = unit::of_value(kind, unit, value);
    // What all of them are below is said once.
    let option = values.first().and_then(|(name, _)| name.split_once('.')).map_or("", |(option, _)| option);
    let above = format!("{option}.");
    let is_shared = values.iter().all(|(name, _)| name.starts_with(&above));
    let part = |(name, text): &(String, String)| {
        let name = if is_shared { &name[above.len()..] } else { name };
        if text == "{}" { name.to_owned() } else { format!("{name} {text}") }
    };
    match values.as_slice() {
        [] => None,
        [(_, only)] if only != "{}" => Some(only.clone()),
        values => {
            let parts = values.iter().map(part).collect::<Vec<_>>().join(", ");
            Some(if is_shared { format!("{option} {parts}") } else { parts })
        }
    }
}

/// A value without parts; nothing is absence.
pub fn text(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A map as `key=value` pairs, without the ownership annotations, which no definition sets.
pub fn pairs(map: &StringMap) -> String {
    let theirs = map.iter().filter(|(key, _)| !is_ownership_annotation(key));
    theirs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

//! What the service fills in: the default of a group that is left open, and the parts of a reference.

use serde_json::{Map, Value as Json};

use super::hidden::shown;
use super::spec::{Zeros, by_unit, keys_of, object};
use super::walk::{each_message, is_reference};
use super::{Field, FieldKind, Group, Message, message};

/// How much of what the service fills is left out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fills<'a> {
    /// What it surely fills again in an object of this tenant.
    Sure(Option<&'a str>),
    /// All that means no more than to leave it out in an object of this namespace, so that two ways to write a value are
    /// one.
    All(&'a str),
}

/// A spec of an object of `tenant` without what the service fills in references and in groups that are left open.
#[must_use]
pub fn without_fills(spec: &str, value: &Json, tenant: Option<&str>) -> Json {
    unfilled(spec, value, Fills::Sure(tenant))
}

/// A spec that a definition of `namespace` writes, with what its references leave out: the namespace of the object itself.
#[must_use]
pub fn with_namespaces(id: &str, value: &Json, namespace: &str) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    let mut object = entries.clone();
    if is_reference(id) {
        object.entry("namespace").or_insert_with(|| namespace.into());
        return object.into();
    }
    for (key, value) in &mut object {
        if let Some(field) = message(id).field(key) {
            *value = each_message(field, value, |id, value| with_namespaces(id, value, namespace));
        }
    }
    object.into()
}

/// The value of a unit of an object of `namespace` as its digest covers it; `None` where it says nothing.
#[must_use]
pub fn digested(spec: &str, unit: &str, value: &Json, namespace: &str) -> Option<Json> {
    let keys = object(message(spec), &shown(spec, &keys_of(spec, unit, Some(value))), Zeros::Dropped);
    let Json::Object(keys) = unfilled(spec, &Json::Object(keys), Fills::All(namespace)) else { return None };
    by_unit(spec, keys).remove(unit)
}

pub(super) fn unfilled(id: &str, value: &Json, fills: Fills<'_>) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    if is_reference(id) {
        return unfilled_reference(entries, fills);
    }
    let message = message(id);
    let is_fill = |key: &str, value: &Json| {
        let group = message.group_of(key).filter(|group| matches!(fills, Fills::All(_)) || group.is_filled);
        group.is_some_and(|group| is_default_choice(message, group, key, value))
    };
    // What the description does not know, no definition can name.
    let below = |(key, value): (&String, &Json)| {
        let value = each_message(message.field(key)?, value, |id, value| unfilled(id, value, fills));
        (!is_fill(key, &value)).then(|| (key.clone(), value))
    };
    entries.iter().filter_map(below).collect()
}

fn unfilled_reference(parts: &Map<String, Json>, fills: Fills<'_>) -> Json {
    let is_filled = |key: &str, value: &Json| match (key, fills) {
        ("uid" | "kind", _) | ("tenant", Fills::All(_)) => true,
        ("tenant", Fills::Sure(tenant)) => value.as_str() == tenant,
        ("namespace", Fills::All(own)) => value == own,
        _ => false,
    };
    parts
        .iter()
        .filter(|(key, value)| !is_filled(key, value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The default choice of a group, which says no more than an open group.
pub(super) fn is_default_choice(message: &Message, group: &Group, key: &str, value: &Json) -> bool {
    let is_empty = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    let without_fields = |field: &Field| field.kind == FieldKind::Empty;
    group.default == Some(key) && (is_empty(value) || message.field(key).is_some_and(without_fields))
}

//! What the service fills in: the default of a group that is left open, and the parts of a reference.

use serde_json::{Map, Value as Json};

use super::hidden::is_hidden;
use super::spec::{drop_unchosen, is_zero_of, keys_of, value_of};
use super::walk::{Keys, each_message, each_message_mut, is_zero};
use super::{Field, FieldKind, Group, Message, message};

/// A spec of an object of `tenant` without what the service fills in references and in groups that are left open.
pub fn without_fills(spec: &str, mut value: Json, tenant: Option<&str>) -> Json {
    unfill(message(spec), &mut value, tenant);
    value
}

/// Adds to a spec that a definition of `namespace` writes what its references leave out: the namespace of the object itself.
pub fn add_namespaces(spec: &str, value: &mut Json, namespace: &str) {
    add_namespaces_below(message(spec), value, namespace);
}

fn add_namespaces_below(message: &Message, value: &mut Json, namespace: &str) {
    let Json::Object(entries) = value else { return };
    if message.is_reference {
        entries.entry("namespace").or_insert_with(|| namespace.into());
        return;
    }
    for (key, value) in entries {
        if let Some(field) = message.field(key) {
            each_message_mut(field, value, &mut |below, value| add_namespaces_below(below, value, namespace));
        }
    }
}

/// The value of a unit of an object of `namespace` as its digest covers it: without all that means no more than to leave it
/// out, so that two ways to write a value are one; `None` where it says nothing.
pub fn digested(spec: &str, unit: &str, value: &Json, namespace: &str) -> Option<Json> {
    value_of(spec, unit, digested_below(message(spec), keys_of(spec, unit, Some(value)), namespace))
}

fn digested_below(message: &Message, keys: Keys<'_>, namespace: &str) -> Map<String, Json> {
    if message.is_reference {
        let is_filled = |key: &str, value: &Json| match key {
            "uid" | "kind" | "tenant" => true,
            "namespace" => value == namespace,
            _ => false,
        };
        let parts = keys.iter().filter(|(key, value)| !is_filled(key, value) && !is_zero(value));
        return parts.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    }
    let (mut digested, mut zero_options) = (Map::new(), Vec::new());
    for (key, value) in keys.iter() {
        // What the description does not know, no definition can name.
        let Some(field) = message.field(key).filter(|field| !is_hidden(field)) else { continue };
        if is_zero_of(field, value) {
            if message.group_of(key).is_none() {
                continue;
            }
            zero_options.push(field);
        }
        let below = |message: &Message, value: &Json| match value {
            Json::Object(_) => Json::Object(digested_below(message, Keys::of(value), namespace)),
            value => value.clone(),
        };
        digested.insert(key.to_owned(), each_message(field, value, below));
    }
    drop_unchosen(message, &zero_options, &mut digested);
    digested
        .retain(|key, value| !message.group_of(key).is_some_and(|group| is_default_choice(message, group, key, value)));
    digested
}

/// Takes out of the value of a message what the service surely fills again in an object of `tenant`.
pub(super) fn unfill(message: &Message, value: &mut Json, tenant: Option<&str>) {
    if let Json::Object(keys) = value {
        unfill_message(message, keys, tenant);
    }
}

/// The same of its keys.
pub(super) fn unfill_message(message: &Message, keys: &mut Map<String, Json>, tenant: Option<&str>) {
    if message.is_reference {
        return keys.retain(|key, value| match key.as_str() {
            "uid" | "kind" => false,
            "tenant" => value.as_str() != tenant,
            _ => true,
        });
    }
    keys.retain(|key, value| {
        // What the description does not know, no definition can name.
        let Some(field) = message.field(key) else { return false };
        each_message_mut(field, value, &mut |below, value| unfill(below, value, tenant));
        let group = message.group_of(key).filter(|group| group.is_filled);
        !group.is_some_and(|group| is_default_choice(message, group, key, value))
    });
}

/// The default choice of a group, which says no more than an open group.
pub(super) fn is_default_choice(message: &Message, group: &Group, key: &str, value: &Json) -> bool {
    let is_empty = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    let without_fields = |field: &Field| field.kind == FieldKind::Empty;
    group.default == Some(key) && (is_empty(value) || message.field(key).is_some_and(without_fields))
}

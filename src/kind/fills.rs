//! What the service fills in: the default of a group that is left open, and the parts of a reference.

use serde_json::{Map, Value as Json};

use super::hidden::conceal;
use super::spec::{Zeros, keys_of, tidy, value_of};
use super::walk::{each_message_mut, is_reference};
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
pub fn without_fills(spec: &str, mut value: Json, tenant: Option<&str>) -> Json {
    unfill(spec, &mut value, Fills::Sure(tenant));
    value
}

/// Adds to a spec that a definition of `namespace` writes what its references leave out: the namespace of the object itself.
pub fn add_namespaces(id: &str, value: &mut Json, namespace: &str) {
    let Json::Object(entries) = value else { return };
    if is_reference(id) {
        entries.entry("namespace").or_insert_with(|| namespace.into());
        return;
    }
    let message = message(id);
    for (key, value) in entries {
        if let Some(field) = message.field(key) {
            each_message_mut(field, value, &mut |id, value| add_namespaces(id, value, namespace));
        }
    }
}

/// The value of a unit of an object of `namespace` as its digest covers it; `None` where it says nothing.
pub fn digested(spec: &str, unit: &str, value: &Json, namespace: &str) -> Option<Json> {
    let mut keys = keys_of(spec, unit, Some(value)).owned();
    conceal(spec, &mut keys);
    tidy(message(spec), &mut keys, Zeros::Dropped);
    unfill_message(spec, &mut keys, Fills::All(namespace));
    value_of(spec, unit, keys)
}

/// Takes out of the value of a message what the service fills.
pub(super) fn unfill(id: &str, value: &mut Json, fills: Fills<'_>) {
    if let Json::Object(keys) = value {
        unfill_message(id, keys, fills);
    }
}

/// The same of its keys.
pub(super) fn unfill_message(id: &str, keys: &mut Map<String, Json>, fills: Fills<'_>) {
    if is_reference(id) {
        return unfill_reference(keys, fills);
    }
    let message = message(id);
    keys.retain(|key, value| {
        // What the description does not know, no definition can name.
        let Some(field) = message.field(key) else { return false };
        each_message_mut(field, value, &mut |id, value| unfill(id, value, fills));
        let group = message.group_of(key).filter(|group| matches!(fills, Fills::All(_)) || group.is_filled);
        !group.is_some_and(|group| is_default_choice(message, group, key, value))
    });
}

fn unfill_reference(parts: &mut Map<String, Json>, fills: Fills<'_>) {
    parts.retain(|key, value| match (key.as_str(), fills) {
        ("uid" | "kind", _) | ("tenant", Fills::All(_)) => false,
        ("tenant", Fills::Sure(tenant)) => value.as_str() != tenant,
        ("namespace", Fills::All(own)) => value != own,
        _ => true,
    });
}

/// The default choice of a group, which says no more than an open group.
pub(super) fn is_default_choice(message: &Message, group: &Group, key: &str, value: &Json) -> bool {
    let is_empty = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    let without_fields = |field: &Field| field.kind == FieldKind::Empty;
    group.default == Some(key) && (is_empty(value) || message.field(key).is_some_and(without_fields))
}

//! What the service fills in: the default of a group that is left open, and the parts of a reference.

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::hidden::is_hidden;
use super::mirror::drop_mirrors;
use super::spec::{Zeros, is_beside_secret, is_group, is_unchosen, is_zero_of, keys_of, tidy};
use super::walk::{Keys, each_message_mut, is_zero};
use super::{Field, FieldKind, Flag, Group, GroupFlag, Message, open_value};

/// A spec of an object of `tenant` without the values that the service fills into references and open groups.
pub fn without_fills(spec: &Message, mut value: Json, tenant: Option<&str>) -> Json {
    unfill(spec, &mut value, tenant);
    value
}

/// Adds the namespaces that references leave out to the spec of an object of `namespace`: that of the object itself, or
/// the fixed one of the field.
pub fn add_namespaces(spec: &Message, value: &mut Json, namespace: &str) {
    each_reference(spec, value, None, &|reference, of_field| add_namespace(reference, of_field.unwrap_or(namespace)));
}

fn add_namespace(reference: &mut Map<String, Json>, namespace: &str) {
    let is_set = |key: &str| reference.get(key).is_some_and(|value| !is_zero(value));
    if is_set("name") && !is_set("namespace") {
        reference.insert("namespace".to_owned(), namespace.into());
    }
}

/// A message in the value of `field` without zero values. References without a namespace get that of the object; where
/// that is unknown, all references lose theirs.
pub(super) fn comparable(field: &Field, message: &Message, mut value: Json, namespace: Option<&str>) -> Json {
    each_reference(message, &mut value, field.namespace, &|reference, of_field| match namespace {
        Some(namespace) => add_namespace(reference, of_field.unwrap_or(namespace)),
        None => _ = reference.remove("namespace"),
    });
    if let Json::Object(keys) = &mut value {
        tidy(message, keys, Zeros::Dropped);
    }
    value
}

/// A spec whose references have no uid, which the service fills in: they then also name a recreated object.
pub fn without_uids(spec: &Message, mut value: Json) -> Json {
    each_reference(spec, &mut value, None, &|reference, _| _ = reference.remove("uid"));
    value
}

/// An edit of a reference, which also gets the fixed namespace of its field.
type ReferenceEdit<'e> = &'e dyn Fn(&mut Map<String, Json>, Option<&'static str>);

/// Edits each reference in a message; `of_field` is the fixed namespace of the field with the message.
fn each_reference(message: &Message, value: &mut Json, of_field: Option<&'static str>, of: ReferenceEdit<'_>) {
    let Json::Object(entries) = value else { return };
    if message.is_reference {
        return of(entries, of_field);
    }
    for (key, value) in entries {
        if let Some(field) = message.field(key) {
            each_message_mut(field, value, &mut |below, value| each_reference(below, value, field.namespace, of));
        }
    }
}

/// A value without the parts that mean the same as leaving them out, so that equivalent values are equal.
#[derive(Debug, PartialEq)]
pub enum Digested<'v> {
    /// A value as it is.
    Value(&'v Json),
    /// A list.
    List(Vec<Digested<'v>>),
    /// A mapping, in the order of its keys.
    Map(Vec<(&'v str, Digested<'v>)>),
}

impl Digested<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Digested::Value(value) => is_empty(value),
            Digested::List(_) => false,
            Digested::Map(entries) => entries.is_empty(),
        }
    }
}

impl Serialize for Digested<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Digested::Value(value) => value.serialize(serializer),
            Digested::List(items) => serializer.collect_seq(items),
            Digested::Map(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key, value))),
        }
    }
}

/// The value of a unit of an object of `namespace` as its digest covers it; `None` where nothing is left.
pub fn digested<'v>(spec: &Message, unit: &'v str, value: &'v Json, namespace: &str) -> Option<Digested<'v>> {
    let mut keys = digested_below(spec, keys_of(spec, unit, value), namespace);
    match is_group(spec, unit) {
        true => (!keys.is_empty()).then_some(Digested::Map(keys)),
        false => keys.pop().map(|(_, value)| value),
    }
}

pub(super) fn digested_below<'v>(message: &Message, keys: Keys<'v>, namespace: &str) -> Vec<(&'v str, Digested<'v>)> {
    if message.is_reference {
        let is_filled = |key: &str, value: &Json| match key {
            "uid" | "kind" | "tenant" => true,
            "namespace" => value == namespace,
            _ => false,
        };
        let parts = keys.iter().filter(|(key, value)| !is_filled(key, value) && !is_zero(value));
        return parts.map(|(key, value)| (key, Digested::Value(value))).collect();
    }
    // A definition cannot name a key that the description does not have.
    let known = |key: &str| message.field(key).filter(|field| !is_hidden(field));
    let option = |(key, value): (&str, &'v Json)| {
        known(key).filter(|field| is_zero_of(field, value) && message.group_of(field.name).is_some())
    };
    let zeros: Vec<&Field> = keys.iter().filter_map(option).collect();
    let is_written = |key: &str| keys.get(key).is_some() && known(key).is_some();
    let entry = |(key, value): (&'v str, &'v Json)| {
        let field = known(key)?;
        let group = message.group_of(key);
        let is_no_choice =
            || is_beside_secret(message, field) || is_unchosen(message, field, value, &zeros, &is_written);
        let is_nothing = is_zero_of(field, value) && (group.is_none() || is_no_choice());
        if is_nothing {
            return None;
        }
        let digested = digested_in(field, value, namespace);
        let is_default = group.is_some_and(|group| is_default_choice(message, group, key, digested.is_empty()));
        (!is_default).then_some((key, digested))
    };
    keys.iter().filter_map(entry).collect()
}

fn digested_in<'v>(field: &Field, value: &'v Json, namespace: &str) -> Digested<'v> {
    let Some(message) = field.message() else { return Digested::Value(value) };
    let namespace = field.namespace.filter(|_| message.is_reference).unwrap_or(namespace);
    let below = |value: &'v Json| match value {
        Json::Object(keys) => Digested::Map(digested_below(message, Keys::All(keys), namespace)),
        value => Digested::Value(value),
    };
    match (&field.kind, value) {
        (_, Json::Array(items)) => Digested::List(items.iter().map(below).collect()),
        (FieldKind::Map(_), Json::Object(values)) => {
            Digested::Map(values.iter().map(|(key, value)| (key.as_str(), below(value))).collect())
        }
        (_, value) => below(value),
    }
}

/// Whether a value has only what the service fills into a field that is left out.
pub(super) fn is_fill(field: &Field, value: &Json) -> bool {
    is_zero_of(field, value) || says_nothing(field, value)
}

/// Whether a value is a mapping without any part that a digest covers.
pub(super) fn says_nothing(field: &Field, value: &Json) -> bool {
    digested_in(field, value, "").is_empty()
}

/// Removes from the value of a message what the service certainly fills in again in an object of `tenant`.
pub(super) fn unfill(message: &Message, value: &mut Json, tenant: Option<&str>) {
    if let Json::Object(keys) = value {
        unfill_message(message, keys, tenant);
    }
}

/// The same for the keys of a message.
pub(super) fn unfill_message(message: &Message, keys: &mut Map<String, Json>, tenant: Option<&str>) {
    if message.is_reference {
        return keys.retain(|key, value| match key.as_str() {
            "kind" => false,
            // An object without a tenant is not a live one; it may be from another tool.
            "uid" => tenant.is_none(),
            "tenant" => value.as_str() != tenant,
            _ => true,
        });
    }
    drop_mirrors(message, keys);
    keys.retain(|key, value| {
        // A definition cannot name a key that the description does not have.
        let Some(field) = message.field(key) else { return false };
        each_message_mut(field, value, &mut |below, value| unfill(below, value, tenant));
        if field.is(Flag::Shown) && *value == open_value(message, key) {
            return false;
        }
        let group = message.group_of(key).filter(|group| group.is(GroupFlag::Filled));
        !group.is_some_and(|group| is_default_choice(message, group, key, is_empty(value)))
    });
    // Write the zero word of required enumerations: readers would not take a rule without `action` for one that denies.
    let is_kept_back = |field: &Field| field.is(Flag::Internal) || field.is(Flag::Deprecated);
    for field in message.fields.iter().filter(|field| field.is(Flag::Required) && !is_kept_back(field)) {
        if let Some(word) = field.word_of_none().map(Json::from).filter(|word| field.permits(word)) {
            keys.entry(field.name).or_insert(word);
        }
    }
}

/// Whether a key is the default choice of a group, equivalent to an open group; `is_empty`: its value is empty.
pub(super) fn is_default_choice(message: &Message, group: &Group, key: &str, is_empty: bool) -> bool {
    let without_fields = |field: &Field| field.kind == FieldKind::EMPTY;
    group.default == Some(key) && (is_empty || message.field(key).is_some_and(without_fields))
}

/// Whether a value is an empty mapping.
fn is_empty(value: &Json) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

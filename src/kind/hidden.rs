//! Hidden values, which responses never show: secrets and fields that the service keeps. Unknown keys may be hidden.

use serde_json::{Map, Value as Json};

use super::spec::{keys_of, unit_of, value_of};
use super::walk::{Keys, each_message, each_message_mut, is_zero, messages};
use super::{Field, Flag, Message};

/// The hidden values, and unknown keys, of a unit of a definition; `None` where it has none.
pub fn hidden(spec: &Message, unit: &str, value: &Json) -> Option<Json> {
    hidden_below(spec, keys_of(spec, unit, value))
}

/// The value of a unit as responses show it.
pub fn without_hidden(spec: &Message, unit: &str, value: &Json) -> Json {
    value_of(spec, unit, without_hidden_keys(spec, keys_of(spec, unit, value).owned()))
}

/// The units with hidden values that a replace without the unit would reset. A replace keeps values that only a create
/// has, and is not sent without a secret.
pub fn reset(spec: &Message) -> impl Iterator<Item = &str> {
    let fields = spec.fields.iter().filter(|field| field.is(Flag::Unanswered) && !field.is(Flag::CreateOnly));
    fields.map(|field| unit_of(spec, field.name))
}

pub(super) fn is_hidden(field: &Field) -> bool {
    field.is(Flag::Unanswered) || field.is(Flag::Secret)
}

/// The paths, below `above`, of the values in a message that are set and that the description does not have.
pub fn unknown(message: &Message, value: &Json, above: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !is_zero(value)) {
        let path = format!("{above}.{key}");
        let Some(field) = message.field(key) else {
            paths.push(path);
            continue;
        };
        for below in messages(field, value) {
            paths.extend(unknown(below.message, below.value, &format!("{path}{}", below.step)));
        }
    }
    paths
}

/// Whether the keys of a message, at any depth, include one that the description does not have.
pub fn has_unknown(message: &Message, keys: Keys<'_>) -> bool {
    keys.iter().any(|(key, value)| {
        let below = message.field(key).map(|field| messages(field, value));
        below.is_none_or(|below| below.iter().any(|below| has_unknown(below.message, Keys::of(below.value))))
    })
}

/// The hidden values, and unknown keys, of a message; `None` where it has none.
fn hidden_below(message: &Message, keys: Keys<'_>) -> Option<Json> {
    let is_nothing = |value: &Json| match value {
        Json::Array(items) => items.iter().all(Json::is_null),
        Json::Object(values) => values.values().all(Json::is_null),
        value => value.is_null(),
    };
    let of_entry = |(key, value): (&str, &Json)| {
        let Some(field) = message.field(key).filter(|field| !is_hidden(field)) else {
            return Some((key.to_owned(), value.clone()));
        };
        field.below()?;
        let found = each_message(field, value, |below, value| hidden_below(below, Keys::of(value)).unwrap_or_default());
        (!is_nothing(&found)).then(|| (key.to_owned(), found))
    };
    let found: Map<String, Json> = keys.iter().filter_map(of_entry).collect();
    (!found.is_empty()).then_some(Json::Object(found))
}

/// The keys of a message without hidden values.
pub(super) fn without_hidden_keys(message: &Message, mut keys: Map<String, Json>) -> Map<String, Json> {
    if message.hides() {
        keys.retain(|key, value| {
            let Some(field) = message.field(key) else { return true };
            each_message_mut(field, value, &mut |below, value| {
                if let Json::Object(keys) = value {
                    *keys = without_hidden_keys(below, std::mem::take(keys));
                }
            });
            !is_hidden(field)
        });
    }
    keys
}

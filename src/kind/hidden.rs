//! What no answer shows: fields that the service keeps to itself, and secrets. What no description knows may be one of them.

use serde_json::{Map, Value as Json};

use super::spec::{by_unit, keys_of};
use super::walk::{each_message, messages};
use super::{Field, Flag, hides, message};

/// What no answer shows of the value of a unit that a definition writes; `None` where it writes nothing of that.
#[must_use]
pub fn hidden(spec: &str, unit: &str, value: &Json) -> Option<Json> {
    hidden_below(spec, &keys_of(spec, unit, Some(value)))
}

/// The value of a unit as answers show it.
#[must_use]
pub fn without_hidden(spec: &str, unit: &str, value: &Json) -> Option<Json> {
    let Json::Object(keys) = shown(spec, &keys_of(spec, unit, Some(value))) else { return None };
    by_unit(spec, keys).remove(unit)
}

pub(super) fn is_hidden(field: &Field) -> bool {
    field.is(Flag::Unanswered) || field.is(Flag::Secret)
}

/// Whether something in a value is not described.
fn has_unknown(id: &str, value: &Json) -> bool {
    let message = message(id);
    value.as_object().into_iter().flatten().any(|(key, value)| match message.field(key) {
        Some(field) => messages(field, value).iter().any(|below| has_unknown(below.id, below.value)),
        None => true,
    })
}

fn hidden_below(id: &str, value: &Json) -> Option<Json> {
    if !hides(id) && !has_unknown(id, value) {
        return None;
    }
    let is_nothing = |value: &Json| match value {
        Json::Array(items) => items.iter().all(Json::is_null),
        Json::Object(values) => values.values().all(Json::is_null),
        value => value.is_null(),
    };
    let of_entry = |(key, value): (&String, &Json)| {
        let Some(field) = message(id).field(key) else { return Some((key.clone(), value.clone())) };
        if is_hidden(field) {
            return Some((key.clone(), value.clone()));
        }
        field.below()?;
        let found = each_message(field, value, |id, value| hidden_below(id, value).unwrap_or_default());
        (!is_nothing(&found)).then(|| (key.clone(), found))
    };
    let found: Map<String, Json> = value.as_object()?.iter().filter_map(of_entry).collect();
    (!found.is_empty()).then_some(Json::Object(found))
}

/// A value of a message without what no answer shows.
pub(super) fn shown(id: &str, value: &Json) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    if !hides(id) {
        return value.clone();
    }
    let of_entry = |(key, value): (&String, &Json)| match message(id).field(key) {
        Some(field) if is_hidden(field) => None,
        Some(field) => Some((key.clone(), each_message(field, value, shown))),
        None => Some((key.clone(), value.clone())),
    };
    entries.iter().filter_map(of_entry).collect()
}

//! Walks a value by its description.

use serde_json::{Map, Value as Json};

use super::{Field, FieldKind, Message};

/// Whether a value is a zero, which is how the service writes unset fields.
pub fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        // `{}` means that the field is set.
        Json::Bool(true) | Json::Object(_) => false,
    }
}

/// Keys of a message with their values.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'v> {
    /// None.
    None,
    /// One.
    One(&'v str, &'v Json),
    /// All keys of an object.
    All(&'v Map<String, Json>),
}

impl<'v> Keys<'v> {
    /// The keys of a value; none where it is not an object.
    pub fn of(value: &'v Json) -> Self {
        value.as_object().map_or(Keys::None, Keys::All)
    }

    /// The value of a key.
    pub fn get(self, key: &str) -> Option<&'v Json> {
        match self {
            Keys::None => None,
            Keys::One(name, value) => (name == key).then_some(value),
            Keys::All(keys) => keys.get(key),
        }
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Each key with its value.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'v str, &'v Json)> {
        let (one, all) = match self {
            Keys::None => (None, None),
            Keys::One(key, value) => (Some((key, value)), None),
            Keys::All(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(all.into_iter().flatten().map(|(key, value)| (key.as_str(), value)))
    }

    /// An object with these keys.
    pub fn owned(self) -> Map<String, Json> {
        match self {
            Keys::None => Map::new(),
            Keys::One(key, value) => Map::from_iter([(key.to_owned(), value.clone())]),
            Keys::All(keys) => keys.clone(),
        }
    }
}

/// The value of a field with each message in it mapped by `of`.
pub(super) fn each_message(field: &Field, value: &Json, mut of: impl FnMut(&'static Message, &Json) -> Json) -> Json {
    let Some(message) = field.message() else { return value.clone() };
    match (&field.kind, value) {
        (_, Json::Array(items)) => items.iter().map(|item| of(message, item)).collect(),
        (FieldKind::Map(_), Json::Object(values)) => {
            values.iter().map(|(key, value)| (key.clone(), of(message, value))).collect()
        }
        (_, value) => of(message, value),
    }
}

/// Calls `of` with each message in the value of a field.
pub(super) fn each_message_mut(field: &Field, value: &mut Json, of: &mut dyn FnMut(&'static Message, &mut Json)) {
    let Some(message) = field.message() else { return };
    match (&field.kind, value) {
        (_, Json::Array(items)) => items.iter_mut().for_each(|item| of(message, item)),
        (FieldKind::Map(_), Json::Object(values)) => values.values_mut().for_each(|value| of(message, value)),
        (_, value) => of(message, value),
    }
}

/// A message in the value of a field.
pub(super) struct Below<'v> {
    /// Its description.
    pub(super) message: &'static Message,
    /// What it adds to the path of the field: nothing, `[0]` in a list, `.key` in a map.
    pub(super) step: String,
    /// Its value.
    pub(super) value: &'v Json,
}

/// The messages in the value of a field.
pub(super) fn messages<'v>(field: &Field, value: &'v Json) -> Vec<Below<'v>> {
    let Some(message) = field.message() else { return Vec::new() };
    let below = |step: String, value| Below { message, step, value };
    match (&field.kind, value) {
        (_, Json::Array(items)) => items.iter().enumerate().map(|(at, item)| below(format!("[{at}]"), item)).collect(),
        (FieldKind::Map(_), Json::Object(values)) => {
            values.iter().map(|(key, value)| below(format!(".{key}"), value)).collect()
        }
        (_, value) => vec![below(String::new(), value)],
    }
}

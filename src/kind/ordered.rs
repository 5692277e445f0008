//! A value in the order of its description, and then what that does not have.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Field, FieldKind, Message};

/// A value, or a list of them, which is written in that order.
#[derive(Debug, Clone, Copy)]
pub struct Ordered<'a> {
    message: Option<&'static Message>,
    /// Whether it is a mapping of those.
    is_map: bool,
    value: &'a Value,
}

impl<'a> Ordered<'a> {
    /// A message.
    #[must_use]
    pub fn of(message: &'static Message, value: &'a Value) -> Self {
        Self { message: Some(message), is_map: false, value }
    }

    /// The value of a field.
    #[must_use]
    pub fn of_field(field: &Field, value: &'a Value) -> Self {
        Self { message: field.message(), is_map: matches!(field.kind, FieldKind::Map(_)), value }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.message, self.value) {
            (Some(_), Value::Array(items)) => {
                serializer.collect_seq(items.iter().map(|value| Ordered { value, ..*self }))
            }
            (Some(_), Value::Object(entries)) if self.is_map => {
                let of_entry = |(key, value)| (key, Ordered { value, is_map: false, ..*self });
                serializer.collect_map(entries.iter().map(of_entry))
            }
            (Some(message), Value::Object(entries)) => {
                let known = message
                    .fields
                    .iter()
                    .filter_map(|field| Some((field.name, Ordered::of_field(field, entries.get(field.name)?))));
                let unknown = entries.iter().filter(|(key, _)| message.field(key).is_none());
                let unknown =
                    unknown.map(|(key, value)| (key.as_str(), Ordered { message: None, is_map: false, value }));
                serializer.collect_map(known.chain(unknown))
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

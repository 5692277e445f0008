//! A value in the order of its description, and then what that does not have.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Field, FieldKind, Flag, KindName, Message, metadata};

/// What the description says of a value and of its parts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Described {
    /// Its message, and that of each item where it is a list; nothing where it has no parts that are described.
    message: Option<&'static Message>,
    /// Whether it is a mapping of those.
    is_map: bool,
}

impl Described {
    /// A message.
    pub fn of(message: &'static Message) -> Self {
        Self { message: Some(message), is_map: false }
    }

    /// The value of a field.
    pub fn of_field(field: &Field) -> Self {
        Self { message: field.message(), is_map: matches!(field.kind, FieldKind::Map(_)) }
    }

    /// What is under a key of it.
    #[must_use]
    pub fn entry(self, key: &str) -> Self {
        match self.message {
            _ if self.is_map => Self { is_map: false, ..self },
            Some(message) => message.field(key).map(Self::of_field).unwrap_or_default(),
            None => self,
        }
    }

    /// The word of an enumeration that this key has where it is left out, if it is of one.
    pub fn word_of_none(self, key: &str) -> Option<Value> {
        let message = self.message.filter(|_| !self.is_map)?;
        let field = message.field(key).filter(|_| message.group_of(key).is_none())?;
        field.word_of_none().map(Value::from)
    }

    /// Its entries in the order of the description, and then those that it does not have.
    pub fn entries(self, entries: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
        let message = self.message.filter(|_| !self.is_map);
        let known = message.map(|message| message.fields.as_slice()).unwrap_or_default();
        let known = known.iter().filter_map(|field| entries.get_key_value(field.name));
        let is_other = move |key: &str| message.is_none_or(|message| message.field(key).is_none());
        known.chain(entries.iter().filter(move |(key, _)| is_other(key)))
    }

    /// Whether it refers to another object.
    pub fn is_reference(self) -> bool {
        !self.is_map && self.message.is_some_and(|message| message.is_reference)
    }
}

/// A value, or a list of them, which is written in that order.
#[derive(Debug, Clone, Copy)]
pub struct Ordered<'a> {
    described: Described,
    value: &'a Value,
}

impl<'a> Ordered<'a> {
    /// A value of which that is described.
    pub fn new(described: Described, value: &'a Value) -> Self {
        Self { described, value }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let described = self.described;
        match (described.message, self.value) {
            (Some(_), Value::Array(items)) => {
                serializer.collect_seq(items.iter().map(|value| Ordered { described, value }))
            }
            (Some(_), Value::Object(entries)) => {
                serializer.collect_map(described.entries(entries).map(|(key, value)| {
                    let described = described.entry(key);
                    (key, Ordered { described, value })
                }))
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

/// Where a key in snake case is written in a file among the keys beside it: those of the metadata and of an endpoint as they
/// are described. Others have one number, and the order of the alphabet.
pub fn place_in_file(key: &str) -> usize {
    let described = metadata().fields.iter().chain(&KindName::ENDPOINT.message().fields);
    let mut described = described.filter(|field| !field.is(Flag::ReadOnly));
    described.position(|field| field.name == key).unwrap_or(usize::MAX)
}

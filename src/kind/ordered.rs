//! Writes a value in the order of its description, followed by the keys that the description does not have.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Field, FieldKind, Flag, KindName, Message, metadata, sealed};

/// The description of a value and of its parts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Described {
    /// The message of the value, or of each item of a list; `None` where it has no described parts.
    message: Option<&'static Message>,
    extent: Extent,
    is_secret: bool,
}

/// How a value relates to its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Extent {
    /// The message, or a list of them.
    #[default]
    Whole,
    /// Some of its fields.
    Part,
    /// A map whose values are such messages.
    Map,
}

impl Described {
    /// A message.
    pub fn of(message: &'static Message) -> Self {
        Self { message: Some(message), ..Self::default() }
    }

    /// The value of a field.
    pub fn of_field(field: &Field) -> Self {
        let is_map = matches!(field.kind, FieldKind::Map(_));
        let extent = if is_map { Extent::Map } else { Extent::Whole };
        Self { message: field.message(), extent, is_secret: field.is(Flag::Secret) }
    }

    /// A unit of a spec: the value of a field, or the fields of a group.
    pub fn of_unit(spec: &'static Message, unit: &str) -> Self {
        spec.field(unit).map_or(Self { extent: Extent::Part, ..Self::of(spec) }, Self::of_field)
    }

    /// The description of the value of a key.
    #[must_use]
    pub fn entry(self, key: &str) -> Self {
        match self.message {
            _ if self.extent == Extent::Map => Self { extent: Extent::Whole, ..self },
            Some(message) => message.field(key).map(Self::of_field).unwrap_or_default(),
            None => self,
        }
    }

    /// The word that this key has where it is left out, if it is an enumeration.
    pub fn word_of_none(self, key: &str) -> Option<&'static str> {
        let message = self.message()?;
        message.field(key).filter(|_| message.group_of(key).is_none())?.word_of_none()
    }

    /// The keys of enumerations that these entries leave out, each with the word that it then has.
    pub fn words_left_out(self, entries: &Map<String, Value>) -> impl Iterator<Item = (&'static str, &'static str)> {
        let message = self.message().filter(|_| self.extent == Extent::Whole);
        let names = message.into_iter().flat_map(|message| &message.fields).map(|field| field.name);
        let left_out = names.filter(|name| !entries.contains_key(*name));
        left_out.filter_map(move |name| Some((name, self.word_of_none(name)?)))
    }

    /// The entries in the order of the description, followed by those that it does not have.
    pub fn entries(self, entries: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
        let message = self.message();
        let known = message.map(|message| message.fields.as_slice()).unwrap_or_default();
        let known = known.iter().filter_map(|field| entries.get_key_value(field.name));
        let is_other = move |key: &str| message.is_none_or(|message| message.field(key).is_none());
        known.chain(entries.iter().filter(move |(key, _)| is_other(key)))
    }

    /// The digest, where the value is the mark of a secret.
    pub fn digest_of(self, value: &Value) -> Option<&str> {
        sealed::digest_of(value).filter(|_| self.is_secret)
    }

    /// Whether it refers to another object.
    pub fn is_reference(self) -> bool {
        self.message().is_some_and(|message| message.is_reference)
    }

    /// The message whose fields are its keys.
    fn message(self) -> Option<&'static Message> {
        self.message.filter(|_| self.extent != Extent::Map)
    }
}

/// A value, or a list of values, to be written in the order of its description.
#[derive(Debug, Clone, Copy)]
pub struct Ordered<'a> {
    described: Described,
    value: &'a Value,
}

impl<'a> Ordered<'a> {
    /// A value with its description.
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

/// The position of a key in snake case among its siblings in a file: keys of the metadata and of an endpoint have the
/// order of the description. All others share the last position; callers sort them by name.
pub fn place_in_file(key: &str) -> usize {
    let described = metadata().fields.iter().chain(&KindName::ENDPOINT.message().fields);
    let mut described = described.filter(|field| !field.is(Flag::ReadOnly));
    described.position(|field| field.name == key).unwrap_or(usize::MAX)
}

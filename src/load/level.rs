//! What the description of a kind says about one level of a document: which keys users choose, and which keys exclude
//! each other.

use std::borrow::Cow;

use crate::kind::{self, Field, FieldKind, Flag, KindName, Message, snake};

/// One level of a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level {
    /// The root of an object.
    Object(KindName),
    /// Its metadata.
    Metadata,
    /// A mapping with the fields of a message.
    Message(&'static Message),
    /// A list or a map; its field describes the items or values.
    Several(&'static Field),
    /// An option without fields.
    Empty,
    /// A secret, however it is written.
    Secret,
    /// A value without described keys.
    Value,
    /// A value that the description does not have.
    Unknown,
}

impl Level {
    /// The root of a document.
    pub(super) fn root(kind: Option<KindName>) -> Self {
        Level::Object(kind.unwrap_or_default())
    }

    /// The level at a path of a document of this kind; an item of a list has its number as key.
    pub(super) fn at(kind: KindName, path: &[String]) -> Self {
        path.iter().fold(Level::Object(kind), |level, key| level.below(key))
    }

    /// The level of this key in snake case, or of this item.
    pub(super) fn below(self, key: &str) -> Self {
        match self {
            Level::Object(_) if key == "metadata" => Level::Metadata,
            Level::Object(kind) if key == "spec" => Level::Message(kind.message()),
            Level::Metadata => Level::of_field(kind::metadata().field(key)),
            Level::Message(message) => Level::of_field(message.field(key)),
            Level::Several(field) => Level::of_one(field),
            Level::Secret => Level::Secret,
            Level::Object(_) | Level::Value | Level::Empty | Level::Unknown => Level::Unknown,
        }
    }

    /// The paths of the other options of the exclusive groups that a path of a document of this kind chooses from.
    pub(super) fn rivals(kind: KindName, path: &[String]) -> impl Iterator<Item = Vec<String>> {
        (1..path.len()).flat_map(move |length| {
            let (above, chosen) = (&path[..length], &path[length]);
            let options = Level::at(kind, above).options(chosen).iter().filter(move |option| *option != chosen);
            options.map(move |option| [above, &[(*option).to_owned()]].concat())
        })
    }

    /// Whether its messages have a field that responses of the service never show, such as a secret.
    pub(super) fn hides(self) -> bool {
        match self {
            Level::Message(message) => message.hides(),
            Level::Several(field) => Level::of_one(field).hides(),
            _ => false,
        }
    }

    /// Whether a key in snake case may be written here: the level has it, or has no description.
    pub(super) fn knows(self, key: &str) -> bool {
        match self {
            Level::Object(_) => matches!(key, "kind" | "metadata" | "spec"),
            Level::Metadata => kind::metadata().field(key).is_some(),
            Level::Message(message) => message.field(key).is_some(),
            Level::Empty => false,
            Level::Several(_) | Level::Secret | Level::Value | Level::Unknown => true,
        }
    }

    fn of_field(field: Option<&'static Field>) -> Self {
        match field {
            Some(field) if field.is(Flag::Secret) => Level::Secret,
            Some(field) if field.is_list || matches!(field.kind, FieldKind::Map(_)) => Level::Several(field),
            Some(field) => Level::of_one(field),
            None => Level::Unknown,
        }
    }

    fn of_one(field: &Field) -> Self {
        match field.below() {
            Some("") => Level::Empty,
            Some(id) => Level::Message(kind::message(id)),
            None => Level::Value,
        }
    }

    /// The options of the exclusive group that this key belongs to; empty where it belongs to none.
    pub(super) fn options(self, key: &str) -> &'static [&'static str] {
        let Level::Message(message) = self else { return &[] };
        message.options(key)
    }

    /// The default option of the group that this key belongs to.
    pub(super) fn default_option(self, key: &str) -> Option<&'static str> {
        let Level::Message(message) = self else { return None };
        message.group_of(key).and_then(|group| group.default)
    }

    /// A key as the API writes it; keys of labels, annotations and maps stay unchanged.
    pub(super) fn spelled(self, key: &str) -> Cow<'_, str> {
        match self {
            Level::Several(_) => key.into(),
            Level::Message(message) => message.spelled(key),
            _ => snake(key),
        }
    }
}

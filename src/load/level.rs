//! What is known of one level of a document, by the description of its kind: which keys are free, and which of them exclude each
//! other.

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
    /// A list or a map: what its items or values are is said of its field.
    Several(&'static Field),
    /// An option without fields.
    Empty,
    /// A secret, however it is written.
    Secret,
    /// A value without keys of its own, or with free ones.
    Value,
    /// Something of which nothing is known.
    Unknown,
}

impl Level {
    /// The root of a document.
    pub(super) fn root(kind: Option<KindName>) -> Self {
        Level::Object(kind.unwrap_or_default())
    }

    /// The level at a path of a document of this kind, items of lists by their number.
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

    /// Whether it is of messages with something that no answer shows, such as a secret.
    pub(super) fn hides(self) -> bool {
        match self {
            Level::Message(message) => message.hides(),
            Level::Several(field) => Level::of_one(field).hides(),
            _ => false,
        }
    }

    /// Whether a key in snake case may be written here, or nothing says that it may not.
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

    /// The keys of which one excludes the others, where this key is one of them.
    pub(super) fn options(self, key: &str) -> &'static [&'static str] {
        let Level::Message(message) = self else { return &[] };
        message.options(key)
    }

    /// The option that a group has where none is written, where this key is one of its options.
    pub(super) fn default_option(self, key: &str) -> Option<&'static str> {
        let Level::Message(message) = self else { return None };
        message.group_of(key).and_then(|group| group.default)
    }

    /// A key as the API writes it; those of labels, annotations and maps are free.
    pub(super) fn spelled(self, key: &str) -> Cow<'_, str> {
        match self {
            Level::Several(_) => key.into(),
            Level::Message(message) => message.spelled(key),
            _ => snake(key),
        }
    }
}

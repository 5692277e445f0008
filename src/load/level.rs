//! What is known of one level of a document, whatever the kind of its object: which keys are free, and which of them
//! exclude each other. It is the shape of an endpoint or the description of another kind.

use std::borrow::Cow;

use crate::kind::{self, Field, FieldKind, Flag, Kind, KindName, Message};
use crate::model::shape::{ENDPOINT, NodeKind, ShapeNode, snake};

/// One level of a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level {
    /// Of an endpoint, or of the metadata of any object.
    Shape(&'static ShapeNode),
    /// The root of an object of another kind.
    Object(&'static Kind),
    /// A mapping with the fields of a message.
    Message(&'static Message),
    /// A list or a map: what its items or values are is said of its field.
    Several(&'static Field),
    /// A secret, however it is written.
    Secret,
    /// A value without keys of its own, or with free ones.
    Value,
    /// Something of which nothing is known.
    Unknown,
}

impl Level {
    /// The root of a document.
    pub(super) fn root(kind: Option<&'static Kind>) -> Self {
        kind.map_or(Level::Shape(&ENDPOINT), Level::Object)
    }

    /// The level at a path of a document of this kind, items of lists by their number.
    pub(super) fn at(kind: KindName, path: &[String]) -> Self {
        let kind = Some(kind).filter(|kind| !kind.is_endpoint()).map(KindName::kind);
        path.iter().fold(Level::root(kind), |level, key| level.below(key))
    }

    /// The level of this key in snake case, or of this item.
    pub(super) fn below(self, key: &str) -> Self {
        match self {
            Level::Shape(node) if node.kind == NodeKind::TextMap => Level::Value,
            Level::Shape(node) => node.child(key).map_or(Level::Unknown, Level::Shape),
            Level::Object(_) if key == "metadata" => Level::Shape(ENDPOINT.get("metadata")),
            Level::Object(kind) if key == "spec" => Level::Message(kind.message()),
            Level::Message(message) => match message.field(key) {
                Some(field) if field.is(Flag::Secret) => Level::Secret,
                Some(field) if field.is_list || matches!(field.kind, FieldKind::Map(_)) => Level::Several(field),
                Some(field) => Level::of_one(field),
                None => Level::Unknown,
            },
            Level::Several(field) => Level::of_one(field),
            Level::Secret => Level::Secret,
            Level::Object(_) | Level::Value | Level::Unknown => Level::Unknown,
        }
    }

    fn of_one(field: &Field) -> Self {
        field.below().map_or(Level::Value, |id| Level::Message(kind::message(id)))
    }

    /// The keys of which one excludes the others, where this key is one of them.
    pub(super) fn options(self, key: &str) -> &'static [&'static str] {
        let options = match self {
            Level::Shape(node) => node.options(),
            Level::Message(message) => message.group_of(key).map(|group| group.members.as_slice()).unwrap_or_default(),
            _ => &[],
        };
        if options.contains(&key) { options } else { &[] }
    }

    /// The option that a group has where none is written, where this key is one of its options.
    pub(super) fn default_option(self, key: &str) -> Option<&'static str> {
        let Level::Message(message) = self else { return None };
        message.group_of(key).and_then(|group| group.default)
    }

    /// A key as the API writes it; those of labels, annotations and maps are free.
    pub(super) fn spelled(self, key: &str) -> Cow<'_, str> {
        match self {
            Level::Shape(node) if node.kind == NodeKind::TextMap => key.into(),
            Level::Several(_) => key.into(),
            Level::Message(message) => message.spelled(key),
            _ => snake(key),
        }
    }
}

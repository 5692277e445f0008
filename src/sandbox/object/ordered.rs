//! A spec as the service writes it: each message in the order of its description, and then what that does not have.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::record::raw_json;
use crate::kind::{self, FieldKind};
use crate::sandbox::answer::ErrorResponse;

/// The message with this id in its written form.
pub fn in_order(id: &'static str, message: Map<String, Value>) -> Result<Box<RawValue>, ErrorResponse> {
    raw_json(&Ordered { kind: &FieldKind::Message(id), value: &message.into() })
}

/// A value of this kind, or a list of them.
#[derive(Clone, Copy)]
struct Ordered<'a> {
    kind: &'a FieldKind,
    value: &'a Value,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.kind, self.value) {
            (_, Value::Array(items)) => serializer.collect_seq(items.iter().map(|value| Ordered { value, ..*self })),
            (FieldKind::Map(kind), Value::Object(entries)) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (key, Ordered { kind, value })))
            }
            (FieldKind::Message(id), Value::Object(object)) => {
                let described = kind::message(id);
                let known = described.fields.iter().filter_map(|field| {
                    Some((field.name, Ordered { kind: &field.kind, value: object.get(field.name)? }))
                });
                let unknown = object.iter().filter(|(key, _)| described.field(key).is_none());
                let unknown = unknown.map(|(key, value)| (key.as_str(), Ordered { kind: &FieldKind::Any, value }));
                serializer.collect_map(known.chain(unknown))
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

//! The `metadata` of a live object: what the model knows of it, and the names of what the model does not
//! know. A replace keeps all of it, because it starts from the object as a get returned it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::kind;
use crate::model::{JsonTree, UnknownField, WireMetadata, neutral};

/// What the model knows of `metadata`, and what it does not.
#[derive(Default)]
pub(super) struct Metadata {
    pub(super) known: WireMetadata,
    /// What the model does not know.
    pub(super) unknown: Vec<UnknownField>,
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Name,
    Namespace,
    Labels,
    Annotations,
    Description,
    Disable,
    Other(String),
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the metadata of an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let Metadata { mut known, mut unknown } = Metadata::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Name => set(&mut known.name, "name", &mut map)?,
                Key::Namespace => set(&mut known.namespace, "namespace", &mut map)?,
                Key::Labels => set(&mut known.labels, "labels", &mut map)?,
                Key::Annotations => set(&mut known.annotations, "annotations", &mut map)?,
                Key::Description => set(&mut known.description, "description", &mut map)?,
                Key::Disable => set(&mut known.disable, "disable", &mut map)?,
                Key::Other(key) => {
                    if !kind::is_zero(&map.next_value::<JsonTree>()?.0) {
                        let path = neutral(&format!("metadata.{key}"), 200);
                        unknown.push(UnknownField { path, blocks: false });
                    }
                }
            }
        }
        Ok(Metadata { known, unknown })
    }
}

fn set<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    field: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if field.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *field = map.next_value()?;
    Ok(())
}

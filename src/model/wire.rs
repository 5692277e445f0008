//! An object as the service and documents write it: `metadata` and `spec`, after `kind` for other kinds than endpoint.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeSeed as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::tree::DuplicateKeys;
use super::{Json, JsonTree, Key, Name, Namespace, Object, Spec, StringMap};
use crate::kind::KindName;

/// Root keys that only the service writes (API.md 1.2).
pub const SERVICE_KEYS: [&str; 9] = [
    "system_metadata",
    "resource_version",
    "status",
    "object",
    "create_form",
    "replace_form",
    "referring_objects",
    "deleted_referred_objects",
    "disabled_referred_objects",
];

/// `metadata` of an object in a definition, a request, a document or a response.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WireMetadata {
    /// DNS-1035 label, at most 63 bytes.
    pub name: Option<String>,
    /// The namespace; a stack's `namespaces:` lists the ones it may name.
    pub namespace: Option<String>,
    /// A `null` value is an absent label.
    #[serde(default, deserialize_with = "unique")]
    pub labels: Option<BTreeMap<String, Option<String>>>,
    /// A `null` value is an absent annotation.
    #[serde(default, deserialize_with = "unique")]
    pub annotations: Option<BTreeMap<String, Option<String>>>,
    /// At most 1,200 bytes.
    pub description: Option<String>,
    /// Administratively disabled.
    pub disable: Option<bool>,
    /// Other keys, which only a response may have.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, JsonTree>,
}

fn present(map: Option<BTreeMap<String, Option<String>>>) -> StringMap {
    let map = map.unwrap_or_default();
    // The exact size, because a growing vector would allocate room for four.
    let mut entries = Vec::with_capacity(map.len());
    entries.extend(map.into_iter().filter_map(|(key, value)| Some((key, value?))));
    StringMap::from_sorted_store_unchecked(entries)
}

impl WireMetadata {
    /// The object of this kind with this metadata and with this spec as a definition writes it.
    ///
    /// # Errors
    /// The fault, as a fragment: a missing name or namespace, an unknown field, a spec that is not valid.
    pub fn written(self, kind: KindName, spec: Json) -> Result<Object, String> {
        fn part<'p>(part: Option<&'p String>, key: &str) -> Result<&'p str, String> {
            part.filter(|text| !text.is_empty())
                .map(String::as_str)
                .ok_or_else(|| format!("`metadata.{key}` is missing"))
        }
        if let Some(key) = self.unknown.keys().next() {
            return Err(format!("unknown field `{key}` in `metadata`"));
        }
        // The rules for labels are checked with the other rules.
        let name = Name::from_service(part(self.name.as_ref(), "name")?).map_err(|error| error.to_string())?;
        let namespace = part(self.namespace.as_ref(), "namespace")?;
        let namespace = Namespace::from_service(namespace).map_err(|error| error.to_string())?;
        Ok(self.object(Key { namespace, kind, name }, Spec::written(kind, spec)?))
    }

    /// The object with this metadata, key and spec.
    pub fn object(self, key: Key, spec: Spec) -> Object {
        Object {
            key,
            labels: present(self.labels),
            annotations: present(self.annotations),
            description: self.description.unwrap_or_default(),
            disable: self.disable.unwrap_or(false),
            spec,
        }
    }
}

/// An object as it is written, by reference, so that long values are not copied.
#[derive(Serialize)]
struct ObjectRef<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<KindName>,
    metadata: MetadataRef<'e>,
    spec: &'e Spec,
}

#[derive(Serialize)]
struct MetadataRef<'e> {
    name: &'e str,
    namespace: &'e str,
    #[serde(serialize_with = "entries")]
    labels: &'e StringMap,
    #[serde(serialize_with = "entries")]
    annotations: &'e StringMap,
    description: &'e str,
    disable: bool,
}

fn entries<S: serde::Serializer>(map: &StringMap, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter())
}

impl<'e> From<&'e Object> for ObjectRef<'e> {
    fn from(endpoint: &'e Object) -> Self {
        let Object { key, labels, annotations, description, disable, spec } = endpoint;
        let (name, namespace) = (key.name.as_str(), key.namespace.as_str());
        let metadata = MetadataRef { name, namespace, labels, annotations, description, disable: *disable };
        Self { kind: Some(key.kind).filter(|kind| !kind.is_endpoint()), metadata, spec }
    }
}

impl Object {
    /// The object as it is sent, without its kind.
    pub fn body(&self) -> impl Serialize {
        ObjectRef { kind: None, ..ObjectRef::from(self) }
    }
}

impl JsonSchema for Object {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Endpoint".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "An object; its spec is that of the API for its kind, an endpoint where it names none.",
            "properties": {
                "kind": {"type": "string"},
                "metadata": generator.subschema_for::<WireMetadata>(),
                "spec": {"type": "object"},
            },
            "required": ["metadata", "spec"],
            "additionalProperties": false,
        })
    }
}

impl Serialize for Object {
    /// In the form of documents.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ObjectRef::from(self).serialize(serializer)
    }
}

/// An object in the form of documents.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of `metadata` and `spec`")]
struct WireObject {
    #[serde(default)]
    kind: KindName,
    metadata: Option<WireMetadata>,
    spec: JsonTree,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireObject { kind, metadata, spec: JsonTree(spec) } = Deserialize::deserialize(deserializer)?;
        metadata.unwrap_or_default().written(kind, spec).map_err(serde::de::Error::custom)
    }
}

/// A map of texts without duplicate keys: serde itself would silently keep the last one.
fn unique<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, Option<String>>>, D::Error> {
    let tree = DuplicateKeys::Refuse.deserialize(deserializer)?;
    Deserialize::deserialize(tree).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_label_is_refused_and_not_overwritten() {
        let read = |text: &str| serde_json::from_str::<WireMetadata>(text);
        assert!(read(r#"{"labels":{"a":"1","b":"2"}}"#).is_ok());
        let error = read(r#"{"labels":{"a":"1","a":"2"}}"#).expect_err("twice");
        assert!(error.to_string().starts_with("duplicate key `a`"), "{error}");
    }
}

//! The wire form of an endpoint: every field optional, both spellings of a key, unknown keys refused.
//! [`WireEndpoint::endpoint`] turns it into the model and collects every problem of shape on the way;
//! [`super::check`] adds the rules. Live objects pass through the same conversion without the rules,
//! so that a value which the service has can be compared and replaced.

mod place;
mod problems;
mod snat_pool;
mod spec;
mod target;
mod units;

pub use place::{WireReference, WireSite, WireVirtualNetwork, WireWhere};
pub use snat_pool::{WirePrefixes, WireSnatPool};
pub use spec::{EndpointSpec, WireSpec};
pub use target::{WireDnsNameAdvanced, WireSelector, WireServiceInfo};
pub use units::EndpointUnit;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::problem::steps;
use super::{Described, Endpoint, JsonTree, Key, Name, Namespace, Problem, Spec, StringMap};
use crate::kind::KindName;
use problems::given;

/// The create request: `metadata` and `spec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireEndpoint {
    /// Name, namespace, labels, annotations.
    #[serde(default)]
    pub metadata: Option<WireMetadata>,
    /// Target and place.
    #[serde(default)]
    pub spec: Option<WireSpec>,
}

/// `metadata` of the create request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireMetadata {
    /// DNS-1035 label, at most 63 bytes.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace; a stack's `namespaces:` lists the ones it may name.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A `null` value is an absent label.
    #[serde(default, deserialize_with = "unique")]
    pub labels: Option<BTreeMap<String, Option<String>>>,
    /// A `null` value is an absent annotation.
    #[serde(default, deserialize_with = "unique")]
    pub annotations: Option<BTreeMap<String, Option<String>>>,
    /// At most 1,200 bytes.
    #[serde(default)]
    pub description: Option<String>,
    /// Administratively disabled.
    #[serde(default)]
    pub disable: Option<bool>,
}

/// An empty message, written `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireEmpty {}

/// An option without fields. `null` is not `{}`: the service takes the first for absent, a person who
/// wrote the key meant the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyOption {
    /// The key is absent.
    #[default]
    Absent,
    /// The key has no value.
    Null,
    /// `{}`
    Set,
}

impl EmptyOption {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_absent(&self) -> bool {
        *self == EmptyOption::Absent
    }
}

impl JsonSchema for EmptyOption {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Choice".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Option<WireEmpty>>()
    }
}

impl Serialize for EmptyOption {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EmptyOption::Set => WireEmpty {}.serialize(serializer),
            EmptyOption::Absent | EmptyOption::Null => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for EmptyOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let set = Option::<WireEmpty>::deserialize(deserializer)?;
        Ok(if set.is_some() { EmptyOption::Set } else { EmptyOption::Null })
    }
}

fn present(map: Option<BTreeMap<String, Option<String>>>) -> StringMap {
    let map = map.unwrap_or_default();
    // As large as it gets: a vector that grows has place for four.
    let mut entries = Vec::with_capacity(map.len());
    entries.extend(map.into_iter().filter_map(|(key, value)| Some((key, value?))));
    StringMap::from_sorted_store_unchecked(entries)
}

impl WireEndpoint {
    /// The endpoint in this wire form.
    ///
    /// # Errors
    /// Every problem of shape: an exclusive group with two options or with none where one is needed,
    /// a value outside its type, a missing name or namespace.
    pub fn endpoint(self) -> Result<Endpoint, Vec<Problem>> {
        let mut problems = Vec::new();
        let metadata = self.metadata.unwrap_or_default();
        let key = key(&mut problems, &metadata, KindName::ENDPOINT);
        let spec = match self.spec {
            Some(spec) => spec.spec(&mut problems),
            None => {
                problems.push(Problem::value(vec![], "`spec` is missing", "an endpoint needs a `spec` with a target"));
                None
            }
        };
        match (key, spec) {
            (Some(key), Some(spec)) if problems.is_empty() => Ok(metadata.object(key, Spec::Endpoint(spec))),
            _ => Err(problems),
        }
    }
}

impl WireMetadata {
    /// The object of another kind than endpoint with this metadata.
    ///
    /// # Errors
    /// A missing name or namespace.
    pub fn described(self, spec: Described) -> Result<Endpoint, Vec<Problem>> {
        let mut problems = Vec::new();
        match key(&mut problems, &self, spec.kind()) {
            Some(key) if problems.is_empty() => Ok(self.object(key, Spec::Described(spec))),
            _ => Err(problems),
        }
    }

    /// The object with this metadata, key and spec.
    pub fn object(self, key: Key, spec: Spec) -> Endpoint {
        Endpoint {
            key,
            labels: present(self.labels),
            annotations: present(self.annotations),
            description: self.description.unwrap_or_default(),
            disable: self.disable.unwrap_or(false),
            spec,
        }
    }
}

fn key(problems: &mut Vec<Problem>, metadata: &WireMetadata, kind: KindName) -> Option<Key> {
    let name = needed(problems, metadata.name.as_ref(), "name");
    let namespace = needed(problems, metadata.namespace.as_ref(), "namespace");
    // Neither can be empty here; the rules of a label are checked with the other rules.
    let (namespace, name) = (Namespace::from_service(namespace?).ok()?, Name::from_service(name?).ok()?);
    Some(Key { namespace, kind, name })
}

fn needed<'a>(problems: &mut Vec<Problem>, value: Option<&'a String>, key: &str) -> Option<&'a str> {
    let value = given(value);
    if value.is_none() {
        problems.push(Problem::value(
            steps!["metadata"],
            format!("`metadata.{key}` is missing"),
            format!("an endpoint needs a `{key}`"),
        ));
    }
    value.map(String::as_str)
}

/// A [`WireEndpoint`] as it is written: what is long is not copied for it.
#[derive(Serialize)]
struct EndpointRef<'e> {
    #[serde(skip_serializing_if = "is_endpoint")]
    kind: KindName,
    metadata: MetadataRef<'e>,
    spec: SpecRef<'e>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SpecRef<'e> {
    Endpoint(Box<WireSpec>),
    Described(&'e Described),
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_endpoint(kind: &KindName) -> bool {
    kind.is_endpoint()
}

fn entries<S: serde::Serializer>(map: &StringMap, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter())
}

impl<'e> From<&'e Endpoint> for EndpointRef<'e> {
    fn from(endpoint: &'e Endpoint) -> Self {
        let Endpoint { key, labels, annotations, description, disable, spec } = endpoint;
        let (name, namespace) = (key.name.as_str(), key.namespace.as_str());
        let metadata = MetadataRef { name, namespace, labels, annotations, description, disable: *disable };
        let spec = match spec {
            Spec::Endpoint(spec) => SpecRef::Endpoint(Box::new(spec.into())),
            Spec::Described(described) => SpecRef::Described(described),
        };
        Self { kind: key.kind, metadata, spec }
    }
}

impl Endpoint {
    /// The object as it is sent, which says nothing of its kind.
    pub fn body(&self) -> impl Serialize {
        EndpointRef { kind: KindName::ENDPOINT, ..EndpointRef::from(self) }
    }
}

impl JsonSchema for Endpoint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Endpoint".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (endpoint, metadata) = (WireEndpoint::json_schema(generator), generator.subschema_for::<WireMetadata>());
        schemars::json_schema!({"anyOf": [endpoint, {
            "type": "object",
            "description": "An object of another kind; its spec is that of the API.",
            "properties": {"kind": {"type": "string"}, "metadata": metadata, "spec": {"type": "object"}},
            "required": ["kind", "metadata", "spec"],
            "additionalProperties": false,
        }]})
    }
}

impl Serialize for Endpoint {
    /// The wire form, in canonical writing.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EndpointRef::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EndpointVisitor)
    }
}

/// Reads an object: its kind, where it is no endpoint, comes before its spec.
struct EndpointVisitor;

impl<'de> serde::de::Visitor<'de> for EndpointVisitor {
    type Value = Endpoint;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of `metadata` and `spec`")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Endpoint, A::Error> {
        use serde::de::Error as _;
        let (mut kind, mut metadata, mut spec, mut described) = (KindName::ENDPOINT, None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            let is_twice = match key.as_str() {
                "kind" if spec.is_none() && described.is_none() => {
                    kind = map.next_value()?;
                    false
                }
                "metadata" => metadata.replace(map.next_value::<Option<WireMetadata>>()?).is_some(),
                "spec" if kind.is_endpoint() => spec.replace(map.next_value::<Option<WireSpec>>()?).is_some(),
                "spec" => described.replace(map.next_value::<JsonTree>()?).is_some(),
                other => return Err(A::Error::unknown_field(other, &["metadata", "spec"])),
            };
            if is_twice {
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
        }
        let metadata = metadata.flatten();
        let read = match described {
            Some(JsonTree(spec)) => metadata.unwrap_or_default().described(Described::written(kind, spec)),
            None if kind.is_endpoint() => WireEndpoint { metadata, spec: spec.flatten() }.endpoint(),
            None => return Err(A::Error::missing_field("spec")),
        };
        read.map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            A::Error::custom(lines.join("; "))
        })
    }
}

/// An integer, or a text of digits: proto JSON allows both.
fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    struct Digits;
    impl serde::de::Visitor<'_> for Digits {
        type Value = Option<i64>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an integer")
        }
        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }
        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
            i64::try_from(number).map(Some).map_err(|_| E::custom("the integer is too large"))
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            match text.parse() {
                Ok(number) if digits => Ok(Some(number)),
                _ => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
            }
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Digits)
}

/// A map of texts without a duplicate key: serde's own would keep the last one in silence.
fn unique<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, Option<String>>>, D::Error> {
    struct Unique(BTreeMap<String, Option<String>>);
    impl<'de> Deserialize<'de> for Unique {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Entries;
            impl<'de> serde::de::Visitor<'de> for Entries {
                type Value = Unique;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a map of texts")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
                    let mut entries = BTreeMap::new();
                    while let Some((key, value)) = map.next_entry::<String, Option<String>>()? {
                        match entries.entry(key) {
                            Entry::Vacant(free) => free.insert(value),
                            Entry::Occupied(taken) => {
                                let what = format_args!("duplicate key `{}`", taken.key()).to_string();
                                return Err(serde::de::Error::custom(what));
                            }
                        };
                    }
                    Ok(Unique(entries))
                }
            }
            deserializer.deserialize_map(Entries)
        }
    }
    Ok(Option::<Unique>::deserialize(deserializer)?.map(|unique| unique.0))
}

/// A list of texts without a `null` among them, which a YAML reader would take for the text "null".
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let Some(texts) = Option::<Vec<Option<String>>>::deserialize(deserializer)? else { return Ok(None) };
    let texts: Option<Vec<String>> = texts.into_iter().collect();
    texts.map(Some).ok_or_else(|| serde::de::Error::custom("an item of the list is null"))
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

    #[test]
    fn a_null_in_a_list_is_not_a_text() {
        assert!(serde_yaml::from_str::<WireSelector>("expressions: [null]").is_err());
        assert_eq!(serde_yaml::from_str::<WireSelector>("expressions:").expect("absent").expressions, None);
    }
}

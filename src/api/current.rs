//! The current state of one object: the answer to a get, read into a live object. A replace starts from the whole
//! answer, so that fields that the model does not know survive it. Pure.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::live::{SystemMetadata, assemble, describe};
use crate::kind::{self, Flag};
use crate::model::{Json, JsonTree, Key, LiveItem, LiveObject, Object, WireMetadata, neutral};

/// The result of a get.
#[derive(Debug, Clone)]
pub enum CurrentState {
    /// The object does not exist.
    Absent,
    /// It exists.
    Object(Box<CurrentObject>),
    /// It exists in a form that the model does not support.
    Unsupported(String),
}

/// A live object with the answer that showed it.
#[derive(Debug, Clone)]
pub struct CurrentObject {
    /// The object.
    pub live: LiveObject,
    /// The whole answer as text: only a replace needs it as a tree.
    answer: Box<str>,
}

/// The answer to a get, its parts as types or as trees. `null` means missing.
#[derive(Deserialize)]
struct GetAnswer<M, S, Y> {
    metadata: Option<M>,
    spec: Option<S>,
    system_metadata: Option<Y>,
    #[serde(default, deserialize_with = "version")]
    resource_version: Option<String>,
}

/// A version, which some services write as a number.
fn version<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Json::deserialize(from)? {
        Json::String(text) if !text.is_empty() => Some(text),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

impl CurrentState {
    /// Reads the answer to a get of `key`.
    ///
    /// # Errors
    /// The answer cannot be used: it is not JSON, is about another object, or has no spec.
    pub fn read(key: &Key, answer: &[u8]) -> Result<Self, String> {
        // Checked once for the whole text instead of for each string.
        let answer = std::str::from_utf8(answer).map_err(|error| error.to_string())?;
        let read: GetAnswer<WireMetadata, JsonTree, SystemMetadata> =
            serde_json::from_str(answer).map_err(|error| describe(&error))?;
        let Some(metadata) = read.metadata else { return Err("it holds no `metadata`".to_owned()) };
        let WireMetadata { namespace, name, .. } = &metadata;
        if name.as_deref() != Some(key.name.as_str()) || namespace.as_deref() != Some(key.namespace.as_str()) {
            let [namespace, name] = [namespace, name].map(|text| text.as_deref().unwrap_or("?"));
            return Err(format!("it is about `{}`", neutral(&format!("{namespace}/{name}"), 130)));
        }
        let Some(JsonTree(spec)) = &read.spec else { return Err("it holds no `spec`".to_owned()) };
        let system = read.system_metadata.unwrap_or_default();
        let tree = || serde_json::from_str(answer).unwrap_or_default();
        Ok(
            match assemble(key.clone(), metadata, system, read.resource_version, (spec.clone(), &|| spec.clone()), tree)
            {
                LiveItem::Object(live) => CurrentState::Object(Box::new(CurrentObject { live, answer: answer.into() })),
                LiveItem::Unsupported(unsupported) => CurrentState::Unsupported(unsupported.reason),
            },
        )
    }

    /// The object, if the model supports it.
    pub fn object(&self) -> Option<&CurrentObject> {
        match self {
            CurrentState::Object(object) => Some(object),
            CurrentState::Absent | CurrentState::Unsupported(_) => None,
        }
    }

    /// The object without its live metadata, if the model supports it.
    pub fn endpoint(&self) -> Option<&Object> {
        self.object().map(|object| &object.live.endpoint)
    }
}

impl CurrentObject {
    /// The body of a replace: the current `metadata` and `spec` with the edits of `change`, without fields that a
    /// replace does not take, and with the version.
    ///
    /// # Errors
    /// The answer cannot be read as a tree. Without it, a replace would lose fields.
    pub fn body(&self, change: impl FnOnce(&mut Json)) -> serde_json::Result<ReplaceBody<'_>> {
        let parts: GetAnswer<JsonTree, JsonTree, IgnoredAny> = serde_json::from_str(&self.answer)?;
        let parts = [("metadata", parts.metadata), ("spec", parts.spec)];
        // `json!` would copy both.
        let mut tree: Json =
            parts.into_iter().map(|(name, part)| (name.to_owned(), part.unwrap_or_default().0)).collect();
        change(&mut tree);
        let kind = self.live.endpoint.key.kind;
        tree["metadata"] = kind::pruned(kind::metadata(), &tree["metadata"], Flag::CreateOnly);
        tree["spec"] = kind::pruned(kind.message(), &tree["spec"], Flag::CreateOnly);
        if let Some(version) = &self.live.resource_version {
            tree["resource_version"] = version.as_str().into();
        }
        Ok(ReplaceBody { tree, answer: serde_json::from_str(&self.answer)? })
    }
}

/// The body of a replace. Unchanged numbers are written exactly as the service wrote them, because integers in a tree
/// have only 64 bits.
#[derive(Debug)]
pub struct ReplaceBody<'a> {
    tree: Json,
    answer: &'a RawValue,
}

impl ReplaceBody<'_> {
    /// The body as a tree.
    pub fn tree(&self) -> &Json {
        &self.tree
    }
}

impl Serialize for ReplaceBody<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Exact { value: &self.tree, read: Some(self.answer) }.serialize(to)
    }
}

/// A value with the original text at its place in the answer.
struct Exact<'a> {
    value: &'a Json,
    read: Option<&'a RawValue>,
}

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let read = self.read.map(RawValue::get).unwrap_or_default();
        match self.value {
            Json::Object(map) => {
                let parts: BTreeMap<String, &RawValue> = serde_json::from_str(read).unwrap_or_default();
                // The service may have written a known key in its other spelling.
                let part = |key: &String| parts.get(key).or_else(|| parts.get(&kind::camel(key))).copied();
                to.collect_map(map.iter().map(|(key, value)| (key, Exact { value, read: part(key) })))
            }
            Json::Array(items) => {
                let parts: Vec<&RawValue> = serde_json::from_str(read).unwrap_or_default();
                let parts = parts.into_iter().map(Some).chain(std::iter::repeat(None));
                to.collect_seq(items.iter().zip(parts).map(|(value, read)| Exact { value, read }))
            }
            Json::Number(number) => match self.read {
                Some(raw) if serde_json::from_str(read).is_ok_and(|was: serde_json::Number| was == *number) => {
                    raw.serialize(to)
                }
                _ => number.serialize(to),
            },
            scalar => scalar.serialize(to),
        }
    }
}

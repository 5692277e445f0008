//! One endpoint as the service shows it now: the answer to a get, read into a live object. A replace starts
//! from the whole answer, so that fields which the model does not know survive it. Pure.

use serde::Deserialize as _;

use super::live::{SystemMetadata, assemble, describe, read_spec};
use super::metadata::Metadata;
use super::text::neutral;
use crate::model::{Endpoint, Json, Key, LiveItem, LiveObject, WireSpec, shape};

/// What a get shows of an endpoint.
#[derive(Debug, Clone)]
pub enum CurrentState {
    /// The service says that there is none.
    Absent,
    /// It exists.
    Object(Box<CurrentObject>),
    /// It exists in a form that the model does not support.
    Unsupported {
        /// Why.
        reason: String,
    },
}

/// A live object with the answer that showed it.
#[derive(Debug, Clone)]
pub struct CurrentObject {
    /// The object.
    pub live: LiveObject,
    /// The whole answer.
    pub raw: Json,
}

impl CurrentState {
    /// Reads the answer to a get of `key`.
    ///
    /// # Errors
    /// Why the answer is not usable: it is about another object, or has no spec.
    pub fn read(key: &Key, raw: Json) -> Result<Self, String> {
        let part = |name: &str| raw.get(name).filter(|part| !part.is_null());
        let Some(metadata) = part("metadata") else { return Err("it holds no `metadata`".to_owned()) };
        let text = |name: &str| metadata.get(name).and_then(Json::as_str);
        if text("name") != Some(key.name.as_str()) || text("namespace") != Some(key.namespace.as_str()) {
            let other = format!("{}/{}", text("namespace").unwrap_or("?"), text("name").unwrap_or("?"));
            return Err(format!("it is about `{}`", neutral(&other, 130)));
        }
        let Some(spec) = part("spec") else { return Err("it holds no `spec`".to_owned()) };
        let metadata = Metadata::deserialize(metadata).map_err(|error| format!("`metadata`: {}", describe(&error)))?;
        let system = match part("system_metadata") {
            Some(system) => SystemMetadata::deserialize(system)
                .map_err(|error| format!("`system_metadata`: {}", describe(&error)))?,
            None => SystemMetadata::default(),
        };
        let resource_version = match part("resource_version") {
            Some(Json::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Json::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let spec = read_spec(WireSpec::deserialize(spec), || spec.clone());
        Ok(match assemble(key.clone(), metadata, system, resource_version, spec, || raw.clone()) {
            LiveItem::Object(live) => CurrentState::Object(Box::new(CurrentObject { live, raw })),
            LiveItem::Unsupported(unsupported) => CurrentState::Unsupported { reason: unsupported.reason },
        })
    }

    /// The object, where the model supports it.
    #[must_use]
    pub fn object(&self) -> Option<&CurrentObject> {
        match self {
            CurrentState::Object(object) => Some(object),
            CurrentState::Absent | CurrentState::Unsupported { .. } => None,
        }
    }

    /// The endpoint, where the model supports it.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.object().map(|object| &object.live.endpoint)
    }
}

impl CurrentObject {
    /// The body of a replace: `metadata` and `spec` as they are now with what `change` sets, without
    /// fields that mean nothing, and the version.
    #[must_use]
    pub fn body(&self, change: impl FnOnce(&mut Json)) -> Json {
        let mut body = serde_json::json!({ "metadata": self.raw["metadata"], "spec": self.raw["spec"] });
        change(&mut body);
        for part in ["metadata", "spec"] {
            shape::SPEC.prune(&mut body[part]);
        }
        if let Some(version) = &self.live.resource_version {
            body["resource_version"] = version.as_str().into();
        }
        body
    }
}

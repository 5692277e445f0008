//! An object as the store contains it, and the objects that it names. Labels, annotations, spec and statuses stay
//! serialised.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::sandbox::answer::ErrorResponse;

/// An object as the store contains it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoredObject {
    pub uid: String,
    pub version: u64,
    pub namespace: String,
    pub name: String,
    /// A map of strings, like the annotations.
    pub labels: Box<RawValue>,
    pub annotations: Box<RawValue>,
    pub description: String,
    pub disable: bool,
    pub spec: Box<RawValue>,
    /// Timestamps as the service writes them.
    pub created: String,
    pub modified: Option<String>,
    pub deleted: Option<String>,
    pub finalizers: Vec<String>,
    pub owner_view: Option<ViewReference>,
    pub creator_class: String,
    pub creator_id: String,
    /// Status objects.
    pub status: Vec<Box<RawValue>>,
    /// Objects that refer to it but are not stored here.
    pub referrers: Vec<Referrer>,
}

/// The view that owns an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewReference {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    #[serde(default)]
    pub uid: String,
}

/// An object that refers to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Referrer {
    /// Such as `ves.io.schema.cluster.Object`.
    pub kind: String,
    /// Its uid.
    #[serde(default)]
    pub uid: String,
    /// Its tenant.
    #[serde(default)]
    pub tenant: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A serialised value, as a record contains it.
pub fn raw_json(value: &impl Serialize) -> Result<Box<RawValue>, ErrorResponse> {
    to_raw_value(value).map_err(ErrorResponse::internal)
}

/// The entries of a serialised map of strings.
pub fn strings(map: &RawValue) -> BTreeMap<String, String> {
    // Only maps of strings are ever stored.
    serde_json::from_str(map.get()).unwrap_or_default()
}

//! Changes to objects outside of the API: a concurrent writer that a scenario asks for, and objects that no request can
//! create (owned by a view, being deleted, without a target, with values that a client does not know), for tests and
//! tenant files.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::index::Objects;
use super::kind::{Key, ObjectKind};
use super::record::{Referrer, StoredObject, ViewReference, raw_json, strings};
use super::served::{ListContents, ServedObject};
use super::spec::{Reader, Verb, WriteMode};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::timestamp::written;

/// An object to add; it replaces an existing one of its name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Its kind; by default `endpoint`.
    pub kind: Option<String>,
    /// Its metadata.
    pub metadata: SeedMetadata,
    /// The spec, checked and filled like that of a request.
    pub spec: Option<Value>,
    /// The spec to store unchanged, instead of `spec`.
    pub raw_spec: Option<Map<String, Value>>,
    /// Its uid; by default a new one.
    pub uid: Option<String>,
    /// The view that owns it.
    pub owner_view: Option<ViewReference>,
    /// RFC 3339. The object is removed at this time if it has no finalizers.
    pub deletion_timestamp: Option<Timestamp>,
    /// Finalizers that delay its removal.
    #[serde(default)]
    pub finalizers: Vec<String>,
    /// Status objects, as in `status` of a get.
    #[serde(default)]
    pub status: Vec<Value>,
    /// The objects that refer to it.
    #[serde(default)]
    pub referring_objects: Vec<Referrer>,
}

/// The metadata of a [`Seed`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedMetadata {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// A text for users.
    #[serde(default)]
    pub description: String,
    /// Administratively disabled.
    #[serde(default)]
    pub disable: bool,
}

impl Objects {
    /// Adds seeds, each of which replaces an existing object of its name.
    pub async fn seed_all(&self, seeds: Vec<Seed>) -> Result<(), ErrorResponse> {
        let record = |seed: Seed| {
            let kind = seed.kind.as_deref().unwrap_or("endpoint");
            let unknown = || ErrorResponse::invalid(format!("`{kind}` is not a kind of object"));
            let kind = ObjectKind::find(kind).ok_or_else(unknown)?;
            Ok((kind, record(kind, seed, self.tenant())?))
        };
        self.seed(seeds.into_iter().map(record)).await
    }

    /// Writes an object as another writer would: sets one field and uses the next version.
    pub async fn interfere(&self, key: Key<'_>, field: &str, value: &Value) -> Result<(), ErrorResponse> {
        let mut result = Ok(());
        self.change(key, |record| result = set(key.kind, record, field, value)).await?;
        result
    }

    /// The items of a list of `namespace`, with their specs.
    pub async fn items(&self, kind: &'static ObjectKind, namespace: &str) -> Vec<Value> {
        let objects = self.list(kind, namespace).await.unwrap_or_default();
        let report = ListContents { whole: true, status: false };
        let item = |object: &Arc<ServedObject>| {
            serde_json::from_str(&object.listed(self.tenant_json(), report).collect::<String>()).ok()
        };
        objects.iter().filter_map(item).collect()
    }

    /// Creates an object as another writer would: an endpoint with an address, another object with an empty spec.
    pub async fn forestall(&self, key: Key<'_>) -> Result<(), ErrorResponse> {
        let Key { kind, namespace, name } = key;
        let metadata = SeedMetadata { namespace: namespace.into(), name: name.into(), ..SeedMetadata::default() };
        let (spec, raw_spec) = match kind.is_endpoint() {
            true => (Some(json!({"ip": "192.0.2.1"})), None),
            false => (None, Some(Map::new())),
        };
        let record = record(kind, Seed { metadata, spec, raw_spec, ..Seed::default() }, self.tenant())?;
        self.create(kind, record).await.map(drop)
    }
}

fn record(kind: &ObjectKind, seed: Seed, tenant: &str) -> Result<StoredObject, ErrorResponse> {
    let SeedMetadata { namespace, name, labels, annotations, description, disable } = seed.metadata;
    let spec = match (seed.spec, seed.raw_spec) {
        (Some(_), Some(_)) => {
            return Err(ErrorResponse::invalid(format!("{namespace}/{name} has both `spec` and `raw_spec`; keep one")));
        }
        (None, Some(raw)) => raw_json(&raw)?,
        (spec, None) => {
            let reader = Reader { verb: Verb::Create, tenant, namespace: &namespace, mode: WriteMode::default() };
            reader.read(kind, &spec.unwrap_or_default())?
        }
    };
    Ok(StoredObject {
        uid: seed.uid.unwrap_or_default(),
        namespace,
        name,
        labels: raw_json(&labels)?,
        annotations: raw_json(&annotations)?,
        description,
        disable,
        spec,
        deleted: seed.deletion_timestamp.map(written),
        finalizers: seed.finalizers,
        owner_view: seed.owner_view,
        status: seed.status.iter().map(raw_json).collect::<Result<_, _>>()?,
        referrers: seed.referring_objects,
        ..StoredObject::default()
    })
}

/// Sets `metadata.…` or `spec.…`; an option replaces the other options of its group.
fn set(kind: &ObjectKind, record: &mut StoredObject, field: &str, value: &Value) -> Result<(), ErrorResponse> {
    let misfit = || ErrorResponse::invalid(format!("{field} cannot become {value}"));
    let text = || value.as_str().map(ToOwned::to_owned).ok_or_else(misfit);
    if let Some(path) = field.strip_prefix("spec.") {
        let mut spec: Value = serde_json::from_str(record.spec.get()).map_err(|_| misfit())?;
        let root = spec.as_object_mut().ok_or_else(misfit)?;
        for option in kind.described.message().group_of(path).into_iter().flat_map(|group| &group.members) {
            root.remove(*option);
        }
        let mut place = &mut spec;
        for step in path.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[step];
        }
        *place = value.clone();
        record.spec = raw_json(&spec)?;
        return Ok(());
    }
    let Some(path) = field.strip_prefix("metadata.") else {
        return Err(misfit());
    };
    match path.split_once('.') {
        Some(("labels", key)) => record.labels = with_entry(&record.labels, key, text()?)?,
        Some(("annotations", key)) => record.annotations = with_entry(&record.annotations, key, text()?)?,
        None if path == "description" => record.description = text()?,
        None if path == "disable" => record.disable = value.as_bool().ok_or_else(misfit)?,
        _ => return Err(misfit()),
    }
    Ok(())
}

/// A serialised map of strings with one entry set.
fn with_entry(map: &RawValue, key: &str, value: String) -> Result<Box<RawValue>, ErrorResponse> {
    let mut entries = strings(map);
    entries.insert(key.to_owned(), value);
    raw_json(&entries)
}

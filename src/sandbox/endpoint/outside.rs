//! What reaches the endpoints outside the interface: a concurrent writer that a scenario asks for,
//! and objects that no request could make (owned by a view, going, without a target, with values that
//! a client does not know), so that tests and tenant files can hold them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::body::BodyPath;
use super::draft::{Draft, Named, raw_json};
use super::index::{Endpoints, Outcome};
use super::json::Json;
use super::object::{Fields, Object, Referrer, ReportOptions, Statuses, StoredEndpoint, ViewReference, strings};
use super::spec::{FillContext, Spec};
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::clock::written;

const TARGETS: [&str; 4] = ["ip", "dns_name", "dns_name_advanced", "service_info"];

/// An endpoint to be put in place, over whatever is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    pub metadata: SeedMetadata,
    /// Checked and filled like that of a request.
    #[serde(default)]
    pub spec: Option<Value>,
    /// Stored as it is, in the place of `spec`.
    #[serde(default)]
    pub raw_spec: Option<Value>,
    /// A new one when absent.
    #[serde(default)]
    pub uid: Option<String>,
    #[serde(default)]
    pub owner_view: Option<ViewReference>,
    /// RFC 3339. The object goes then, if it has no finalizers.
    #[serde(default)]
    pub deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    pub finalizers: Vec<String>,
    /// Status objects, as `status` of a get holds them.
    #[serde(default)]
    pub status: Vec<Value>,
    #[serde(default)]
    pub referring_objects: Vec<Referrer>,
}

/// The metadata of a [`Seed`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedMetadata {
    pub namespace: String,
    pub name: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub disable: bool,
}

impl Endpoints {
    /// Puts seeds in place, each over whatever is there.
    ///
    /// # Errors
    /// The first one whose `spec` breaks a rule, or that has both specs; those before it stay.
    pub async fn plant(&self, seeds: Vec<Seed>) -> Result<(), ErrorResponse> {
        let mut last = None;
        for seed in seeds {
            last = Some(self.plant_one(seed)?);
        }
        match last {
            Some(outcome) => self.settled(outcome).await.map(|_| ()),
            None => Ok(()),
        }
    }

    fn plant_one(&self, seed: Seed) -> Result<Outcome<Arc<Object>>, ErrorResponse> {
        let metadata = seed.metadata;
        let spec = match (seed.spec, seed.raw_spec) {
            (Some(_), Some(_)) => {
                let message =
                    format!("{}/{} has both `spec` and `raw_spec`; keep one", metadata.namespace, metadata.name);
                return Err(ErrorResponse::new(Code::InvalidArgument, message));
            }
            (None, Some(raw)) => raw_json(&raw)?,
            (spec, None) => {
                let around = FillContext { tenant: self.tenant(), namespace: &metadata.namespace };
                let spec = spec.unwrap_or_else(|| Value::Object(Map::new()));
                raw_json(&Spec::read(&Json::of(&spec), BodyPath::root("spec"), around)?)?
            }
        };
        let status: Result<Vec<_>, _> = seed.status.iter().map(raw_json).collect();
        let status = status?;
        let draft = Draft {
            namespace: metadata.namespace,
            name: metadata.name,
            labels: raw_json(&metadata.labels)?,
            annotations: raw_json(&metadata.annotations)?,
            description: metadata.description,
            disable: metadata.disable,
            spec,
        };
        Ok(self.seed(draft, |record| {
            record.uid = seed.uid.unwrap_or_else(|| record.uid.clone());
            record.owner_view = seed.owner_view;
            record.deleted = seed.deletion_timestamp.map(written);
            record.finalizers = seed.finalizers;
            record.status = status;
            record.referrers = seed.referring_objects;
        }))
    }

    /// Writes `namespace/name` as somebody else would: sets one field and takes the next version.
    ///
    /// # Errors
    /// When it is absent, or the value does not fit the field.
    pub async fn interfere(&self, namespace: &str, name: &str, change: (&str, &Value)) -> Result<(), ErrorResponse> {
        let (field, value) = change;
        let mut result = Ok(());
        let outcome = self.disturb(namespace, name, |record| result = set(record, field, value));
        self.settled(outcome).await?;
        result
    }

    /// The items of a list of `namespace`, with their specs.
    pub async fn items(&self, namespace: &str) -> Vec<Value> {
        let objects = self.settled(self.list(namespace)).await.unwrap_or_default();
        let report = ReportOptions { fields: Fields::Whole, status: Statuses::Left };
        let item = |object: &Arc<Object>| {
            let mut written = Vec::new();
            object.list(report, &mut written);
            serde_json::from_slice(&written).ok()
        };
        objects.iter().filter_map(item).collect()
    }

    /// Creates `namespace/name` as somebody else would.
    ///
    /// # Errors
    /// When it is there already, or its name breaks the rule.
    pub async fn forestall(&self, namespace: &str, name: &str) -> Result<(), ErrorResponse> {
        let request = serde_json::json!({"metadata": {"name": name}, "spec": {"ip": "192.0.2.1"}});
        let draft = Draft::read(&Json::of(&request), self.tenant(), namespace, Named::ByBody)?;
        self.settled(self.create(draft)).await.map(|_| ())
    }
}

/// Sets `metadata.…` or `spec.…`; a target replaces the other targets.
fn set(record: &mut StoredEndpoint, field: &str, value: &Value) -> Result<(), ErrorResponse> {
    let misfit = || ErrorResponse::new(Code::InvalidArgument, format!("{field} cannot become {value}"));
    let text = || value.as_str().map(ToOwned::to_owned).ok_or_else(misfit);
    if let Some(path) = field.strip_prefix("spec.") {
        let mut spec: Value = serde_json::from_str(record.spec.get()).map_err(|_| misfit())?;
        let root = spec.as_object_mut().ok_or_else(misfit)?;
        if TARGETS.contains(&path) {
            TARGETS.iter().for_each(|target| drop(root.remove(*target)));
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

/// A written map of strings with one entry set.
fn with_entry(map: &RawValue, key: &str, value: String) -> Result<Box<RawValue>, ErrorResponse> {
    let mut entries = strings(map);
    entries.insert(key.to_owned(), value);
    raw_json(&entries)
}

//! A stored endpoint and how the service writes it. The parts that every answer repeats are written
//! once, when the object changes; a list is these parts one after the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::sandbox::answer::ErrorResponse;

/// An endpoint as the store contains it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoredEndpoint {
    pub uid: String,
    pub version: u64,
    pub namespace: String,
    pub name: String,
    /// A map of strings, as are the annotations.
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
    /// The objects that refer to the endpoint.
    pub referrers: Vec<Referrer>,
}

/// The object of the service that owns an endpoint.
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

/// An object that refers to an endpoint.
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

/// The value of `response_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFormat {
    Default,
    ForCreate,
    ForReplace,
    Status,
    Read,
    ReferringObjects,
    BrokenReferences,
}

impl ResponseFormat {
    /// By name or number, as the service takes it.
    pub fn parse(text: &str) -> Result<Self, ErrorResponse> {
        Ok(match text {
            "GET_RSP_FORMAT_DEFAULT" | "0" => Self::Default,
            "GET_RSP_FORMAT_FOR_CREATE" | "1" => Self::ForCreate,
            "GET_RSP_FORMAT_FOR_REPLACE" | "2" => Self::ForReplace,
            "GET_RSP_FORMAT_STATUS" | "3" => Self::Status,
            "GET_RSP_FORMAT_READ" | "4" => Self::Read,
            "GET_RSP_FORMAT_REFERRING_OBJECTS" | "5" => Self::ReferringObjects,
            "GET_RSP_FORMAT_BROKEN_REFERENCES" | "6" => Self::BrokenReferences,
            other => {
                let message = format!("parsing field \"response_format\": {other} is not a valid value");
                return Err(ErrorResponse::invalid(message));
            }
        })
    }
}

/// What a list contains of each item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListContents {
    /// Metadata and spec: the request has a `report_fields`, whatever its value.
    pub whole: bool,
    /// The statuses: the request has a `report_status_fields` that is not empty.
    pub status: bool,
}

/// A record with its written parts.
#[derive(Debug)]
pub struct ServedEndpoint {
    pub record: StoredEndpoint,
    /// The item of a list up to its `metadata`.
    head: String,
    metadata: String,
    system: String,
}

fn written(value: &(impl Serialize + ?Sized)) -> String {
    // Strings, numbers and maps with string keys can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// A value in its written form, as a record contains it.
pub fn raw_json(value: &impl Serialize) -> Result<Box<RawValue>, ErrorResponse> {
    to_raw_value(value).map_err(ErrorResponse::internal)
}

/// The entries of a written map of strings.
pub fn strings(map: &RawValue) -> BTreeMap<String, String> {
    // Only such maps are ever written.
    serde_json::from_str(map.get()).unwrap_or_default()
}

impl ServedEndpoint {
    /// Writes the parts of a record.
    pub fn new(record: StoredEndpoint, tenant: &str) -> Self {
        let (tenant, uid, owner_view) = (written(tenant), written(&record.uid), written(&record.owner_view));
        let head = format!(
            concat!(
                r#"{{"tenant":{},"namespace":{},"name":{},"uid":{},"description":{},"disabled":{},"labels":{},"#,
                r#""annotations":{},"owner_view":{}"#,
            ),
            tenant,
            written(&record.namespace),
            written(&record.name),
            uid,
            written(&record.description),
            record.disable,
            record.labels.get(),
            record.annotations.get(),
            owner_view,
        );
        let system = format!(
            concat!(
                r#"{{"uid":{},"creation_timestamp":{},"deletion_timestamp":{},"modification_timestamp":{},"#,
                r#""initializers":null,"finalizers":{},"tenant":{},"creator_class":{},"creator_id":{},"#,
                r#""object_index":0,"owner_view":{},"labels":{{}}}}"#,
            ),
            uid,
            written(&record.created),
            written(&record.deleted),
            written(&record.modified),
            written(&record.finalizers),
            tenant,
            written(&record.creator_class),
            written(&record.creator_id),
            owner_view,
        );
        Self { head, metadata: metadata_named(&record, &record.name), system, record }
    }

    /// The answer to a create.
    pub fn created(&self) -> String {
        let Self { metadata, system, .. } = self;
        format!(r#"{{"metadata":{metadata},"system_metadata":{system},"spec":{}}}"#, self.record.spec.get())
    }

    /// The answer to a get. Every root key is there in every format, as is the version.
    pub fn got(&self, format: ResponseFormat) -> String {
        let spec = self.record.spec.get();
        let when =
            |shown: bool, text: &dyn Fn() -> String, hidden: &str| if shown { text() } else { hidden.to_owned() };
        let whole = matches!(format, ResponseFormat::Default | ResponseFormat::Read);
        let create_form = || format!(r#"{{"metadata":{},"spec":{spec}}}"#, metadata_named(&self.record, ""));
        // The service does not fill in the version here.
        let replace_form = || format!(r#"{{"metadata":{},"spec":{spec},"resource_version":""}}"#, self.metadata);
        format!(
            concat!(
                r#"{{"create_form":{},"replace_form":{},"resource_version":"{}","metadata":{},"system_metadata":{},"#,
                r#""spec":{},"status":{},"referring_objects":{},"deleted_referred_objects":[],"#,
                r#""disabled_referred_objects":[]}}"#,
            ),
            when(format == ResponseFormat::ForCreate, &create_form, "null"),
            when(format == ResponseFormat::ForReplace, &replace_form, "null"),
            self.record.version,
            when(whole, &|| self.metadata.clone(), "null"),
            when(whole, &|| self.system.clone(), "null"),
            when(whole, &|| spec.to_owned(), "null"),
            when(
                matches!(format, ResponseFormat::Default | ResponseFormat::Status),
                &|| written(&self.record.status),
                "[]"
            ),
            when(format == ResponseFormat::ReferringObjects, &|| written(&self.record.referrers), "[]"),
        )
    }

    /// About the length of its item in a list, in bytes and without statuses, never too little.
    pub fn size(&self) -> usize {
        128 + self.head.len() + self.metadata.len() + self.system.len() + self.record.spec.get().len()
    }

    /// Appends the item of a list.
    pub fn list(&self, report: ListContents, into: &mut Vec<u8>) {
        let mut push = |text: &str| into.extend_from_slice(text.as_bytes());
        push(&self.head);
        if report.whole {
            let parts = [
                (r#","metadata":"#, &*self.metadata),
                (r#","system_metadata":"#, &self.system),
                (r#","get_spec":"#, self.record.spec.get()),
            ];
            parts.into_iter().flat_map(|(key, value)| [key, value]).for_each(&mut push);
        } else {
            push(r#","metadata":null,"system_metadata":null,"get_spec":null"#);
        }
        push(r#","status_set":"#);
        push(&if report.status { written(&self.record.status) } else { "[]".into() });
        push("}");
    }
}

fn metadata_named(record: &StoredEndpoint, name: &str) -> String {
    format!(
        r#"{{"name":{},"namespace":{},"labels":{},"annotations":{},"description":{},"disable":{}}}"#,
        written(name),
        written(&record.namespace),
        record.labels.get(),
        record.annotations.get(),
        written(&record.description),
        record.disable,
    )
}

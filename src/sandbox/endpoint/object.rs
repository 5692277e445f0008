//! A stored endpoint and how the service writes it. The pieces that every answer repeats are written
//! once, when the object changes; a list is these pieces end to end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::draft::Draft;
use crate::sandbox::answer::{Code, ErrorResponse};

/// What is kept of an endpoint, and how it lies in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Status objects, written JSON.
    pub status: Vec<Box<RawValue>>,
    /// Who refers to the endpoint.
    pub referrers: Vec<Referrer>,
}

/// The object of the service that owns an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewReference {
    pub kind: String,
    pub name: String,
    pub namespace: String,
    #[serde(default)]
    pub uid: String,
}

/// An object that refers to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Referrer {
    /// Such as `ves.io.schema.cluster.Object`.
    pub kind: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub tenant: String,
    pub namespace: String,
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
    ///
    /// # Errors
    /// 400 for anything else.
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
                return Err(ErrorResponse::new(Code::InvalidArgument, message));
            }
        })
    }
}

/// How much a list tells of each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportOptions {
    pub fields: Fields,
    pub status: Statuses,
}

/// Whether the request has a `report_fields`; its value is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    Short,
    Whole,
}

/// Whether the request has a `report_status_fields` that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    Left,
    Given,
}

/// A record with its written pieces.
#[derive(Debug)]
pub struct Object {
    pub record: StoredEndpoint,
    /// The item of a list up to its `metadata`.
    head: String,
    metadata: String,
    system: String,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    namespace: &'a str,
    labels: &'a RawValue,
    annotations: &'a RawValue,
    description: &'a str,
    disable: bool,
}

#[derive(Serialize)]
struct System<'a> {
    uid: &'a str,
    creation_timestamp: &'a str,
    deletion_timestamp: Option<&'a str>,
    modification_timestamp: Option<&'a str>,
    initializers: (),
    finalizers: &'a [String],
    tenant: &'a str,
    creator_class: &'a str,
    creator_id: &'a str,
    object_index: u32,
    owner_view: Option<&'a ViewReference>,
    labels: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Head<'a> {
    tenant: &'a str,
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
    description: &'a str,
    disabled: bool,
    labels: &'a RawValue,
    annotations: &'a RawValue,
    owner_view: Option<&'a ViewReference>,
}

fn written(value: &impl Serialize) -> String {
    // Strings, numbers and maps with string keys: there is nothing that JSON cannot hold.
    serde_json::to_string(value).unwrap_or_default()
}

/// The entries of a written map of strings.
pub fn strings(map: &RawValue) -> BTreeMap<String, String> {
    // Only such maps are ever written.
    serde_json::from_str(map.get()).unwrap_or_default()
}

impl Object {
    pub fn new(record: StoredEndpoint, tenant: &str) -> Self {
        let mut head = written(&Head {
            tenant,
            namespace: &record.namespace,
            name: &record.name,
            uid: &record.uid,
            description: &record.description,
            disabled: record.disable,
            labels: &record.labels,
            annotations: &record.annotations,
            owner_view: record.owner_view.as_ref(),
        });
        head.pop();
        let metadata = metadata_named(&record, &record.name);
        let system = written(&System {
            uid: &record.uid,
            creation_timestamp: &record.created,
            deletion_timestamp: record.deleted.as_deref(),
            modification_timestamp: record.modified.as_deref(),
            initializers: (),
            finalizers: &record.finalizers,
            tenant,
            creator_class: &record.creator_class,
            creator_id: &record.creator_id,
            object_index: 0,
            owner_view: record.owner_view.as_ref(),
            labels: BTreeMap::new(),
        });
        Self { record, head, metadata, system }
    }

    /// The answer to a create.
    pub fn created(&self) -> String {
        let Self { metadata, system, .. } = self;
        format!(r#"{{"metadata":{metadata},"system_metadata":{system},"spec":{}}}"#, self.record.spec.get())
    }

    /// The answer to a get. Every root key is there in every format, and so is the version.
    pub fn got(&self, format: ResponseFormat) -> String {
        let spec = self.record.spec.get();
        let whole = matches!(format, ResponseFormat::Default | ResponseFormat::Read);
        let null = "null".to_owned();
        let create_form = match format {
            ResponseFormat::ForCreate => {
                format!(r#"{{"metadata":{},"spec":{spec}}}"#, metadata_named(&self.record, ""))
            }
            _ => null.clone(),
        };
        let replace_form = match format {
            // The code of the service does not fill the version in here.
            ResponseFormat::ForReplace => {
                format!(r#"{{"metadata":{},"spec":{spec},"resource_version":""}}"#, self.metadata)
            }
            _ => null.clone(),
        };
        let or_null = |text: &str| if whole { text.to_owned() } else { null.clone() };
        let status = match format {
            ResponseFormat::Default | ResponseFormat::Status => written(&self.record.status),
            _ => "[]".into(),
        };
        let referring = match format {
            ResponseFormat::ReferringObjects => written(&self.record.referrers),
            _ => "[]".into(),
        };
        format!(
            concat!(
                r#"{{"create_form":{},"replace_form":{},"resource_version":"{}","metadata":{},"system_metadata":{},"#,
                r#""spec":{},"status":{},"referring_objects":{},"deleted_referred_objects":[],"#,
                r#""disabled_referred_objects":[]}}"#,
            ),
            create_form,
            replace_form,
            self.record.version,
            or_null(&self.metadata),
            or_null(&self.system),
            or_null(spec),
            status,
            referring,
        )
    }

    /// About the length of its item in a list, in bytes and without statuses, never too little.
    pub fn size(&self) -> usize {
        128 + self.head.len() + self.metadata.len() + self.system.len() + self.record.spec.get().len()
    }

    /// Appends the item of a list.
    pub fn list(&self, report: ReportOptions, into: &mut Vec<u8>) {
        let mut push = |text: &str| into.extend_from_slice(text.as_bytes());
        push(&self.head);
        match report.fields {
            Fields::Short => push(r#","metadata":null,"system_metadata":null,"get_spec":null"#),
            Fields::Whole => {
                push(r#","metadata":"#);
                push(&self.metadata);
                push(r#","system_metadata":"#);
                push(&self.system);
                push(r#","get_spec":"#);
                push(self.record.spec.get());
            }
        }
        push(r#","status_set":"#);
        match report.status {
            Statuses::Left => push("[]"),
            Statuses::Given => push(&written(&self.record.status)),
        }
        push("}");
    }
}

fn metadata_named(record: &StoredEndpoint, name: &str) -> String {
    written(&Metadata {
        name,
        namespace: &record.namespace,
        labels: &record.labels,
        annotations: &record.annotations,
        description: &record.description,
        disable: record.disable,
    })
}

impl StoredEndpoint {
    /// Takes over what a replace decides.
    pub fn take(&mut self, draft: Draft) {
        self.labels = draft.labels;
        self.annotations = draft.annotations;
        self.description = draft.description;
        self.disable = draft.disable;
        self.spec = draft.spec;
    }
}

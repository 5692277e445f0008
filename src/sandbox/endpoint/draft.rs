//! What a create or a replace asks for: metadata and spec, read and checked.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::body::{BodyPath, Message, REQUIRED, RuleViolation};
use super::json::{Fields, Json};
use super::rules;
use super::spec::{FillContext, Spec};
use crate::sandbox::answer::{Code, ErrorResponse};

/// The parts of an endpoint that a caller decides.
#[derive(Clone, Debug)]
pub struct Draft {
    pub namespace: String,
    pub name: String,
    /// A map of strings, written JSON, as are the annotations.
    pub labels: Box<RawValue>,
    pub annotations: Box<RawValue>,
    pub description: String,
    pub disable: bool,
    /// Written JSON, so that an object which no request could make can be held too.
    pub spec: Box<RawValue>,
}

/// Where an object's name comes from: the path always wins over the body.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    ByBody,
    ByPath(&'a str),
}

/// Reads the body of a request as JSON.
///
/// # Errors
/// What the JSON reader stumbled over. No body at all is an empty message.
pub fn parse(body: &[u8]) -> Result<Json<'_>, ErrorResponse> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Json::Object(Fields::default()));
    }
    serde_json::from_slice(body)
        .map_err(|error| ErrorResponse::new(Code::InvalidArgument, format!("request body is not valid JSON: {error}")))
}

impl Draft {
    /// Reads and checks a create or replace request.
    ///
    /// # Errors
    /// The first thing that is missing, mistyped or outside its rule. A missing spec comes first, as
    /// it does in the service.
    pub fn read(request: &Json<'_>, tenant: &str, namespace: &str, named: Named<'_>) -> Result<Self, ErrorResponse> {
        let nil = Json::Object(Fields::default());
        let request = Message::new(request, BodyPath::root("body"))?;
        let Some(spec) = request.get("spec")? else {
            let (verb, stage) = match named {
                Named::ByBody => ("Create", "CreateResource"),
                Named::ByPath(_) => ("Replace", "ReplaceResource"),
            };
            let message = format!("Nil spec in {verb} Request");
            return Err(ErrorResponse::new(Code::InvalidArgument, message).detail(format!("{stage}: nil spec")));
        };
        let metadata = match (request.get("metadata")?, named) {
            (Some(metadata), _) => metadata,
            (None, Named::ByPath(_)) => &nil,
            (None, Named::ByBody) => return Err(BodyPath::root("metadata").breaks(REQUIRED, "nil")),
        };
        let metadata = Message::new(metadata, BodyPath::root("metadata"))?;
        let sent = (metadata.text("name")?, metadata.text("namespace")?);
        let name = match named {
            Named::ByBody => sent.0,
            Named::ByPath(name) => name.to_owned(),
        };
        check_name(&name, metadata.place.field("name"))?;
        check_name(namespace, metadata.place.field("namespace"))?;
        let spec = Spec::read(spec, BodyPath::root("spec"), FillContext { tenant, namespace })?;
        Ok(Self {
            namespace: namespace.to_owned(),
            name,
            labels: raw_json(&metadata.map("labels")?)?,
            annotations: raw_json(&annotations(&metadata)?)?,
            description: description(&metadata)?,
            disable: metadata.boolean("disable")?,
            spec: raw_json(&spec)?,
        })
    }
}

/// The written form of a part that is held as it will be told.
pub fn raw_json(value: &impl Serialize) -> Result<Box<RawValue>, ErrorResponse> {
    to_raw_value(value).map_err(|error| ErrorResponse::new(Code::Internal, error.to_string()))
}

/// The live text of the name rule.
fn check_name(name: &str, at: BodyPath<'_>) -> Result<(), ErrorResponse> {
    const RULE: RuleViolation<'_> = RuleViolation {
        name: "string.dns_1035_label",
        constraint: "true",
        should: "a DNS-1035 label: it must consist of lower case alphanumeric characters or '-', start with an \
                 alphabetic character, and end with an alphanumeric character, and be less than 64 characters \
                 with a pattern of [a-z]([-a-z0-9]*[a-z0-9])?",
    };
    if name.is_empty() {
        return Err(at.breaks(REQUIRED, "an empty string"));
    }
    if rules::is_name(name) { Ok(()) } else { Err(at.breaks(RULE, name)) }
}

fn description(metadata: &Message<'_>) -> Result<String, ErrorResponse> {
    const LENGTH: RuleViolation<'_> =
        RuleViolation { name: "string.max_bytes", constraint: "1200", should: "at most 1200 bytes" };
    let description = metadata.text("description")?;
    if description.len() > 1_200 {
        return Err(metadata.place.field("description").breaks(LENGTH, format!("{} bytes", description.len())));
    }
    Ok(description)
}

/// Labels have no rule in the specification, annotations have.
fn annotations(metadata: &Message<'_>) -> Result<BTreeMap<String, String>, ErrorResponse> {
    const KEY: RuleViolation<'_> =
        RuleViolation { name: "map.keys.string.max_len", constraint: "64", should: "with keys of 1 to 64 characters" };
    const VALUE: RuleViolation<'_> = RuleViolation {
        name: "map.values.string.max_len",
        constraint: "1024",
        should: "with values of 1 to 1024 characters",
    };
    let at = metadata.place.field("annotations");
    let annotations = metadata.map("annotations")?;
    for (key, value) in &annotations {
        if !(1..=64).contains(&key.chars().count()) {
            return Err(at.breaks(KEY, key));
        }
        if !(1..=1_024).contains(&value.chars().count()) {
            return Err(at.breaks(VALUE, value));
        }
    }
    Ok(annotations)
}

//! The tenant file as it is written, before its times are resolved and its rules are checked. An
//! unknown field anywhere is an error.

use serde::Deserialize;
use serde_json::Value;

use crate::sandbox::Seed;
use crate::sandbox::query::ddos::AttachmentType;
use crate::sandbox::query::upgrade::Stage;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantFile {
    pub kind: Kind,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub namespaces: Vec<String>,
    #[serde(default)]
    pub sites: Vec<Site>,
    #[serde(default)]
    pub software_versions: Vec<Version>,
    #[serde(default)]
    pub ddos_events: Vec<DdosEvent>,
    #[serde(default)]
    pub security_events: Vec<SecurityEvents>,
    #[serde(default)]
    pub endpoints: Vec<Seed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Tenant,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    pub name: String,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub os_version: String,
    #[serde(default)]
    pub sw_version: String,
    #[serde(default)]
    pub nodes: Vec<String>,
    #[serde(default)]
    pub upgrade: Option<Upgrade>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upgrade {
    pub to: String,
    #[serde(default)]
    pub to_os: Option<String>,
    pub started: String,
    pub duration: String,
    #[serde(default)]
    pub speed: Option<f64>,
    #[serde(default)]
    pub retries: u32,
    #[serde(default)]
    pub ends: Ends,
    #[serde(default)]
    pub stage: Option<Stage>,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    #[default]
    Completed,
    Failed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub version: String,
    #[serde(default)]
    pub os_at_least: Option<String>,
    #[serde(default)]
    pub os_at_most: Option<String>,
    #[serde(default)]
    pub sw_at_least: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DdosEvent {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub creator: String,
    #[serde(default)]
    pub ip: String,
    #[serde(default)]
    pub network_id: String,
    #[serde(default)]
    pub mitigation_id: String,
    pub start_time: String,
    #[serde(default)]
    pub end_time: Option<String>,
    #[serde(default)]
    pub has_details: bool,
    #[serde(default)]
    pub attachments: Vec<Attachment>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    pub attachment_id: String,
    #[serde(default)]
    pub attachment_type: AttachmentType,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub gos_name: String,
    #[serde(default)]
    pub gos_version: String,
    #[serde(default)]
    pub size_bytes: u64,
    #[serde(default)]
    pub start_time: Option<String>,
    #[serde(default)]
    pub end_time: Option<String>,
}

/// One event as it is, or the recipe of many: exactly one of `event` and `generate`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityEvents {
    #[serde(default)]
    pub time: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub event: Option<serde_json::Map<String, Value>>,
    #[serde(default)]
    pub generate: Option<Generate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    pub seed: u64,
    pub count: u64,
    pub from: String,
    #[serde(default)]
    pub to: Option<String>,
    #[serde(default)]
    pub namespaces: Vec<String>,
}

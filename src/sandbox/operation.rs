//! The paths of the service in both layouts, and the name of each operation on them: the one list that
//! the router, the log and the scenarios share. What is not implemented has no name.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::Method;

use super::object::ObjectKind;

pub const EVENTS: &str = "/api/config/namespaces/{namespace}/events";
pub const EVENT: &str = "/api/config/namespaces/{namespace}/events/{name}";
pub const VERSIONS: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions";
pub const VERSION: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions/{name}";
pub const STATUSES: &str = "/api/config/namespaces/{namespace}/upgrade_status";
pub const STATUS: &str = "/api/config/namespaces/{namespace}/upgrade_status/{name}";

pub const PUBLISHED_QUERY: &str = "/api/data/namespaces/{namespace}/app_security/events";
pub const PUBLISHED_AGGREGATION: &str = "/api/data/namespaces/{namespace}/app_security/events/aggregation";
pub const PUBLISHED_SCROLL: &str = "/api/data/namespaces/{namespace}/app_security/events/scroll";
pub const PUBLISHED_QUERY_ALL: &str = "/api/data/namespaces/{namespace}/app_security/all_ns_events";
pub const PUBLISHED_AGGREGATION_ALL: &str = "/api/data/namespaces/{namespace}/app_security/all_ns_events/aggregation";
pub const PUBLISHED_EVENTS: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/events";
pub const PUBLISHED_EVENT: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/event/{name}";
pub const PUBLISHED_ATTACHMENTS: &str =
    "/api/infraprotect/namespaces/{namespace}/infraprotect/event/{name}/attachments";
pub const PUBLISHED_VERSIONS: &str = "/api/maurice/upgradable_sw_versions";
pub const PUBLISHED_STATUS: &str = "/api/maurice/namespaces/{namespace}/sites/{name}/upgrade_status";

/// The name, the method and the path of each operation that is not on the objects of a kind. The paths of an operation follow each other.
const OPERATIONS: &[(&str, Method, &str)] = &[
    ("security-event-query", Method::POST, EVENTS),
    ("security-event-query", Method::POST, PUBLISHED_QUERY),
    ("security-event-query", Method::POST, PUBLISHED_QUERY_ALL),
    ("security-event-aggregate", Method::POST, PUBLISHED_AGGREGATION),
    ("security-event-aggregate", Method::POST, PUBLISHED_AGGREGATION_ALL),
    ("security-event-scroll", Method::POST, PUBLISHED_SCROLL),
    ("security-event-scroll", Method::GET, PUBLISHED_SCROLL),
    ("ddos-event-list", Method::GET, EVENTS),
    ("ddos-event-list", Method::POST, PUBLISHED_EVENTS),
    ("ddos-event-get", Method::GET, EVENT),
    ("ddos-event-get", Method::GET, PUBLISHED_EVENT),
    ("ddos-event-edit", Method::PUT, EVENT),
    ("ddos-event-edit", Method::PUT, PUBLISHED_EVENT),
    ("ddos-event-attachments", Method::GET, PUBLISHED_ATTACHMENTS),
    ("upgradable-sw-version-list", Method::GET, VERSIONS),
    ("upgradable-sw-version-list", Method::GET, PUBLISHED_VERSIONS),
    ("upgradable-sw-version-get", Method::GET, VERSION),
    ("upgrade-status-get", Method::GET, STATUS),
    ("upgrade-status-get", Method::GET, PUBLISHED_STATUS),
];

/// Every operation, and which of them are on a path.
static BY_PATH: LazyLock<HashMap<&str, Vec<(&str, &Method)>>> = LazyLock::new(|| {
    let mut paths: HashMap<_, Vec<_>> = HashMap::new();
    for kind in ObjectKind::all() {
        for (name, method, path) in &kind.operations {
            paths.entry(kind.paths[*path].as_str()).or_default().push((name.as_str(), method));
        }
    }
    for (name, method, path) in OPERATIONS {
        paths.entry(path).or_default().push((name, method));
    }
    paths
});

/// The name of the operation of `method` on a matched path.
pub fn name(method: &Method, matched: &str) -> Option<&'static str> {
    BY_PATH.get(matched)?.iter().find(|(_, of)| *of == method).map(|(name, _)| *name)
}

/// The names of all operations, with `KIND` for the name of a kind.
pub fn forms() -> Vec<&'static str> {
    let of_kinds = ["KIND-create", "KIND-list", "KIND-get", "KIND-replace", "KIND-delete"];
    let mut forms: Vec<_> = of_kinds.into_iter().chain(OPERATIONS.iter().map(|(name, ..)| *name)).collect();
    forms.dedup();
    forms
}

/// The names of all operations.
pub fn names() -> Vec<&'static str> {
    let of_kinds = ObjectKind::all().flat_map(|kind| kind.operations.iter().map(|(name, ..)| name.as_str()));
    let mut names: Vec<_> = of_kinds.chain(OPERATIONS.iter().map(|(name, ..)| *name)).collect();
    names.dedup();
    names
}

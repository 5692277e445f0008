//! The paths of the service in both layouts, and each operation on them with its name and handler: the only list, which
//! the router, the log and the scenarios share. Paths that are not implemented have no name.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use axum::http::Method;
use axum::routing::{MethodRouter, get, post, put};

use super::SandboxState;
use super::object::ObjectKind;
use super::query::{handlers, security};

pub const EVENTS: &str = "/api/config/namespaces/{namespace}/events";
pub const EVENT: &str = "/api/config/namespaces/{namespace}/events/{name}";
pub const VERSIONS: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions";
pub const VERSION: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions/{name}";
pub const STATUSES: &str = "/api/config/namespaces/{namespace}/upgrade_status";
pub const STATUS: &str = "/api/config/namespaces/{namespace}/upgrade_status/{name}";

const PUBLISHED_QUERY: &str = "/api/data/namespaces/{namespace}/app_security/events";
const PUBLISHED_AGGREGATION: &str = "/api/data/namespaces/{namespace}/app_security/events/aggregation";
const PUBLISHED_SCROLL: &str = "/api/data/namespaces/{namespace}/app_security/events/scroll";
const PUBLISHED_QUERY_ALL: &str = "/api/data/namespaces/{namespace}/app_security/all_ns_events";
const PUBLISHED_AGGREGATION_ALL: &str = "/api/data/namespaces/{namespace}/app_security/all_ns_events/aggregation";
const PUBLISHED_EVENTS: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/events";
const PUBLISHED_EVENT: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/event/{name}";
const PUBLISHED_ATTACHMENTS: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/event/{name}/attachments";
const PUBLISHED_VERSIONS: &str = "/api/maurice/upgradable_sw_versions";
const PUBLISHED_STATUS: &str = "/api/maurice/namespaces/{namespace}/sites/{name}/upgrade_status";

/// An operation that is not about the objects of a kind: name, method, path and handler.
type Operation = (&'static str, Method, &'static str, MethodRouter<Arc<SandboxState>>);

/// All such operations. Paths of the same operation are adjacent.
pub fn all() -> Vec<Operation> {
    vec![
        ("security-event-query", Method::POST, EVENTS, post(security::query_or_scroll)),
        ("security-event-query", Method::POST, PUBLISHED_QUERY, post(security::query)),
        ("security-event-query", Method::POST, PUBLISHED_QUERY_ALL, post(security::query_all)),
        ("security-event-aggregate", Method::POST, PUBLISHED_AGGREGATION, post(security::aggregate)),
        ("security-event-aggregate", Method::POST, PUBLISHED_AGGREGATION_ALL, post(security::aggregate_all)),
        ("security-event-scroll", Method::POST, PUBLISHED_SCROLL, post(security::scroll)),
        ("security-event-scroll", Method::GET, PUBLISHED_SCROLL, get(security::scroll_by_parameter)),
        ("ddos-event-list", Method::GET, EVENTS, get(handlers::list_by_parameters)),
        ("ddos-event-list", Method::POST, PUBLISHED_EVENTS, post(handlers::list_by_body)),
        ("ddos-event-get", Method::GET, EVENT, get(handlers::show)),
        ("ddos-event-get", Method::GET, PUBLISHED_EVENT, get(handlers::show)),
        ("ddos-event-edit", Method::PUT, EVENT, put(handlers::edit)),
        ("ddos-event-edit", Method::PUT, PUBLISHED_EVENT, put(handlers::edit)),
        ("ddos-event-attachments", Method::GET, PUBLISHED_ATTACHMENTS, get(handlers::attachments)),
        ("upgradable-sw-version-list", Method::GET, VERSIONS, get(handlers::versions)),
        ("upgradable-sw-version-list", Method::GET, PUBLISHED_VERSIONS, get(handlers::versions)),
        ("upgradable-sw-version-get", Method::GET, VERSION, get(handlers::version)),
        ("upgrade-status-get", Method::GET, STATUS, get(handlers::upgrade_status)),
        ("upgrade-status-get", Method::GET, PUBLISHED_STATUS, get(handlers::upgrade_status)),
    ]
}

/// Their names, methods and paths.
static OPERATIONS: LazyLock<Vec<(&str, Method, &str)>> =
    LazyLock::new(|| all().into_iter().map(|(name, method, path, _)| (name, method, path)).collect());

/// The operations of each path.
static BY_PATH: LazyLock<HashMap<&str, Vec<(&str, &Method)>>> = LazyLock::new(|| {
    let mut paths: HashMap<_, Vec<_>> = HashMap::new();
    for kind in ObjectKind::all() {
        for (name, method, path) in &kind.operations {
            paths.entry(kind.paths[*path].as_str()).or_default().push((name.as_str(), method));
        }
    }
    for (name, method, path) in OPERATIONS.iter() {
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

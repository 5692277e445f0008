//! The areas beside the endpoints: security events, DDoS events, software versions and the upgrade
//! status of sites, in both path layouts, filled from a tenant file.
//!
//! What the reference leaves open and the sandbox decides (`docs/interface.md` repeats it):
//! - In the uniform layout `POST …/events` is the security event query, and a body with a `scroll_id`
//!   asks for the next batch; `GET …/events` is the DDoS list with its filters as query parameters,
//!   `GET` and `PUT …/events/{event_id}` show and edit one.
//! - DDoS events are in namespace `system` only; another namespace is 400, as the schemas say.
//! - `GET …/upgradable_sw_versions/{version}` answers a known version in the shape of the list.
//! - The other examples of the reference's section 4.6 (`POST` and `DELETE` on versions and statuses,
//!   `DELETE` on events, `POST` on one event, the list of statuses) name no operation: 501, code 12.
//! - A current version that is not given excludes nothing.

mod dataset;
mod ddos;
mod event;
mod handlers;
mod security;
mod tenant;
mod upgrade;
mod version;
mod window;

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};

use super::router::Operation;
use super::service::SandboxState;

pub use dataset::{Dataset, RecordedQuery, Seeding, known, lay, queries, tenant_name};
pub use event::language::Query as EventLanguage;
pub use tenant::{Tenant, TenantError};

const EVENTS: &str = "/api/config/namespaces/{namespace}/events";
const EVENT: &str = "/api/config/namespaces/{namespace}/events/{name}";
const VERSIONS: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions";
const VERSION: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions/{name}";
const STATUSES: &str = "/api/config/namespaces/{namespace}/upgrade_status";
const STATUS: &str = "/api/config/namespaces/{namespace}/upgrade_status/{name}";

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

/// The operations of these areas; what is not implemented has no name.
pub const OPERATIONS: &[Operation] = &[
    Operation { name: "security-event-query", method: Method::POST, path: EVENTS },
    Operation { name: "security-event-query", method: Method::POST, path: PUBLISHED_QUERY },
    Operation { name: "security-event-query", method: Method::POST, path: PUBLISHED_QUERY_ALL },
    Operation { name: "security-event-aggregate", method: Method::POST, path: PUBLISHED_AGGREGATION },
    Operation { name: "security-event-aggregate", method: Method::POST, path: PUBLISHED_AGGREGATION_ALL },
    Operation { name: "security-event-scroll", method: Method::POST, path: PUBLISHED_SCROLL },
    Operation { name: "security-event-scroll", method: Method::GET, path: PUBLISHED_SCROLL },
    Operation { name: "ddos-event-list", method: Method::GET, path: EVENTS },
    Operation { name: "ddos-event-list", method: Method::POST, path: PUBLISHED_EVENTS },
    Operation { name: "ddos-event-get", method: Method::GET, path: EVENT },
    Operation { name: "ddos-event-get", method: Method::GET, path: PUBLISHED_EVENT },
    Operation { name: "ddos-event-edit", method: Method::PUT, path: EVENT },
    Operation { name: "ddos-event-edit", method: Method::PUT, path: PUBLISHED_EVENT },
    Operation { name: "ddos-event-attachments", method: Method::GET, path: PUBLISHED_ATTACHMENTS },
    Operation { name: "upgradable-sw-version-list", method: Method::GET, path: VERSIONS },
    Operation { name: "upgradable-sw-version-list", method: Method::GET, path: PUBLISHED_VERSIONS },
    Operation { name: "upgradable-sw-version-get", method: Method::GET, path: VERSION },
    Operation { name: "upgrade-status-get", method: Method::GET, path: STATUS },
    Operation { name: "upgrade-status-get", method: Method::GET, path: PUBLISHED_STATUS },
];

/// The routes of these areas, in both path layouts.
pub fn router() -> Router<Arc<SandboxState>> {
    let missing = || MethodRouter::new().fallback(handlers::unimplemented);
    Router::new()
        .route(
            EVENTS,
            get(handlers::list_by_parameters).post(security::query_or_scroll).delete(handlers::unimplemented),
        )
        .route(
            EVENT,
            get(handlers::show).put(handlers::edit).post(handlers::unimplemented).delete(handlers::unimplemented),
        )
        .route(VERSIONS, get(handlers::versions).post(handlers::unimplemented).delete(handlers::unimplemented))
        .route(VERSION, get(handlers::version).post(handlers::unimplemented).delete(handlers::unimplemented))
        .route(STATUSES, missing())
        .route(STATUS, get(handlers::upgrade_status).post(handlers::unimplemented).delete(handlers::unimplemented))
        .route(PUBLISHED_QUERY, post(security::query))
        .route(PUBLISHED_AGGREGATION, post(security::aggregate))
        .route(PUBLISHED_SCROLL, get(security::scroll_by_parameter).post(security::scroll))
        .route(PUBLISHED_QUERY_ALL, post(security::query_all))
        .route(PUBLISHED_AGGREGATION_ALL, post(security::aggregate_all))
        .route(PUBLISHED_EVENTS, post(handlers::list_by_body))
        .route(PUBLISHED_EVENT, get(handlers::show).put(handlers::edit))
        .route(PUBLISHED_ATTACHMENTS, get(handlers::attachments))
        .route(PUBLISHED_VERSIONS, get(handlers::versions))
        .route(PUBLISHED_STATUS, get(handlers::upgrade_status))
}

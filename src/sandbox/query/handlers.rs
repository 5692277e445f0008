//! The handlers of DDoS events, software versions and the upgrade status.

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use serde_json::json;

use super::event::store::WHOLE_TENANT;
use super::upgrade::{self, Site};
use super::version::Version;
use super::{dataset, ddos};
use crate::sandbox::answer::{Answer, Code, ErrorResponse, ok};
use crate::sandbox::log::Trace;
use crate::sandbox::message;
use crate::sandbox::parameter::parameter;
use crate::sandbox::{SandboxState, Shared};

type ItemPath = Path<(String, String)>;

/// The list with its filters as query parameters (uniform layout); with an `event_id`, that event.
pub async fn list_by_parameters(service: Shared, Path(namespace): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let parameter = |name: &str| parameter(query.as_deref(), name);
    match parameter("event_id") {
        id if id.is_empty() => list(&service.0, &namespace, |name| Ok(parameter(name))),
        id => show(service, Path((namespace, id))).await,
    }
}

/// The list with its filters in the body (published layout).
pub async fn list_by_body(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    message::read(&body, |message| {
        message.at("namespace").text()?;
        list(&service, &namespace, |name| message.at(name).text())
    })
}

/// One event.
pub async fn show(State(service): Shared, Path((namespace, id)): ItemPath) -> Answer {
    Ok(ok(&json!({"event": event(&service, &namespace, &id)?})))
}

/// The attachments of one event, in the same form as in the event.
pub async fn attachments(State(service): Shared, Path((namespace, id)): ItemPath) -> Answer {
    Ok(ok(&json!({"attachments": event(&service, &namespace, &id)?.attachments})))
}

/// Changes one event and returns it.
pub async fn edit(State(service): Shared, Path((namespace, id)): ItemPath, body: Bytes) -> Answer {
    // Locked until the edit is on disk, so that the next one reads it.
    let _editing = service.query.editing.lock().await;
    let before = event(&service, &namespace, &id)?;
    let event = message::read(&body, |message| ddos::edited(before, message))?;
    service.store.durable(dataset::store_event(&service.store, &event)).await?;
    let mut response = ok(&json!({"event": event}));
    response.extensions_mut().insert(Trace::done());
    Ok(response)
}

/// The versions to which a site with the current ones can be upgraded, in the order of the tenant file; an empty text
/// means that a version was not given.
pub async fn versions(State(service): Shared, RawQuery(query): RawQuery) -> Answer {
    let [os, software] = ["current_os_version", "current_sw_version"].map(|name| parameter(query.as_deref(), name));
    let mut versions: Vec<Version> = service.store.all(dataset::VERSIONS)?;
    versions.retain(|version| version.follows(&os, &software));
    Ok(ok(&json!({"sw_versions": versions.iter().map(|version| &version.version).collect::<Vec<_>>()})))
}

/// One version in the form of the list, or 404.
pub async fn version(State(service): Shared, Path((_, name)): ItemPath) -> Answer {
    let known = service.store.all::<Version>(dataset::VERSIONS)?.iter().any(|version| version.version == name);
    if known { Ok(ok(&json!({"sw_versions": [name]}))) } else { Err(absent(&format!("software version {name}"))) }
}

/// The current upgrade status of a site.
pub async fn upgrade_status(State(service): Shared, Path((namespace, name)): ItemPath) -> Answer {
    let site: Option<Site> = service.store.one(dataset::SITES, &format!("{namespace}/{name}"))?;
    let site = site.ok_or_else(|| absent(&format!("site {namespace}/{name}")))?;
    Ok(ok(&upgrade::status(&site, service.clock.now())))
}

fn list(service: &SandboxState, namespace: &str, filter: impl Fn(&str) -> Result<String, ErrorResponse>) -> Answer {
    only_system(namespace)?;
    let events = service.store.all(dataset::DDOS_EVENTS)?;
    Ok(ok(&json!({"events": ddos::select(events, filter, service.clock.now())?})))
}

fn event(service: &SandboxState, namespace: &str, id: &str) -> Result<ddos::DdosEvent, ErrorResponse> {
    only_system(namespace)?;
    service.store.one(dataset::DDOS_EVENTS, id)?.ok_or_else(|| absent(&format!("event {id}")))
}

/// The schemas of these requests support only this namespace.
fn only_system(namespace: &str) -> Result<(), ErrorResponse> {
    if namespace == WHOLE_TENANT {
        return Ok(());
    }
    let message = format!("DDoS events are supported only in namespace `{WHOLE_TENANT}`, not in `{namespace}`");
    Err(ErrorResponse::invalid(message))
}

fn absent(what: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NOT_FOUND, format!("no {what}"))
}

//! The handlers of DDoS events, software versions and the upgrade status.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{Method, Response, StatusCode};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::event::store::WHOLE_TENANT;
use super::{dataset, ddos, upgrade};
use crate::sandbox::answer::{Code, ErrorResponse, json as answer};
use crate::sandbox::endpoint::body;
use crate::sandbox::log::{RequestEffect, Trace};
use crate::sandbox::parameter::parameter;
use crate::sandbox::service::SandboxState;
use crate::sandbox::store::StoreError;

type Shared = State<Arc<SandboxState>>;
type Answer = Result<Value, ErrorResponse>;

/// The list with its filters as query parameters, as the uniform layout has it.
pub async fn list_by_parameters(
    State(service): Shared,
    Path(namespace): Path<String>,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let given = |name| parameter(query.as_deref(), name);
    let filter = ddos::Filter {
        start_time: given("start_time"),
        end_time: given("end_time"),
        network_id: given("network_id"),
        mitigation_id: given("mitigation_id"),
    };
    respond(list(&service, &namespace, &filter))
}

/// The list with its filters in the body, as the published layout has it.
pub async fn list_by_body(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    respond(body::read(&body, ddos::Filter::read).and_then(|filter| list(&service, &namespace, &filter)))
}

/// One event.
pub async fn show(State(service): Shared, Path((namespace, id)): Path<(String, String)>) -> Response<Body> {
    respond(event(&service, &namespace, &id).map(|event| json!({"event": event})))
}

/// The attachments of one event, in the shape that they have inside the event.
pub async fn attachments(State(service): Shared, Path((namespace, id)): Path<(String, String)>) -> Response<Body> {
    respond(event(&service, &namespace, &id).map(|event| json!({"attachments": event.attachments})))
}

/// Changes one event and answers it.
pub async fn edit(
    State(service): Shared,
    Path((namespace, id)): Path<(String, String)>,
    body: Bytes,
) -> Response<Body> {
    // Held until the edit is on disk, so that the next one reads it.
    let _editing = service.query.editing.lock().await;
    let edited = event(&service, &namespace, &id).and_then(|event| body::read(&body, ddos::Edit::read)?.apply(event));
    let event = match edited {
        Ok(event) => event,
        Err(refusal) => return refusal.into_response(),
    };
    let ticket = dataset::store_event(&service.store, &event);
    if let Err(error) = service.store.durable(ticket).await {
        return stored(&error).into_response();
    }
    let mut response = respond(Ok(json!({"event": event})));
    response.extensions_mut().insert(Trace { effect: RequestEffect::Done, ..Trace::default() });
    response
}

/// The versions that a site with the current ones can be upgraded to, in the order of the tenant file;
/// an empty text is a version that was not given.
pub async fn versions(State(service): Shared, RawQuery(query): RawQuery) -> Response<Body> {
    let (os, software) =
        (parameter(query.as_deref(), "current_os_version"), parameter(query.as_deref(), "current_sw_version"));
    respond(dataset::versions(&service.store).map_err(|error| stored(&error)).map(|versions| {
        let following =
            versions.into_iter().filter(|version| version.follows(&os, &software)).map(|version| version.version);
        json!({"sw_versions": following.collect::<Vec<_>>()})
    }))
}

/// One version in the shape of the list, or 404.
pub async fn version(State(service): Shared, Path((_, name)): Path<(String, String)>) -> Response<Body> {
    let found = dataset::versions(&service.store).map_err(|error| stored(&error)).and_then(|versions| {
        let known = versions.iter().any(|version| version.version == name);
        known.then(|| json!({"sw_versions": [name]})).ok_or_else(|| absent(&format!("software version {name}")))
    });
    respond(found)
}

/// The upgrade status of a site at this moment.
pub async fn upgrade_status(State(service): Shared, Path((namespace, name)): Path<(String, String)>) -> Response<Body> {
    let found = dataset::site(&service.store, &namespace, &name).map_err(|error| stored(&error)).and_then(|site| {
        let site = site.ok_or_else(|| absent(&format!("site {namespace}/{name}")))?;
        Ok(upgrade::status(&site, service.clock.now()))
    });
    respond(found)
}

/// What the reference shows an example of without naming an operation for it.
pub async fn unimplemented(method: Method) -> Response<Body> {
    let message = format!("{method} is not implemented for this resource: the interface names no such operation");
    ErrorResponse::new(Code::Unimplemented, message).into_response()
}

fn list(service: &SandboxState, namespace: &str, filter: &ddos::Filter) -> Answer {
    only_system(namespace)?;
    let events = dataset::ddos_events(&service.store).map_err(|error| stored(&error))?;
    Ok(json!({"events": filter.select(events, service.clock.now())?}))
}

fn event(service: &SandboxState, namespace: &str, id: &str) -> Result<ddos::Event, ErrorResponse> {
    only_system(namespace)?;
    dataset::ddos_event(&service.store, id)
        .map_err(|error| stored(&error))?
        .ok_or_else(|| absent(&format!("event {id}")))
}

/// The schemas say of each of these requests that it is supported in this namespace only.
fn only_system(namespace: &str) -> Result<(), ErrorResponse> {
    if namespace == WHOLE_TENANT {
        return Ok(());
    }
    let message = format!("DDoS events are supported only in namespace `{WHOLE_TENANT}`, not in `{namespace}`");
    Err(ErrorResponse::new(Code::InvalidArgument, message))
}

fn absent(what: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NotFound, format!("no {what}"))
}

fn stored(error: &StoreError) -> ErrorResponse {
    ErrorResponse::new(Code::Internal, error.to_string())
}

fn respond(result: Answer) -> Response<Body> {
    match result {
        Ok(body) => answer(StatusCode::OK, body.to_string()),
        Err(refusal) => refusal.into_response(),
    }
}

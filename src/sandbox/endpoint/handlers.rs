//! The handlers of the five endpoint operations. Each reads its request, has the index do it, waits
//! until that is durable, and tells the log what came of it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;

use super::body::{BodyPath, Message};
use super::draft::{self, Draft, Named};
use super::index::ReferredDelete;
use super::object::{Fields, Object, ReportOptions, ResponseFormat, Statuses, strings};
use crate::sandbox::answer::{Code, ErrorResponse, empty, json};
use crate::sandbox::log::{RequestEffect, Trace};
use crate::sandbox::parameter::parameters;
use crate::sandbox::selector::Selector;
use crate::sandbox::service::SandboxState;

type Shared = State<Arc<SandboxState>>;

pub async fn create(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    let mut trace = Trace::default();
    let draft = draft::parse(&body).and_then(|request| {
        trace.name =
            request.field("metadata").and_then(|metadata| metadata.field("name")?.text()).map(ToOwned::to_owned);
        Draft::read(&request, &service.tenant, &namespace, Named::ByBody)
    });
    let result = match draft {
        Ok(draft) => service.endpoints.settled(service.endpoints.create(draft)).await,
        Err(refusal) => Err(refusal),
    };
    answer(result, trace, |object, trace| {
        trace.effect = RequestEffect::Done;
        trace.version = Some(object.record.version.to_string());
        json(StatusCode::OK, object.created())
    })
}

pub async fn get(
    State(service): Shared,
    Path((namespace, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let format = parameters(query.as_deref())
        .find(|(key, _)| key == "response_format")
        .map_or(Ok(ResponseFormat::Default), |(_, value)| ResponseFormat::parse(&value));
    let result = match format {
        Ok(format) => {
            let found = service.endpoints.settled(service.endpoints.get(&namespace, &name)).await;
            found.map(|object| json(StatusCode::OK, object.got(format)))
        }
        Err(refusal) => Err(refusal),
    };
    result.unwrap_or_else(IntoResponse::into_response)
}

pub async fn list(State(service): Shared, Path(namespace): Path<String>, RawQuery(query): RawQuery) -> Response<Body> {
    let (selector, report) = match asked(query.as_deref()) {
        Ok(asked) => asked,
        Err(refusal) => return refusal.into_response(),
    };
    let objects = match service.endpoints.settled(service.endpoints.list(&namespace)).await {
        Ok(objects) => objects,
        Err(refusal) => return refusal.into_response(),
    };
    let size: usize = objects.iter().map(|object| object.size()).sum();
    let mut body = Vec::with_capacity(size + 32);
    body.extend_from_slice(br#"{"items":["#);
    let start = body.len();
    let chosen = |object: &&Arc<Object>| selector.is_empty() || selector.holds(&strings(&object.record.labels));
    for object in objects.iter().filter(chosen) {
        if body.len() > start {
            body.push(b',');
        }
        object.list(report, &mut body);
    }
    body.extend_from_slice(br#"],"errors":[]}"#);
    json(StatusCode::OK, body)
}

pub async fn replace(
    State(service): Shared,
    Path((namespace, name)): Path<(String, String)>,
    body: Bytes,
) -> Response<Body> {
    let mut trace = Trace::default();
    let read = draft::parse(&body).and_then(|request| {
        let sent = Message::new(&request, BodyPath::root("body"))?.text("resource_version")?;
        trace.version_sent = Some(sent).filter(|sent| !sent.is_empty());
        Draft::read(&request, &service.tenant, &namespace, Named::ByPath(&name))
    });
    let result = match read {
        Ok(draft) => {
            let outcome = service.endpoints.replace(draft, trace.version_sent.as_deref());
            service.endpoints.settled(outcome).await
        }
        Err(refusal) => Err(refusal),
    };
    answer(result, trace, |object, trace| {
        trace.effect = RequestEffect::Done;
        trace.version = Some(object.record.version.to_string());
        empty()
    })
}

/// The gateway reads `fail_if_referred` from the body, which may be empty, and not from the query.
pub async fn delete(
    State(service): Shared,
    Path((namespace, name)): Path<(String, String)>,
    body: Bytes,
) -> Response<Body> {
    let referred = draft::parse(&body).and_then(|request| {
        let message = Message::new(&request, BodyPath::root("body"))?;
        message.text("name")?;
        message.text("namespace")?;
        Ok(if message.boolean("fail_if_referred")? { ReferredDelete::Refused } else { ReferredDelete::Ignored })
    });
    let result = match referred {
        Ok(referred) => {
            let outcome = service.endpoints.delete(&namespace, &name, referred);
            service.endpoints.settled(outcome).await
        }
        Err(refusal) => Err(refusal),
    };
    answer(result, Trace::default(), |object, trace| {
        // A delete of what is going already changes nothing more.
        if object.record.deleted.is_none() {
            trace.effect = RequestEffect::Done;
        }
        trace.version = Some(object.record.version.to_string());
        empty()
    })
}

fn answer<T>(
    result: Result<T, ErrorResponse>,
    mut trace: Trace,
    written: impl FnOnce(T, &mut Trace) -> Response<Body>,
) -> Response<Body> {
    let mut response = match result {
        Ok(value) => written(value, &mut trace),
        Err(refusal) => refusal.into_response(),
    };
    response.extensions_mut().insert(trace);
    response
}

/// What a list asks for. The parameters repeat; an unknown one is ignored, and so is the
/// `response_format` that the reference names for a list.
fn asked(query: Option<&str>) -> Result<(Selector, ReportOptions), ErrorResponse> {
    let mut report = ReportOptions { fields: Fields::Short, status: Statuses::Left };
    let mut selector = Selector::default();
    for (key, value) in parameters(query) {
        match key.as_str() {
            "label_filter" => {
                selector = Selector::parse(&value).map_err(|problem| {
                    let message = format!("label_filter is no label selector: {problem}");
                    ErrorResponse::new(Code::InvalidArgument, message)
                })?;
            }
            "report_fields" => report.fields = Fields::Whole,
            "report_status_fields" if !value.is_empty() => report.status = Statuses::Given,
            _ => {}
        }
    }
    Ok((selector, report))
}

//! The five operations on the objects of a kind. Each reads its request, runs the operation on the
//! index, waits until that is durable, and reports the effect to the log.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get as answer_get};
use futures_util::stream;
use serde_json::Value;

use super::form;
use super::index::ReferredDelete;
use super::kind::{Key, ObjectKind};
use super::record::raw_json;
use super::request;
use super::served::{ListContents, ResponseFormat, ServedObject};
use super::spec::{Reader, Verb, WriteMode};
use crate::kind::Selector;
use crate::sandbox::answer::{Answer, ErrorResponse, empty, json};
use crate::sandbox::log::{RequestEffect, Trace};
use crate::sandbox::message;
use crate::sandbox::parameter::parameters;
use crate::sandbox::{SandboxState, Shared};

type Service = Arc<SandboxState>;

type ItemPath = Path<(String, String)>;
type Mode = Option<Extension<WriteMode>>;
type Write = (Mode, Bytes);

/// The size of a piece of a list, in bytes.
const PIECE: usize = 64 * 1024;

/// The operations on the path of all objects of a kind, and on the path of one object.
pub fn routes(kind: &'static ObjectKind) -> [MethodRouter<Service>; 2] {
    let all = answer_get(move |State(service): Shared, Path(namespace): Path<String>, RawQuery(query): RawQuery| {
        list(service, kind, namespace, query)
    });
    let all = all.post(move |State(service): Shared, Path(namespace): Path<String>, mode: Mode, body: Bytes| {
        create(service, kind, namespace, (mode, body))
    });
    let one = answer_get(move |State(service): Shared, Path(at): ItemPath, RawQuery(query): RawQuery| {
        get(service, kind, at, query)
    });
    let one = one.put(move |State(service): Shared, Path(at): ItemPath, mode: Mode, body: Bytes| {
        replace(service, kind, at, (mode, body))
    });
    let one =
        one.delete(move |State(service): Shared, Path(at): ItemPath, body: Bytes| delete(service, kind, at, body));
    [all, one]
}

/// Creates the object of the body.
async fn create(service: Service, kind: &'static ObjectKind, namespace: String, (mode, body): Write) -> Response<Body> {
    let mut trace = Trace::default();
    let result = async {
        let body = message::parse(&body)?;
        trace.name = body.pointer("/metadata/name").and_then(Value::as_str).map(ToOwned::to_owned);
        let record = request::read(&body, kind, None, reader(&service, Verb::Create, &namespace, mode))?;
        service.objects.create(kind, record).await
    };
    let result = result.await;
    answer(result, trace, |object| json(StatusCode::OK, object.created(service.objects.tenant_json())))
}

/// Answers one object.
async fn get(service: Service, kind: &'static ObjectKind, at: (String, String), query: Option<String>) -> Answer {
    let format = parameters(query.as_deref()).find(|(key, _)| key == "response_format");
    let format = format.map_or(Ok(ResponseFormat::Default), |(_, value)| ResponseFormat::parse(&value))?;
    let object = service.objects.get(key(kind, &at)).await?;
    let referrers = match format {
        ResponseFormat::ReferringObjects => service.objects.referrers(key(kind, &at)).await?,
        _ => Vec::new(),
    };
    let referrers = raw_json(&referrers)?;
    Ok(json(StatusCode::OK, object.got(service.objects.tenant_json(), format, referrers.get())))
}

/// Answers the objects of a namespace.
async fn list(service: Service, kind: &'static ObjectKind, namespace: String, query: Option<String>) -> Answer {
    let (selector, report) = list_options(query.as_deref())?;
    let mut objects = Vec::new();
    for object in service.objects.list(kind, &namespace).await? {
        let labels: BTreeMap<String, String> = if selector.is_empty() { BTreeMap::new() } else { object.labels()? };
        if selector.matches(|key| labels.get(key)) {
            objects.push(object);
        }
    }
    let (begin, end, tenant) = (r#"{"items":["#, r#"],"errors":[]}"#, service.objects.tenant_json().to_owned());
    let items: usize = objects.iter().flat_map(|object| object.listed(&tenant, report)).map(str::len).sum();
    let size = begin.len() + items + objects.len().saturating_sub(1) + end.len();
    // A long list is written while it is sent: clearing new memory for all of it would take longer than writing it.
    let (mut objects, mut left) = (objects.into_iter(), size);
    let pieces = std::iter::from_fn(move || {
        let mut piece = String::with_capacity(PIECE.min(left));
        if left == size {
            piece.push_str(begin);
        }
        while piece.len() < PIECE * 3 / 4
            && let Some(object) = objects.next()
        {
            piece.extend(object.listed(&tenant, report));
            piece.push_str(if objects.len() > 0 { "," } else { "" });
        }
        if objects.len() == 0 && left > 0 {
            piece.push_str(end);
        }
        left -= piece.len();
        (!piece.is_empty()).then_some(Ok::<_, Infallible>(piece))
    });
    let mut response = json(StatusCode::OK, Body::from_stream(stream::iter(pieces)));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    Ok(response)
}

/// Replaces the object of the path.
async fn replace(
    service: Service,
    kind: &'static ObjectKind,
    at: (String, String),
    (mode, body): Write,
) -> Response<Body> {
    let (namespace, name) = &at;
    let mut trace = Trace::default();
    let result = async {
        let body = message::parse(&body)?;
        let sent = message::body(&body)?.at("resource_version").text()?;
        trace.version_sent = Some(sent).filter(|sent| !sent.is_empty());
        let reader = reader(&service, Verb::Replace, namespace, mode);
        let record = request::read(&body, kind, Some(name), reader)?;
        service.objects.replace(kind, record, trace.version_sent.as_deref(), reader.mode).await
    };
    let result = result.await;
    answer(result, trace, |_| empty())
}

/// Deletes the object of the path. The gateway reads `fail_if_referred` only from the body, which may be empty, and not
/// from the query.
async fn delete(service: Service, kind: &'static ObjectKind, at: (String, String), body: Bytes) -> Response<Body> {
    let result = async {
        let referred = message::read(&body, |message| {
            message.at("name").text()?;
            message.at("namespace").text()?;
            let refuses = message.at("fail_if_referred").boolean()?;
            Ok(if refuses { ReferredDelete::Refused } else { ReferredDelete::Ignored })
        })?;
        service.objects.delete(key(kind, &at), referred).await
    };
    answer(result.await, Trace::default(), |_| empty())
}

fn reader<'a>(service: &'a SandboxState, verb: Verb, namespace: &'a str, mode: Mode) -> Reader<'a> {
    let mode = mode.map(|mode| mode.0).unwrap_or_default();
    Reader { verb, tenant: service.objects.tenant(), namespace, mode }
}

fn key<'a>(kind: &'static ObjectKind, (namespace, name): &'a (String, String)) -> Key<'a> {
    Key { kind, namespace, name }
}

/// The answer to a write, with its trace.
fn answer(
    result: Result<Arc<ServedObject>, ErrorResponse>,
    mut trace: Trace,
    body: impl FnOnce(&ServedObject) -> Response<Body>,
) -> Response<Body> {
    let mut response = match result {
        Ok(object) => {
            // Deleting an object that is already being deleted changes nothing.
            if !object.is_deleted() {
                trace.effect = RequestEffect::Done;
            }
            trace.version = Some(object.version.to_string());
            body(&object)
        }
        Err(error) => error.into_response(),
    };
    response.extensions_mut().insert(trace);
    response
}

/// The options of a list. Parameters may repeat; unknown ones are ignored, and so is the `response_format` that the
/// reference names for a list.
fn list_options(query: Option<&str>) -> Result<(Selector, ListContents), ErrorResponse> {
    let (mut selector, mut report) = (Selector::default(), ListContents::default());
    for (key, value) in parameters(query) {
        match key.as_str() {
            "label_filter" => {
                selector = form::selector(&value).map_err(|problem| {
                    ErrorResponse::invalid(format!("label_filter is not a valid label selector: {problem}"))
                })?;
            }
            "report_fields" => report.whole = true,
            "report_status_fields" if !value.is_empty() => report.status = true,
            _ => {}
        }
    }
    Ok((selector, report))
}

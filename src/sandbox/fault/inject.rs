//! Applies the action of a rule to one call: it changes the objects before the call, or the answer
//! after it, or closes the connection.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::rule::{Call, FaultAction, Runs};
use crate::sandbox::answer::{self, Code, ErrorResponse, page};
use crate::sandbox::log::Trace;
use crate::sandbox::object::{Key, ObjectKind, Objects};

/// The bytes of one piece of an endless body.
const CHUNK: usize = 16 * 1024;

/// Marks an answer that must not reach the client: its connection is closed instead.
#[derive(Clone, Debug)]
pub struct Cut;

/// Applies `action` to a call; `run` makes the call itself. `end` is closed at the end of the scenario.
pub async fn inject(
    objects: &Objects,
    call: Call<'_>,
    (action, mut end): (FaultAction, watch::Receiver<()>),
    run: impl Future<Output = Response<Body>> + Send,
) -> Response<Body> {
    // Only objects can be changed and listed by other clients.
    let kind = ObjectKind::of_operation(call.operation);
    let key = kind.map(|kind| Key { kind, namespace: call.namespace, name: call.name });
    match action {
        FaultAction::Status { status, body, retry_after, runs } => {
            instead(runs, run, failure(status, body, retry_after)).await
        }
        FaultAction::Delay { milliseconds } => {
            let _ = tokio::time::timeout(Duration::from_millis(milliseconds), end.changed()).await;
            run.await
        }
        FaultAction::DisconnectBefore => cut(Response::default()),
        FaultAction::DisconnectAfter => cut(run.await),
        FaultAction::Conflict { field, value } => {
            match key {
                // It may exist already, and the call itself refuses a bad name.
                Some(key) if call.operation.ends_with("-create") => drop(objects.forestall(key).await),
                // An absent object cannot be changed.
                Some(key) => drop(objects.interfere(key, &field, &value).await),
                None => {}
            }
            run.await
        }
        FaultAction::Vanish => {
            if let Some(key) = key {
                // It may be absent already.
                drop(objects.drop_now(key).await);
            }
            run.await
        }
        FaultAction::PartialList { missing, code, message } => {
            let message = message.unwrap_or_else(|| format!("{missing} items could not be read"));
            let error = json!({"code": code, "message": message, "error_obj": null});
            let shorten = async |list: &mut Value| {
                if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
                    items.truncate(items.len().saturating_sub(missing));
                    list["errors"] = json!([error]);
                }
            };
            with_body(run.await, shorten).await
        }
        FaultAction::Foreign { namespace } => {
            let widen = async |list: &mut Value| {
                if let (Some(kind), Some(items)) = (kind, list.get_mut("items").and_then(Value::as_array_mut)) {
                    items.extend(objects.items(kind, &namespace).await);
                }
            };
            with_body(run.await, widen).await
        }
        // The handler applies the write mode.
        FaultAction::Write(_) => run.await,
        FaultAction::Shuffle => with_body(run.await, async |body| reverse(body)).await,
        FaultAction::Truncate { bytes } => truncate(run.await, bytes).await,
        FaultAction::Garbage { runs } => {
            instead(runs, run, answer::json(StatusCode::OK, r#"{"items": [{"name": "ep-"#)).await
        }
        FaultAction::Html { runs } => instead(runs, run, page()).await,
        FaultAction::Endless { runs } => {
            let chunk = Bytes::from(vec![b' '; CHUNK]);
            let chunks = stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
            instead(runs, run, answer::json(StatusCode::OK, Body::from_stream(chunks))).await
        }
    }
}

async fn instead(
    runs: Runs,
    run: impl Future<Output = Response<Body>> + Send,
    mut answer: Response<Body>,
) -> Response<Body> {
    if runs == Runs::First
        && let Some(trace) = run.await.extensions_mut().remove::<Trace>()
    {
        answer.extensions_mut().insert(trace);
    }
    answer
}

fn cut(mut answer: Response<Body>) -> Response<Body> {
    answer.extensions_mut().insert(Cut);
    answer
}

/// An error answer; its text is that of the published specification for the status.
fn failure(status: u16, body: Option<String>, retry_after: Option<u64>) -> Response<Body> {
    let (code, message) = match status {
        400 => (Code::INVALID_ARGUMENT, "the request is invalid"),
        401 => (Code::UNAUTHENTICATED, "operation is not authorized"),
        403 => (Code::PERMISSION_DENIED, "no permission to access resource"),
        404 => (Code::NOT_FOUND, "resource is not found"),
        409 => (Code::ABORTED, "operation on resource is conflicting with current value"),
        429 => (Code::RESOURCE_EXHAUSTED, "rejected as it is happening too frequently"),
        501 => (Code::UNIMPLEMENTED, "not implemented"),
        503 => (Code::UNAVAILABLE, "unavailable temporarily"),
        504 => (Code::DEADLINE_EXCEEDED, "server timed out"),
        _ => (Code::INTERNAL, "server encountered an error in processing API"),
    };
    let mut response = match body {
        Some(body) => answer::json(StatusCode::OK, body),
        None => ErrorResponse::new(code, message).into_response(),
    };
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Reverses every list.
fn reverse(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.reverse();
            items.iter_mut().for_each(reverse);
        }
        Value::Object(entries) => entries.values_mut().for_each(reverse),
        _ => {}
    }
}

/// The whole body, which is in memory.
async fn whole(body: Body) -> Bytes {
    axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default()
}

/// The answer with its JSON body changed; a body that is not JSON stays unchanged.
async fn with_body(response: Response<Body>, change: impl AsyncFnOnce(&mut Value)) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let body = whole(body).await;
    let Ok(mut list) = serde_json::from_slice::<Value>(&body) else {
        return Response::from_parts(parts, body.into());
    };
    change(&mut list).await;
    let mut changed = answer::json(parts.status, list.to_string());
    *changed.extensions_mut() = parts.extensions;
    changed
}

async fn truncate(response: Response<Body>, bytes: Option<usize>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = whole(body).await;
    let part = body.slice(..bytes.unwrap_or(body.len() / 2).min(body.len()));
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let chunks = stream::unfold(Some(part), |part| async move {
        match part {
            Some(part) => Some((Ok(part), None)),
            None => {
                // The server writes only while the body is not ready: an immediate error would lose even the header.
                tokio::task::yield_now().await;
                Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), None))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(chunks))
}

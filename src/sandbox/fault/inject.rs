//! Carries out what a rule demands of one call.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures_util::stream;
use serde_json::{Value, json};

use super::{Call, FaultAction, Runs};
use crate::sandbox::answer;
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::log::Trace;
use crate::sandbox::router::page;
use crate::sandbox::service::SandboxState;

/// A part of an endless body.
const CHUNK: usize = 16 * 1024;

/// What is left of a call.
#[derive(Debug)]
pub enum Injected {
    Answered(Response<Body>),
    /// No answer: the connection is to be cut. The trace tells what was done before.
    Cut(Trace),
}

/// Does to a call what `action` says; `run` does the call itself.
pub async fn inject(
    service: &SandboxState,
    call: Call<'_>,
    action: FaultAction,
    run: impl Future<Output = Response<Body>> + Send,
) -> Injected {
    match action {
        FaultAction::Status { status, body, retry_after, runs } => {
            instead(runs, run, failure(status, body, retry_after)).await
        }
        FaultAction::Delay { milliseconds } => {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Injected::Answered(run.await)
        }
        FaultAction::DisconnectBefore => Injected::Cut(Trace::default()),
        FaultAction::DisconnectAfter => {
            let mut response = run.await;
            Injected::Cut(response.extensions_mut().remove().unwrap_or_default())
        }
        FaultAction::Conflict { field, value } => {
            if call.operation == "endpoint-create" {
                // Already there is as good, and a bad name is for the call itself to refuse.
                let _ = service.endpoints.forestall(call.namespace, call.name).await;
            } else {
                // What is not there cannot be changed by anybody.
                let _ = service.endpoints.interfere(call.namespace, call.name, (&field, &value)).await;
            }
            Injected::Answered(run.await)
        }
        FaultAction::Vanish => {
            let gone = service.endpoints.drop_now(call.namespace, call.name);
            // When it was not there, nothing stands in the way of the call.
            let _ = service.endpoints.settled(gone).await;
            Injected::Answered(run.await)
        }
        FaultAction::PartialList { missing, code, message } => {
            let error = json!({"code": code, "message": message, "error_obj": null});
            Injected::Answered(shorten_list(run.await, missing, error).await)
        }
        FaultAction::Foreign { namespace } => Injected::Answered(widen_list(service, run.await, &namespace).await),
        FaultAction::Truncate { bytes } => Injected::Answered(truncate(run.await, bytes).await),
        FaultAction::Garbage { runs } => {
            instead(runs, run, answer::json(StatusCode::OK, r#"{"items": [{"name": "ep-"#)).await
        }
        FaultAction::Html { runs } => instead(runs, run, page(StatusCode::OK)).await,
        FaultAction::Endless { runs } => {
            let chunk = Bytes::from(vec![b' '; CHUNK]);
            let chunks = stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
            instead(runs, run, answer::json(StatusCode::OK, Body::from_stream(chunks))).await
        }
    }
}

async fn instead(runs: Runs, run: impl Future<Output = Response<Body>> + Send, mut answer: Response<Body>) -> Injected {
    if runs == Runs::First
        && let Some(trace) = run.await.extensions_mut().remove::<Trace>()
    {
        answer.extensions_mut().insert(trace);
    }
    Injected::Answered(answer)
}

/// An error answer; its text is that of the published specification for the status.
fn failure(status: u16, body: Option<String>, retry_after: Option<u64>) -> Response<Body> {
    let (code, message) = match status {
        400 => (Code::InvalidArgument, "the request is invalid"),
        401 => (Code::Unauthenticated, "operation is not authorized"),
        403 => (Code::PermissionDenied, "no permission to access resource"),
        404 => (Code::NotFound, "resource is not found"),
        409 => (Code::Aborted, "operation on resource is conflicting with current value"),
        429 => (Code::ResourceExhausted, "rejected as it is happening too frequently"),
        501 => (Code::Unimplemented, "not implemented"),
        503 => (Code::Unavailable, "unavailable temporarily"),
        504 => (Code::DeadlineExceeded, "server timed out"),
        _ => (Code::Internal, "server encountered an error in processing API"),
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

/// The whole body, which is one of ours and therefore in memory.
async fn whole(body: Body) -> Bytes {
    axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default()
}

async fn widen_list(service: &SandboxState, response: Response<Body>, namespace: &str) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let body = whole(body).await;
    let Ok(mut list) = serde_json::from_slice::<Value>(&body) else {
        return Response::from_parts(parts, body.into());
    };
    if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
        items.extend(service.endpoints.items(namespace).await);
    }
    let mut widened = answer::json(parts.status, list.to_string());
    *widened.extensions_mut() = parts.extensions;
    widened
}

async fn shorten_list(response: Response<Body>, missing: usize, error: Value) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let body = whole(body).await;
    let Ok(mut list) = serde_json::from_slice::<Value>(&body) else {
        return Response::from_parts(parts, body.into());
    };
    if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
        items.truncate(items.len().saturating_sub(missing));
        list["errors"] = json!([error]);
    }
    let mut shortened = answer::json(parts.status, list.to_string());
    *shortened.extensions_mut() = parts.extensions;
    shortened
}

async fn truncate(response: Response<Body>, bytes: Option<usize>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = whole(body).await;
    let kept = body.slice(..bytes.unwrap_or(body.len() / 2).min(body.len()));
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let chunks = stream::unfold(Some(kept), |kept| async move {
        match kept {
            Some(kept) => Some((Ok(kept), None)),
            None => {
                // The server writes what it has while the body is not ready; an error that came at
                // once would take even the header with it.
                tokio::task::yield_now().await;
                Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), None))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(chunks))
}

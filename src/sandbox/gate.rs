//! The steps before and after every handler: the token, the scenario's faults, and the log.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest as _, MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, Response, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use serde_json::Value;

use super::answer::{Answer, Code, ErrorResponse};
use super::fault::{Call, Cut, FaultAction, inject};
use super::log::{LogEntry, Trace};
use super::server::Disconnect;
use super::timestamp::written;
use super::{SandboxState, Shared, operation};

/// The gate of the service's own paths.
pub async fn pass(State(service): Shared, parameters: RawPathParams, request: Request, next: Next) -> Response<Body> {
    let entry = entry(&service, &parameters, &request);
    let disconnect = request.extensions().get::<Disconnect>().cloned().unwrap_or_default();
    let answered = if request.method() == Method::GET {
        answer(service, entry, request, next).await
    } else {
        // A write continues without its client, and the log reports it.
        let answering = tokio::spawn(Box::pin(answer(service, entry, request, next)));
        match answering.await {
            Ok(answered) => answered,
            Err(_) => Some(ErrorResponse::internal("the handler failed").into_response()),
        }
    };
    match answered {
        Some(response) => response,
        None => match disconnect.now().await {},
    }
}

/// The answer, or `None` if the connection is to be closed. Both are logged.
async fn answer(
    service: Arc<SandboxState>,
    mut entry: LogEntry,
    request: Request,
    next: Next,
) -> Option<Response<Body>> {
    let mut response = match admit(&service, request.headers()) {
        // The router would treat it as a GET.
        Ok(()) if request.method() == Method::HEAD && request.uri().path().starts_with("/api/") => {
            ErrorResponse::new(Code::UNIMPLEMENTED, "Not Implemented").into_response()
        }
        Ok(()) => with_faults(&service, &mut entry, request, next).await,
        Err(error) => error.into_response(),
    };
    let trace = response.extensions_mut().remove::<Trace>().unwrap_or_default();
    let response = if response.extensions().get::<Cut>().is_some() { None } else { Some(response) };
    entry.name = trace.name.unwrap_or(entry.name);
    entry.version_sent = trace.version_sent;
    entry.version = trace.version;
    entry.effect = trace.effect;
    entry.status = response.as_ref().map(|response| response.status().as_u16());
    service.log.add(entry);
    response
}

async fn with_faults(service: &SandboxState, entry: &mut LogEntry, request: Request, next: Next) -> Response<Body> {
    let mut request = if entry.name.is_empty() && request.method() == Method::POST && service.faults.needs_names() {
        match named(request, &mut entry.name).await {
            Ok(request) => request,
            Err(error) => return error.into_response(),
        }
    } else {
        request
    };
    let call = Call { operation: entry.operation, namespace: &entry.namespace, name: &entry.name };
    let picked = service.faults.pick(call);
    if let Some((FaultAction::Write(mode), _)) = &picked {
        request.extensions_mut().insert(*mode);
    }
    let run = next.run(request);
    match picked {
        None => run.await,
        Some(picked) => {
            entry.fault = Some(picked.0.name());
            inject(&service.objects, call, picked, run).await
        }
    }
}

/// Reads the name of the object from the body, and returns the request with its body.
async fn named(request: Request, name: &mut String) -> Result<Request, BytesRejection> {
    let (parts, body) = request.into_parts();
    let body = Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await?;
    let object = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    if let Some(found) = object.pointer("/metadata/name").and_then(Value::as_str) {
        found.clone_into(name);
    }
    Ok(Request::from_parts(parts, body.into()))
}

/// The gate of the sandbox's own paths, which have neither log nor faults.
pub async fn pass_admin(State(service): Shared, request: Request, next: Next) -> Answer {
    admit(&service, request.headers())?;
    Ok(next.run(request).await)
}

fn entry(service: &SandboxState, parameters: &RawPathParams, request: &Request) -> LogEntry {
    let parameter = |wanted: &str| {
        parameters.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let matched = request.extensions().get::<MatchedPath>();
    let sent = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    LogEntry {
        time: written(service.clock.now()),
        method: request.method().to_string(),
        path: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
        operation: matched.and_then(|path| operation::name(request.method(), path.as_str())).unwrap_or_default(),
        namespace: parameter("namespace"),
        name: parameter("name"),
        request_id: sent("x-request-id"),
        traceparent: sent("traceparent"),
        tracestate: sent("tracestate"),
        ..LogEntry::default()
    }
}

/// The service's body of a 401 is unknown; this one only says what is wrong.
fn admit(service: &SandboxState, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"APIToken "));
    if given.is_some_and(|given| service.token.admits(given)) {
        return Ok(());
    }
    let message = "operation is not authorized: the header `Authorization: APIToken <token>` is missing or wrong";
    Err(ErrorResponse::new(Code::UNAUTHENTICATED, message))
}

//! The one place where the areas of the service come together: every area brings its table of
//! operations and its routes, and all of them stand behind the same gate. Both path layouts are
//! served at the same time.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;

use super::answer::{Code, ErrorResponse};
use super::service::SandboxState;
use super::{admin, endpoint, gate, query};

/// The service's own limit is not known.
pub const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// A name for a method on a path, as scenarios and the log write it.
#[derive(Debug)]
pub struct Operation {
    pub name: &'static str,
    pub method: Method,
    /// The path as the router matches it, with `{namespace}` and `{name}`.
    pub path: &'static str,
}

/// The tables of all areas.
const AREAS: [&[Operation]; 2] = [endpoint::OPERATIONS, query::OPERATIONS];

/// The name of what `method` does on a matched path.
pub fn operation(method: &Method, matched: &str) -> Option<&'static str> {
    AREAS
        .iter()
        .flat_map(|area| area.iter())
        .find(|operation| operation.method == *method && operation.path == matched)
        .map(|operation| operation.name)
}

/// The names of all operations.
pub fn operations() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<_> = AREAS.iter().flat_map(|area| area.iter()).map(|operation| operation.name).collect();
    // An operation has a path in each layout; they stand next to each other.
    names.dedup();
    names.into_iter()
}

/// The whole service.
pub fn router(service: Arc<SandboxState>) -> Router {
    Router::new()
        .merge(endpoint::router())
        .merge(query::router())
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(from_fn_with_state(Arc::clone(&service), gate::pass))
        .merge(admin::router(&service))
        .with_state(service)
}

/// Under `/api` the gateway finds no group for the path; anything else is answered by the console's
/// web page, which is what a base URL without `/api` gets.
async fn unknown(method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path();
    if path == "/api" || path.starts_with("/api/") {
        let message = format!("API Group could not be determined for Method: {method} Path: {path}");
        return ErrorResponse::new(Code::NotFound, message).into_response();
    }
    page(StatusCode::OK)
}

/// The console's web page.
pub fn page(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(
        "<!doctype html>\n<html><head><title>Console</title></head><body>Sign in</body></html>\n",
    ));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

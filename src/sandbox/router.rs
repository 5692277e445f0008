//! The routes of the service in both path layouts, all behind the same gate, and of the sandbox's own
//! paths.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Response, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use super::answer::{Code, ErrorResponse, LARGEST_BODY, page};
use super::object::{self, ObjectKind};
use super::operation as path;
use super::query::{handlers, security};
use super::state::SandboxState;
use super::{admin, gate};

/// The whole service.
pub fn router(service: Arc<SandboxState>) -> Router {
    ObjectKind::all()
        .flat_map(|kind| kind.paths.iter().zip(object::handlers::routes(kind)))
        .fold(Router::new(), |router, (path, operations)| router.route(path, operations))
        .route(path::EVENTS, get(handlers::list_by_parameters).post(security::query_or_scroll).delete(missing))
        .route(path::EVENT, get(handlers::show).put(handlers::edit).post(missing).delete(missing))
        .route(path::VERSIONS, get(handlers::versions).post(missing).delete(missing))
        .route(path::VERSION, get(handlers::version).post(missing).delete(missing))
        .route(path::STATUSES, axum::routing::any(missing))
        .route(path::STATUS, get(handlers::upgrade_status).post(missing).delete(missing))
        .route(path::PUBLISHED_QUERY, post(security::query))
        .route(path::PUBLISHED_AGGREGATION, post(security::aggregate))
        .route(path::PUBLISHED_SCROLL, get(security::scroll_by_parameter).post(security::scroll))
        .route(path::PUBLISHED_QUERY_ALL, post(security::query_all))
        .route(path::PUBLISHED_AGGREGATION_ALL, post(security::aggregate_all))
        .route(path::PUBLISHED_EVENTS, post(handlers::list_by_body))
        .route(path::PUBLISHED_EVENT, get(handlers::show).put(handlers::edit))
        .route(path::PUBLISHED_ATTACHMENTS, get(handlers::attachments))
        .route(path::PUBLISHED_VERSIONS, get(handlers::versions))
        .route(path::PUBLISHED_STATUS, get(handlers::upgrade_status))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(from_fn_with_state(Arc::clone(&service), gate::pass))
        .merge(admin::router(&service))
        .with_state(service)
}

/// The reference shows an example of such a request without naming an operation for it.
async fn missing(method: Method) -> ErrorResponse {
    let message = format!("{method} is not implemented for this resource: the interface names no such operation");
    ErrorResponse::new(Code::UNIMPLEMENTED, message)
}

/// Under `/api` the gateway finds no group for the path; the console's web page answers anything else,
/// such as a base URL without `/api`.
async fn unknown(method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path();
    if path == "/api" || path.starts_with("/api/") {
        let message = format!("API Group could not be determined for Method: {method} Path: {path}");
        return ErrorResponse::new(Code::NOT_FOUND, message).into_response();
    }
    page()
}

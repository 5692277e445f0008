//! The routes of the service in both path layouts, all behind the same gate, and those of the sandbox's own paths.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Response, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{any, delete, post};

use super::answer::{Code, ErrorResponse, LARGEST_BODY, page};
use super::object::{self, ObjectKind};
use super::{SandboxState, admin, gate, operation};

/// The whole service.
pub fn router(service: Arc<SandboxState>) -> Router {
    let of_kinds = ObjectKind::all().flat_map(|kind| kind.paths.iter().zip(object::handlers::routes(kind)));
    let of_kinds = of_kinds.map(|(path, operations)| (path.as_str(), operations));
    let others = operation::all().into_iter().map(|(_, _, path, operation)| (path, operation));
    let examples = [operation::EVENT, operation::VERSIONS, operation::VERSION, operation::STATUS];
    let examples = examples.map(|path| (path, post(missing).delete(missing)));
    let routes = of_kinds.chain(others).chain(examples);
    let router = routes.fold(Router::new(), |router, (path, operations)| router.route(path, operations));
    router
        .route(operation::EVENTS, delete(missing))
        .route(operation::STATUSES, any(missing))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(from_fn_with_state(Arc::clone(&service), gate::pass))
        .merge(admin::router(&service))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(service)
}

/// The reference shows an example of such a request without naming an operation for it.
async fn missing(method: Method) -> ErrorResponse {
    let message = format!("{method} is not implemented for this resource: the interface has no such operation");
    ErrorResponse::new(Code::UNIMPLEMENTED, message)
}

/// Below `/api` the gateway finds no group for the path. Any other path, such as one without `/api`, gets the console's
/// web page.
async fn unknown(method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path();
    if path == "/api" || path.starts_with("/api/") {
        let message = format!("API Group could not be determined for Method: {method} Path: {path}");
        return ErrorResponse::new(Code::NOT_FOUND, message).into_response();
    }
    page()
}

//! The answers to requests: JSON bodies, and the error body of the service. The service is behind a gRPC gateway, so an
//! error has a gRPC code, which decides the HTTP status, and `details` whose entries have a `type_url` and a `value`.

use std::fmt;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::store::StoreError;

/// The most bytes of a request's body. The service's own limit is unknown.
pub const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// A gRPC code: the number in the body's `code`, and the status that grpc-gateway v1 maps it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(u8, StatusCode);

impl Code {
    pub const INVALID_ARGUMENT: Self = Self(3, StatusCode::BAD_REQUEST);
    pub const DEADLINE_EXCEEDED: Self = Self(4, StatusCode::GATEWAY_TIMEOUT);
    pub const NOT_FOUND: Self = Self(5, StatusCode::NOT_FOUND);
    pub const ALREADY_EXISTS: Self = Self(6, StatusCode::CONFLICT);
    pub const PERMISSION_DENIED: Self = Self(7, StatusCode::FORBIDDEN);
    pub const RESOURCE_EXHAUSTED: Self = Self(8, StatusCode::TOO_MANY_REQUESTS);
    pub const FAILED_PRECONDITION: Self = Self(9, StatusCode::BAD_REQUEST);
    pub const ABORTED: Self = Self(10, StatusCode::CONFLICT);
    pub const UNIMPLEMENTED: Self = Self(12, StatusCode::NOT_IMPLEMENTED);
    pub const INTERNAL: Self = Self(13, StatusCode::INTERNAL_SERVER_ERROR);
    pub const UNAVAILABLE: Self = Self(14, StatusCode::SERVICE_UNAVAILABLE);
    pub const UNAUTHENTICATED: Self = Self(16, StatusCode::UNAUTHORIZED);
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    code: Code,
    message: String,
    detail: Option<String>,
}

impl ErrorResponse {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None }
    }

    /// A request that is not valid.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self::new(Code::INVALID_ARGUMENT, message.to_string())
    }

    /// A fault of the sandbox.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::new(Code::INTERNAL, error.to_string())
    }

    /// Adds the entry in `details` that names the stage of the server at which the request failed.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<StoreError> for ErrorResponse {
    fn from(error: StoreError) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response<Body> {
        let Code(code, status) = self.code;
        let detail = self
            .detail
            .map(|detail| json!({"type_url": "type.googleapis.com/ves.io.stdlib.server.error.Error", "value": detail}));
        let body = json!({"code": code, "details": Vec::from_iter(detail), "message": self.message});
        json(status, body.to_string())
    }
}

/// An answer whose body is already JSON text.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The result of a handler.
pub type Answer = Result<Response<Body>, ErrorResponse>;

/// A 200 with this body.
pub fn ok(body: &Value) -> Response<Body> {
    json(StatusCode::OK, body.to_string())
}

/// The empty message, the answer to a replace or a delete.
pub fn empty() -> Response<Body> {
    json(StatusCode::OK, "{}")
}

/// The console's web page.
pub fn page() -> Response<Body> {
    let text = "<!doctype html>\n<html><head><title>Console</title></head><body>Sign in</body></html>\n";
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

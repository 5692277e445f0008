//! What a request is answered with: JSON bodies, and the error body of the service. The service
//! stands behind a gRPC gateway, so an error has a gRPC code of which the HTTP status follows, and
//! `details` whose entries hold `type_url` and `value`.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

/// The gRPC codes that the sandbox answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    Unimplemented,
    Internal,
    Unavailable,
    Unauthenticated,
}

impl Code {
    /// The number in the body's `code`.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::InvalidArgument => 3,
            Self::DeadlineExceeded => 4,
            Self::NotFound => 5,
            Self::AlreadyExists => 6,
            Self::PermissionDenied => 7,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Aborted => 10,
            Self::Unimplemented => 12,
            Self::Internal => 13,
            Self::Unavailable => 14,
            Self::Unauthenticated => 16,
        }
    }

    /// The status that grpc-gateway v1 maps the code to.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidArgument | Self::FailedPrecondition => StatusCode::BAD_REQUEST,
            Self::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::AlreadyExists | Self::Aborted => StatusCode::CONFLICT,
            Self::PermissionDenied => StatusCode::FORBIDDEN,
            Self::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
        }
    }
}

/// A request that was not done, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    code: Code,
    message: String,
    detail: Option<String>,
    retry_after: Option<u64>,
}

impl ErrorResponse {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, retry_after: None }
    }

    /// Adds the entry in `details` that tells at which stage of the server the request failed.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a `Retry-After` header, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response<Body> {
        let details: Vec<_> = self
            .detail
            .iter()
            .map(|detail| {
                json!({
                    "type_url": "type.googleapis.com/ves.io.stdlib.server.error.Error",
                    "value": detail,
                })
            })
            .collect();
        let body = json!({
            "code": self.code.number(),
            "details": details,
            "message": self.message,
        });
        let mut response = json(self.code.status(), body.to_string());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// An answer whose body is JSON text already.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The empty message, which replace and delete answer with.
pub fn empty() -> Response<Body> {
    json(StatusCode::OK, "{}")
}

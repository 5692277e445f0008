//! A request as a line of the log that `--log json` writes: what was sent, when, how it ended and by which id it is
//! found. It holds no header, no body and no text of the service.

use schemars::JsonSchema;
use serde::Serialize;

use super::json as documents;
use super::line_source::LineSource;
use crate::api::Exchange;

/// The kind of the line.
pub const KIND: &str = "request";

/// One request.
#[derive(Serialize, JsonSchema)]
pub struct RequestLine<'a> {
    /// When it ended.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    /// The HTTP method.
    method: &'a str,
    /// Path and query.
    path: &'a str,
    /// The operation, as `trueup call --list` names it.
    operation: &'a str,
    /// The HTTP status; null where there was no answer.
    status: Option<u16>,
    /// Why there was no good answer: `status`, `timed_out`, `no_connection` and the like.
    failure: Option<&'a str>,
    /// 1 for the first time that the request was sent.
    attempt: u32,
    /// How long it took.
    duration_ms: u64,
    /// How long it waited before it was sent: for the rate limit, or after a failure.
    waited_ms: u64,
    /// The `x-request-id` that it was sent with.
    request_id: &'a str,
    /// The stack that it was sent for.
    #[serde(flatten)]
    source: &'a LineSource,
}

/// The line of an exchange for a stack that ended at `time`.
#[must_use]
pub fn line(exchange: &Exchange<'_>, source: &LineSource, time: jiff::Timestamp) -> String {
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let line = RequestLine {
        time: time.to_string(),
        method: exchange.method.as_str(),
        path: &exchange.path_and_query.to_string(),
        operation: exchange.operation.entry().name,
        status: exchange.status,
        failure: exchange.failure,
        attempt: exchange.attempt,
        duration_ms: milliseconds(exchange.took),
        waited_ms: milliseconds(exchange.waited),
        request_id: exchange.request_id,
        source,
    };
    documents::line(KIND, line)
}

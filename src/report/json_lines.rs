//! What happens as lines of JSON for programs, each with its time and its stack: the requests of a log, and the events of a
//! run.

use std::time::Duration;

use crate::api::{Exchange, Retry};
use crate::report::prelude::*;
use crate::run::RunEvent;

/// Of which stack a line is, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LineSource {
    /// The directory of the stack, as the call named it; only where the command is about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The environment of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// The kind of a line of a log.
pub const REQUEST: &str = "request";

/// A request as a line of the log that `--log json` writes: what was sent, when, how it ended and by which id it is
/// found. It contains no header, no body and no text of the service.
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
    /// Why there was no good answer: `status`, `timed_out`, `no_connection` and the like. What the body of an answer says
    /// is judged later.
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
pub fn request(exchange: &Exchange<'_>, source: &LineSource, time: Timestamp) -> String {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
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
    document::line(REQUEST, line)
}

/// The kind of a line of a stream.
pub const RUN_EVENT: &str = "run_event";

/// An event of a run: what `apply --format ndjson` streams before the outcome.
#[derive(Serialize, JsonSchema)]
pub struct RunEventLine<'a> {
    /// When it happened.
    #[schemars(with = "String", extend("format" = "date-time"))]
    time: Timestamp,
    /// What happened.
    #[serde(flatten)]
    event: RunEvent<'a>,
    /// The stack that it is about.
    #[serde(flatten)]
    source: &'a LineSource,
}

/// The line of an event of a stack that happened at `time`.
pub fn event(event: RunEvent<'_>, source: &LineSource, time: Timestamp) -> String {
    document::line(RUN_EVENT, RunEventLine { time, event, source })
}

/// The line of a request that the client sends again.
pub fn waiting(retry: &Retry, source: &LineSource, time: Timestamp) -> String {
    let waiting = RunEvent::Waiting { key: None, attempt: retry.number, reason: &retry.reason, wait: retry.after };
    event(waiting, source, time)
}

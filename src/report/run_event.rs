//! A run in progress as lines of JSON, one for each event, with its time: what `apply --format ndjson` streams
//! before the outcome.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::json as documents;
use super::line_source::LineSource;
use crate::api::Retry;
use crate::run::RunEvent;

/// The kind of the lines.
pub const KIND: &str = "run_event";

/// An event of a run.
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
#[must_use]
pub fn line(event: RunEvent<'_>, source: &LineSource, time: Timestamp) -> String {
    documents::line(KIND, RunEventLine { time, event, source })
}

/// The line of a request that the client sends again.
#[must_use]
pub fn waiting(retry: &Retry, source: &LineSource, time: Timestamp) -> String {
    let event = RunEvent::Waiting { key: None, attempt: retry.number, reason: &retry.reason, wait: retry.after };
    line(event, source, time)
}

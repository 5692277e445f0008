//! A run in progress as lines of JSON, one for each event, with its time: what `apply --format ndjson` streams
//! before the outcome.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::json as documents;
use super::line_source::LineSource;
use crate::api::Retry;
use crate::model::{Key, RunId};
use crate::plan::ActionKind;
use crate::run::{ChangeResult, RunEvent};

/// The kind of the lines.
pub const KIND: &str = "run_event";

/// An event of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunEventLine<'a> {
    /// When it happened.
    #[schemars(with = "String", extend("format" = "date-time"))]
    time: Timestamp,
    /// What happened.
    event: EventName,
    /// The run; only where it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    /// The endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a Key>,
    /// What is done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<ActionKind>,
    /// The phase: `create`, `replace` (with annotates) or `delete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<ActionKind>,
    /// Changes of the run or the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// The try, from 1; of a verification, the read.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// For how long the run waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The result of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a ChangeResult>,
    /// How long the run worked on the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// The `x-request-id` of each request that is meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requests: Vec<&'a str>,
    /// The stack that it is about.
    #[serde(flatten)]
    source: &'a LineSource,
}

/// The events.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EventName {
    /// The run begins.
    Started,
    /// A phase begins.
    Phase,
    /// A write leaves, its intent being recorded.
    Sending,
    /// A request is sent again after a wait.
    Waiting,
    /// A change has its result.
    Finished,
    /// What was applied is read again.
    Verifying,
}

impl<'a> RunEventLine<'a> {
    fn new(time: Timestamp, event: EventName, source: &'a LineSource) -> Self {
        Self {
            time,
            event,
            run: None,
            key: None,
            action: None,
            phase: None,
            count: None,
            attempt: None,
            wait_ms: None,
            reason: None,
            result: None,
            duration_ms: None,
            requests: Vec::new(),
            source,
        }
    }
}

/// The line of an event of a stack that happened at `time`.
#[must_use]
pub fn line(event: RunEvent<'_>, source: &LineSource, time: Timestamp) -> String {
    let new = |name| RunEventLine::new(time, name, source);
    let line = match event {
        RunEvent::Started { run, total } => {
            RunEventLine { run: Some(run), count: Some(total), ..new(EventName::Started) }
        }
        RunEvent::Phase { kind, count } => {
            RunEventLine { phase: Some(kind), count: Some(count), ..new(EventName::Phase) }
        }
        RunEvent::Sending { key, action, attempt, request_id } => RunEventLine {
            key: Some(key),
            action: Some(action),
            attempt: Some(attempt),
            requests: request_id.into_iter().collect(),
            ..new(EventName::Sending)
        },
        RunEvent::Waiting { key, attempt, reason, wait } => RunEventLine {
            key: Some(key),
            attempt: Some(attempt),
            reason: Some(reason),
            wait_ms: Some(milliseconds(wait)),
            ..new(EventName::Waiting)
        },
        RunEvent::Finished { step, took } => RunEventLine {
            key: Some(&step.key),
            action: Some(step.action),
            result: Some(&step.result),
            duration_ms: Some(milliseconds(took)),
            requests: step.requests.iter().map(String::as_str).collect(),
            ..new(EventName::Finished)
        },
        RunEvent::Verifying { read } => RunEventLine { attempt: Some(read), ..new(EventName::Verifying) },
    };
    documents::line(KIND, line)
}

/// The line of a request that the client sends again.
#[must_use]
pub fn waiting(retry: &Retry, source: &LineSource, time: Timestamp) -> String {
    let line = RunEventLine {
        attempt: Some(retry.number),
        reason: Some(&retry.reason),
        wait_ms: Some(milliseconds(retry.after)),
        ..RunEventLine::new(time, EventName::Waiting, source)
    };
    documents::line(KIND, line)
}

fn milliseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

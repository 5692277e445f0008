//! The two interfaces of a run in progress: an observer receives its events, and a recorder stores its intents and
//! results. The applier knows the journal and the reports only through these.

use std::future::Future;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{ChangeStep, Intent, RunClosing};
use crate::model::{Key, RunId};
use crate::plan::ActionKind;

/// An event of a run in progress; with its time, a line of `apply --format ndjson`.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent<'r> {
    /// A run begins.
    Started {
        /// The run.
        run: &'r RunId,
        /// Changes that no earlier run has made.
        #[serde(rename = "count")]
        total: usize,
    },
    /// A phase begins: creates, replaces and annotates, deletes.
    Phase {
        /// The kind; `replace` includes annotates.
        #[serde(rename = "phase")]
        kind: ActionKind,
        /// The number of its changes.
        count: usize,
    },
    /// A write is sent; its intent is recorded.
    Sending {
        /// The object.
        key: &'r Key,
        /// Create, replace, annotate or delete.
        action: ActionKind,
        /// The number of the try, from 1.
        attempt: u32,
        /// The `x-request-id` of the request.
        #[serde(rename = "requests")]
        request_id: [&'r str; 1],
    },
    /// A request will be sent again, or waits for the rate limit.
    Waiting {
        /// The object, if the request is about one.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'r Key>,
        /// Tries so far.
        attempt: u32,
        /// Why, as a fragment.
        reason: &'r str,
        /// The length of the wait.
        #[serde(rename = "wait_ms", serialize_with = "milliseconds")]
        #[schemars(with = "u64")]
        wait: Duration,
    },
    /// One change has its result.
    Finished {
        /// The change with its result.
        #[serde(flatten)]
        step: &'r ChangeStep,
        /// The time since its phase began to work on it.
        #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
        #[schemars(with = "u64")]
        took: Duration,
    },
    /// The verification reads the applied objects.
    Verifying {
        /// The number of the read, from 1.
        #[serde(rename = "attempt")]
        read: u32,
    },
}

fn milliseconds<S: Serializer>(time: &Duration, into: S) -> Result<S::Ok, S::Error> {
    into.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Receives the events of a run in progress.
pub trait RunObserver: Sync {
    /// Receives an event as it happens, from any task of the run; must not block.
    fn event(&self, event: RunEvent<'_>);
}

/// How soon an intent has to be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Its write could be sent now.
    Immediate,
    /// Other writes are sent meanwhile.
    Batched,
}

/// Stores a run. The applier awaits an intent before it sends the write.
pub trait RunRecorder: Sync {
    /// An error of the medium.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns when the intent is stored: on disk, or in the bucket. Intents of several tasks may share one flush, and
    /// without urgency an intent may wait a few milliseconds for others.
    fn intent(&self, intent: &Intent, urgency: Urgency) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Whether a write whose intent is stored may be sent now. A recorder whose lock can be lost checks it here,
    /// without waiting.
    ///
    /// # Errors
    /// Why the write may not be sent.
    fn permits(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Stores the result of a change; need not wait for the disk.
    fn outcome(&self, step: &ChangeStep) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Stores the closing line and returns when everything is stored.
    fn close(&self, closing: RunClosing) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

use std::fmt;
use std::future::Future;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ActionKind, BeforeImage, Plan, Referrer};
use crate::model::{APPLIED, Field, Json, Key, ReferredDelete};

/// The id of a run, unique by its time and randomness; it stands in marks and names the journal's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// An id from its text: letters, digits and `-`, at most 96 characters.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.len() <= 96 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a journal keeps of a run before anything is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub started: String,
    /// Who runs it, as the machine says.
    #[serde(default)]
    pub user: Option<String>,
    /// The run that this one resumes.
    #[serde(default)]
    pub resumes: Option<RunId>,
    /// The run that this one rolls back.
    #[serde(default)]
    pub rolls_back: Option<RunId>,
    /// The whole plan.
    pub plan: Plan,
}

/// What a write is about to send. On disk before the write leaves.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// Which endpoint.
    pub key: Key,
    /// Create, replace, mark or delete.
    pub action: ActionKind,
    /// How often this write was tried before.
    pub attempt: u32,
    /// What is sent.
    pub request: WriteRequest,
    /// The object as the GET just before saw it; a create has none.
    #[serde(default)]
    pub before: Option<BeforeImage>,
}

/// The part of a write that is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WriteRequest {
    /// A create with this body.
    Create {
        /// The whole object.
        body: ObjectBody,
    },
    /// A replace with this body, which holds the version it was made for.
    Replace {
        /// The whole object.
        body: ObjectBody,
    },
    /// A delete.
    Delete {
        /// What becomes of it where others refer to the object.
        #[serde(default)]
        referred: ReferredDelete,
    },
}

/// An object on its way to the service. It is written once: the journal keeps the bytes that are sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectBody(Box<RawValue>);

/// Whether and how a write that was done is known to be ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// The service checked the version, and has proved that it does.
    Guarded,
    /// A version was sent; whether this service checks it is not proven.
    Versioned,
    /// No version can be sent: creates and deletes. The service itself refuses a second create.
    Unguarded,
}

/// What became of one change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ChangeResult {
    /// It was made.
    Done {
        /// How safe the write was.
        confirmation: Confirmation,
        /// The answer was lost or odd, and a GET settled it.
        #[serde(default)]
        by_reading: bool,
        /// A create met the same object, which nobody owned, and took ownership of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        adopted: bool,
    },
    /// Live already was as wanted; nothing was sent.
    AlreadyDone,
    /// It was not made: live had moved.
    Conflict(Conflict),
    /// It was not made: others refer to the object.
    Referred {
        /// Who.
        by: Vec<Referrer>,
    },
    /// It was not made: the service refused it, or could not be reached before it was sent.
    Failed {
        /// Why, as a fragment.
        reason: String,
    },
    /// It was sent and nobody knows whether it took effect.
    InDoubt {
        /// Why, as a fragment.
        reason: String,
    },
    /// It was not tried: something before it failed, or the run was interrupted.
    Skipped {
        /// Why, as a fragment.
        reason: String,
    },
}

/// Why a change was refused, field by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// In one fragment: changed by someone else, deleted, re-created, being deleted.
    pub reason: String,
    /// Our own write may have been made and overwritten.
    #[serde(default)]
    pub ours_may_be_lost: bool,
    /// The fields that moved or are wanted.
    pub fields: Vec<ThreeWay>,
}

/// One field, three ways; `null` is absence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreeWay {
    /// Which field.
    pub field: Field,
    /// When the plan was made.
    pub planned: Json,
    /// Now.
    pub now: Json,
    /// What the plan wants.
    pub wanted: Json,
}

/// What a second look at the service found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verification {
    /// No difference is left in what was applied.
    Verified {
        /// Looks that it took.
        reads: u32,
    },
    /// Something still differs.
    Differs {
        /// Endpoints with their fields; no fields where the object is missing or still there.
        left: Vec<(Key, Vec<Field>)>,
    },
    /// A read was incomplete.
    Unknown {
        /// Why.
        reason: String,
    },
    /// Nothing was sent, so there is nothing to prove.
    NotNeeded,
}

/// Everything that became of a run. Complete however the run ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The run.
    pub run: RunId,
    /// Each change of the plan in its order with what became of it.
    pub steps: Vec<ChangeStep>,
    /// The second look.
    pub verification: Verification,
    /// The run was interrupted by a person.
    #[serde(default)]
    pub interrupted: bool,
    /// Endpoints that the service reports as failed, with its words.
    #[serde(default)]
    pub unhealthy: Vec<(Key, String)>,
    /// Requests that were sent.
    pub requests: u64,
    /// Milliseconds that the run took.
    pub milliseconds: u64,
    /// Milliseconds of them that the second look took.
    #[serde(default)]
    pub verify_milliseconds: u64,
}

/// One change with what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeStep {
    /// Which endpoint.
    pub key: Key,
    /// What was to be done.
    pub action: ActionKind,
    /// What became of it.
    pub result: ChangeResult,
}

/// The last line of a run's journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunClosing {
    /// When it ended, RFC 3339.
    pub ended: String,
    /// The second look.
    pub verification: Verification,
    /// The run was interrupted by a person.
    pub interrupted: bool,
}

/// What is told while a run goes on.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// A run begins, with so many changes that no earlier run made.
    Started {
        /// Changes.
        total: usize,
    },
    /// A phase begins: creates, replaces and marks, deletes.
    Phase {
        /// The kind; [`ActionKind::Replace`] stands for marks too.
        kind: ActionKind,
        /// Changes in it.
        count: usize,
    },
    /// A request will be sent again, or is blocked by the pace.
    Waiting {
        /// Of which endpoint.
        key: Key,
        /// Why, as a fragment.
        reason: String,
        /// For how long.
        wait: Duration,
    },
    /// One change has its result.
    Finished {
        /// The change with its result.
        step: ChangeStep,
        /// Since its phase began to work on it.
        took: Duration,
    },
    /// A look for verification, from 1.
    Verifying {
        /// Which look.
        read: u32,
    },
}

/// Who is told about a run while it goes on.
pub trait RunObserver: Sync {
    /// Told as it happens, from any task of the run; must not block.
    fn event(&self, event: RunEvent);
}

/// How soon an intent has to be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Its write could leave now.
    Immediate,
    /// Others are sent meanwhile.
    Batched,
}

/// Who keeps a run. The applier awaits an intent before the write leaves.
pub trait RunRecorder: Sync {
    /// An error of the medium.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns when the intent is on disk. Intents of several tasks may share one flush, and where
    /// there is no urgency, one may wait a few milliseconds for others.
    fn intent(&self, intent: &Intent, urgency: Urgency) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Keeps what became of a change; need not wait for the disk.
    fn outcome(&self, step: &ChangeStep) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Keeps the closing line and returns when all is on disk.
    fn close(&self, closing: RunClosing) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

impl ObjectBody {
    /// The JSON of `object`.
    ///
    /// # Errors
    /// `object` cannot be JSON.
    pub fn of(object: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(object).map(Self)
    }

    /// The JSON.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The object, or the parts of it that `T` has.
    ///
    /// # Errors
    /// It is no `T`.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }
}

impl WriteRequest {
    /// What is sent; a delete has no object.
    #[must_use]
    pub fn body(&self) -> Option<&ObjectBody> {
        match self {
            WriteRequest::Create { body } | WriteRequest::Replace { body } => Some(body),
            WriteRequest::Delete { .. } => None,
        }
    }

    /// The run whose mark the object carries; a chain of resumed runs holds writes of each.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        let body: Json = self.body()?.read().ok()?;
        let mark = body.get("metadata")?.get("annotations")?.get(APPLIED)?.as_str()?;
        RunId::new(mark.split(' ').nth(1)?)
    }
}

impl ChangeResult {
    /// Live is as this change wanted it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, ChangeResult::Done { .. } | ChangeResult::AlreadyDone)
    }

    /// A write took effect, or may have.
    #[must_use]
    pub fn may_have_taken_effect(&self) -> bool {
        matches!(self, ChangeResult::Done { .. } | ChangeResult::InDoubt { .. })
            || matches!(self, ChangeResult::Conflict(conflict) if conflict.ours_may_be_lost)
    }
}

impl Outcome {
    /// Steps with this kind of change that are done.
    #[must_use]
    pub fn done(&self, kind: ActionKind) -> usize {
        self.steps.iter().filter(|step| step.action == kind && step.result.is_done()).count()
    }
}

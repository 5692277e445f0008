//! The result of each change of a run and of the whole run: results, verification, and the outcome, which is complete
//! however the run ended.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Field, Key, RelatedObject, RunId, words};
use crate::plan::{ActionKind, Conflict};

/// How well a write was protected against concurrent writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// The service checked the version, and is known to do so.
    Guarded,
    /// A version was sent, but it is unknown whether this service checks it.
    Versioned,
    /// No version can be sent: creates and deletes. The service itself refuses a second create.
    Unguarded,
}

words!(Confirmation { Guarded = "guarded", Versioned = "versioned", Unguarded = "unguarded" });

/// The result of one change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ChangeResult {
    /// The change was made.
    Done {
        /// How well the write was protected.
        confirmation: Confirmation,
        /// Whether the answer was lost or odd and a GET showed the result.
        #[serde(default)]
        by_reading: bool,
        /// Whether a create found an equal object that no stack owned, and took ownership of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        adopted: bool,
    },
    /// The live object already was as wanted; nothing was sent.
    AlreadyDone,
    /// It was not made: the live object had changed.
    Conflict(Conflict),
    /// It was not made: other objects refer to the object.
    Referred {
        /// The objects that refer to it.
        by: Vec<RelatedObject>,
    },
    /// It was not made: the service refused it, or could not be reached before it was sent.
    Failed {
        /// Why, as a fragment.
        reason: String,
    },
    /// It was sent and it is unknown whether it took effect.
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

/// What the verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verification {
    /// All applied changes are live.
    Verified {
        /// How often the objects were read.
        reads: u32,
    },
    /// Something still differs.
    Differs {
        /// The objects with their fields; without fields if the object is missing or still exists.
        left: Vec<(Key, Vec<Field>)>,
    },
    /// A read was incomplete.
    Unknown {
        /// The reason.
        reason: String,
    },
    /// No change is known to be made, so there is nothing to verify.
    NotNeeded,
}

/// The results of a run, complete however the run ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The run.
    pub run: RunId,
    /// Each change of the plan with its result, in the order of the plan.
    pub steps: Vec<ChangeStep>,
    /// The verification.
    pub verification: Verification,
    /// Whether the user interrupted the run.
    #[serde(default)]
    pub interrupted: bool,
    /// Applied objects that the service reports as failed, with its text.
    #[serde(default)]
    pub unhealthy: Vec<(Key, String)>,
    /// Requests that were sent.
    pub requests: u64,
    /// Milliseconds that the run took.
    pub milliseconds: u64,
    /// Milliseconds that the verification took, part of `milliseconds`.
    #[serde(default)]
    pub verify_milliseconds: u64,
    /// Whether its record was removed, replaced or truncated during the run: it cannot be shown, resumed or rolled back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unrecorded: bool,
}

/// One change with its result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStep {
    /// The object.
    pub key: Key,
    /// The planned action.
    pub action: ActionKind,
    /// Its result.
    pub result: ChangeResult,
    /// When the run began to work on it; absent if an earlier run made it or nothing was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started: Option<Timestamp>,
    /// When its result was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended: Option<Timestamp>,
    /// The `x-request-id` of each of its writes, and of a failed read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
}

impl ChangeStep {
    /// A change with its result, without times and requests.
    pub fn new(key: Key, action: ActionKind, result: ChangeResult) -> Self {
        Self { key, action, result, started: None, ended: None, requests: Vec::new() }
    }
}

impl ChangeResult {
    /// Whether the live object is as this change wanted it.
    pub fn is_done(&self) -> bool {
        matches!(self, ChangeResult::Done { .. } | ChangeResult::AlreadyDone)
    }

    /// Whether another client made what is live now.
    pub fn is_of_another(&self) -> bool {
        matches!(self, ChangeResult::AlreadyDone | ChangeResult::Done { adopted: true, .. })
    }

    /// Whether a write may have taken effect, but it is unknown if it did.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            ChangeResult::InDoubt { .. } => true,
            ChangeResult::Conflict(conflict) => conflict.ours_may_be_lost,
            _ => false,
        }
    }

    /// Whether a write took effect or may have.
    pub fn may_have_taken_effect(&self) -> bool {
        matches!(self, ChangeResult::Done { .. }) || self.is_in_doubt()
    }
}

impl Verification {
    /// Whether no applied change is known or suspected to differ.
    pub fn is_proven(&self) -> bool {
        matches!(self, Verification::Verified { .. } | Verification::NotNeeded)
    }
}

impl Outcome {
    /// Whether every change of the plan is live.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| step.result.is_done())
    }

    /// Whether a change is live, or a write may have taken effect.
    pub fn has_effect(&self) -> bool {
        self.steps.iter().any(|step| step.result.is_done() || step.result.may_have_taken_effect())
    }
}

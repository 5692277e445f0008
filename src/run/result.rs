//! The result of each change of a run, and of the run as a whole: the results, the verification, and the
//! outcome that is complete however the run ended.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Field, Key, RelatedObject, RunId, words};
use crate::plan::{ActionKind, Conflict};

/// Whether and how a write that was done is known to be ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// The service checked the version, and has proved that it does.
    Guarded,
    /// A version was sent; whether this service checks it is not proven.
    Versioned,
    /// No version can be sent: creates and deletes. The service itself refuses a second create.
    Unguarded,
}

words!(Confirmation { Guarded = "guarded", Versioned = "versioned", Unguarded = "unguarded" });

/// The result of one change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ChangeResult {
    /// It was made.
    Done {
        /// How safe the write was.
        confirmation: Confirmation,
        /// The answer was lost or odd, and a GET settled it.
        #[serde(default)]
        by_reading: bool,
        /// A create met the same object, which no stack owned, and took ownership of it.
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
    /// No change is known to be made, so there is nothing to prove.
    NotNeeded,
}

/// The results of a run, complete however the run ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The run.
    pub run: RunId,
    /// Each change of the plan in its order with its result.
    pub steps: Vec<ChangeStep>,
    /// The verification.
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
    /// Milliseconds of them that the verification took.
    #[serde(default)]
    pub verify_milliseconds: u64,
    /// Its record was removed or replaced while it went on: it cannot be shown, resumed or rolled back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unrecorded: bool,
}

/// One change with its result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStep {
    /// Which endpoint.
    pub key: Key,
    /// What was to be done.
    pub action: ActionKind,
    /// Its result.
    pub result: ChangeResult,
    /// When the run began to work on it; nothing where an earlier run had made it, or nothing was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started: Option<Timestamp>,
    /// When it had its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended: Option<Timestamp>,
    /// The `x-request-id` of each write of it, and of the read that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
}

impl ChangeStep {
    /// A change with its result that took no time and no request.
    pub fn new(key: Key, action: ActionKind, result: ChangeResult) -> Self {
        Self { key, action, result, started: None, ended: None, requests: Vec::new() }
    }
}

impl ChangeResult {
    /// Live is as this change wanted it.
    pub fn is_done(&self) -> bool {
        matches!(self, ChangeResult::Done { .. } | ChangeResult::AlreadyDone)
    }

    /// A write may have taken effect, and it is unknown whether it did.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            ChangeResult::InDoubt { .. } => true,
            ChangeResult::Conflict(conflict) => conflict.ours_may_be_lost,
            _ => false,
        }
    }

    /// A write took effect, or may have.
    pub fn may_have_taken_effect(&self) -> bool {
        matches!(self, ChangeResult::Done { .. }) || self.is_in_doubt()
    }
}

impl Verification {
    /// Nothing that was applied is known to differ, and nothing of it is unknown.
    pub fn is_proven(&self) -> bool {
        matches!(self, Verification::Verified { .. } | Verification::NotNeeded)
    }
}

impl Outcome {
    /// Every change of the plan is live.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| step.result.is_done())
    }

    /// Something of it is live: it is as wanted, or a write may have taken effect.
    pub fn has_effect(&self) -> bool {
        self.steps.iter().any(|step| step.result.is_done() || step.result.may_have_taken_effect())
    }
}

//! The document of a run: what was planned, under which settings and policy, who planned, approved and ran it, every
//! change with its result, times and requests, and what the verification found. It contains its own digest, so that an
//! archive or an attestation of a forge can refer to it, and it can be read back from a file.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeProgress, ChangeResult, InForce, RunRecord, RunSummary, Verification};
use crate::model::document::{self, DocumentError, DocumentFormat};
use crate::model::{Json, Key, RunId};
use crate::plan::{ActionKind, Change, Plan};

/// The value of `kind` in the document.
pub const KIND: &str = "run";
const FORMAT: DocumentFormat = DocumentFormat {
    name: "the document of a run",
    kinds: &[KIND],
    versions: 1..=1,
    remedy: "write it again: `trueup show RUN --format json`",
};

/// A run with every change and its result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// A summary of the run.
    pub run: RunSummary,
    /// The settings, policy and program that applied to the run; null in runs of older versions.
    pub in_force: Option<InForce>,
    /// Every change, in the order of the plan.
    pub steps: Vec<RunStep>,
    /// What the verification found; null if the run did not end.
    pub verification: Option<Verification>,
    /// The plan.
    pub plan: Plan,
}

/// How far a run got with one change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunStep {
    /// The object.
    pub key: Key,
    /// The planned action.
    pub action: ActionKind,
    /// Its result.
    pub result: StepResult,
    /// Whether a resumed earlier run made the change: the document of that run has its times and requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_before: bool,
    /// When the run began to work on it.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started: Option<Timestamp>,
    /// When its result was known.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended: Option<Timestamp>,
    /// The `x-request-id` of each of its writes, and of a failed read.
    pub requests: Vec<String>,
}

/// The result of a change, or why there is none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepResult {
    /// The result in the journal.
    Known(ChangeResult),
    /// The journal has no result.
    Unknown(UnknownResult),
}

/// Why the journal has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownResult {
    /// Nothing was sent.
    Untouched,
    /// A write was about to be sent, and it is unknown whether it took effect.
    InDoubt,
}

impl RunDocument {
    /// The document of a recorded run; `resumed_by` is the run that resumed it, if any.
    pub fn of(record: &RunRecord, resumed_by: Option<RunId>) -> Self {
        Self {
            run: RunSummary { resumed_by, ..RunSummary::of(record) },
            in_force: record.header.in_force.clone(),
            steps: record.progress().into_iter().map(|reached| RunStep::of(reached, record)).collect(),
            verification: record.closing.as_ref().map(|closing| closing.verification.clone()),
            plan: record.header.plan.clone(),
        }
    }

    /// The document with its digest: JSON with a final line break.
    pub fn sealed(&self) -> String {
        // Text keys, strings and numbers: serialising them cannot fail.
        let mut document = serde_json::to_value(self).unwrap_or_default();
        document["kind"] = KIND.into();
        document["format_version"] = (*FORMAT.versions.end()).into();
        document["digest"] = document::digest(&document).into();
        format!("{document:#}\n")
    }

    /// The document in a file, with its digest.
    ///
    /// # Errors
    /// The file is another document, has another format, or was altered.
    pub fn from_file(bytes: &[u8]) -> Result<(Self, String), DocumentError> {
        let mut document: Json = FORMAT.read(bytes)?;
        let says = document.as_object_mut().and_then(|document| document.remove("digest"));
        let is = document::digest(&document);
        if says != Some(is.as_str().into()) {
            return Err(FORMAT.altered());
        }
        let read: Self = FORMAT.read(bytes)?;
        // Reports pair steps with changes.
        let pairs = read.steps.iter().map(|step| &step.key).eq(read.plan.changes.iter().map(|change| &change.key));
        if pairs { Ok((read, is)) } else { Err(FORMAT.other("its steps are not those of its plan")) }
    }
}

impl RunStep {
    fn of((change, progress): (&Change, ChangeProgress<'_>), record: &RunRecord) -> Self {
        let unknown = |result, requests| (StepResult::Unknown(result), requests, None, None);
        let (result, requests, started, ended) = match progress {
            ChangeProgress::Untouched => unknown(UnknownResult::Untouched, Vec::new()),
            ChangeProgress::InDoubt(intent, None) => {
                unknown(UnknownResult::InDoubt, intent.request_id.iter().cloned().collect())
            }
            ChangeProgress::InDoubt(_, Some(step)) | ChangeProgress::Ended(step) => {
                (StepResult::Known(step.result.clone()), step.requests.clone(), step.started, step.ended)
            }
        };
        // Journals of older versions have no times.
        let has_times = record.header.in_force.is_some();
        let made_before = has_times && record.header.resumes.is_some() && started.is_none() && result.is_done();
        Self { key: change.key.clone(), action: change.action.kind(), result, made_before, started, ended, requests }
    }
}

impl StepResult {
    /// Whether the live object is as this change wanted it.
    pub fn is_done(&self) -> bool {
        matches!(self, StepResult::Known(result) if result.is_done())
    }

    /// Whether a write may have taken effect, but it is unknown if it did.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            StepResult::Known(result) => result.is_in_doubt(),
            StepResult::Unknown(result) => *result == UnknownResult::InDoubt,
        }
    }

    /// Every name of a result.
    pub const NAMES: [&'static str; 8] =
        ["done", "already_done", "conflict", "referred", "failed", "in_doubt", "skipped", "untouched"];

    /// The name of the result: a conflict whose own write may have been made is in doubt.
    pub fn name(&self) -> &'static str {
        match self {
            StepResult::Known(ChangeResult::Done { .. }) => "done",
            StepResult::Known(ChangeResult::AlreadyDone) => "already_done",
            StepResult::Known(ChangeResult::Conflict(conflict)) if !conflict.ours_may_be_lost => "conflict",
            StepResult::Known(ChangeResult::Referred { .. }) => "referred",
            StepResult::Known(ChangeResult::Failed { .. }) => "failed",
            StepResult::Known(ChangeResult::InDoubt { .. } | ChangeResult::Conflict(_))
            | StepResult::Unknown(UnknownResult::InDoubt) => "in_doubt",
            StepResult::Known(ChangeResult::Skipped { .. }) => "skipped",
            StepResult::Unknown(UnknownResult::Untouched) => "untouched",
        }
    }
}

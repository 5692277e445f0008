//! The evidence of a run: one small document that says what was planned, under which settings and policy, who planned
//! and who approved it and how, every change with its times and request ids, and what the verification found. It has
//! its own digest, so that an archive or an attestation of a forge can name it.

use data_encoding::HEXLOWER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{ChangeStep, Outcome, RunHeader, RunTrigger, Verification};
use crate::model::policy::Safeguards;
use crate::model::{Json, Key, RunId};
use crate::plan::{BlockReason, GuardHit, Plan, RecordedConsent, ServiceId};

/// The kind that the file names.
pub const KIND: &str = "evidence";
/// The format that this program writes and reads.
const FORMAT_VERSION: u32 = 1;

/// The evidence of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The version of trueup that made the run.
    pub tool_version: String,
    /// The service.
    pub service: ServiceId,
    /// The stack.
    pub stack: Option<String>,
    /// The environment of the configuration.
    pub environment: Option<String>,
    /// The commit of the definitions.
    pub commit: Option<String>,
    /// The run.
    pub run: RunId,
    /// The run that this one resumed.
    pub resumes: Option<RunId>,
    /// The run that this one rolled back.
    pub rolls_back: Option<RunId>,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339.
    pub ended: String,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Who ran it, as the machine says.
    pub user: Option<String>,
    /// Who and what started it, and who approved it and how.
    pub trigger: RunTrigger,
    /// What was planned.
    pub plan: PlanEvidence,
    /// The settings in force.
    pub settings: Safeguards,
    /// The policy in force.
    pub policy: Option<PolicyEvidence>,
    /// Every change of the plan with its result.
    pub changes: Vec<ChangeStep>,
    /// What the verification found.
    pub verification: Verification,
    /// The run was interrupted by a person.
    pub interrupted: bool,
    /// Endpoints that the service reports as failed, with its words.
    pub unhealthy: Vec<(Key, String)>,
    /// Requests that were sent.
    pub requests: u64,
}

/// What was planned, without the values.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlanEvidence {
    /// The digest of the plan: 64 hex digits.
    pub digest: String,
    /// The version of trueup that made it.
    pub tool_version: String,
    /// The directory, or the run that is rolled back.
    pub source: String,
    /// The filters of the call.
    pub filters: Vec<String>,
    /// Who planned it; nothing where an older version saved it.
    pub planned_by: Option<String>,
    /// The guards that it met.
    pub guards: Vec<GuardHit>,
    /// What was allowed by name, and by whom.
    pub allowed: Vec<RecordedConsent>,
    /// What it blocked, and why.
    pub blocked: Vec<BlockedEvidence>,
}

/// A change that the plan blocked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BlockedEvidence {
    /// Which endpoint.
    pub key: Key,
    /// Why.
    pub reason: BlockReason,
}

/// A policy, by its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyEvidence {
    /// The file.
    pub path: String,
    /// The SHA-256 of its bytes: 64 hex digits.
    pub sha256: String,
}

/// A file that is no evidence, or not as it was written.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// It is something else.
    #[error("it is not an evidence file: {reason}")]
    NotEvidence {
        /// What is wrong.
        reason: String,
    },
    /// Written by another version of this program.
    #[error("it has the format {found}, this version reads {FORMAT_VERSION}")]
    Format {
        /// The file's.
        found: u64,
    },
    /// The content does not have the digest that the file names.
    #[error("the evidence was altered after it was written: its digest is {is}, the file says {says}")]
    Altered {
        /// The digest of the content.
        is: String,
        /// The digest that the file names.
        says: String,
    },
}

/// What decided beside the plan.
pub struct EvidenceSettings {
    /// The settings in force.
    pub settings: Safeguards,
    /// The policy in force.
    pub policy: Option<PolicyEvidence>,
    /// The version of this program.
    pub tool_version: String,
}

impl Evidence {
    /// The evidence of a run that ended, however it did.
    #[must_use]
    pub fn of(header: &RunHeader, outcome: &Outcome, in_force: EvidenceSettings, exit_code: u8, ended: String) -> Self {
        let plan = &header.plan;
        Self {
            tool_version: in_force.tool_version,
            service: plan.service.clone(),
            stack: plan.stack.clone(),
            environment: plan.source.environment.clone(),
            commit: plan.source.commit.clone().or_else(|| header.trigger.commit.clone()),
            run: header.run.clone(),
            resumes: header.resumes.clone(),
            rolls_back: header.rolls_back.clone(),
            started: header.started.clone(),
            ended,
            exit_code,
            user: header.user.clone(),
            trigger: header.trigger.clone(),
            plan: PlanEvidence::of(plan),
            settings: in_force.settings,
            policy: in_force.policy,
            changes: outcome.steps.clone(),
            verification: outcome.verification.clone(),
            interrupted: outcome.interrupted,
            unhealthy: outcome.unhealthy.clone(),
            requests: outcome.requests,
        }
    }

    /// The evidence as a file contains it: JSON with its digest, a final line break included.
    #[must_use]
    pub fn to_file(&self) -> String {
        // Text keys, strings, numbers: nothing that fails.
        let mut document = serde_json::to_value(self).unwrap_or_default();
        document["kind"] = KIND.into();
        document["format_version"] = FORMAT_VERSION.into();
        document["digest"] = digest(&document).into();
        format!("{document:#}\n")
    }

    /// The evidence in a file, with its digest.
    ///
    /// # Errors
    /// The file is something else, of another format, or altered.
    pub fn from_file(bytes: &[u8]) -> Result<(Self, String), EvidenceError> {
        let not = |reason: String| EvidenceError::NotEvidence { reason };
        let mut document: Json = serde_json::from_slice(bytes).map_err(|error| not(error.to_string()))?;
        let version = document["format_version"].as_u64().unwrap_or_default();
        if document["kind"] != KIND {
            return Err(not("its kind is another one".to_owned()));
        }
        if version != u64::from(FORMAT_VERSION) {
            return Err(EvidenceError::Format { found: version });
        }
        let says = document.as_object_mut().and_then(|document| document.remove("digest"));
        let says = says.and_then(|digest| digest.as_str().map(str::to_owned)).unwrap_or_default();
        let is = digest(&document);
        if is != says {
            return Err(EvidenceError::Altered { is, says });
        }
        let evidence = serde_json::from_value(document).map_err(|error| not(error.to_string()))?;
        Ok((evidence, is))
    }
}

impl PlanEvidence {
    fn of(plan: &Plan) -> Self {
        let blocked = |blocked: &crate::plan::BlockedChange| BlockedEvidence {
            key: blocked.key.clone(),
            reason: blocked.reason.clone(),
        };
        Self {
            digest: plan.digest().full().to_owned(),
            tool_version: plan.tool_version.clone(),
            source: plan.source.origin.clone().into(),
            filters: plan.source.filters.clone(),
            planned_by: plan.source.planned_by.clone(),
            guards: plan.guards.clone(),
            allowed: plan.allowed.clone(),
            blocked: plan.blocked.iter().map(blocked).collect(),
        }
    }
}

/// The SHA-256 over the canonical JSON of a document without its digest: sorted keys, no blanks.
fn digest(document: &Json) -> String {
    HEXLOWER.encode(&Sha256::digest(document.to_string().as_bytes()))
}

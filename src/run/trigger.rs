//! Who and what started a run: the person and the change request that the forge names, and who approved the
//! plan and how. Nothing of it decides anything; it is what the history and the document of a run report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who and what started a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTrigger {
    /// The person that the forge names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// How the plan was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalKind>,
    /// Who approved it, as the call says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The pull or merge request: its URL, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_request: Option<String>,
    /// The job of the pipeline, by its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The commit that the forge names; the job may have applied other definitions than it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// How a plan was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// A person typed `yes`.
    Prompt,
    /// `--yes`
    Yes,
    /// `--digest`
    Digest,
}

impl RunTrigger {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

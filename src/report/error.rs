//! Why a command ended early, as JSON: with `--format json` an error and a refusal are a document of the kind
//! `error` on standard output.

use crate::load::Diagnostic;
use crate::plan::{ApprovalError, GuardHit};
use crate::report::prelude::*;

/// The kind of the document.
pub const KIND: &str = "error";

/// Why a command ended early.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorReport<'a> {
    /// The exit code of the command.
    pub exit_code: u8,
    /// What the exit code means: `failed`, `invalid`, `unknown`, `refused`, `partly`, `usage`, `bug`, `interrupted`.
    pub status: &'a str,
    /// What happened, with its causes, in one line.
    pub message: String,
    /// The error and its causes, the outermost first.
    pub causes: Vec<String>,
    /// What to do about it.
    pub hints: &'a [String],
    /// The problems of the definitions or settings, each with its place.
    pub diagnostics: &'a [Diagnostic],
    /// Why the plan was refused, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<&'a Refusal>,
}

/// Why a plan was refused.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Refusal {
    /// The kind of the reason.
    pub reason: RefusalReason,
    /// The digest of the plan.
    pub digest: String,
    /// The guards that are not allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<GuardHit>,
    /// What would allow it, as `--allow` takes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Namespaces that could not be read, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownNamespace>,
}

/// A namespace that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnknownNamespace {
    /// Its name.
    pub namespace: String,
    /// Why.
    pub reason: String,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// Guards that are not allowed.
    Guards,
    /// The plan does not have the digest that was given.
    OtherDigest,
    /// What was given is not a digest.
    NotADigest,
    /// Single changes that need a consent.
    Changes,
    /// A namespace could not be read.
    UnknownRead,
}

impl Refusal {
    /// The refusal of the plan with this digest.
    pub fn of(error: &ApprovalError, digest: &str) -> Self {
        let refusal = |reason| Self {
            reason,
            digest: digest.to_owned(),
            guards: Vec::new(),
            allow: error.consents(),
            unknown: Vec::new(),
        };
        match error {
            ApprovalError::Guards(guards) => Self { guards: guards.clone(), ..refusal(RefusalReason::Guards) },
            ApprovalError::Changes(_) => refusal(RefusalReason::Changes),
            ApprovalError::OtherDigest { .. } => refusal(RefusalReason::OtherDigest),
            ApprovalError::NoDigest(_) => refusal(RefusalReason::NotADigest),
            ApprovalError::Unknown(lists) => {
                let unknown = lists.iter().map(|(namespace, reason)| UnknownNamespace {
                    namespace: namespace.to_string(),
                    reason: reason.clone(),
                });
                Self { unknown: unknown.collect(), ..refusal(RefusalReason::UnknownRead) }
            }
        }
    }
}

/// The error as a document.
pub fn json(error: &ErrorReport<'_>) -> String {
    document::text(|out| document::write(KIND, error, out))
}

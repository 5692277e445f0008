//! A fault rule: the calls that it matches (operation, namespace, name), which of them it affects, and its action.

use globset::GlobMatcher;
use serde::Deserialize;
use serde_json::Value;

use crate::sandbox::object::WriteMode;

/// The faults of a sandbox: a list of rules, of which the first one that is due acts.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub(super) rules: Vec<FaultRule>,
}

/// An action, and the calls that it affects.
#[derive(Clone, Debug)]
pub struct FaultRule {
    pub(super) operation: Option<GlobMatcher>,
    pub(super) namespace: Option<GlobMatcher>,
    pub(super) name: Option<GlobMatcher>,
    /// How many matching calls are left alone first.
    pub(super) after: u64,
    /// How many calls are affected; `None` for all that follow.
    pub(super) calls: Option<u64>,
    /// Only the first of these and each nth after it is affected.
    pub(super) every: u64,
    /// How many calls the rule has matched.
    pub(super) count: u64,
    pub(super) action: FaultAction,
}

/// What happens to a call. The names are those of scenario files and of the log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultAction {
    /// An answer with this status, and by default the error body of the service.
    Status {
        #[serde(rename = "code")]
        status: u16,
        body: Option<String>,
        retry_after: Option<u64>,
        #[serde(rename = "effect", default)]
        runs: Runs,
    },
    /// The call is made this much later, or when another scenario replaces this one.
    Delay { milliseconds: u64 },
    /// The connection is closed and the call is not made.
    #[serde(rename = "cut-before")]
    DisconnectBefore,
    /// The call is made, and the connection is closed instead of an answer.
    #[serde(rename = "cut-after")]
    DisconnectAfter,
    /// Another writer writes the object right before the call: `field` (such as
    /// `metadata.description`, `metadata.labels.tier` or `spec.port`) becomes `value` and the version
    /// grows. Before a create, another writer creates it.
    Conflict {
        #[serde(default = "description")]
        field: String,
        #[serde(default = "changed")]
        value: Value,
    },
    /// Another writer deletes the object right before the call.
    Vanish,
    /// A list with 200 that lacks its last items and reports that in `errors`.
    #[serde(rename = "partial")]
    PartialList {
        #[serde(default)]
        missing: usize,
        #[serde(default = "partial_code")]
        code: String,
        message: Option<String>,
    },
    /// A list that also contains the items of another namespace, as the service does with `shared`.
    Foreign { namespace: String },
    /// The header and `bytes` of the body (half of it by default), then the connection is closed.
    Truncate { bytes: Option<usize> },
    /// Specs are filled, sealed and kept differently from the description.
    Write(WriteMode),
    /// Every list of the answer is in another order.
    Shuffle,
    /// 200 with a body that is not JSON.
    Garbage {
        #[serde(rename = "effect", default = "first")]
        runs: Runs,
    },
    /// 200 with a web page.
    Html {
        #[serde(rename = "effect", default)]
        runs: Runs,
    },
    /// 200 with a body that does not end.
    Endless {
        #[serde(rename = "effect", default = "first")]
        runs: Runs,
    },
}

/// Whether the call is made in spite of its injected answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Runs {
    #[default]
    #[serde(rename = "none")]
    Not,
    #[serde(rename = "done")]
    First,
}

fn first() -> Runs {
    Runs::First
}

fn description() -> String {
    "metadata.description".into()
}

fn changed() -> Value {
    "changed by somebody else".into()
}

fn partial_code() -> String {
    "EPARTIAL".into()
}

impl FaultAction {
    /// Its name in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Delay { .. } => "delay",
            Self::DisconnectBefore => "cut-before",
            Self::DisconnectAfter => "cut-after",
            Self::Conflict { .. } => "conflict",
            Self::Vanish => "vanish",
            Self::PartialList { .. } => "partial",
            Self::Foreign { .. } => "foreign",
            Self::Truncate { .. } => "truncate",
            Self::Write(_) => "write",
            Self::Shuffle => "shuffle",
            Self::Garbage { .. } => "garbage",
            Self::Html { .. } => "html",
            Self::Endless { .. } => "endless",
        }
    }
}

impl FaultRule {
    /// Whether the rule matches the call.
    pub(super) fn matches(&self, call: Call<'_>) -> bool {
        let globbed = |glob: &Option<GlobMatcher>, text: &str| glob.as_ref().is_none_or(|glob| glob.is_match(text));
        globbed(&self.operation, call.operation)
            && globbed(&self.namespace, call.namespace)
            && globbed(&self.name, call.name)
    }

    /// Whether the next matching call is affected.
    pub(super) fn is_due(&self) -> bool {
        self.count
            .checked_sub(self.after)
            .is_some_and(|since| since % self.every == 0 && self.calls.is_none_or(|calls| since / self.every < calls))
    }
}

/// The parts of a call that rules match.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub operation: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

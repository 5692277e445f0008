//! Misbehaviour on request. A [`Scenario`] is a list of rules; a rule names the calls that it meets
//! (operation, namespace, name), the ones among them that it injects, and what then happens. Rules
//! count by themselves, and of those that are due the first one acts.

mod file;
mod inject;

use std::sync::{Mutex, PoisonError};

use globset::GlobMatcher;
use serde_json::Value;

pub use file::ScenarioError;
pub use inject::{Injected, inject};

/// How the sandbox misbehaves.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    rules: Vec<FaultRule>,
}

/// When to do what.
#[derive(Clone, Debug)]
pub struct FaultRule {
    operation: Option<String>,
    namespace: Option<GlobMatcher>,
    name: Option<GlobMatcher>,
    after: u64,
    calls: Option<u64>,
    every: u64,
    action: FaultAction,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultAction {
    /// An answer with this status, and by default the error body of the service.
    Status { status: u16, body: Option<String>, retry_after: Option<u64>, runs: Runs },
    /// The call is done this much later.
    Delay { milliseconds: u64 },
    /// The connection is closed and the call is not done.
    DisconnectBefore,
    /// The call is done, and the connection is closed instead of an answer.
    DisconnectAfter,
    /// Somebody else writes the object right before the call: `field` (such as
    /// `metadata.description`, `metadata.labels.tier` or `spec.port`) becomes `value` and the version
    /// grows. Before a create, somebody else creates it.
    Conflict { field: String, value: Value },
    /// Somebody else deletes the object right before the call.
    Vanish,
    /// A list with 200 that lacks its last items and says so in `errors`.
    PartialList { missing: usize, code: String, message: String },
    /// A list that also holds the items of another namespace, as the service does with `shared`.
    Foreign { namespace: String },
    /// The header, then `bytes` of the body (half of it by default), then the connection is closed.
    Truncate { bytes: Option<usize> },
    /// 200 with a body that is no JSON.
    Garbage { runs: Runs },
    /// 200 with a web page.
    Html { runs: Runs },
    /// 200 with a body that does not end.
    Endless { runs: Runs },
}

/// Whether the call is done although its answer is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    Not,
    First,
}

impl FaultAction {
    /// How the log calls it.
    pub(super) fn name(&self) -> &'static str {
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
            Self::Garbage { .. } => "garbage",
            Self::Html { .. } => "html",
            Self::Endless { .. } => "endless",
        }
    }

    /// An error answer in place of the call.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status { status, body: None, retry_after: None, runs: Runs::Not }
    }

    /// A concurrent writer that changes the description.
    #[must_use]
    pub fn conflict() -> Self {
        Self::Conflict { field: "metadata.description".into(), value: "changed by somebody else".into() }
    }

    /// A list that lacks its last `missing` items.
    #[must_use]
    pub fn partial_list(missing: usize) -> Self {
        let message = format!("{missing} items could not be read");
        Self::PartialList { missing, code: "EPARTIAL".into(), message }
    }
}

impl Scenario {
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = FaultRule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }
}

impl FaultRule {
    /// Spoils every call of an operation, `*` being all of them.
    #[must_use]
    pub fn on(operation: &str, action: FaultAction) -> Self {
        let operation = (operation != "*").then(|| operation.to_owned());
        Self { operation, namespace: None, name: None, after: 0, calls: None, every: 1, action }
    }

    /// Meets only objects whose namespace matches.
    ///
    /// # Errors
    /// When the pattern is no glob.
    pub fn namespace(mut self, pattern: &str) -> Result<Self, globset::Error> {
        self.namespace = Some(globset::Glob::new(pattern)?.compile_matcher());
        Ok(self)
    }

    /// Meets only objects whose name matches.
    ///
    /// # Errors
    /// When the pattern is no glob.
    pub fn name(mut self, pattern: &str) -> Result<Self, globset::Error> {
        self.name = Some(globset::Glob::new(pattern)?.compile_matcher());
        Ok(self)
    }

    /// Leaves the first `calls` of those that it meets alone.
    #[must_use]
    pub fn after(mut self, calls: u64) -> Self {
        self.after = calls;
        self
    }

    /// Spoils so many calls and no more.
    #[must_use]
    pub fn times(mut self, calls: u64) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Spoils only each `n`th of the calls that it could inject, the first one included.
    #[must_use]
    pub fn every(mut self, n: u64) -> Self {
        self.every = n.max(1);
        self
    }

    fn meets(&self, call: Call<'_>) -> bool {
        let globbed = |glob: &Option<GlobMatcher>, text: &str| glob.as_ref().is_none_or(|glob| glob.is_match(text));
        self.operation.as_deref().is_none_or(|operation| operation == call.operation)
            && globbed(&self.namespace, call.namespace)
            && globbed(&self.name, call.name)
    }

    /// Whether the call that is the `count`th of those it meets, from 0, is injected.
    fn is_due(&self, count: u64) -> bool {
        count
            .checked_sub(self.after)
            .is_some_and(|since| since % self.every == 0 && self.calls.is_none_or(|calls| since / self.every < calls))
    }
}

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub operation: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

/// A scenario and how far it has come.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Vec<Armed>>);

#[derive(Debug)]
struct Armed {
    rule: FaultRule,
    count: u64,
}

impl Faults {
    pub fn new(scenario: Scenario) -> Self {
        let faults = Self::default();
        faults.set(scenario);
        faults
    }

    /// Starts a scenario in the place of the one before.
    pub fn set(&self, scenario: Scenario) {
        let armed = scenario.rules.into_iter().map(|rule| Armed { rule, count: 0 }).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = armed;
    }

    /// Whether a rule has to know the name of the object, which a create holds in its body.
    pub fn needs_names(&self) -> bool {
        let armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        armed.iter().any(|armed| {
            armed.rule.name.is_some() || matches!(armed.rule.action, FaultAction::Conflict { .. } | FaultAction::Vanish)
        })
    }

    /// Counts a call and tells what happens to it.
    pub fn pick(&self, call: Call<'_>) -> Option<FaultAction> {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut action = None;
        for armed in armed.iter_mut().filter(|armed| armed.rule.meets(call)) {
            if action.is_none() && armed.rule.is_due(armed.count) {
                action = Some(armed.rule.action.clone());
            }
            armed.count += 1;
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected(rule: FaultRule, calls: usize) -> Vec<usize> {
        let faults = Faults::new(Scenario::new([rule]));
        let call = Call { operation: "endpoint-get", namespace: "shop", name: "ep-a" };
        (0..calls).filter(|_| faults.pick(call).is_some()).collect()
    }

    fn rule() -> FaultRule {
        FaultRule::on("endpoint-get", FaultAction::DisconnectBefore)
    }

    #[test]
    fn a_rule_affects_the_calls_that_it_counts_out() {
        assert_eq!(injected(rule(), 4), [0, 1, 2, 3]);
        assert_eq!(injected(rule().after(2), 5), [2, 3, 4]);
        assert_eq!(injected(rule().after(1).times(2), 6), [1, 2]);
        assert_eq!(injected(rule().every(3), 8), [0, 3, 6]);
        assert_eq!(injected(rule().after(1).every(2).times(2), 9), [1, 3]);
        assert_eq!(injected(rule().times(0), 3), [] as [usize; 0]);
    }

    #[test]
    fn a_rule_meets_only_what_it_names() {
        assert_eq!(injected(FaultRule::on("*", FaultAction::DisconnectBefore), 1), [0]);
        assert_eq!(injected(FaultRule::on("endpoint-list", FaultAction::DisconnectBefore), 1), [] as [usize; 0]);
        assert_eq!(injected(rule().name("ep-*").unwrap(), 1), [0]);
        assert_eq!(injected(rule().name("web-*").unwrap(), 1), [] as [usize; 0]);
        assert_eq!(injected(rule().namespace("sh?p").unwrap(), 1), [0]);
        assert_eq!(injected(rule().namespace("other").unwrap(), 1), [] as [usize; 0]);
    }

    #[test]
    fn of_the_rules_that_are_due_the_first_acts_and_all_count() {
        let faults =
            Faults::new(Scenario::new([rule().times(1), FaultRule::on("*", FaultAction::DisconnectAfter).times(2)]));
        let call = Call { operation: "endpoint-get", namespace: "shop", name: "ep-a" };
        assert_eq!(faults.pick(call), Some(FaultAction::DisconnectBefore));
        assert_eq!(faults.pick(call), Some(FaultAction::DisconnectAfter));
        assert_eq!(faults.pick(call), None);
    }
}

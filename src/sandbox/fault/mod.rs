//! Faults on request. A [`Scenario`] is a list of rules; each counts the calls that it matches, and of
//! those that are due the first one acts.

mod file;
mod inject;
mod rule;

use std::sync::Mutex;

pub use file::ScenarioError;
pub use inject::{Cut, inject};
pub use rule::{Call, FaultAction, Scenario};

use rule::FaultRule;

use crate::model::share::locked;

/// A scenario with its counts.
#[derive(Debug)]
pub struct Faults(Mutex<Vec<FaultRule>>);

impl Faults {
    /// Starts a scenario.
    pub fn new(scenario: Scenario) -> Self {
        Self(Mutex::new(scenario.rules))
    }

    /// Starts a scenario instead of the one before.
    pub fn set(&self, scenario: Scenario) {
        *locked(&self.0) = scenario.rules;
    }

    /// Whether a rule has to know the name of the object, which is in the body of a create.
    pub fn needs_names(&self) -> bool {
        let rules = locked(&self.0);
        rules.iter().any(|rule| {
            rule.name.is_some() || matches!(rule.action, FaultAction::Conflict { .. } | FaultAction::Vanish)
        })
    }

    /// Counts a call; returns the action that it gets.
    pub fn pick(&self, call: Call<'_>) -> Option<FaultAction> {
        let mut rules = locked(&self.0);
        let mut action = None;
        for rule in rules.iter_mut().filter(|rule| rule.matches(call)) {
            if action.is_none() && rule.is_due() {
                action = Some(rule.action.clone());
            }
            rule.count += 1;
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected(rule: &str, calls: usize) -> Vec<usize> {
        let faults = Faults::new(Scenario::parse(&format!("rules: [{{cut: before, {rule}}}]")).unwrap());
        let call = Call { operation: "endpoint-get", namespace: "shop", name: "ep-a" };
        (0..calls).filter(|_| faults.pick(call).is_some()).collect()
    }

    #[test]
    fn a_rule_affects_the_calls_that_it_counts_out() {
        assert_eq!(injected("operation: endpoint-get", 4), [0, 1, 2, 3]);
        assert_eq!(injected("after: 2", 5), [2, 3, 4]);
        assert_eq!(injected("after: 1, for: 2", 6), [1, 2]);
        assert_eq!(injected("every: 3", 8), [0, 3, 6]);
        assert_eq!(injected("after: 1, every: 2, for: 2", 9), [1, 3]);
        assert_eq!(injected("for: 0", 3), [] as [usize; 0]);
    }

    #[test]
    fn a_rule_matches_only_what_it_names() {
        for (rule, affects) in [
            ("operation: '*'", true),
            ("operation: endpoint-list", false),
            ("name: ep-*", true),
            ("name: web-*", false),
            ("namespace: sh?p", true),
            ("namespace: other", false),
        ] {
            assert_eq!(injected(rule, 1).len(), usize::from(affects), "{rule}");
        }
    }

    #[test]
    fn of_the_rules_that_are_due_the_first_acts_and_all_count() {
        let scenario = "rules: [{operation: endpoint-get, for: 1, cut: before}, {for: 2, cut: after}]";
        let faults = Faults::new(Scenario::parse(scenario).unwrap());
        let call = Call { operation: "endpoint-get", namespace: "shop", name: "ep-a" };
        assert_eq!(faults.pick(call), Some(FaultAction::DisconnectBefore));
        assert_eq!(faults.pick(call), Some(FaultAction::DisconnectAfter));
        assert_eq!(faults.pick(call), None);
    }
}

//! Injected faults. A [`Scenario`] is a list of rules; each rule counts the calls that it matches, and the first rule
//! that is due acts.

mod file;
mod inject;
mod rule;

use std::sync::Mutex;

use tokio::sync::watch;

pub use file::ScenarioError;
pub use inject::{Cut, inject};
pub use rule::{Call, FaultAction, Scenario};

use rule::FaultRule;

use crate::model::share::locked;

/// The scenario of a sandbox.
#[derive(Debug)]
pub struct Faults(Mutex<Current>);

/// A scenario with its counts. At its end the sender is dropped, which ends its delays.
#[derive(Debug)]
struct Current {
    rules: Vec<FaultRule>,
    end: watch::Sender<()>,
}

impl Faults {
    /// Starts a scenario.
    pub fn new(scenario: Scenario) -> Self {
        Self(Mutex::new(Current { rules: scenario.rules, end: watch::Sender::new(()) }))
    }

    /// Replaces the scenario by another one, and ends the delays of the old one.
    pub fn set(&self, scenario: Scenario) {
        *locked(&self.0) = Current { rules: scenario.rules, end: watch::Sender::new(()) };
    }

    /// Whether a rule has to know the name of the object, which is in the body of a create.
    pub fn needs_names(&self) -> bool {
        let current = locked(&self.0);
        current.rules.iter().any(|rule| {
            rule.name.is_some() || matches!(rule.action, FaultAction::Conflict { .. } | FaultAction::Vanish)
        })
    }

    /// Counts a call; returns its action, and a receiver that is closed at the end of the scenario.
    pub fn pick(&self, call: Call<'_>) -> Option<(FaultAction, watch::Receiver<()>)> {
        let mut current = locked(&self.0);
        let mut action = None;
        for rule in current.rules.iter_mut().filter(|rule| rule.matches(call)) {
            if action.is_none() && rule.is_due() {
                action = Some(rule.action.clone());
            }
            rule.count += 1;
        }
        Some((action?, current.end.subscribe()))
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
        let picked = || faults.pick(call).map(|(action, _)| action);
        assert_eq!(picked(), Some(FaultAction::DisconnectBefore));
        assert_eq!(picked(), Some(FaultAction::DisconnectAfter));
        assert_eq!(picked(), None);
    }

    #[test]
    fn what_waits_learns_that_another_scenario_began() {
        let faults = Faults::new(Scenario::parse("rules: [{delay: {milliseconds: 600000}}]").unwrap());
        let call = Call { operation: "endpoint-get", namespace: "shop", name: "ep-a" };
        let (_, end) = faults.pick(call).unwrap();
        assert!(end.has_changed().is_ok());
        faults.set(Scenario::default());
        assert!(end.has_changed().is_err());
    }
}

//! Faults on request. A [`Scenario`] is a list of rules; each counts the calls that it matches, and of
//! those that are due the first one acts.

mod file;
mod inject;
mod rule;

use std::sync::{Mutex, PoisonError};

pub use file::ScenarioError;
pub use inject::{Injected, inject};
pub use rule::{Call, FaultAction, FaultRule, Runs, Scenario};

/// A scenario with its counts.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Vec<Armed>>);

#[derive(Debug)]
struct Armed {
    rule: FaultRule,
    count: u64,
}

impl Faults {
    /// Starts a scenario.
    pub fn new(scenario: Scenario) -> Self {
        let faults = Self::default();
        faults.set(scenario);
        faults
    }

    /// Starts a scenario instead of the one before.
    pub fn set(&self, scenario: Scenario) {
        let armed = scenario.rules.into_iter().map(|rule| Armed { rule, count: 0 }).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = armed;
    }

    /// Whether a rule has to know the name of the object, which is in the body of a create.
    pub fn needs_names(&self) -> bool {
        let armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        armed.iter().any(|armed| {
            armed.rule.name.is_some() || matches!(armed.rule.action, FaultAction::Conflict { .. } | FaultAction::Vanish)
        })
    }

    /// Counts a call; returns the action that it gets.
    pub fn pick(&self, call: Call<'_>) -> Option<FaultAction> {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut action = None;
        for armed in armed.iter_mut().filter(|armed| armed.rule.matches(call)) {
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
    fn a_rule_matches_only_what_it_names() {
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

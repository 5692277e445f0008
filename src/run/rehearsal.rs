//! A rehearsal: an apply against a copy of the service with injected faults, and the plan after it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::Outcome;
use crate::model::Key;
use crate::plan::Plan;

/// An apply of a plan to a copy of the live state with injected faults, and the plan after it.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// The plan that was rehearsed.
    pub plan: Plan,
    /// The outcome of its run.
    pub outcome: Outcome,
    /// The plan after it.
    pub second: Plan,
    /// The injected faults.
    pub faults: InjectedFaults,
}

/// The faults of the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InjectedFaults {
    /// The name or file that chose them.
    pub chosen: String,
    /// How many requests met a fault.
    pub met: usize,
}

impl Rehearsal {
    /// How many changes are done.
    pub fn done(&self) -> usize {
        self.outcome.steps.iter().filter(|step| step.result.is_done()).count()
    }

    /// The objects that the second plan would still change or blocks, without those that the first one blocked.
    pub fn left(&self) -> Vec<&Key> {
        let entry: BTreeSet<&Key> = self.plan.blocked.iter().map(|entry| &entry.key).collect();
        let changes = self.second.changes.iter().map(|change| &change.key);
        let news = self.second.blocked.iter().map(|entry| &entry.key).filter(|key| !entry.contains(key));
        changes.chain(news).collect()
    }

    /// Whether every change is done, the verification found no difference, and the second plan is empty.
    pub fn is_verified(&self) -> bool {
        let is_proven = self.outcome.is_done() && self.outcome.verification.is_proven();
        is_proven && self.left().is_empty() && self.second.unknown().next().is_none()
    }
}

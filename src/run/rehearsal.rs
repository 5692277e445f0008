//! A rehearsal: an apply against a copy of the service with injected faults, and the plan after it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::Outcome;
use crate::model::Key;
use crate::plan::Plan;

/// An apply of a plan to a copy of what is live, with faults, and what a plan finds after it.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// The plan that was rehearsed.
    pub plan: Plan,
    /// What became of its run.
    pub outcome: Outcome,
    /// The plan after it.
    pub second: Plan,
    /// The faults that were chosen.
    pub faults: InjectedFaults,
}

/// How the copy misbehaved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InjectedFaults {
    /// By which name or file they were chosen.
    pub chosen: String,
    /// Requests that met one.
    pub met: usize,
}

impl Rehearsal {
    /// Changes that are done.
    pub fn done(&self) -> usize {
        self.outcome.steps.iter().filter(|step| step.result.is_done()).count()
    }

    /// What the second plan would still do, beside what the first one blocked.
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

//! One drift check: the plan that it made, the verdicts before and after acknowledgements, and since when
//! each drifted value has drifted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acknowledgement, Acknowledgements, DriftState, JudgedAcknowledgement, Verdicts};
use crate::model::{Namespace, displayed};
use crate::plan::Plan;

/// The most shards of a fleet. Whose a namespace or a stack is takes as many steps as there are shards.
pub const MOST_SHARDS: u32 = 4096;

/// The flags that decide, beside a directory and its environment, what a stack is.
pub const STACK_FLAGS: &str = "config policy stack var";

/// One of how many shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShardDocument")]
pub struct Shard {
    /// Which, from 1.
    #[schemars(range(min = 1))]
    pub index: u32,
    /// How many there are.
    #[schemars(range(min = 1))]
    pub of: u32,
}

displayed!(Shard, |shard| "{}/{}", shard.index, shard.of);

/// One check of a tenant, as its reports show it.
#[derive(Debug, Clone)]
pub struct Check {
    /// The plan that the check made.
    pub plan: Plan,
    /// The verdicts that are left after acknowledgements.
    pub verdicts: Verdicts,
    /// The verdicts before them.
    pub found: Verdicts,
    /// The status of each acknowledgement.
    pub acknowledged: Vec<JudgedAcknowledgement>,
    /// Those that a renewal of their file keeps.
    pub kept: Vec<Acknowledgement>,
    /// Since when what drifted has drifted, this check included.
    pub drift_state: Option<DriftState>,
    /// When it was made.
    pub now: Timestamp,
    /// Which of how many shards of the stack it is about, if its namespaces are sharded.
    pub shard: Option<Shard>,
    /// The namespaces of the other shards.
    pub elsewhere: BTreeSet<Namespace>,
    /// Those of [`STACK_FLAGS`] that the call had, with their values.
    pub flags: BTreeMap<String, Vec<String>>,
    /// Whether its environment has no overlay of its own, so that all its definitions are shared.
    pub shares_all: bool,
}

impl Check {
    /// A check of `plan` at `now`.
    pub fn new(plan: Plan, verdicts: Verdicts, now: Timestamp) -> Self {
        Self {
            plan,
            found: verdicts.clone(),
            verdicts,
            acknowledged: Vec::new(),
            kept: Vec::new(),
            drift_state: None,
            now,
            shard: None,
            elsewhere: BTreeSet::new(),
            flags: BTreeMap::new(),
            shares_all: false,
        }
    }

    /// The check without what is accepted. Days are those of UTC, wherever the check runs.
    #[must_use]
    pub fn accepting(mut self, accepted: &Acknowledgements) -> Self {
        let today = self.now.to_zoned(TimeZone::UTC).date();
        (self.verdicts, self.acknowledged, self.kept) = accepted.silence(&self.plan, &self.found, today);
        self
    }
}

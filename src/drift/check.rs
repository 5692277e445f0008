//! One drift check: its plan, the verdicts before and after acknowledgements, and since when each drifted
//! value has drifted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acknowledgement, Acknowledgements, DriftState, JudgedAcknowledgement, Verdicts};
use crate::model::{Namespace, displayed};
use crate::plan::Plan;

/// The most shards of a fleet. Finding the shard of a namespace or a stack takes as many steps as there are shards.
pub const MOST_SHARDS: u32 = 4096;

/// The flags that identify a stack, besides a directory and its environment.
pub const STACK_FLAGS: &str = "config policy stack var";

/// One shard of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShardDocument")]
pub struct Shard {
    /// Its number, from 1.
    #[schemars(range(min = 1))]
    pub index: u32,
    /// The number of shards.
    #[schemars(range(min = 1))]
    pub of: u32,
}

displayed!(Shard, |shard| "{}/{}", shard.index, shard.of);

/// One check of a tenant, as its reports show it.
#[derive(Debug, Clone)]
pub struct Check {
    /// The plan that the check made.
    pub plan: Plan,
    /// The verdicts after acknowledgements.
    pub verdicts: Verdicts,
    /// The verdicts before acknowledgements.
    pub found: Verdicts,
    /// The status of each acknowledgement.
    pub acknowledged: Vec<JudgedAcknowledgement>,
    /// The acknowledgements that a renewal of their file keeps.
    pub kept: Vec<Acknowledgement>,
    /// Since when values have drifted, including this check.
    pub drift_state: Option<DriftState>,
    /// When it was made.
    pub now: Timestamp,
    /// Which shard of the stack it is about, if the namespaces are sharded.
    pub shard: Option<Shard>,
    /// The namespaces of the other shards.
    pub elsewhere: BTreeSet<Namespace>,
    /// The flags of [`STACK_FLAGS`] that the call had, with their values.
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

    /// The check without accepted drift. Days are in UTC, independent of where the check runs.
    #[must_use]
    pub fn accepting(mut self, accepted: &Acknowledgements) -> Self {
        let today = self.now.to_zoned(TimeZone::UTC).date();
        (self.verdicts, self.acknowledged, self.kept) = accepted.silence(&self.plan, &self.found, today);
        self
    }
}

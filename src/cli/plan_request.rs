//! What a command asks of the planner: the permissions of the call, the namespaces to read, and whether
//! the plan is for an apply or for a verdict. The steps of `planning` take it, and so do those of `commits`.

use std::collections::BTreeSet;

use crate::cli::args::PermissionArgs;
use crate::cli::stacks::shard::Shard;
use crate::drift::DriftState;
use crate::model::Namespace;

/// What a plan is made for.
pub struct PlanRequest<'a> {
    /// What the call allows.
    pub permission: &'a PermissionArgs,
    /// The namespaces to read; the plan covers only these.
    pub namespaces: BTreeSet<Namespace>,
    /// The drift state of earlier checks, for a plan whose answer is a verdict: such a plan also notes
    /// what it cannot decide.
    pub check: Option<&'a DriftState>,
    /// The part of a fleet to read.
    pub shard: Option<Shard>,
}

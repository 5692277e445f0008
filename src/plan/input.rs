//! What a plan is made of: definitions, filters and what was allowed.

use std::collections::BTreeSet;

use super::{Allowances, Ignore, Selection};
use crate::kind::KindName;
use crate::model::{Desired, Namespace};

/// What a plan is made of beside its service, its stack, its settings and its source, which it has already.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// All definitions.
    pub desired: &'a Desired,
    /// The namespaces in which deletes may be planned.
    pub namespaces: &'a BTreeSet<Namespace>,
    /// The kinds of which deletes may be planned, besides endpoints.
    pub kinds: &'a BTreeSet<KindName>,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allowances,
    /// The filters of the call.
    pub selection: &'a Selection,
}

//! The input of a plan: definitions, filters and consents.

use std::collections::BTreeSet;

use super::{Allowances, Ignore, Selection};
use crate::kind::KindName;
use crate::model::{Desired, Namespace};

/// The input of a plan besides its service, stack, settings and source, which it has already.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// All definitions.
    pub desired: &'a Desired,
    /// The namespaces in which deletes may be planned.
    pub namespaces: &'a BTreeSet<Namespace>,
    /// The kinds besides endpoint whose objects may be deleted.
    pub kinds: &'a BTreeSet<KindName>,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// The consents given by name.
    pub allow: &'a Allowances,
    /// The filters of the call.
    pub selection: &'a Selection,
}

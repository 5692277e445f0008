//! What a plan is made of: definitions, settings, filters and what was allowed.

use std::collections::BTreeSet;

use super::{Allowances, Ignore, PlanSettings, PlanSource, Selection, ServiceId};
use crate::kind::KindName;
use crate::model::{Desired, Namespace};

/// Everything that a plan is made of.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// All definitions.
    pub desired: &'a Desired,
    /// The stack, if there is one.
    pub stack: Option<&'a str>,
    /// The namespaces in which deletes may be planned; nothing where the configuration lists none.
    pub namespaces: Option<&'a BTreeSet<Namespace>>,
    /// The kinds of which deletes may be planned, besides endpoints.
    pub kinds: &'a BTreeSet<KindName>,
    /// What was asked for.
    pub settings: &'a PlanSettings,
    /// Fields that are left out of comparison.
    pub ignore: &'a Ignore,
    /// What was allowed by name.
    pub allow: &'a Allowances,
    /// The filters of the call.
    pub selection: &'a Selection,
    /// The service.
    pub service: &'a ServiceId,
    /// Where the definitions come from.
    pub source: &'a PlanSource,
    /// The version of this program.
    pub tool_version: &'a str,
}

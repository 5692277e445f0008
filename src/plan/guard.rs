//! The guards: limits on how much of a namespace one plan may change. A guard refuses the apply until it is
//! allowed by its name.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionKind, BlockReason, Plan, ScopeRead};
use crate::model::policy::Guards;
use crate::model::{Namespace, words};

/// A guard that refuses the plan until it is allowed by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardHit {
    /// Which guard.
    pub name: GuardName,
    /// The namespace it speaks of; the whole plan where there is none.
    #[serde(default)]
    pub namespace: Option<Namespace>,
    /// Endpoints that it is about: deleted or replaced, or fields behind the base.
    pub count: usize,
    /// Out of so many.
    pub of: usize,
    /// The share allowed, in per cent, where there is one.
    #[serde(default)]
    pub allowed_percent: Option<u8>,
}

/// The guards by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardName {
    /// Too large a share would be deleted or replaced.
    MassChange,
    /// Every owned object of a namespace would go.
    EmptyNamespace,
    /// The base branch moved on in what this plan would set.
    BehindBase,
}

words!(GuardName { MassChange = "mass-change", EmptyNamespace = "empty-namespace", BehindBase = "behind-base" });

impl GuardName {
    /// Every guard.
    pub const ALL: [GuardName; 3] = [GuardName::MassChange, GuardName::EmptyNamespace, GuardName::BehindBase];
}

impl GuardHit {
    /// The share in per cent, rounded down.
    #[must_use]
    pub fn percent(&self) -> usize {
        (self.count * 100).checked_div(self.of).unwrap_or(0)
    }
}

impl fmt::Display for GuardHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GuardHit { count, of, .. } = self;
        match (self.name, &self.namespace) {
            (GuardName::MassChange, place) => {
                write!(f, "the plan would delete or replace {count} of {of} endpoints")?;
                if let Some(namespace) = place {
                    write!(f, " of `{namespace}`")?;
                }
                write!(f, " ({} %, allowed {} %)", self.percent(), self.allowed_percent.unwrap_or_default())
            }
            (GuardName::EmptyNamespace, Some(namespace)) => {
                write!(f, "the plan would delete every owned endpoint of `{namespace}` ({count})")
            }
            (GuardName::EmptyNamespace, None) => write!(f, "the plan would delete every owned endpoint ({count})"),
            (GuardName::BehindBase, _) => {
                write!(f, "{count} of {of} changed endpoints are behind the base: applying would revert merged work")
            }
        }
    }
}

/// What a call knows of its own, where no digest proves what a file says.
#[derive(Debug, Clone, Default)]
pub struct GuardLimits {
    /// The numbers of the guards; the plan's own where there are none.
    pub guards: Option<Guards>,
    /// What can be counted at most in a namespace, by a fresh read.
    pub counts: BTreeMap<Namespace, Counts>,
}

/// What shares of a namespace are counted of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// For `mass-change`.
    pub owned: usize,
    /// For `empty-namespace`.
    pub removable: usize,
}

/// The guards of a plan, the whole plan's last. They are computed from the changes and
/// counts; what the plan itself lists is not read.
pub(super) fn hits(plan: &Plan, limits: &GuardLimits) -> Vec<GuardHit> {
    let settings = limits.guards.unwrap_or(plan.settings.safeguards.guards);
    let mut shares: BTreeMap<&Namespace, ChangeShare> = BTreeMap::new();
    for (namespace, scope) in &plan.scope {
        if let ScopeRead::Complete { owned, removable, .. } = scope.read {
            let most = limits.counts.get(namespace);
            let of = most.map_or(owned, |most| owned.min(most.owned));
            let removable = most.map_or(removable, |most| removable.min(most.removable));
            shares.insert(namespace, ChangeShare { of, removable, ..ChangeShare::default() });
        }
    }
    // What is referred to or defined elsewhere was counted as removable, and stays without being meant to.
    let stays =
        |reason: &BlockReason| matches!(reason, BlockReason::Referred { .. } | BlockReason::DefinedElsewhere { .. });
    for blocked in plan.blocked.iter().filter(|blocked| stays(&blocked.reason)) {
        let share = shares.entry(&blocked.key.namespace).or_default();
        share.removable = share.removable.saturating_sub(1);
    }
    for change in &plan.changes {
        let share = shares.entry(&change.key.namespace).or_default();
        match change.action.kind() {
            ActionKind::Delete => share.deletes += 1,
            ActionKind::Replace => share.replaces += 1,
            ActionKind::Create | ActionKind::Annotate => {}
        }
    }
    let mut guards = Vec::new();
    let mut whole = ChangeShare::default();
    for (namespace, share) in &shares {
        whole.deletes += share.deletes;
        whole.replaces += share.replaces;
        whole.of += share.of;
        guards.extend(share.mass_change(settings, Some(namespace)));
        if share.deletes > 0 && share.deletes >= share.removable {
            guards.push(GuardHit {
                name: GuardName::EmptyNamespace,
                namespace: Some((*namespace).clone()),
                count: share.deletes,
                of: share.deletes,
                allowed_percent: None,
            });
        }
    }
    if plan.scope.len() > 1 {
        guards.extend(whole.mass_change(settings, None));
    }
    guards.extend(behind_base(plan));
    guards
}

/// What would happen to the owned endpoints of a scope.
#[derive(Default)]
struct ChangeShare {
    deletes: usize,
    replaces: usize,
    of: usize,
    removable: usize,
}

impl ChangeShare {
    fn mass_change(&self, settings: Guards, namespace: Option<&Namespace>) -> Option<GuardHit> {
        let count = self.deletes + self.replaces;
        // A count below what is changed is a file's, and proves nothing.
        let of = self.of.max(count);
        let stands = of >= settings.least && count * 100 > of * usize::from(settings.percent);
        stands.then(|| GuardHit {
            name: GuardName::MassChange,
            namespace: namespace.cloned(),
            count,
            of,
            allowed_percent: Some(settings.percent),
        })
    }
}

fn behind_base(plan: &Plan) -> Option<GuardHit> {
    let behind = plan.changes.iter().filter(|change| change.is_behind_base()).count();
    (behind > 0).then_some(GuardHit {
        name: GuardName::BehindBase,
        namespace: None,
        count: behind,
        of: plan.changes.len(),
        allowed_percent: None,
    })
}

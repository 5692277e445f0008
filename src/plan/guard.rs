//! The guards: limits on how much of a namespace, and of a kind in it, one plan may change. A guard refuses the apply
//! until it is allowed by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionKind, BlockReason, Plan, ScopeRead, Unchangeable};
use crate::kind::KindName;
use crate::model::policy::{GuardName, Guards, Safeguards};
use crate::model::{Key, Namespace, Scope};

/// A guard that refuses the plan until it is allowed by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardHit {
    /// Which guard.
    pub name: GuardName,
    /// The namespace that it is about; without one, the whole plan.
    pub namespace: Option<Namespace>,
    /// The kinds that it counts; empty where it counts only endpoints.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<KindName>,
    /// The number of objects that it is about: deleted, replaced, or with fields behind the base.
    pub count: usize,
    /// The number of objects that `count` is a part of.
    pub of: usize,
    /// The share allowed, in per cent, where there is one.
    pub allowed_percent: Option<u8>,
}

impl GuardHit {
    /// The share in per cent, rounded up, so that it is shown as more than the allowed share.
    pub fn percent(&self) -> usize {
        (self.count * 100).div_ceil(self.of.max(1))
    }

    /// What it counts: the kind, if there is only one and it is not endpoint, and the noun for one object.
    pub fn noun(&self) -> (Option<&'static str>, &'static str) {
        let mut kinds = self.kinds.iter();
        match (kinds.next(), kinds.next()) {
            (None, _) => (None, "endpoint"),
            (Some(kind), None) if kind.is_endpoint() => (None, "endpoint"),
            (Some(kind), None) => (Some(kind.as_str()), "object"),
            (Some(_), Some(_)) => (None, "object"),
        }
    }
}

impl fmt::Display for GuardHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GuardHit { count, of, .. } = self;
        let (kind, noun) = self.noun();
        let noun = kind.map(|kind| format!("{kind} ")).unwrap_or_default() + noun;
        let place = self.namespace.as_ref().map(|namespace| format!(" of `{namespace}`")).unwrap_or_default();
        match self.name {
            GuardName::MassChange => {
                write!(f, "the plan would delete or replace {count} of {of} {noun}s{place}")?;
                write!(f, " ({} %, allowed {} %)", self.percent(), self.allowed_percent.unwrap_or_default())
            }
            GuardName::EmptyNamespace => write!(f, "the plan would delete every owned {noun}{place} ({count})"),
            GuardName::BehindBase => {
                write!(f, "{count} of {of} changed {noun}s are behind the base: applying would revert merged work")
            }
        }
    }
}

/// What decides, besides the changes of a plan, whether they are made.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// The settings in force.
    pub safeguards: Safeguards,
    /// The upper bounds for the counts in a plan file that no digest proves, from a new read.
    pub counts: BTreeMap<Scope, Counts>,
}

impl RunLimits {
    /// The limits for a plan that this call made, or that its digest proves: its own settings and counts.
    pub fn whole(plan: &Plan) -> Self {
        Self { safeguards: plan.settings.safeguards.clone(), counts: BTreeMap::new() }
    }
}

/// The totals of a kind in a namespace that shares are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// The total for `mass-change`.
    pub owned: usize,
    /// The total for `empty-namespace`.
    pub removable: usize,
}

/// The guards of a plan, with those of the whole plan last. They are computed from the changes and
/// counts; the guards that the plan lists are not used.
pub(super) fn hits(plan: &Plan, limits: &RunLimits) -> Vec<GuardHit> {
    let settings = limits.safeguards.guards;
    let mut namespaces: BTreeMap<&Namespace, BTreeMap<KindName, ChangeShare>> = BTreeMap::new();
    for (scope, state) in &plan.scope {
        if let ScopeRead::Complete { owned, removable, .. } = state.read {
            let most = limits.counts.get(scope);
            let of = most.map_or(owned, |most| owned.min(most.owned));
            let removable = most.map_or(removable, |most| removable.min(most.removable));
            let share = ChangeShare { of, removable, ..ChangeShare::of(scope.kind) };
            namespaces.entry(&scope.namespace).or_default().insert(scope.kind, share);
        }
    }
    for key in staying(plan) {
        let share = namespaces.entry(&key.namespace).or_default().entry(key.kind);
        let share = share.or_insert_with(|| ChangeShare::of(key.kind));
        share.removable = share.removable.saturating_sub(1);
    }
    for change in &plan.changes {
        let share = namespaces.entry(&change.key.namespace).or_default().entry(change.key.kind);
        let share = share.or_insert_with(|| ChangeShare::of(change.key.kind));
        match change.action.kind() {
            ActionKind::Delete | ActionKind::Recreate => share.deletes += 1,
            ActionKind::Replace => share.replaces += 1,
            ActionKind::Create | ActionKind::Annotate => {}
        }
    }
    let mut guards = Vec::new();
    for (namespace, kinds) in &namespaces {
        let all = ChangeShare::sum(kinds.values());
        // A kind is reported only where the whole namespace is not.
        let of_kinds = |hit: &dyn Fn(&ChangeShare) -> Option<GuardHit>| -> Vec<GuardHit> {
            kinds.values().filter(|_| all.kinds.len() > 1).filter_map(hit).collect()
        };
        let mass =
            all.mass_change(settings).map_or_else(|| of_kinds(&|kind| kind.mass_change(settings)), |hit| vec![hit]);
        // A rollback reads only the kinds that its run wrote.
        let is_part = plan.undone().is_some() && !kinds.contains_key(&KindName::ENDPOINT);
        let least = if is_part { LEAST_OF_KIND } else { 1 };
        let emptied = all.emptied(least).map_or_else(|| of_kinds(&|kind| kind.emptied(LEAST_OF_KIND)), |hit| vec![hit]);
        let hits = mass.into_iter().chain(emptied);
        guards.extend(hits.map(|hit| GuardHit { namespace: Some((*namespace).clone()), ..hit }));
    }
    if plan.scope.keys().any(|scope| Some(&scope.namespace) != plan.scope.keys().next().map(|first| &first.namespace)) {
        guards.extend(ChangeShare::sum(namespaces.values().flat_map(BTreeMap::values)).mass_change(settings));
    }
    guards.extend(behind_base(plan));
    guards
}

/// The deletes and recreates that are blocked for a reason outside of the object, such as a reference: they were
/// counted as removable, but the object stays without being meant to.
pub(super) fn staying(plan: &Plan) -> impl Iterator<Item = &Key> {
    let is_meant_to_stay = |reason: &BlockReason| {
        let by_itself = [BlockReason::Protected, BlockReason::Unverified].contains(reason);
        by_itself || matches!(reason, BlockReason::Unchangeable(Unchangeable::OwnerView(_)))
    };
    let deletes = plan.blocked.iter().filter(|held| held.change.as_ref().is_some_and(|change| change.action.deletes()));
    deletes.filter(move |held| !is_meant_to_stay(&held.reason)).map(|held| &held.key)
}

/// The fewest deleted objects for which the guard reports that a kind is emptied: deleting the only object of a kind is
/// an ordinary change.
const LEAST_OF_KIND: usize = 2;

/// The number of owned objects of some kinds that would change.
#[derive(Default)]
struct ChangeShare {
    kinds: BTreeSet<KindName>,
    deletes: usize,
    replaces: usize,
    of: usize,
    removable: usize,
}

impl ChangeShare {
    fn of(kind: KindName) -> Self {
        Self { kinds: BTreeSet::from([kind]), ..Self::default() }
    }

    /// The sum of all shares that are not empty.
    fn sum<'s>(shares: impl Iterator<Item = &'s ChangeShare>) -> Self {
        let mut sum = Self::default();
        for share in shares.filter(|share| share.of + share.deletes + share.replaces > 0) {
            sum.kinds.extend(&share.kinds);
            sum.deletes += share.deletes;
            sum.replaces += share.replaces;
            sum.of += share.of;
            sum.removable += share.removable;
        }
        sum
    }

    fn mass_change(&self, settings: Guards) -> Option<GuardHit> {
        let count = self.deletes + self.replaces;
        // A total below the number of changes comes from a file, and proves nothing.
        let of = self.of.max(count);
        let stands = of >= settings.least && count * 100 > of * usize::from(settings.percent);
        stands
            .then(|| GuardHit { allowed_percent: Some(settings.percent), ..self.hit(GuardName::MassChange, count, of) })
    }

    fn emptied(&self, least: usize) -> Option<GuardHit> {
        let stands = self.deletes >= least && self.deletes >= self.removable;
        stands.then(|| self.hit(GuardName::EmptyNamespace, self.deletes, self.deletes))
    }

    fn hit(&self, name: GuardName, count: usize, of: usize) -> GuardHit {
        let is_plain = self.kinds.iter().all(|kind| kind.is_endpoint());
        let kinds = if is_plain { BTreeSet::new() } else { self.kinds.clone() };
        GuardHit { name, namespace: None, kinds, count, of, allowed_percent: None }
    }
}

fn behind_base(plan: &Plan) -> Option<GuardHit> {
    let behind = plan.changes.iter().filter(|change| change.is_behind_base()).count();
    let kinds = plan.changes.iter().map(|change| change.key.kind).collect();
    let all = ChangeShare { kinds, ..ChangeShare::default() };
    (behind > 0).then(|| all.hit(GuardName::BehindBase, behind, plan.changes.len()))
}

//! The consents of a plan: which ones its apply needs, computed from the changes themselves, and which of
//! them were given by name when the plan was made.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use super::{Action, ActionKind, Allowances, Change, GuardHit, GuardName, Plan, RunLimits, guard};
use crate::model::Ownership;
use crate::model::policy::{KeyAllowance, Prune};

/// A consent that takes effect in a plan, recorded by `plan --allow NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedConsent {
    /// As `--allow` takes it: `mass-change`, `protected=shop/cart`.
    pub name: String,
    /// The user who gave it, as the machine or the pipeline names that user. The digest does not cover it.
    pub by: Option<String>,
    /// It was given to the apply of a saved plan or to a resume, so the digest of the plan does not cover it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_apply: bool,
}

impl Plan {
    /// Records the consents in `allow` that an apply of this plan needs, given by `by`. Others are not
    /// recorded, so that a consent without an effect does not change the digest.
    pub fn consent(&mut self, allow: &Allowances, by: Option<&str>) {
        self.allowed = self.given(allow, by, &RunLimits::whole(self)).collect();
    }

    /// Records, in a plan from a file, the guards within the limits of its apply, and adds the consents that the apply
    /// is given.
    pub fn consent_to_apply(&mut self, allow: &Allowances, by: Option<&str>, limits: &RunLimits) {
        self.guards = guard::hits(self, limits);
        // Consents of an earlier apply do not count.
        self.allowed.retain(|recorded| !recorded.at_apply);
        let given = self.given(allow, by, limits).map(|one| RecordedConsent { at_apply: true, ..one });
        let mut given: Vec<_> = given.collect();
        given.retain(|one| self.allowed.iter().all(|recorded| recorded.name != one.name));
        self.allowed.append(&mut given);
    }

    /// The consents of `allow` that an apply of this plan needs.
    fn given(
        &self,
        allow: &Allowances,
        by: Option<&str>,
        limits: &RunLimits,
    ) -> impl Iterator<Item = RecordedConsent> + use<> {
        let guards = self.guards.iter().filter(|guard| allow.guard(guard.name)).map(|guard| guard.name.to_string());
        let keys = self.changes.iter().flat_map(|change| {
            needed(self, change, limits).filter_map(|name| allow.given(name, &change.key)).collect::<Vec<_>>()
        });
        let (names, by) = (guards.chain(keys).collect::<BTreeSet<String>>(), by.map(str::to_owned));
        names.into_iter().map(move |name| RecordedConsent { name, by: by.clone(), at_apply: false })
    }

    /// The consents that the plan records. An unknown text allows nothing.
    pub fn consents(&self) -> Allowances {
        Self::allowances(self.allowed.iter())
    }

    /// The recorded consents that its digest covers.
    pub(super) fn reviewed_consents(&self) -> Allowances {
        Self::allowances(self.allowed.iter().filter(|allowed| !allowed.at_apply))
    }

    fn allowances<'a>(recorded: impl Iterator<Item = &'a RecordedConsent>) -> Allowances {
        let mut allow = Allowances::default();
        for allowed in recorded {
            // An unknown consent allows nothing, so the guard that it was meant for refuses.
            let _ = allow.add(&allowed.name);
        }
        allow
    }

    /// The guards that refuse an apply of this plan with its recorded consents.
    pub fn refused(&self) -> Vec<&GuardHit> {
        let allow = self.consents();
        self.guards.iter().filter(|guard| !allow.guard(guard.name)).collect()
    }

    /// Whether an apply of this plan with its recorded consents would send nothing: a guard is not allowed, or
    /// everything is blocked.
    pub fn is_refused(&self) -> bool {
        !self.refused().is_empty() || (self.changes.is_empty() && !self.blocked.is_empty())
    }

    /// Whether an apply of this plan can be allowed: all its lists were read, and it does not revert merged work.
    pub fn can_be_allowed(&self) -> bool {
        self.unknown().next().is_none() && self.refused().iter().all(|guard| guard.name != GuardName::BehindBase)
    }

    /// The consents that a rollback of a run of this plan needs, because the run leaves objects to another stack.
    pub fn undo_consents(&self) -> BTreeSet<String> {
        /// The most keys that are named one by one.
        const NAMED: usize = 4;
        let is_left = |change: &&Change| change.owner_after().is_some_and(|owner| Some(owner) != self.stack.as_deref());
        let left: Vec<&Change> = self.changes.iter().filter(is_left).collect();
        let consent = |glob: &dyn fmt::Display| format!("{}={glob}", KeyAllowance::ForeignStack);
        match left.len() {
            ..=NAMED => left.iter().map(|change| consent(&change.key)).collect(),
            _ => BTreeSet::from([consent(&"*")]),
        }
    }

    /// The consent to a guard, where the plan records one.
    pub fn allowed(&self, guard: &GuardHit) -> Option<&RecordedConsent> {
        self.allowed.iter().find(|allowed| allowed.name == guard.name.as_str())
    }

    /// The consents to single changes that this plan needs and `allow` does not give, as `--allow`
    /// takes them.
    pub(super) fn unallowed(&self, allow: &Allowances, limits: &RunLimits) -> Vec<String> {
        let mut missing = Vec::new();
        for change in &self.changes {
            let needed = needed(self, change, limits).filter(|name| !allow.key(*name, &change.key));
            missing.extend(needed.map(|name| format!("{name}={}", change.key)));
        }
        missing
    }
}

/// The consents that a single change of `plan` needs within these limits, by its before-image.
fn needed(plan: &Plan, change: &Change, limits: &RunLimits) -> impl Iterator<Item = KeyAllowance> + use<> {
    let ownership = change.action.before().and_then(|before| Ownership::read(&before.endpoint.annotations));
    let owner = Owner::of(ownership.as_ref(), &change.key, plan.stack.as_deref());
    let protected = change.action.before().is_some_and(|before| before.endpoint.is_protected());
    let (referred, unverified) = match &change.action {
        Action::Delete { referrers, .. } => {
            let may_be_a_copy = limits.safeguards.prune == Prune::Owned;
            let is_unproven = (may_be_a_copy && owner == Owner::Unverified) || matches!(owner, Owner::Moved(_));
            (!referrers.is_empty(), is_unproven && plan.undone().is_none())
        }
        Action::Create { .. } | Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => {
            (false, false)
        }
    };
    [
        (matches!(owner, Owner::Foreign(_)), KeyAllowance::ForeignStack),
        (protected && change.action.deletes(), KeyAllowance::Protected),
        (change.action.kind() == ActionKind::Recreate, KeyAllowance::Recreate),
        (referred, KeyAllowance::Referred),
        (unverified, KeyAllowance::Unverified),
    ]
    .into_iter()
    .filter_map(|(is_needed, name)| is_needed.then_some(name))
}

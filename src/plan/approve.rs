//! The approval of a plan: checks unknown reads, the digest, guards and consents, and returns the only value that an
//! apply accepts.

use std::collections::BTreeSet;

use super::{Allowances, Digest, GuardHit, GuardName, Plan, RunLimits, guard};
use crate::model::Scope;

/// An approved plan, the only value that an apply accepts. [`Plan::approve`] and [`Plan::approve_within`]
/// are the only ways to get one.
#[derive(Debug, Clone, Copy)]
pub struct ApprovedPlan<'p>(&'p Plan);

/// How a user approved the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval<'a> {
    /// By `--yes`, before this plan was shown: the consents that it records do not count.
    Given,
    /// At a prompt that shows this plan with the consents that it records.
    Asked,
    /// By the digest of the plan that was reviewed.
    Digest(&'a str),
}

/// Why a plan is not approved. No request was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Guards that were not allowed.
    #[error("{}", describe(.0))]
    Guards(Vec<GuardHit>),
    /// The plan is not the one that was reviewed.
    #[error(
        "this plan's digest is not {given}: the files, the live objects, the service, the options or what was allowed \
         have changed since the review"
    )]
    OtherDigest {
        /// The given digest.
        given: String,
        /// Whether this plan was made with a base.
        base: bool,
    },
    /// The given text is not a digest.
    #[error("`{}` is not a valid digest: give at least {} hex digits, as the plan shows them", .0, Digest::LEAST)]
    NoDigest(String),
    /// Single changes that were not allowed; only a plan from a file or a journal can have them.
    #[error("the plan needs consents that were not given: {}", .0.join(", "))]
    Changes(Vec<String>),
    /// A list in the selection could not be read; that cannot be allowed.
    #[error("could not read {}, so nothing is concluded about it", names(.0))]
    Unknown(Vec<(Scope, String)>),
}

impl ApprovalError {
    /// The missing consents, as `--allow` takes them; none where the plan cannot be allowed.
    pub fn consents(&self) -> Vec<String> {
        match self {
            // A guard can hit several namespaces.
            ApprovalError::Guards(guards) => {
                let names: BTreeSet<GuardName> = guards.iter().map(|guard| guard.name).collect();
                names.iter().map(ToString::to_string).collect()
            }
            ApprovalError::Changes(names) => names.clone(),
            ApprovalError::OtherDigest { .. } | ApprovalError::NoDigest(_) | ApprovalError::Unknown(_) => Vec::new(),
        }
    }
}

fn describe(guards: &[GuardHit]) -> String {
    guards.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn names(lists: &[(Scope, String)]) -> String {
    lists.iter().map(|(scope, _)| format!("`{scope}`")).collect::<Vec<_>>().join(", ")
}

impl Plan {
    /// Approves this plan.
    ///
    /// # Errors
    /// The reason why it may not be applied; the order is unknown reads, digest, guards, single changes.
    pub fn approve(&self, consent: Approval<'_>, allow: &Allowances) -> Result<ApprovedPlan<'_>, ApprovalError> {
        self.approve_within(consent, allow, &RunLimits::whole(self))
    }

    /// Approves a plan that was read from a file or a journal, whose settings and counts `limits` bound.
    ///
    /// # Guarantees
    /// Guards are computed from the changes. The consents that the plan records count only where a digest
    /// covers them or a user saw them.
    ///
    /// # Errors
    /// Those of [`Plan::approve`].
    pub fn approve_within(
        &self,
        consent: Approval<'_>,
        allow: &Allowances,
        limits: &RunLimits,
    ) -> Result<ApprovedPlan<'_>, ApprovalError> {
        let lists: Vec<(Scope, String)> =
            self.unknown().map(|(scope, reason)| (scope.clone(), reason.to_owned())).collect();
        if !lists.is_empty() {
            return Err(ApprovalError::Unknown(lists));
        }
        let recorded = match consent {
            Approval::Given => Allowances::default(),
            Approval::Asked => self.consents(),
            Approval::Digest(given) => self.consents_of(given)?,
        };
        let allow = allow.clone().or(recorded);
        let guards: Vec<GuardHit> =
            guard::hits(self, limits).into_iter().filter(|guard| !allow.guard(guard.name)).collect();
        if !guards.is_empty() {
            return Err(ApprovalError::Guards(guards));
        }
        let names = self.unallowed(&allow, limits);
        if names.is_empty() { Ok(ApprovedPlan(self)) } else { Err(ApprovalError::Changes(names)) }
    }

    /// The consents that the digest `given` covers.
    fn consents_of(&self, given: &str) -> Result<Allowances, ApprovalError> {
        let (whole, without_consents) = self.digests();
        match (whole.is_named(given), without_consents.is_named(given)) {
            (None, _) | (_, None) => Err(ApprovalError::NoDigest(given.to_owned())),
            (Some(true), _) => Ok(self.reviewed_consents()),
            // The plan was reviewed before anything was allowed: only the consents of the apply count.
            (Some(false), Some(true)) => Ok(Allowances::default()),
            (Some(false), Some(false)) => {
                Err(ApprovalError::OtherDigest { given: given.to_owned(), base: self.settings.base })
            }
        }
    }
}

impl<'p> ApprovedPlan<'p> {
    /// The plan.
    pub fn plan(self) -> &'p Plan {
        self.0
    }
}

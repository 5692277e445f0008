use super::{Allow, Digest, Guard, Limits, Plan};
use crate::model::Namespace;

/// A plan that somebody approved: the only thing an apply accepts, and [`Plan::approve`] the only way
/// to get one.
#[derive(Debug, Clone, Copy)]
pub struct Approved<'p>(&'p Plan);

/// How a person said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent<'a> {
    /// By `--yes`, before anybody saw this plan: the consents that it records are not taken.
    Given,
    /// At a prompt that shows this plan with the consents that it records.
    Asked,
    /// By the digest of the plan that was reviewed.
    Digest(&'a str),
}

/// Why a plan is not approved. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Guards stand that nobody allowed.
    #[error("{}", told(guards))]
    Guards {
        /// Which.
        guards: Vec<Guard>,
    },
    /// The plan is not the one that was reviewed.
    #[error(
        "this plan's digest is not {given}: the files, the service, the options or what was allowed are not those \
         of the review"
    )]
    OtherDigest {
        /// What was given.
        given: String,
        /// Whether this plan was made with a base.
        base: bool,
    },
    /// What was given is no digest.
    #[error("`{given}` is no digest: at least {} hex digits, as the plan shows them", Digest::LEAST)]
    NoDigest {
        /// What was given.
        given: String,
    },
    /// Single changes that nobody allowed; only a plan from a file or a journal has such.
    #[error("the plan needs consents that nobody gave: {}", names.join(", "))]
    Changes {
        /// As `--allow` takes them.
        names: Vec<String>,
    },
    /// A read in the selection is unknown; that cannot be allowed.
    #[error("the list of {} cannot be trusted, so nothing is concluded about it", names(namespaces))]
    Unknown {
        /// Which, with the reason.
        namespaces: Vec<(Namespace, String)>,
    },
}

fn told(guards: &[Guard]) -> String {
    guards.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn names(namespaces: &[(Namespace, String)]) -> String {
    namespaces.iter().map(|(namespace, _)| format!("`{namespace}`")).collect::<Vec<_>>().join(", ")
}

impl Plan {
    /// Approves this plan.
    ///
    /// # Errors
    /// The reason why it may not be applied; the order is unknown reads, digest, guards.
    pub fn approve(&self, consent: Consent<'_>, allow: &Allow) -> Result<Approved<'_>, Refusal> {
        self.approve_within(consent, allow, &Limits::default())
    }

    /// Approves a plan that was read from a file or a journal, whose settings and counts `limits` bound.
    ///
    /// # Guarantees
    /// Guards are computed from the changes. The consents that the plan records count only where a digest
    /// covers them or a person saw them.
    ///
    /// # Errors
    /// Those of [`Plan::approve`].
    pub fn approve_within(
        &self,
        consent: Consent<'_>,
        allow: &Allow,
        limits: &Limits,
    ) -> Result<Approved<'_>, Refusal> {
        let namespaces: Vec<(Namespace, String)> =
            self.unknown().map(|(namespace, reason)| (namespace.clone(), reason.to_owned())).collect();
        if !namespaces.is_empty() {
            return Err(Refusal::Unknown { namespaces });
        }
        let recorded = match consent {
            Consent::Given => Allow::default(),
            Consent::Asked => self.consents(),
            Consent::Digest(given) => self.consents_of(given)?,
        };
        let allow = allow.clone().or(recorded);
        let guards: Vec<Guard> =
            self.guards_within(limits).into_iter().filter(|guard| !allow.guard(guard.name)).collect();
        if !guards.is_empty() {
            return Err(Refusal::Guards { guards });
        }
        let names = self.unallowed(&allow);
        if names.is_empty() { Ok(Approved(self)) } else { Err(Refusal::Changes { names }) }
    }

    /// The consents that the digest `given` covers.
    fn consents_of(&self, given: &str) -> Result<Allow, Refusal> {
        let digests = self.digests();
        match (digests.whole.is_named(given), digests.without_consents.is_named(given)) {
            (None, _) | (_, None) => Err(Refusal::NoDigest { given: given.to_owned() }),
            (Some(true), _) => Ok(self.consents()),
            // The plan that was reviewed before anybody allowed anything: whoever applies it says what.
            (Some(false), Some(true)) => Ok(Allow::default()),
            (Some(false), Some(false)) => {
                Err(Refusal::OtherDigest { given: given.to_owned(), base: self.settings.base })
            }
        }
    }
}

impl<'p> Approved<'p> {
    /// The plan.
    #[must_use]
    pub fn plan(self) -> &'p Plan {
        self.0
    }
}

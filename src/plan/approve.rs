use super::{Allow, Guard, Plan};
use crate::model::Namespace;

/// A plan that somebody approved: the only thing an apply accepts, and [`Plan::approve`] the only way
/// to get one.
#[derive(Debug, Clone, Copy)]
pub struct Approved<'p>(&'p Plan);

/// How a person said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent<'a> {
    /// At a prompt that showed this plan, or by `--yes`.
    Given,
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
        "this plan's digest is {is}, not {given}: the files, the service or the options are not those of the review"
    )]
    OtherDigest {
        /// What was given.
        given: String,
        /// This plan's.
        is: String,
        /// Whether this plan was made with a base.
        base: bool,
    },
    /// What was given is no digest.
    #[error("`{given}` is no digest: at least 16 hex digits, as the plan shows them")]
    NoDigest {
        /// What was given.
        given: String,
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
        let namespaces: Vec<(Namespace, String)> =
            self.unknown().map(|(namespace, reason)| (namespace.clone(), reason.to_owned())).collect();
        if !namespaces.is_empty() {
            return Err(Refusal::Unknown { namespaces });
        }
        if let Consent::Digest(given) = consent {
            let digest = self.digest();
            match digest.is_named(given) {
                None => return Err(Refusal::NoDigest { given: given.to_owned() }),
                Some(false) => {
                    let (given, is) = (given.to_owned(), digest.short().to_owned());
                    return Err(Refusal::OtherDigest { given, is, base: self.settings.base });
                }
                Some(true) => {}
            }
        }
        let guards: Vec<Guard> = self.guards.iter().filter(|guard| !allow.guard(guard.name)).cloned().collect();
        if guards.is_empty() { Ok(Approved(self)) } else { Err(Refusal::Guards { guards }) }
    }
}

impl<'p> Approved<'p> {
    /// The plan.
    #[must_use]
    pub fn plan(self) -> &'p Plan {
        self.0
    }
}

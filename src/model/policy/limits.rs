//! A policy from outside of the repository: limits that a configuration cannot exceed. A policy tightens
//! settings that have an order, and refuses forbidden values of others.

use std::collections::BTreeSet;
use std::fmt;

use super::{GateMode, Gates, Guards, Prune, Safeguards};
use crate::kind::KindName;
use crate::model::{Name, Namespace};

/// Limits from outside of the repository for what a configuration may set. The configuration decides
/// everything that a policy does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The loosest value of each setting; for `ignore`, the rules that it may contain.
    pub loosest: Safeguards,
    /// `ignore` may contain any rule.
    pub ignores_any: bool,
    /// The stacks that may be applied; any without a list.
    pub stacks: Option<BTreeSet<Name>>,
    /// The namespaces that may be changed; any without a list.
    pub namespaces: Option<BTreeSet<Namespace>>,
    /// The services that may be used, as they are written; any without a list. They count as named from
    /// outside of the repository.
    pub base_urls: Option<Vec<String>>,
    /// The names that `--allow` may give, without their keys; any without a list.
    pub allow: Option<BTreeSet<String>>,
}

impl Default for Policy {
    /// A policy that limits nothing.
    fn default() -> Self {
        Self {
            loosest: Safeguards {
                prune: Prune::All,
                guards: Guards { percent: u8::MAX, least: usize::MAX },
                gates: Gates {
                    upgrade: GateMode::Off,
                    ddos: GateMode::Off,
                    events: GateMode::Off,
                    events_minutes: 0,
                    events_threshold: u64::MAX,
                },
                ignore: BTreeSet::new(),
                strict: KindName::all().collect(),
                ownership_annotations: false,
                version_checked: true,
            },
            ignores_any: true,
            stacks: None,
            namespaces: None,
            base_urls: None,
            allow: None,
        }
    }
}

/// A value that the policy forbids and that has no stricter replacement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the policy forbids {what}{allowed}")]
pub struct Violation {
    what: String,
    /// What it allows instead.
    allowed: String,
}

impl Violation {
    fn new(what: String, allowed: impl IntoIterator<Item: fmt::Display>) -> Self {
        let allowed = quoted(allowed);
        Self { what, allowed: if allowed.is_empty() { allowed } else { format!("; it allows {allowed}") } }
    }

    /// A service that is not among the allowed ones.
    pub fn of_service(url: &impl fmt::Display, allowed: &[String]) -> Self {
        Self::new(format!("the service {url}"), allowed)
    }
}

fn quoted(names: impl IntoIterator<Item: fmt::Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl Policy {
    /// The settings, limited to what the policy allows. Never looser than the settings or the policy.
    pub fn tighten(&self, settings: &Safeguards) -> Safeguards {
        let tightened = settings.stricter(&self.loosest);
        if self.ignores_any { Safeguards { ignore: settings.ignore.clone(), ..tightened } } else { tightened }
    }

    /// Checks that the stack may be applied.
    ///
    /// # Errors
    /// It may not.
    pub fn stack(&self, stack: Option<&str>) -> Result<(), Violation> {
        match &self.stacks {
            Some(stacks) if !stacks.iter().any(|allowed| Some(allowed.as_str()) == stack) => {
                let what = stack.map_or("a run without a stack".to_owned(), |stack| format!("the stack `{stack}`"));
                Err(Violation::new(what, stacks))
            }
            _ => Ok(()),
        }
    }

    /// Checks that these namespaces may be changed.
    ///
    /// # Errors
    /// The namespaces that may not be changed.
    pub fn namespaces<'a>(&self, namespaces: impl IntoIterator<Item = &'a Namespace>) -> Result<(), Violation> {
        let Some(listed) = &self.namespaces else { return Ok(()) };
        let forbidden: BTreeSet<&Namespace> =
            namespaces.into_iter().filter(|namespace| !listed.contains(*namespace)).collect();
        let plural = match forbidden.len() {
            0 => return Ok(()),
            1 => "",
            _ => "s",
        };
        Err(Violation::new(format!("changes in the namespace{plural} {}", quoted(forbidden)), listed))
    }

    /// Checks that `--allow` may give these names.
    ///
    /// # Errors
    /// The first name that it may not give.
    pub fn allow<'a>(&self, given: impl IntoIterator<Item = &'a String>) -> Result<(), Violation> {
        let Some(listed) = &self.allow else { return Ok(()) };
        let name = |text: &str| text.split_once('=').map_or(text, |(name, _)| name).to_owned();
        match given.into_iter().find(|text| !listed.contains(&name(text))) {
            None => Ok(()),
            Some(given) => Err(Violation::new(format!("`--allow {given}`"), listed)),
        }
    }
}

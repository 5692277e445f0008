use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionKind, Plan, ScopeRead};
use crate::model::Namespace;

/// A guard that stands: the apply is refused until it is allowed by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
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

impl GuardName {
    /// Every guard.
    pub const ALL: [GuardName; 3] = [GuardName::MassChange, GuardName::EmptyNamespace, GuardName::BehindBase];

    /// The name that `--allow` takes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            GuardName::MassChange => "mass-change",
            GuardName::EmptyNamespace => "empty-namespace",
            GuardName::BehindBase => "behind-base",
        }
    }
}

impl fmt::Display for GuardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Guard {
    /// The share in per cent, rounded down.
    #[must_use]
    pub fn percent(&self) -> usize {
        (self.count * 100).checked_div(self.of).unwrap_or(0)
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guard { count, of, .. } = self;
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

/// The guards that stand over a plan, the whole plan's first.
pub(super) fn standing(plan: &Plan) -> Vec<Guard> {
    let mut guards = Vec::new();
    let mut whole = Share::default();
    for (namespace, scope) in &plan.scope {
        let ScopeRead::Complete { owned, .. } = scope.read else { continue };
        let in_namespace = plan.changes.iter().filter(|change| change.key.namespace == *namespace);
        let mut share = Share { of: owned, ..Share::default() };
        for change in in_namespace {
            match change.action.kind() {
                ActionKind::Delete => share.deletes += 1,
                ActionKind::Replace => share.replaces += 1,
                ActionKind::Create | ActionKind::Mark => {}
            }
        }
        whole.deletes += share.deletes;
        whole.replaces += share.replaces;
        whole.of += share.of;
        guards.extend(share.mass_change(plan, Some(namespace)));
        if share.deletes > 0 && share.deletes == share.of {
            guards.push(Guard {
                name: GuardName::EmptyNamespace,
                namespace: Some(namespace.clone()),
                count: share.deletes,
                of: share.of,
                allowed_percent: None,
            });
        }
    }
    if plan.scope.len() > 1 {
        guards.extend(whole.mass_change(plan, None));
    }
    guards.extend(behind_base(plan));
    guards
}

/// What would happen to the owned endpoints of a scope.
#[derive(Default)]
struct Share {
    deletes: usize,
    replaces: usize,
    of: usize,
}

impl Share {
    fn mass_change(&self, plan: &Plan, namespace: Option<&Namespace>) -> Option<Guard> {
        let settings = plan.settings.guards;
        let count = self.deletes + self.replaces;
        let stands = self.of >= settings.least && count * 100 > self.of * usize::from(settings.percent);
        stands.then(|| Guard {
            name: GuardName::MassChange,
            namespace: namespace.cloned(),
            count,
            of: self.of,
            allowed_percent: Some(settings.percent),
        })
    }
}

fn behind_base(plan: &Plan) -> Option<Guard> {
    let behind = plan.changes.iter().filter(|change| change.is_behind_base()).count();
    (behind > 0).then_some(Guard {
        name: GuardName::BehindBase,
        namespace: None,
        count: behind,
        of: plan.changes.len(),
        allowed_percent: None,
    })
}

//! The settings that limit a run, with their defaults, and which of two is stricter. Configurations,
//! plans and policies use these types.

use std::collections::BTreeSet;

use crate::kind::KindName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::{Field, Json, Layout, Namespace, displayed, words};

/// What a stack may delete in the namespaces that it lists, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Prune {
    /// Nothing.
    None,
    /// Objects that this stack owns.
    #[default]
    Owned,
    /// Also objects without an owner.
    All,
}

words!(Prune { Owned = "owned", All = "all", None = "none" });

/// The numbers of the `mass-change` guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// The largest share that may be deleted or replaced, in per cent.
    pub percent: u8,
    /// The fewest objects for which shares are computed.
    pub least: usize,
}

impl Default for Guards {
    fn default() -> Self {
        Self { percent: 30, least: 10 }
    }
}

impl Guards {
    fn stricter(self, other: Self) -> Self {
        Self { percent: self.percent.min(other.percent), least: self.least.min(other.least) }
    }
}

/// What a gate does when it finds something, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateMode {
    /// It is not checked.
    Off,
    /// It prints a warning.
    Warn,
    /// It refuses the apply.
    Block,
}

words!(GateMode { Off = "off", Warn = "warn", Block = "block" });

/// What is checked before an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// An upgrade that is in progress or failed, at a site that a changed endpoint names.
    pub upgrade: GateMode,
    /// An open DDoS event.
    pub ddos: GateMode,
    /// More security events than usual.
    pub events: GateMode,
    /// The minutes for which the events gate counts events.
    pub events_minutes: u32,
    /// The most security events in that time that count as usual.
    pub events_threshold: u64,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            upgrade: GateMode::Warn,
            ddos: GateMode::Warn,
            events: GateMode::Off,
            events_minutes: 15,
            events_threshold: 1000,
        }
    }
}

impl Gates {
    /// The gates that block, without the others.
    #[must_use]
    pub fn blocking(self) -> Self {
        let only = |mode| if mode == GateMode::Block { mode } else { GateMode::Off };
        Self { upgrade: only(self.upgrade), ddos: only(self.ddos), events: only(self.events), ..self }
    }

    fn stricter(self, other: Self) -> Self {
        // Numbers of a gate that is off count only where the gate that is on, such as that of a policy, has none.
        let (minutes, threshold) = match (self.events, other.events) {
            (GateMode::Off, GateMode::Warn | GateMode::Block) => other.events_numbers_or(&self),
            (GateMode::Warn | GateMode::Block, GateMode::Off) => self.events_numbers_or(&other),
            _ => (self.events_minutes.max(other.events_minutes), self.events_threshold.min(other.events_threshold)),
        };
        Self {
            upgrade: self.upgrade.max(other.upgrade),
            ddos: self.ddos.max(other.ddos),
            events: self.events.max(other.events),
            events_minutes: minutes,
            events_threshold: threshold,
        }
    }

    /// The minutes and the threshold of the events gate, with those of `other` for what a policy leaves open.
    fn events_numbers_or(&self, other: &Self) -> (u32, u64) {
        let minutes = if self.events_minutes == 0 { other.events_minutes } else { self.events_minutes };
        let threshold = if self.events_threshold == u64::MAX { other.events_threshold } else { self.events_threshold };
        (minutes, threshold)
    }

    /// Whether the events gate of `self` allows more than that of `other`.
    pub(super) fn events_are_looser_than(&self, other: &Self) -> bool {
        match (self.events, other.events) {
            (_, GateMode::Off) => false,
            (mine, theirs) if mine < theirs => true,
            _ => self.events_minutes < other.events_minutes || self.events_threshold > other.events_threshold,
        }
    }

    /// The events gate with its numbers, in words.
    pub(super) fn events_text(&self) -> String {
        match self.events {
            GateMode::Off => "off".to_owned(),
            mode => format!("{mode} (more than {} in {} minutes)", self.events_threshold, self.events_minutes),
        }
    }
}

/// A field that is left out of comparison for the objects that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IgnoreRule {
    /// A glob for `namespace/name`.
    pub object: String,
    /// The field.
    pub field: Field,
}

displayed!(IgnoreRule, |rule| "{} of {}", rule.field, rule.object);

/// The settings that have an order from strict to loose, so that the stricter one of two configurations
/// can be in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Safeguards {
    /// What may be deleted.
    pub prune: Prune,
    /// The numbers of the `mass-change` guard.
    pub guards: Guards,
    /// What is checked before an apply.
    pub gates: Gates,
    /// Fields that are left out of comparison.
    pub ignore: BTreeSet<IgnoreRule>,
    /// The kinds for which an apply removes values that the definition does not name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub strict: BTreeSet<KindName>,
    /// Whether ownership annotations are written.
    pub ownership_annotations: bool,
    /// Whether the service is trusted to refuse a version mismatch.
    pub version_checked: bool,
}

impl Default for Safeguards {
    fn default() -> Self {
        Self {
            prune: Prune::default(),
            guards: Guards::default(),
            gates: Gates::default(),
            ignore: BTreeSet::new(),
            strict: BTreeSet::new(),
            ownership_annotations: true,
            version_checked: false,
        }
    }
}

impl Safeguards {
    /// Each setting by its path in `trueup.yaml`, in the notation of that file.
    pub fn settings(&self) -> [(&'static str, Json); 12] {
        let Self { prune, guards, gates, ignore, strict, ownership_annotations, version_checked } = self;
        [
            ("prune", json!(prune)),
            ("guards.percent", json!(guards.percent)),
            ("guards.least", json!(guards.least)),
            ("gates.upgrade", json!(gates.upgrade)),
            ("gates.ddos", json!(gates.ddos)),
            ("gates.events.mode", json!(gates.events)),
            ("gates.events.minutes", json!(gates.events_minutes)),
            ("gates.events.threshold", json!(gates.events_threshold)),
            ("ignore", json!(ignore)),
            ("strict", json!(strict)),
            ("ownership_annotations", json!(ownership_annotations)),
            ("version_checked", json!(version_checked)),
        ]
    }

    /// Settings as strict as both: the smaller numbers, the stronger gates, and the rules of `ignore` that
    /// both have. Idempotent and commutative, and never looser than either.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        Self {
            prune: self.prune.min(other.prune),
            guards: self.guards.stricter(other.guards),
            gates: self.gates.stricter(other.gates),
            ignore: self.ignore.intersection(&other.ignore).cloned().collect(),
            strict: self.strict.intersection(&other.strict).copied().collect(),
            ownership_annotations: self.ownership_annotations || other.ownership_annotations,
            version_checked: self.version_checked && other.version_checked,
        }
    }
}

/// The settings without an order: what a run works on, and what it does not check or show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunTarget {
    /// The service, as the configuration writes it.
    pub base_url: Option<String>,
    /// The layout of its paths.
    pub layout: Layout,
    /// The stack.
    pub stack: Option<String>,
    /// The namespaces in which the stack may delete.
    pub namespaces: BTreeSet<Namespace>,
    /// The kinds besides endpoint whose objects the stack may delete.
    pub kinds: BTreeSet<KindName>,
    /// Globs of the files that are definitions.
    pub include: BTreeSet<String>,
    /// Globs of the files that are not definitions.
    pub exclude: BTreeSet<String>,
    /// The variable with the token.
    pub token_variable: Option<String>,
    /// The stack may have no definitions.
    pub allow_empty: bool,
    /// The fields that are not checked.
    pub unchecked: BTreeSet<String>,
    /// The notes that reports leave out.
    pub hide_notes: BTreeSet<String>,
}

/// The settings of a configuration that decide what a run may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetySettings {
    /// The settings without an order.
    pub target: RunTarget,
    /// The settings with an order, which limit it.
    pub safeguards: Safeguards,
}

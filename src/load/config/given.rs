//! What a mapping of settings or a policy sets, in types. Everything in it was checked by its description.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use super::Config;
use super::described::field;
use crate::kind::KindName;
use crate::model::StringMap;
use crate::model::policy::{GateMode, Gates, Guards, IgnoreRule, Prune, Safeguards};

/// What limits a run, in settings and policies.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GivenSafeguards {
    prune: Option<Prune>,
    guards: GivenGuards,
    gates: GivenGates,
    ignore: Option<Vec<GivenRule>>,
    strict: Option<GivenStrict>,
    ownership_annotations: Option<bool>,
    version_checked: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GivenGuards {
    percent: Option<u8>,
    least: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GivenGates {
    upgrade: Option<GateMode>,
    ddos: Option<GateMode>,
    events: Option<GivenEvents>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GivenEvents {
    Mode(GateMode),
    Numbers { mode: Option<GateMode>, minutes: Option<u32>, threshold: Option<u64> },
}

#[derive(Debug, Deserialize)]
struct GivenRule {
    object: Option<String>,
    field: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GivenStrict {
    /// Every kind but endpoint, which has nothing that a definition does not name.
    Every(bool),
    Kinds(BTreeSet<KindName>),
}

/// The labels of a stack.
pub(super) fn labels<'de, D: Deserializer<'de>>(from: D) -> Result<StringMap, D::Error> {
    Ok(BTreeMap::deserialize(from)?.into_iter().collect())
}

/// What limits a run in settings; what is not set has its default.
pub(super) fn safeguards<'de, D: Deserializer<'de>>(from: D) -> Result<Safeguards, D::Error> {
    let mut safeguards = Config::default().safeguards;
    GivenSafeguards::deserialize(from)?.set(&mut safeguards);
    Ok(safeguards)
}

impl GivenSafeguards {
    /// Sets what is written; the rest stays as it is.
    pub(super) fn set(self, safeguards: &mut Safeguards) {
        let Safeguards { prune, guards, gates, ignore, strict, ownership_annotations, version_checked } = safeguards;
        *prune = self.prune.unwrap_or(*prune);
        let Guards { percent, least } = guards;
        *percent = self.guards.percent.unwrap_or(*percent);
        *least = self.guards.least.unwrap_or(*least);
        self.gates.set(gates);
        if let Some(rules) = self.ignore {
            let rule = |GivenRule { object, field: name }| {
                let object = object?;
                Some(IgnoreRule { field: field(&name?, &object)?, object })
            };
            *ignore = rules.into_iter().filter_map(rule).collect();
        }
        match self.strict {
            Some(GivenStrict::Every(true)) => *strict = KindName::all().filter(|kind| !kind.is_endpoint()).collect(),
            Some(GivenStrict::Every(false)) => strict.clear(),
            Some(GivenStrict::Kinds(kinds)) => *strict = kinds,
            None => {}
        }
        *ownership_annotations = self.ownership_annotations.unwrap_or(*ownership_annotations);
        *version_checked = self.version_checked.unwrap_or(*version_checked);
    }

    pub(super) fn has_rules(&self) -> bool {
        self.ignore.is_some()
    }
}

impl GivenGates {
    fn set(self, gates: &mut Gates) {
        gates.upgrade = self.upgrade.unwrap_or(gates.upgrade);
        gates.ddos = self.ddos.unwrap_or(gates.ddos);
        match self.events {
            None => {}
            Some(GivenEvents::Mode(mode)) => gates.events = mode,
            Some(GivenEvents::Numbers { mode, minutes, threshold }) => {
                gates.events = mode.unwrap_or(GateMode::Warn);
                gates.events_minutes = minutes.unwrap_or(gates.events_minutes);
                gates.events_threshold = threshold.unwrap_or(gates.events_threshold);
            }
        }
    }
}

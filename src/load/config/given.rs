//! What a mapping of settings or a policy sets, in types. Everything in it was checked by its description.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::described::field;
use super::{Config, FileGlobs};
use crate::kind::KindName;
use crate::model::policy::{GateMode, Gates, Guards, IgnoreRule, Prune, Safeguards};
use crate::model::{Layout, Name, Namespace};

/// The top level of the file, a layer of it, or several of them merged.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GivenSettings {
    stack: Option<Name>,
    labels: BTreeMap<String, String>,
    base_url: Option<String>,
    layout: Option<Layout>,
    token_variable: Option<String>,
    namespaces: Vec<Namespace>,
    kinds: BTreeSet<KindName>,
    unchecked: BTreeSet<String>,
    hide_notes: BTreeSet<String>,
    allow_empty: bool,
    variables: BTreeMap<String, String>,
    files: FileGlobs,
    rate_limit: Option<f64>,
    concurrency: Option<usize>,
    #[serde(flatten)]
    safeguards: GivenSafeguards,
}

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

impl From<GivenSettings> for Config {
    /// What is not set has its default.
    fn from(given: GivenSettings) -> Self {
        let mut config = Config {
            stack: given.stack,
            labels: given.labels.into_iter().collect(),
            base_url: given.base_url,
            layout: given.layout,
            token_variable: given.token_variable,
            namespaces: given.namespaces,
            kinds: given.kinds,
            unchecked: given.unchecked,
            hide_notes: given.hide_notes,
            allow_empty: given.allow_empty,
            variables: given.variables,
            files: given.files,
            rate_limit: given.rate_limit,
            concurrency: given.concurrency,
            ..Config::default()
        };
        given.safeguards.set(&mut config.safeguards);
        config
    }
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

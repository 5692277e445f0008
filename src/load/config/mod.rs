//! `trueup.yaml`: the settings of a stack, read with the same places and suggestions as definitions.
//! An environment may set everything that the top level of the file sets.

mod described;
mod explain;
mod given;
mod layers;
mod places;
mod policy;

use std::collections::{BTreeMap, BTreeSet};

pub use described::{POLICY, SETTINGS, setting_paths};
pub(super) use explain::settings as explained;
pub use explain::{ExplainedSetting, ReplacedSetting};
pub(super) use layers::read;
pub use layers::{LayerName, lists_of};
pub(super) use places::{SettingPlaces, rule};
pub use policy::policy;

use serde::Deserialize;

use crate::kind::KindName;
use crate::model::policy::{Prune, RunTarget, Safeguards, SafetySettings};
use crate::model::{Layout, Name, Namespace, StringMap};

/// The name of the settings file; the directory that contains it is a stack.
pub const FILE: &str = "trueup.yaml";

/// The message for a file whose name resembles [`FILE`] but is not read as settings.
pub fn wrong_name(name: &str) -> Option<String> {
    let is_meant = |meant: &str| name.eq_ignore_ascii_case(meant);
    let is_wrong = name != FILE && [FILE, "trueup.yml", "trueup.json"].into_iter().any(is_meant);
    is_wrong.then(|| format!("settings are read from {FILE}, not from {name}"))
}

/// The word that chooses every environment.
pub const EVERY_ENVIRONMENT: &str = "all";

/// The number of requests in flight where no setting gives one.
pub const DEFAULT_CONCURRENCY: usize = 8;

/// The environment variable with the token where no setting names another.
pub const DEFAULT_TOKEN_VARIABLE: &str = "TRUEUP_TOKEN";

/// The settings of a stack, the chosen environment applied.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where the service is, as written; checked to contain no credentials.
    pub base_url: Option<String>,
    /// The layout of the service's paths.
    pub layout: Option<Layout>,
    /// The name under which the repository owns objects.
    pub stack: Option<Name>,
    /// Labels to select the stack among several; those of the environment override the general ones.
    #[serde(deserialize_with = "given::labels")]
    pub labels: StringMap,
    /// The settings of every environment by its name, without variables; empty in the settings of an environment.
    #[serde(skip)]
    pub environments: BTreeMap<String, Config>,
    /// The namespaces of the stack, in the order of the file; without them nothing is deleted.
    pub namespaces: Vec<Namespace>,
    /// The kinds that the stack manages besides endpoint; objects of other kinds are never deleted.
    pub kinds: BTreeSet<KindName>,
    /// Fields that are newer than the description of their kind, such as `origin_pool.spec.new_option`: definitions may
    /// name them.
    pub unchecked: BTreeSet<String>,
    /// The kinds of note that reports leave out.
    pub hide_notes: BTreeSet<String>,
    /// The limits of a run.
    #[serde(flatten, deserialize_with = "given::safeguards")]
    pub safeguards: Safeguards,
    /// Values of `${name}`: those of the environment override the general ones, and `--var` overrides both.
    pub variables: BTreeMap<String, String>,
    /// Variables of `--var` that neither the file nor any of its environments names.
    #[serde(skip)]
    pub undeclared: BTreeSet<String>,
    /// The variables that `defaults` or any environment sets; empty in [`Config::environments`].
    #[serde(skip)]
    pub environment_variables: BTreeSet<String>,
    /// Which files are definitions.
    pub files: FileGlobs,
    /// The directories of the chosen environment's overlays, relative to the stack's, with `/` between parts; each is
    /// applied on top of those before it.
    #[serde(skip)]
    pub overlays: Vec<String>,
    /// The overlay that the chosen environment names and no layer below it shares.
    #[serde(skip)]
    pub own_overlay: Option<String>,
    /// The environment variable with the token; begins with `TRUEUP_TOKEN`.
    pub token_variable: Option<String>,
    /// Requests a second.
    pub rate_limit: Option<f64>,
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// The stack may have no definitions; otherwise a directory without definitions is an error.
    pub allow_empty: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: None,
            layout: None,
            stack: None,
            labels: StringMap::new(),
            environments: BTreeMap::new(),
            namespaces: Vec::new(),
            kinds: BTreeSet::new(),
            unchecked: BTreeSet::new(),
            hide_notes: BTreeSet::new(),
            // Without namespaces nothing is deleted.
            safeguards: Safeguards { prune: Prune::None, ..Safeguards::default() },
            variables: BTreeMap::new(),
            undeclared: BTreeSet::new(),
            environment_variables: BTreeSet::new(),
            files: FileGlobs::default(),
            overlays: Vec::new(),
            own_overlay: None,
            token_variable: None,
            rate_limit: None,
            concurrency: None,
            allow_empty: false,
        }
    }
}

impl Config {
    /// Whether the stack may have no definitions: its objects in its namespaces are then deleted.
    pub fn may_define_nothing(&self) -> bool {
        self.allow_empty && !self.namespaces.is_empty()
    }

    /// Whether the settings without an environment are a stack: no environment exists, or none shares their stack name.
    pub fn is_stack(&self) -> bool {
        let is_shared = self.environments.values().any(|environment| environment.stack == self.stack);
        self.environments.is_empty() || (self.stack.is_some() && !is_shared)
    }

    /// The message that no environment is chosen, where only environments are stacks.
    pub fn without_environment(&self, chosen: Option<&str>) -> Option<String> {
        let names: Vec<&str> = self.environments.keys().map(String::as_str).collect();
        let text = || format!("no environment is chosen (--env: {})", names.join(", "));
        (chosen.is_none() && !self.is_stack()).then(text)
    }

    /// A hint that lists the environments with the missing setting; `None` where one is `chosen`.
    pub fn environments_with(&self, chosen: Option<&str>, sets: impl Fn(&Config) -> bool) -> Option<String> {
        let setting = self.environments.iter().filter(|(_, environment)| chosen.is_none() && sets(environment));
        let flags: Vec<String> = setting.map(|(name, _)| format!("--env {name}")).collect();
        (!flags.is_empty()).then(|| format!("choose an environment that sets it: {}", flags.join(", ")))
    }

    /// The listed kinds and endpoint.
    pub fn kinds_with_endpoint(&self) -> BTreeSet<KindName> {
        &self.kinds | &BTreeSet::from([KindName::ENDPOINT])
    }

    /// The settings that decide what a run may do.
    pub fn safety(&self) -> SafetySettings {
        let target = RunTarget {
            base_url: self.base_url.clone(),
            layout: self.layout.unwrap_or_default(),
            stack: self.stack.as_ref().map(ToString::to_string),
            namespaces: self.namespaces.iter().cloned().collect(),
            kinds: self.kinds.clone(),
            include: self.files.include.iter().cloned().collect(),
            exclude: self.files.exclude.iter().cloned().collect(),
            token_variable: self.token_variable.clone(),
            allow_empty: self.allow_empty,
            unchecked: self.unchecked.clone(),
            hide_notes: self.hide_notes.clone(),
        };
        SafetySettings { target, safeguards: self.safeguards.clone() }
    }
}

/// Globs over paths relative to the stack's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct FileGlobs {
    /// The files that are read; all where empty.
    pub include: Vec<String>,
    /// The files that are left out.
    pub exclude: Vec<String>,
}

#[cfg(test)]
mod tests;

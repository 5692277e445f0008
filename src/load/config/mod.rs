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

/// Whether a person may have meant this name, which no settings are read from.
pub fn is_misnamed(name: &str) -> bool {
    let is_meant = |meant: &str| name.eq_ignore_ascii_case(meant);
    name != FILE && [FILE, "trueup.yml", "trueup.json"].into_iter().any(is_meant)
}

/// The word that chooses every environment.
pub const EVERY_ENVIRONMENT: &str = "all";

/// Requests in flight where nothing says how many.
pub const DEFAULT_CONCURRENCY: usize = 8;

/// The environment variable with the token where nothing names another.
pub const DEFAULT_TOKEN_VARIABLE: &str = "TRUEUP_TOKEN";

/// The settings of a stack, the chosen environment applied.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where the service is, as written; checked to contain no credentials.
    pub base_url: Option<String>,
    /// Which paths the service answers at.
    pub layout: Option<Layout>,
    /// The name under which the repository owns objects.
    pub stack: Option<Name>,
    /// What the stack is, for those who choose among several; the environment's over the general ones.
    #[serde(deserialize_with = "given::labels")]
    pub labels: StringMap,
    /// Every environment by name, with the settings that a call gets which chooses it, but for variables; none in these.
    #[serde(skip)]
    pub environments: BTreeMap<String, Config>,
    /// The namespaces of the stack, in the order of the file; without them nothing is deleted.
    pub namespaces: Vec<Namespace>,
    /// The kinds that the stack manages besides endpoints; others are never deleted.
    pub kinds: BTreeSet<KindName>,
    /// Fields that are newer than the description of their kind, such as `origin_pool.spec.new_option`: definitions may
    /// name them.
    pub unchecked: BTreeSet<String>,
    /// The kinds of note that reports leave out.
    pub hide_notes: BTreeSet<String>,
    /// What limits a run in them.
    #[serde(flatten, deserialize_with = "given::safeguards")]
    pub safeguards: Safeguards,
    /// Values of `${name}`, the environment's over the general ones, `--var` over both.
    pub variables: BTreeMap<String, String>,
    /// Variables of `--var` that neither the file nor any of its environments names.
    #[serde(skip)]
    pub undeclared: BTreeSet<String>,
    /// The variables that environments set, or `defaults` for all of them; none in [`Config::environments`].
    #[serde(skip)]
    pub environment_variables: BTreeSet<String>,
    /// Which files are definitions.
    pub files: FileGlobs,
    /// The directories of the chosen environment's overlays, relative to the stack's, with `/` between parts; of
    /// several each is applied onto those before it.
    #[serde(skip)]
    pub overlays: Vec<String>,
    /// The one of them that only the chosen environment names, if it does.
    #[serde(skip)]
    pub own_overlay: Option<String>,
    /// The environment variable with the token; begins with `TRUEUP_TOKEN`.
    pub token_variable: Option<String>,
    /// Requests a second.
    pub rate_limit: Option<f64>,
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// The stack may define nothing: without it a directory without a definition is an error.
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
    /// Whether the stack may have no definition: what it owns is deleted then, in its namespaces.
    pub fn may_define_nothing(&self) -> bool {
        self.allow_empty && !self.namespaces.is_empty()
    }

    /// Whether there is a stack without an environment: one whose name is that of no environment.
    pub fn is_stack(&self) -> bool {
        let is_shared = self.environments.values().any(|environment| environment.stack == self.stack);
        self.environments.is_empty() || (self.stack.is_some() && !is_shared)
    }

    /// That the settings are those of no environment, where only environments are stacks.
    pub fn without_environment(&self, chosen: Option<&str>) -> Option<String> {
        let names: Vec<&str> = self.environments.keys().map(String::as_str).collect();
        let text = || format!("no environment is chosen (--env: {})", names.join(", "));
        (chosen.is_none() && !self.is_stack()).then(text)
    }

    /// The environments that set what the settings lack without one, as a hint. Where one is `chosen`, none is proposed.
    pub fn environments_with(&self, chosen: Option<&str>, sets: impl Fn(&Config) -> bool) -> Option<String> {
        let setting = self.environments.iter().filter(|(_, environment)| chosen.is_none() && sets(environment));
        let flags: Vec<String> = setting.map(|(name, _)| format!("--env {name}")).collect();
        (!flags.is_empty()).then(|| format!("choose an environment that sets it: {}", flags.join(", ")))
    }

    /// The kinds that it lists, and endpoint.
    pub fn kinds_with_endpoint(&self) -> BTreeSet<KindName> {
        &self.kinds | &BTreeSet::from([KindName::ENDPOINT])
    }

    /// Everything in it that decides what a run may do.
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
    /// Only these; all where empty.
    pub include: Vec<String>,
    /// Not these.
    pub exclude: Vec<String>,
}

#[cfg(test)]
mod tests;

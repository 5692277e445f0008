use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use globset::{Glob, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GuardName;
use crate::model::{Field, Key};

/// What a plan was asked to do, as far as it decides what will be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What may be deleted.
    #[serde(default)]
    pub prune: Prune,
    /// The guards' numbers.
    #[serde(default)]
    pub guards: GuardSettings,
    /// Gates by name with their mode, as the configuration gives them.
    #[serde(default)]
    pub gates: BTreeMap<String, String>,
    /// Whether the two marks are written.
    #[serde(default = "yes")]
    pub marks: bool,
    /// Unmarked objects that are in sync get the mark.
    #[serde(default)]
    pub adopt: bool,
}

fn yes() -> bool {
    true
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prune: Prune::default(),
            guards: GuardSettings::default(),
            gates: BTreeMap::new(),
            marks: true,
            adopt: false,
        }
    }
}

/// What a stack may delete in the namespaces that it lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Prune {
    /// What this stack owns.
    #[default]
    Owned,
    /// Also what nobody marked.
    All,
    /// Nothing.
    None,
}

/// The numbers of the `mass-change` guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardSettings {
    /// The largest share that may be deleted or replaced, in per cent.
    pub percent: u8,
    /// Endpoints from which on shares are counted.
    pub least: usize,
    /// A base says whose each difference is, so that what is behind it is refused.
    #[serde(default)]
    pub base: bool,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { percent: 30, least: 10, base: false }
    }
}

/// What a person allowed by name: `--allow NAME` and `--allow NAME=KEY`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    guards: BTreeSet<GuardName>,
    keys: BTreeMap<KeyAllowance, BTreeSet<Key>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeyAllowance {
    ForeignStack,
    Protected,
    Referred,
}

/// An `--allow` that names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`--allow {text}` names nothing that can be allowed: mass-change, empty-namespace, behind-base, \
     foreign-stack=NAMESPACE/NAME, protected=NAMESPACE/NAME, referred=NAMESPACE/NAME"
)]
pub struct AllowError {
    text: String,
}

impl Allow {
    /// Adds one `--allow`.
    ///
    /// # Errors
    /// A text that names nothing; the message lists what there is.
    pub fn add(&mut self, text: &str) -> Result<(), AllowError> {
        let error = || AllowError { text: text.to_owned() };
        if let Some(name) = GuardName::ALL.into_iter().find(|name| name.as_str() == text) {
            self.guards.insert(name);
            return Ok(());
        }
        let (name, key) = text.split_once('=').ok_or_else(error)?;
        let name = match name {
            "foreign-stack" => KeyAllowance::ForeignStack,
            "protected" => KeyAllowance::Protected,
            "referred" => KeyAllowance::Referred,
            _ => return Err(error()),
        };
        let key = Key::parse(key).map_err(|_| error())?;
        self.keys.entry(name).or_default().insert(key);
        Ok(())
    }

    /// Whether a guard was allowed.
    #[must_use]
    pub fn guard(&self, name: GuardName) -> bool {
        self.guards.contains(&name)
    }

    fn key(&self, name: KeyAllowance, key: &Key) -> bool {
        self.keys.get(&name).is_some_and(|keys| keys.contains(key))
    }

    /// Whether an object of another stack may be taken over.
    #[must_use]
    pub fn foreign_stack(&self, key: &Key) -> bool {
        self.key(KeyAllowance::ForeignStack, key)
    }

    /// Whether a protected object may be deleted.
    #[must_use]
    pub fn protected(&self, key: &Key) -> bool {
        self.key(KeyAllowance::Protected, key)
    }

    /// Whether an object that others refer to may be deleted.
    #[must_use]
    pub fn referred(&self, key: &Key) -> bool {
        self.key(KeyAllowance::Referred, key)
    }
}

/// Fields that are left out of comparison; their live value is kept.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    rules: Vec<IgnoreRule>,
}

/// One rule: which objects, which field.
#[derive(Debug, Clone)]
pub struct IgnoreRule {
    object: GlobMatcher,
    field: Field,
}

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern: {reason}")]
pub struct PatternError {
    /// The text.
    pub pattern: String,
    /// Why.
    pub reason: String,
}

impl IgnoreRule {
    /// A rule for objects whose `namespace/name` the glob matches.
    ///
    /// # Errors
    /// The pattern is no glob.
    pub fn new(object: &str, field: Field) -> Result<Self, PatternError> {
        Ok(Self { object: pattern(object)?, field })
    }
}

/// A glob over `namespace/name`.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, PatternError> {
    let error = |error: globset::Error| PatternError { pattern: text.to_owned(), reason: error.kind().to_string() };
    Ok(Glob::new(text).map_err(error)?.compile_matcher())
}

impl Ignore {
    /// These rules.
    #[must_use]
    pub fn new(rules: Vec<IgnoreRule>) -> Self {
        Self { rules }
    }

    /// The fields of `key` that are left out.
    #[must_use]
    pub fn fields(&self, key: &Key) -> Vec<Field> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let text = key.to_string();
        self.rules.iter().filter(|rule| rule.object.is_match(&text)).map(|rule| rule.field.clone()).collect()
    }
}

impl fmt::Display for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Prune::Owned => "owned",
            Prune::All => "all",
            Prune::None => "none",
        })
    }
}

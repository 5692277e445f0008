//! The settings of a plan, the consents given by name, and the fields that are left out of comparison.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::{Pattern, PatternError};
use crate::model::policy::{GuardName, IgnoreRule, KeyAllowance, Safeguards};
use crate::model::{Field, Key, Namespace};

/// The settings of a plan that decide what will be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanSettings {
    /// The limits of the plan and its apply.
    pub safeguards: Safeguards,
    /// Objects in sync without ownership annotations get them.
    pub adopt: bool,
    /// Differences were attributed against a base, so that those behind it are refused.
    pub base: bool,
    /// The namespaces that the call prunes besides those of the settings: `--prune-namespace`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub prune_namespaces: BTreeSet<Namespace>,
}

/// The consents given by name: `--allow NAME` and `--allow NAME=KEY`.
#[derive(Debug, Clone, Default)]
pub struct Allowances {
    guards: BTreeSet<GuardName>,
    keys: BTreeMap<KeyAllowance, BTreeSet<Key>>,
    /// The patterns of `foreign-stack`: it accepts globs because it deletes nothing.
    foreign: Vec<Pattern>,
}

/// An unknown `--allow`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`--allow {}` names nothing that can be allowed: {}", .0, allowed().join(", "))]
pub struct AllowError(String);

fn allowed() -> Vec<String> {
    let guards = GuardName::ALL.iter().map(ToString::to_string);
    let keys = KeyAllowance::ALL.iter().map(|name| match name {
        KeyAllowance::ForeignStack => format!("{name}=KEY (or a glob)"),
        name => format!("{name}=KEY"),
    });
    guards.chain(keys).collect()
}

impl Allowances {
    /// Adds one `--allow`.
    ///
    /// # Errors
    /// An unknown text; the message lists the known ones.
    pub fn add(&mut self, text: &str) -> Result<(), AllowError> {
        let error = || AllowError(text.to_owned());
        if let Some(name) = GuardName::ALL.into_iter().find(|name| name.as_str() == text) {
            self.guards.insert(name);
            return Ok(());
        }
        let (name, key) = text.split_once('=').ok_or_else(error)?;
        let name = KeyAllowance::ALL.into_iter().find(|known| known.as_str() == name).ok_or_else(error)?;
        match (Key::parse(key), name) {
            (Ok(key), _) => drop(self.keys.entry(name).or_default().insert(key)),
            (Err(_), KeyAllowance::ForeignStack) if !key.is_empty() => {
                self.foreign.push(Pattern::of_call(key).map_err(|_| error())?);
            }
            (Err(_), _) => return Err(error()),
        }
        Ok(())
    }

    /// Whether a guard was allowed.
    pub fn guard(&self, name: GuardName) -> bool {
        self.guards.contains(&name)
    }

    /// Whether `name` was allowed for the object.
    pub fn key(&self, name: KeyAllowance, key: &Key) -> bool {
        self.given(name, key).is_some()
    }

    /// The text of `--allow` that allows `name` for the object.
    pub(super) fn given(&self, name: KeyAllowance, key: &Key) -> Option<String> {
        if self.keys.get(&name).is_some_and(|keys| keys.contains(key)) {
            return Some(format!("{name}={key}"));
        }
        if name != KeyAllowance::ForeignStack || self.foreign.is_empty() {
            return None;
        }
        self.foreign.iter().find(|pattern| pattern.matches(key)).map(|pattern| format!("{name}={}", pattern.text))
    }

    /// Everything that either of the two allows.
    #[must_use]
    pub fn or(mut self, other: Allowances) -> Self {
        self.guards.extend(other.guards);
        for (name, keys) in other.keys {
            self.keys.entry(name).or_default().extend(keys);
        }
        self.foreign.extend(other.foreign);
        self
    }
}

/// Fields that are left out of comparison; their live value is kept.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    /// The pattern for objects and the field of each rule.
    rules: Vec<(Pattern, Field)>,
}

impl Ignore {
    /// These rules.
    ///
    /// # Errors
    /// A pattern is not a glob.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a IgnoreRule>) -> Result<Self, PatternError> {
        let rule = |rule: &IgnoreRule| Ok((Pattern::new(&rule.object)?, rule.field.clone()));
        Ok(Self { rules: rules.into_iter().map(rule).collect::<Result<_, _>>()? })
    }

    /// The fields of `key` that are left out.
    pub fn fields(&self, key: &Key) -> Vec<Field> {
        let rules = self.rules.iter().filter(|(object, _)| object.matches(key));
        rules.filter_map(|(_, field)| Field::of_kind(key.kind, &field.to_string())).collect()
    }
}

//! Scenarios as YAML (and so as JSON): `rules`, each with the calls that it matches and one action.
//!
//! ```yaml
//! rules:
//!   - operation: endpoint-replace   # or a glob such as `*-list`; `*` is the default
//!     namespace: shop               # globs, both optional
//!     name: ep-*
//!     after: 2                      # calls that are left alone
//!     for: 1                        # calls that the rule affects; without it all that follow
//!     every: 1                      # of these only the first and each nth after it
//!     status: {code: 503, retry_after: 1, effect: done}
//! ```
//!
//! The other actions are the variants of [`FaultAction`]: `delay: {milliseconds: N}`, `cut: before|after`,
//! `conflict: {field, value}`, `vanish: {}`, `partial: {missing, code, message}`, `foreign: {namespace}`,
//! `write: {fill, secrets, unknown, removed}`, `shuffle: {}`, `truncate: {bytes}`, `garbage: {}`, `html: {}` and
//! `endless: {}`; `effect: done|none` decides whether the call is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::rule::{FaultAction, FaultRule, Scenario};
use crate::sandbox::operation;

/// Why a scenario cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("the scenario `{path}` cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: crate::file::FileError,
    },
    /// It contains a mistake.
    #[error("{0}")]
    Invalid(String),
}

/// The keys of the actions.
const ACTIONS: [&str; 13] = [
    "status", "delay", "cut", "conflict", "vanish", "partial", "foreign", "write", "shuffle", "truncate", "garbage",
    "html", "endless",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    rules: Vec<RuleEntry>,
}

#[derive(Debug, Deserialize)]
struct RuleEntry {
    #[serde(default = "all")]
    operation: String,
    namespace: Option<String>,
    name: Option<String>,
    #[serde(default)]
    after: u64,
    #[serde(rename = "for")]
    calls: Option<u64>,
    #[serde(default = "one")]
    every: u64,
    #[serde(flatten)]
    actions: BTreeMap<String, Value>,
}

fn all() -> String {
    "*".into()
}

fn one() -> u64 {
    1
}

impl Scenario {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// The file cannot be read, and those of [`Scenario::parse`].
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = crate::file::read_yaml(path, crate::file::limit::SETTINGS)
            .map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|problem| ScenarioError::Invalid(format!("`{}`: {problem}", path.display())))
    }

    /// Reads a scenario from YAML or JSON.
    ///
    /// # Errors
    /// What is wrong, with the place or the rule (counted from 1).
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        if crate::file::is_nested_too_deep(text) {
            return Err(ScenarioError::Invalid("the scenario is nested too deep".to_owned()));
        }
        let document: ScenarioFile = serde_yaml::from_str(text)
            .map_err(|error| ScenarioError::Invalid(format!("the scenario is not valid YAML: {error}")))?;
        let rules = document.rules.into_iter().zip(1..).map(|(entry, number)| {
            rule(entry).map_err(|problem| ScenarioError::Invalid(format!("rule {number} {problem}")))
        });
        Ok(Self { rules: rules.collect::<Result<_, _>>()? })
    }
}

fn rule(entry: RuleEntry) -> Result<FaultRule, String> {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = entry.actions.keys().find(|key| !ACTIONS.contains(&key.as_str())) {
        return Err(format!("has the unknown field `{unknown}`; its action is one of {}", quoted(&ACTIONS)));
    }
    let operation = glob(Some(entry.operation.clone()))?;
    if !operation.iter().any(|glob| operation::names().iter().any(|name| glob.is_match(name))) {
        let known = operation::forms();
        return Err(format!("names the operation `{}`; there are `*`, {}", entry.operation, quoted(&known)));
    }
    if entry.every == 0 {
        return Err("has `every: 0`; the least is 1".into());
    }
    Ok(FaultRule {
        action: action(entry.actions)?,
        operation,
        namespace: glob(entry.namespace)?,
        name: glob(entry.name)?,
        after: entry.after,
        calls: entry.calls,
        every: entry.every,
        count: 0,
    })
}

fn glob(pattern: Option<String>) -> Result<Option<GlobMatcher>, String> {
    let glob = pattern.map(|pattern| Glob::new(&pattern)).transpose();
    let glob = glob.map_err(|source| format!("has a pattern that is not a valid glob: {source}"))?;
    Ok(glob.map(|glob| glob.compile_matcher()))
}

fn action(mut actions: BTreeMap<String, Value>) -> Result<FaultAction, String> {
    let found = match actions.len() {
        1 => String::new(),
        0 => "no action".into(),
        more => format!("{more} actions"),
    };
    let (Some((key, value)), true) = (actions.pop_first(), found.is_empty()) else {
        let known = ACTIONS.map(|name| format!("`{name}`")).join(", ");
        return Err(format!("has {found}; give it exactly one of {known}"));
    };
    let tagged = match (key.as_str(), value.as_str()) {
        ("cut", Some(side)) => json!(format!("cut-{side}")),
        ("vanish" | "shuffle", _) if value == json!({}) => json!(key),
        _ => json!({&key: value}),
    };
    let action = serde_json::from_value(tagged).map_err(|error| format!("has an invalid `{key}`: {error}"))?;
    match &action {
        FaultAction::Status { status, .. } if !(200..=599).contains(status) => {
            Err(format!("has the status {status}; it must be between 200 and 599"))
        }
        FaultAction::Conflict { field, .. } if !field.starts_with("metadata.") && !field.starts_with("spec.") => {
            Err(format!("has the field `{field}`; it must begin with `metadata.` or `spec.`"))
        }
        _ => Ok(action),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::fault::rule::Runs;

    #[test]
    fn every_action_is_read() {
        let text = "
rules:
  - {operation: endpoint-list, namespace: shop, name: 'ep-*', after: 1, for: 2, every: 3, status: {code: 503}}
  - status: {code: 429, body: slow, retry_after: 2, effect: done}
  - delay: {milliseconds: 10}
  - cut: before
  - cut: after
  - conflict: {}
  - conflict: {field: spec.port, value: 81}
  - vanish: {}
  - partial: {missing: 2}
  - foreign: {namespace: shared}
  - write: {fill: none, secrets: sealed, unknown: kept, removed: kept}
  - shuffle: {}
  - truncate: {bytes: 10}
  - garbage: {effect: none}
  - html: {}
  - endless: {}
";
        let scenario = Scenario::parse(text).unwrap();
        let actions: Vec<_> = scenario.rules.iter().map(|rule| rule.action.name()).collect();
        let wanted = "status status delay cut-before cut-after conflict conflict vanish partial foreign write shuffle truncate garbage html endless";
        assert_eq!(actions.join(" "), wanted);
        assert_eq!(scenario.rules[0].operation.as_ref().map(|glob| glob.glob().glob()), Some("endpoint-list"));
        assert_eq!(scenario.rules[6].action, FaultAction::Conflict { field: "spec.port".into(), value: 81.into() });
        assert_eq!(scenario.rules[13].action, FaultAction::Garbage { runs: Runs::Not });
    }

    #[test]
    fn the_scenario_of_the_documentation_is_read() {
        let page = include_str!("../../../docs/sandbox.md");
        let (_, rest) = page.split_once("```yaml\n").unwrap();
        let (scenario, _) = rest.split_once("```").unwrap();
        assert_eq!(Scenario::parse(scenario).unwrap().rules.len(), 2);
    }
}

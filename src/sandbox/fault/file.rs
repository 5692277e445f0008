//! Scenarios as YAML (and so as JSON): `rules`, each with the calls it meets and one action.
//!
//! ```yaml
//! rules:
//!   - operation: endpoint-replace   # or `*`, the default
//!     namespace: shop               # globs, both optional
//!     name: ep-*
//!     after: 2                      # calls left alone
//!     for: 1                        # calls injected; without it all that follow
//!     every: 1                      # of these only each nth
//!     status: {code: 503, retry_after: 1, effect: done}
//! ```
//!
//! The other actions are `delay: {milliseconds: N}`, `cut: before|after`, `conflict: {field, value}`,
//! `vanish: {}`, `partial: {missing, code, message}`, `foreign: {namespace}`, `truncate: {bytes}`, `garbage: {}`, `html: {}`
//! and `endless: {}`; `effect: done|none` says whether the call is done all the same.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{FaultAction, FaultRule, Runs, Scenario};
use crate::sandbox::router::operations;

/// Why a scenario cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario `{path}` cannot be read")]
    Read { path: PathBuf, source: crate::file::FileError },
    #[error("the scenario is nested too deep")]
    TooDeep,
    #[error("`{path}`: {problem}")]
    File { path: PathBuf, problem: Box<ScenarioError> },
    #[error("the scenario is no valid YAML: {0}")]
    Syntax(#[from] serde_yaml::Error),
    #[error("rule {rule} names the operation `{operation}`; there are `*`, {known}")]
    Operation { rule: usize, operation: String, known: String },
    #[error("rule {rule} has {found}; give it exactly one of {ACTIONS}")]
    Actions { rule: usize, found: String },
    #[error("rule {rule} has a pattern that is no glob: {source}")]
    Pattern { rule: usize, source: globset::Error },
    #[error("rule {rule} has the status {status}; it must lie between 200 and 599")]
    Status { rule: usize, status: u16 },
    #[error("rule {rule} has the field `{field}`; it must begin with `metadata.` or `spec.`")]
    Field { rule: usize, field: String },
    #[error("rule {rule} has `every: 0`; the least is 1")]
    Every { rule: usize },
}

const ACTIONS: &str = "`status`, `delay`, `cut`, `conflict`, `vanish`, `partial`, `foreign`, `truncate`, \
                       `garbage`, `html`, `endless`";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    rules: Vec<RuleEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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
    status: Option<Status>,
    delay: Option<Delay>,
    cut: Option<Cut>,
    conflict: Option<Conflict>,
    vanish: Option<Nothing>,
    partial: Option<Partial>,
    foreign: Option<Foreign>,
    truncate: Option<Truncate>,
    garbage: Option<Injected>,
    html: Option<Injected>,
    endless: Option<Injected>,
}

fn all() -> String {
    "*".into()
}

fn one() -> u64 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Done,
    None,
}

impl Effect {
    fn runs(self) -> Runs {
        match self {
            Self::Done => Runs::First,
            Self::None => Runs::Not,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    code: u16,
    body: Option<String>,
    retry_after: Option<u64>,
    effect: Option<Effect>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Delay {
    milliseconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cut {
    Before,
    After,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conflict {
    field: Option<String>,
    value: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Partial {
    #[serde(default)]
    missing: usize,
    code: Option<String>,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Foreign {
    namespace: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Truncate {
    bytes: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Injected {
    effect: Option<Effect>,
}

impl Injected {
    fn runs(&self, default: Runs) -> Runs {
        self.effect.map_or(default, Effect::runs)
    }
}

impl Scenario {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// When the file cannot be read, or as [`Scenario::parse`].
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = crate::file::read_yaml(path, crate::file::limit::SETTINGS)
            .map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|problem| ScenarioError::File { path: path.to_owned(), problem: Box::new(problem) })
    }

    /// Reads a scenario from YAML or JSON.
    ///
    /// # Errors
    /// What is wrong, with the place or the rule (counted from 1).
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        if crate::file::is_nested_too_deep(text) {
            return Err(ScenarioError::TooDeep);
        }
        let document: ScenarioFile = serde_yaml::from_str(text)?;
        let rules: Result<Vec<_>, _> =
            document.rules.into_iter().zip(1..).map(|(entry, number)| rule(entry, number)).collect();
        Ok(Self { rules: rules? })
    }
}

fn rule(entry: RuleEntry, number: usize) -> Result<FaultRule, ScenarioError> {
    if entry.operation != "*" && !operations().any(|known| known == entry.operation) {
        let known = operations().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        return Err(ScenarioError::Operation { rule: number, operation: entry.operation, known });
    }
    if entry.every == 0 {
        return Err(ScenarioError::Every { rule: number });
    }
    let pattern = |source| ScenarioError::Pattern { rule: number, source };
    let mut rule = FaultRule::on(&entry.operation, action(&entry, number)?).after(entry.after).every(entry.every);
    rule.calls = entry.calls;
    if let Some(namespace) = &entry.namespace {
        rule = rule.namespace(namespace).map_err(pattern)?;
    }
    if let Some(name) = &entry.name {
        rule = rule.name(name).map_err(pattern)?;
    }
    Ok(rule)
}

fn action(entry: &RuleEntry, rule: usize) -> Result<FaultAction, ScenarioError> {
    let mut actions = Vec::new();
    if let Some(status) = &entry.status {
        if !(200..=599).contains(&status.code) {
            return Err(ScenarioError::Status { rule, status: status.code });
        }
        actions.push(FaultAction::Status {
            status: status.code,
            body: status.body.clone(),
            retry_after: status.retry_after,
            runs: status.effect.map_or(Runs::Not, Effect::runs),
        });
    }
    if let Some(delay) = &entry.delay {
        actions.push(FaultAction::Delay { milliseconds: delay.milliseconds });
    }
    if let Some(cut) = &entry.cut {
        actions.push(match cut {
            Cut::Before => FaultAction::DisconnectBefore,
            Cut::After => FaultAction::DisconnectAfter,
        });
    }
    if let Some(conflict) = &entry.conflict {
        actions.push(changed(conflict, rule)?);
    }
    if entry.vanish.is_some() {
        actions.push(FaultAction::Vanish);
    }
    if let Some(partial) = &entry.partial {
        actions.push(partial_list(partial));
    }
    if let Some(foreign) = &entry.foreign {
        actions.push(FaultAction::Foreign { namespace: foreign.namespace.clone() });
    }
    if let Some(truncate) = &entry.truncate {
        actions.push(FaultAction::Truncate { bytes: truncate.bytes });
    }
    if let Some(garbage) = &entry.garbage {
        actions.push(FaultAction::Garbage { runs: garbage.runs(Runs::First) });
    }
    if let Some(html) = &entry.html {
        actions.push(FaultAction::Html { runs: html.runs(Runs::Not) });
    }
    if let Some(endless) = &entry.endless {
        actions.push(FaultAction::Endless { runs: endless.runs(Runs::First) });
    }
    let found = match actions.len() {
        0 => "no action".to_owned(),
        more => format!("{more} actions"),
    };
    match (actions.pop(), actions.is_empty()) {
        (Some(action), true) => Ok(action),
        _ => Err(ScenarioError::Actions { rule, found }),
    }
}

fn changed(conflict: &Conflict, rule: usize) -> Result<FaultAction, ScenarioError> {
    let FaultAction::Conflict { field, value } = FaultAction::conflict() else {
        return Ok(FaultAction::conflict());
    };
    let field = conflict.field.clone().unwrap_or(field);
    if !field.starts_with("metadata.") && !field.starts_with("spec.") {
        return Err(ScenarioError::Field { rule, field });
    }
    Ok(FaultAction::Conflict { field, value: conflict.value.clone().unwrap_or(value) })
}

fn partial_list(partial: &Partial) -> FaultAction {
    match FaultAction::partial_list(partial.missing) {
        FaultAction::PartialList { missing, code, message } => FaultAction::PartialList {
            missing,
            code: partial.code.clone().unwrap_or(code),
            message: partial.message.clone().unwrap_or(message),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Scenario::parse(text).unwrap_err().to_string()
    }

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
  - truncate: {bytes: 10}
  - garbage: {effect: none}
  - html: {}
  - endless: {}
";
        let scenario = Scenario::parse(text).unwrap();
        let actions: Vec<_> = scenario.rules.iter().map(|rule| rule.action.name()).collect();
        let wanted = [
            "status",
            "status",
            "delay",
            "cut-before",
            "cut-after",
            "conflict",
            "conflict",
            "vanish",
            "partial",
            "foreign",
            "truncate",
            "garbage",
            "html",
            "endless",
        ];
        assert_eq!(actions, wanted);
        assert_eq!(scenario.rules[0].operation.as_deref(), Some("endpoint-list"));
        assert_eq!(scenario.rules[6].action, FaultAction::Conflict { field: "spec.port".into(), value: 81.into() });
        assert_eq!(scenario.rules[11].action, FaultAction::Garbage { runs: Runs::Not });
    }

    #[test]
    fn the_scenario_of_the_documentation_is_read() {
        let page = include_str!("../../../docs/sandbox.md");
        let (_, rest) = page.split_once("```yaml\n").unwrap();
        let (scenario, _) = rest.split_once("```").unwrap();
        assert_eq!(Scenario::parse(scenario).unwrap().rules.len(), 2);
    }

    #[test]
    fn json_is_read_too() {
        assert!(Scenario::parse(r#"{"rules": [{"cut": "before"}]}"#).is_ok());
    }

    #[test]
    fn each_mistake_is_reported_with_what_is_allowed() {
        let message = problem("rules:\n  - operation: endpoint-made\n    cut: before\n");
        assert!(message.starts_with("rule 1 names the operation `endpoint-made`; there are `*`, `endpoint-create`"));
        assert!(problem("rules:\n  - operaton: '*'\n").contains("unknown field `operaton`"));
        assert!(problem("rules:\n  - after: 1\n").starts_with("rule 1 has no action; give it exactly one of `status`"));
        let two = problem("rules:\n  - {cut: after}\n  - {cut: before, html: {}}\n");
        assert!(two.starts_with("rule 2 has 2 actions"), "{two}");
        assert!(problem("rules: [{status: {code: 99}}]").contains("between 200 and 599"));
        assert!(problem("rules: [{status: {code: 503, after: 1}}]").contains("unknown field `after`"));
        assert!(problem("rules: [{conflict: {field: port}}]").contains("`metadata.` or `spec.`"));
        assert!(problem("rules: [{cut: before, name: '[a'}]").contains("no glob"));
        assert!(problem("rules: [{cut: during}]").contains("during"));
        assert!(problem("rules: [{cut: before, every: 0}]").contains("every: 0"));
    }
}

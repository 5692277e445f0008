//! Label selectors. Their grammar is that of Kubernetes and not of the service, so the crate has one parser of it, and
//! `tests/cases/selectors.json` says what it makes of a selector. Only here may one be empty.

use std::collections::BTreeMap;

use crate::kind::{self, Requirement, SelectorError};

/// A selector; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Reads a selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.trim().is_empty() { Ok(Self::default()) } else { kind::Selector::parse(text).map(Self) }
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(|key| labels.get(key)))
    }
}

//! Reads a policy file. It is stricter than the reader of settings: empty, null and unknown values are
//! errors, because a limit that is ignored limits nothing.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::described::{self, POLICY};
use super::layers::document;
use crate::load::diagnostic::{Diagnostic, Diagnostics};
use crate::load::item::Value;
use crate::load::text::SourceText;
use crate::model::policy::{Policy, Safeguards};
use crate::model::{Name, Namespace};

/// Reads a policy. Nothing in it is ignored: an unknown key, a null, a second document and an empty file
/// are errors.
///
/// # Errors
/// Everything that is wrong with it, with places.
pub fn policy(path: &str, bytes: Vec<u8>) -> Result<Policy, Diagnostics> {
    let mut problems = Vec::new();
    let source = SourceText::new(&path.into(), bytes).map_err(|error| Diagnostics::new(vec![error.into()], 1))?;
    let policy = read(&source, &mut problems);
    if problems.is_empty() { Ok(policy) } else { Err(Diagnostics::new(problems, 1)) }
}

fn read(source: &SourceText, problems: &mut Vec<Diagnostic>) -> Policy {
    let root = document(source, problems);
    let Some(root) = root.filter(|root| !is_empty(&root.value)) else {
        if problems.is_empty() {
            let what = "the policy is empty";
            problems.push(Diagnostic::of_file(what, &source.path, "write its limits, such as `prune: owned`"));
        }
        return Policy::default();
    };
    let (given, wrong) = described::read(&POLICY, &root);
    problems.extend(wrong);
    let ignores_any = given.get("ignore").is_none();
    let GivenPolicy { loosest, stacks, namespaces, base_urls, allow } = described::typed(given, &root, problems);
    Policy { loosest, ignores_any, stacks, namespaces, base_urls, allow }
}

/// Whether a value is a mapping without any values.
fn is_empty(value: &Value<'_>) -> bool {
    matches!(value, Value::Map(map) if map.iter().all(|entry| is_empty(&entry.item.value)))
}

/// A policy as it is written.
#[derive(Debug, Default, Deserialize)]
struct GivenPolicy {
    stacks: Option<BTreeSet<Name>>,
    namespaces: Option<BTreeSet<Namespace>>,
    base_urls: Option<Vec<String>>,
    allow: Option<BTreeSet<String>>,
    #[serde(flatten, deserialize_with = "super::given::loosest")]
    loosest: Safeguards,
}

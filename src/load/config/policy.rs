//! Reads a policy file. It is stricter than the reader of settings: what is empty, null or unknown is an
//! error, because a limit that is ignored limits nothing.

use std::collections::BTreeSet;

use super::decode::{namespaces, prune, safeguards, wrong};
use crate::load::diagnostic::{Diagnostic, Diagnostics};
use crate::load::fields::{Decoder, Fields, KeySpelling};
use crate::load::item::{Item, resolve};
use crate::load::suggestion::did_you_mean;
use crate::load::text::SourceText;
use crate::load::tree::Documents;
use crate::model::policy::{Policy, consents};
use crate::model::{NAME_RULE, Name};

/// Reads a policy. Nothing in it is ever passed over: an unknown key, a null, a second document and an
/// empty file are errors.
///
/// # Errors
/// Everything that is wrong with it, with places.
pub fn policy(path: &str, bytes: Vec<u8>) -> Result<Policy, Diagnostics> {
    let mut problems = Vec::new();
    let policy = match SourceText::new(&path.into(), bytes) {
        Ok(source) => read(&source, &mut problems),
        Err(problem) => {
            problems.push(problem.into());
            Policy::default()
        }
    };
    if problems.is_empty() { Ok(policy) } else { Err(Diagnostics::new(problems, 1)) }
}

fn read(source: &SourceText, problems: &mut Vec<Diagnostic>) -> Policy {
    let mut policy = None;
    for document in Documents::new(source) {
        let tree = match document {
            Ok(tree) => tree,
            Err(problem) => {
                problems.push(problem);
                return Policy::default();
            }
        };
        let Some(root) = resolve(&tree, source, problems).filter(|root| !root.is_null()) else { continue };
        match policy {
            None => policy = Some(self::document(&root, problems)),
            Some(_) => {
                problems.push(root.span.error("the policy contains a second document", "one document is read here"));
            }
        }
    }
    policy.unwrap_or_else(|| {
        if problems.is_empty() {
            let what = "the policy is empty";
            problems.push(Diagnostic::of_file(what, &source.path, "write its limits, such as `prune: owned`"));
        }
        Policy::default()
    })
}

fn document(root: &Item<'_>, problems: &mut Vec<Diagnostic>) -> Policy {
    let mut decoder = Decoder::new(KeySpelling::Snake);
    let mut policy = Policy::default();
    for entry in root.entries().iter().filter(|entry| entry.item.is_null()) {
        let what = format!("`{}` has no value", entry.key);
        problems.push(entry.key_at.error(what, "give a value, `[]` to allow none, or leave the key out"));
    }
    if let Some(mut fields) = Fields::open(&mut decoder, root, &root.span, Vec::new()) {
        limits(&mut fields, &mut policy);
        fields.finish();
    }
    problems.extend(decoder.faults.into_iter().filter_map(|fault| fault.diagnostic));
    policy
}

fn limits(fields: &mut Fields<'_, '_, '_>, policy: &mut Policy) {
    policy.loosest.prune = prune(fields).unwrap_or(policy.loosest.prune);
    policy.ignores_any = fields.given("ignore").is_none();
    safeguards(fields, &mut policy.loosest);
    policy.stacks = stacks(fields);
    policy.namespaces = namespaces(fields).map(BTreeSet::from_iter);
    policy.base_urls = fields.texts("base_urls");
    policy.allow = allow(fields);
}

fn stacks(fields: &mut Fields<'_, '_, '_>) -> Option<BTreeSet<Name>> {
    let texts = fields.texts("stacks")?;
    let entry = fields.given("stacks")?;
    let mut names = BTreeSet::new();
    for text in texts {
        match Name::parse(&text) {
            Ok(name) => {
                names.insert(name);
            }
            Err(error) => {
                let what = format!("the stack `{text}` {error}");
                wrong(fields, entry, "stacks", what, NAME_RULE.to_owned());
            }
        }
    }
    Some(names)
}

fn allow(fields: &mut Fields<'_, '_, '_>) -> Option<BTreeSet<String>> {
    let texts = fields.texts("allow")?;
    let entry = fields.given("allow")?;
    let names: Vec<&str> = consents().collect();
    for text in texts.iter().filter(|text| !names.contains(&text.as_str())) {
        let label = did_you_mean(text, names.iter().copied(), || format!("some of {}", names.join(", ")));
        wrong(fields, entry, "allow", format!("`{text}` is not a name that `--allow` accepts"), label);
    }
    Some(texts.into_iter().collect())
}

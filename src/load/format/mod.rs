//! Definitions in canonical form: keys in snake case and in the order in which `pull` writes them. Comments move with
//! the key that they are written for; values, quotes, indentation and line breaks stay. Only the order and the spelling
//! of keys can change: each text is parsed again and compared before it is written.

mod meaning;
mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::definition::REMOVE;
use super::diagnostic::{Diagnostic, Diagnostics, read_or_noted};
use super::item::{Item, resolve};
use super::source::{FileFilter, FileOrigin};
use super::splice::{line_break, spliced};
use super::text::{Language, SourceText};
use super::tree::{Documents, NodeShape, Tree};
use crate::file::FileEdit;
use crate::kind::{KindName, snake};
use crate::model::SERVICE_KEYS;

/// The files of a stack, formatted.
#[derive(Debug)]
pub struct Formatted {
    /// The directory that the paths are relative to.
    pub root: PathBuf,
    /// The number of files that were read.
    pub files: usize,
    /// Whether they are all files of the stack.
    pub is_whole: bool,
    /// The files that are not in canonical form, with the edits that bring them into it.
    pub changed: Vec<(Arc<str>, FileEdit)>,
    /// The files that cannot be formatted without changing their meaning.
    pub left: Vec<Arc<str>>,
}

/// Every file of definitions, and of the overlays of every environment, sorted.
pub(super) fn files(origin: &FileOrigin, config: &Config, problems: &mut Vec<Diagnostic>) -> Vec<Arc<str>> {
    let mut files: BTreeSet<Arc<str>> = BTreeSet::new();
    for environment in std::iter::once(None).chain(config.environments.keys().map(|name| Some(name.as_str()))) {
        // Every environment finds the same problems: only the last list is needed.
        problems.clear();
        files.extend(origin.list(&FileFilter::new(config, environment), problems));
    }
    files.into_iter().collect()
}

/// The canonical form of `files`.
///
/// # Errors
/// Every file that cannot be read or parsed.
pub(super) fn formatted(origin: &FileOrigin, files: &[Arc<str>], root: PathBuf) -> Result<Formatted, Diagnostics> {
    let mut formatted = Formatted { root, files: files.len(), is_whole: true, changed: Vec::new(), left: Vec::new() };
    let mut problems = Vec::new();
    for file in files {
        let Some(bytes) = read_or_noted(origin.read(file), &mut problems) else { continue };
        match text(file, bytes.clone()) {
            Err(found) => problems.extend(found),
            Ok(Canonical::Same) => {}
            Ok(Canonical::Changed(now)) => {
                formatted.changed.push((file.clone(), FileEdit { before: bytes, now: now.into_bytes() }));
            }
            Ok(Canonical::Unsafe) => formatted.left.push(file.clone()),
        }
    }
    if problems.is_empty() { Ok(formatted) } else { Err(Diagnostics::new(problems, files.len()).below(formatted.root)) }
}

/// The result of bringing a text into canonical form.
#[derive(Debug, PartialEq, Eq)]
pub enum Canonical {
    /// It is in canonical form.
    Same,
    /// It changes to this text.
    Changed(String),
    /// Its canonical form would change its meaning.
    Unsafe,
}

/// The canonical form of the bytes of a file.
///
/// # Errors
/// Everything that cannot be parsed.
pub fn text(file: &Arc<str>, bytes: Vec<u8>) -> Result<Canonical, Vec<Diagnostic>> {
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) { "\u{feff}" } else { "" };
    let source = SourceText::new(file, bytes).map_err(|error| vec![Diagnostic::from(error)])?;
    let trees = parsed(&source)?;
    let text = source.as_str();
    let is_open = source.language() == Language::Yaml && !text.is_empty() && !text.ends_with('\n');
    // First try with a final line break. It would change the meaning of a block text at the end.
    let ended = is_open.then(|| format!("{text}{}", line_break(text)));
    let is_same = |now: &str| {
        SourceText::edited(file, now).is_some_and(|new| {
            let after = parsed(&new).unwrap_or_default();
            meaning::same(&trees, &after) && meaning::comments(text) == meaning::comments(new.as_str())
        })
    };
    for before in ended.as_deref().into_iter().chain([text]) {
        match edited(file, before) {
            Some(now) if now == text => return Ok(Canonical::Same),
            Some(now) if is_same(&now) => return Ok(Canonical::Changed(format!("{mark}{now}"))),
            _ => {}
        }
    }
    Ok(Canonical::Unsafe)
}

fn parsed(source: &SourceText) -> Result<Vec<Tree<'_>>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let trees = Documents::new(source).filter_map(|tree| read_or_noted(tree, &mut problems)).collect();
    if problems.is_empty() { Ok(trees) } else { Err(problems) }
}

/// The text in canonical form; `None` where it cannot be edited.
fn edited(file: &Arc<str>, text: &str) -> Option<String> {
    let source = SourceText::edited(file, text)?;
    let trees = parsed(&source).ok()?;
    let definitions = trees.iter().filter(|tree| is_definition(tree, &source));
    let edits = definitions.flat_map(|tree| order::edits(tree, source.as_str())).collect();
    spliced(source.as_str(), edits)
}

/// Whether a document is a definition or an overlay of one, judged by its root.
fn is_definition(tree: &Tree<'_>, source: &SourceText) -> bool {
    let Some(root) = tree.root else { return false };
    let NodeShape::Map { entries } = &tree.node(root).shape else { return false };
    let is_key =
        |key: &str| ["kind", "metadata", "spec", "<<", REMOVE].contains(&key) || SERVICE_KEYS.contains(&&*snake(key));
    let keys = || entries.iter().map(|(key, _)| meaning::text(tree, *key).unwrap_or_default());
    // Documents of other programs, such as Kubernetes, have such keys as well.
    let is_kind = |item: &Item<'_>| {
        let kind = item.get("kind").and_then(Item::text);
        kind.is_none_or(|kind| kind.contains("${") || KindName::find(kind).is_some())
    };
    keys().any(|key| matches!(key, "metadata" | "spec"))
        && keys().all(is_key)
        && resolve(tree, source, &mut Vec::new()).is_some_and(|item| is_kind(&item))
}

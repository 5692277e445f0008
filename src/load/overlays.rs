//! The overlay documents of the chosen environment by the key that they change, and whether a
//! definition took them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::diagnostic::Diagnostic;
use super::item::{Item, resolve};
use super::overlay;
use super::suggestion::did_you_mean;
use super::text::SourceText;
use super::tree::Documents;
use super::variable::{Variables, substitute};
use crate::model::Key;

/// Every overlay document.
#[derive(Debug, Default)]
pub(super) struct Overlays<'s> {
    by_key: BTreeMap<String, Vec<Overlay<'s>>>,
}

#[derive(Debug)]
pub(super) struct Overlay<'s> {
    pub(super) item: Item<'s>,
    pub(super) source: &'s SourceText,
    taken: AtomicBool,
}

impl<'s> Overlays<'s> {
    /// Reads the overlay files.
    pub(super) fn read(sources: &'s [SourceText], variables: &Variables, problems: &mut Vec<Diagnostic>) -> Self {
        let mut by_key: BTreeMap<String, Vec<Overlay<'s>>> = BTreeMap::new();
        for source in sources {
            for document in Documents::new(source) {
                let item = match document {
                    Err(problem) => {
                        problems.push(problem);
                        continue;
                    }
                    Ok(tree) => resolve(&tree, source, problems),
                };
                let Some(item) = item.filter(|item| !item.is_null()) else { continue };
                match key_of(&item, variables) {
                    Some(key) => {
                        by_key.entry(key).or_default().push(Overlay { item, source, taken: AtomicBool::new(false) });
                    }
                    None => {
                        let at = item.entries().first().map_or(item.span, |entry| entry.key_at);
                        let help = "`metadata.namespace` and `metadata.name` name the definition that it changes";
                        problems.push(at.error("the overlay names no definition", "").with_help(help));
                    }
                }
            }
        }
        Self { by_key }
    }

    /// Whether a definition of this key is changed.
    pub(super) fn changes(&self, key: &Key) -> bool {
        !self.by_key.is_empty() && self.by_key.contains_key(&key.to_string())
    }

    /// Merges what there is for the document onto it; gives the files.
    pub(super) fn apply(&self, item: &mut Item<'s>, variables: &Variables) -> Vec<Arc<str>> {
        if self.by_key.is_empty() {
            return Vec::new();
        }
        let found = key_of(item, variables).and_then(|key| self.by_key.get(&key));
        let mut files: Vec<Arc<str>> = Vec::new();
        for overlay in found.into_iter().flatten() {
            overlay.taken.store(true, Ordering::Relaxed);
            overlay::merge(item, &overlay.item);
            if !files.contains(&overlay.source.path) {
                files.push(overlay.source.path.clone());
            }
        }
        files
    }

    /// The documents that no definition took.
    pub(super) fn left(&self) -> impl Iterator<Item = (&str, &Overlay<'s>)> {
        let all = self.by_key.iter().flat_map(|(key, overlays)| overlays.iter().map(move |one| (key.as_str(), one)));
        all.filter(|(_, overlay)| !overlay.taken.load(Ordering::Relaxed))
    }
}

/// An overlay for a definition that does not exist.
pub(super) fn without_base<'k>(
    key: &str,
    overlay: &Overlay<'_>,
    keys: impl IntoIterator<Item = &'k str>,
) -> Diagnostic {
    let name = overlay.item.get("metadata").and_then(|metadata| metadata.get("name"));
    let at = name.map_or(overlay.item.span, |name| name.span);
    let otherwise = || "an overlay changes a definition, or is a whole endpoint".to_owned();
    let label = did_you_mean(key, keys, otherwise);
    at.error(format!("the overlay changes `{key}`, which no file defines"), label)
}

/// `namespace/name` of a document, variables put in.
fn key_of(item: &Item<'_>, variables: &Variables) -> Option<String> {
    let metadata = item.get("metadata")?;
    let part = |key: &str| {
        let mut part = metadata.get(key)?.clone();
        // An undefined variable is reported where the whole definition is read.
        substitute(&mut part, variables, &mut Vec::new());
        part.text().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    Some(format!("{}/{}", part("namespace")?, part("name")?))
}

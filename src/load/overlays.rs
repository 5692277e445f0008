//! The overlay documents of the chosen environment by the key that they change, and whether they were applied to
//! a definition. A document is merged onto the definition, or removes it with `$remove: true`; several documents
//! of one key are applied in the order of their layers and paths.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::definition::{REMOVE, is_other_kind};
use super::diagnostic::{Diagnostic, read_or_noted};
use super::item::{Item, MapEntry, TextSpan, Value, resolve};
use super::secrets::{Secrets, conceal};
use super::source::FileFilter;
use super::suggestion::Searches;
use super::text::SourceText;
use super::tree::{Documents, TextStyle};
use super::variable::{self, Variables, substitute};
use super::{object, overlay};
use crate::kind::snake;
use crate::model::Key;

/// Every overlay document.
#[derive(Debug, Default)]
pub(super) struct Overlays<'s> {
    by_key: BTreeMap<String, Vec<Overlay<'s>>>,
}

/// One overlay document.
#[derive(Debug)]
pub(super) struct Overlay<'s> {
    pub(super) item: Item<'s>,
    pub(super) source: &'s SourceText,
    /// Its number in the file.
    pub(super) document: usize,
    /// The index of the overlay's directory among those of the environment.
    layer: usize,
    removal: Option<Removal<'s>>,
    pub(super) secrets: Secrets,
    taken: AtomicBool,
}

/// The effect of `$remove`.
#[derive(Debug, Clone, Copy)]
enum Removal<'s> {
    /// `$remove: true`, at this place.
    Removed(TextSpan<'s>),
    /// `$remove: false`, at this place: it undoes the removal by an overlay below.
    Restored(TextSpan<'s>),
}

/// A definition with its overlays applied.
#[derive(Debug, Default)]
pub(super) struct Applied<'s> {
    /// The files that changed it.
    pub(super) files: Vec<Arc<str>>,
    /// Where it is removed.
    pub(super) removed: Option<TextSpan<'s>>,
}

impl<'s> Overlays<'s> {
    /// Reads the overlay files.
    pub(super) fn read(
        sources: &'s [SourceText],
        filter: &FileFilter,
        variables: &'s Variables,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut by_key: BTreeMap<String, Vec<Overlay<'s>>> = BTreeMap::new();
        for source in sources {
            let layer = filter.overlay_layer(&source.path).unwrap_or_default();
            for (document, tree) in Documents::new(source).enumerate() {
                let Some(tree) = read_or_noted(tree, problems) else { continue };
                let (secrets, first_problem) = (Secrets::of(&tree, source), problems.len());
                let item = resolve(&tree, source, problems).filter(|item| !item.is_null() && !is_other_kind(item));
                let read = item.and_then(|item| read(item, variables, problems));
                conceal([&secrets], &mut problems[first_problem..]);
                if let Some((key, item, removal)) = read {
                    let taken = AtomicBool::new(false);
                    let overlay = Overlay { item, source, document, layer, removal, secrets, taken };
                    by_key.entry(key).or_default().push(overlay);
                }
            }
        }
        // The sort is stable: within a layer the documents stay in the order of their paths.
        for (key, overlays) in &mut by_key {
            overlays.sort_by_key(|overlay| overlay.layer);
            // Which of two documents in one layer wins would be arbitrary.
            overlays.dedup_by(|second, first| {
                let is_twice = first.layer == second.layer;
                if is_twice {
                    problems.push(second.after_another(key, first));
                    conceal([&first.secrets, &second.secrets], problems.last_mut());
                }
                is_twice
            });
        }
        Self { by_key }
    }

    /// Whether an overlay changes the definition of this key.
    pub(super) fn changes(&self, key: &Key) -> bool {
        !self.by_key.is_empty() && self.by_key.contains_key(&key.to_string())
    }

    /// The documents of a key, in the order in which they are applied.
    pub(super) fn of(&self, key: &str) -> &[Overlay<'s>] {
        self.by_key.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Adds to the problems of a definition the place where an overlay sets the field that they name to null.
    pub(super) fn name_removals(overlays: &[Overlay<'_>], problems: &mut [Diagnostic]) {
        for overlay in overlays {
            overlay.item.each_null(&mut |MapEntry { key, key_at: at, .. }| {
                let named = format!("`{}`", snake(key));
                let is_here = |problem: &Diagnostic| problem.labels.iter().any(|label| *label.file == *at.source.path);
                let is_about = |problem: &&mut Diagnostic| problem.message.contains(&named) && !is_here(problem);
                for problem in problems.iter_mut().filter(is_about) {
                    *problem = problem.clone().also(at.source, at.range(), "set to nothing here");
                }
            });
        }
    }

    /// The secrets of the documents of a key.
    pub(super) fn secrets(&self, key: &str) -> impl Iterator<Item = &Secrets> {
        self.of(key).iter().map(|overlay| &overlay.secrets)
    }

    /// Merges the overlays of a document onto it, and returns them.
    pub(super) fn apply(
        &self,
        item: &mut Item<'s>,
        variables: &'s Variables,
        problems: &mut Vec<Diagnostic>,
    ) -> (&[Overlay<'s>], Applied<'s>) {
        if self.by_key.is_empty() {
            return Default::default();
        }
        substitute_kind(item, variables, problems);
        if object::unknown_kind(item).is_some() {
            return Default::default();
        }
        let Some(key) = key_of(item, variables) else { return Default::default() };
        let overlays = self.of(&key);
        if !overlays.is_empty() {
            variable::substitute_mappings(item, variables);
        }
        (overlays, onto(item, &key, overlays, problems))
    }

    /// The documents that were not applied to a definition: whole objects of the environment, or mistakes. The first of
    /// each key defines the object, and those of later layers change it.
    pub(super) fn left<'o>(
        &'o self,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<(&'o str, &'o Overlay<'s>, Item<'s>, Applied<'s>)> {
        let mut left = Vec::new();
        for (key, overlays) in &self.by_key {
            let Some((whole, changes)) = overlays.split_first() else { continue };
            if whole.taken.load(Ordering::Relaxed) {
                continue;
            }
            let (mut item, mut applied) = (whole.item.clone(), Applied::default());
            if whole.removal.is_none() {
                let first_problem = problems.len();
                applied = onto(&mut item, key, changes, problems);
                conceal(self.secrets(key), &mut problems[first_problem..]);
            }
            left.push((key.as_str(), whole, item, applied));
        }
        left
    }
}

impl<'s> Overlay<'s> {
    /// Whether it removes a definition, or keeps one that another overlay removes.
    pub(super) fn is_about_removal(&self) -> bool {
        self.removal.is_some()
    }

    /// The place of `metadata.name`.
    fn name_at(&self) -> TextSpan<'s> {
        let name = self.item.get("metadata").and_then(|metadata| metadata.get("name"));
        name.map_or(self.item.span, |name| name.span)
    }

    /// The problem of a second document in one overlay for the same definition.
    fn after_another(&self, key: &str, first: &Self) -> Diagnostic {
        let at = first.name_at();
        let what = format!("the overlay has two documents for `{key}`");
        self.name_at().error(what, "second document here").also(at.source, at.range(), "first document here")
    }

    /// The problem of an overlay for a definition that does not exist.
    pub(super) fn without_base(&self, key: &str, defined: &DefinedKeys) -> Diagnostic {
        let (does, otherwise) = match self.removal {
            Some(Removal::Removed(_)) => ("removes", "there is nothing to remove"),
            Some(Removal::Restored(_)) => ("keeps", "there is nothing to keep"),
            None => ("changes", "an overlay changes a definition, or is a whole object"),
        };
        let label = match defined.kinds.get(key) {
            Some(kind) => format!("to change `{kind}:{key}`, write `kind: {kind}` here"),
            None => defined.meant_by(key).unwrap_or_else(|| otherwise.to_owned()),
        };
        self.name_at().error(format!("the overlay {does} `{key}`, which no file defines"), label)
    }

    /// A note that a whole object may be meant to change another definition. For endpoints, a partial one is an error.
    pub(super) fn beside(&self, key: &str, defined: &DefinedKeys) -> Option<Diagnostic> {
        self.item.described()?;
        let near = defined.meant_by(key)?;
        let what = format!("the overlay defines `{key}`, which no file defines");
        Some(self.name_at().error(what, near).into_note())
    }

    /// The problem of an overlay for a definition that another overlay removes.
    fn after_removal(&self, key: &str, removed: &TextSpan<'_>) -> Diagnostic {
        let does = if self.removal.is_some() { "removes" } else { "changes" };
        let what = format!("the overlay {does} `{key}`, which another overlay removes");
        let label = format!("write `{REMOVE}: false` here to keep it, or remove this document");
        self.name_at().error(what, label).also(removed.source, removed.range(), "removed here")
    }
}

/// The keys of all definitions, which an overlay without a definition may mean.
pub(super) struct DefinedKeys {
    keys: Vec<String>,
    /// A kind for each `namespace/name` of other kinds than endpoint, because a document without a kind is an endpoint.
    kinds: BTreeMap<String, String>,
    searches: Searches,
}

impl DefinedKeys {
    pub(super) fn new(keys: impl IntoIterator<Item = String>) -> Self {
        let keys: Vec<String> = keys.into_iter().collect();
        let kinds = keys.iter().rev().filter_map(|key| key.split_once(':'));
        let kinds = kinds.map(|(kind, name)| (name.to_owned(), kind.to_owned())).collect();
        Self { keys, kinds, searches: Searches::default() }
    }

    fn meant_by(&self, key: &str) -> Option<String> {
        let near = self.searches.nearest(key, self.keys.iter().map(String::as_str))?;
        Some(format!("did you mean `{near}`?"))
    }
}

/// The key of an overlay document, the document without `$remove`, and the effect of that.
fn read<'s>(
    mut item: Item<'s>,
    variables: &'s Variables,
    problems: &mut Vec<Diagnostic>,
) -> Option<(String, Item<'s>, Option<Removal<'s>>)> {
    substitute_kind(&mut item, variables, problems);
    // With an unknown kind, the document would count as an endpoint.
    if let Some(unknown) = object::unknown_kind(&item) {
        problems.extend(unknown);
        return None;
    }
    variable::substitute_mappings(&mut item, variables);
    let removal = removal(&mut item, problems);
    let Some(key) = key_of(&item, variables) else {
        let at = item.entries().first().map_or(item.span, |entry| entry.key_at);
        let help = "`metadata.namespace` and `metadata.name` name the definition that it changes";
        problems.push(at.error("the overlay does not name a definition", "").with_help(help));
        return None;
    };
    Some((key, item, removal))
}

/// Applies overlays in their order.
fn onto<'s>(item: &mut Item<'s>, key: &str, overlays: &[Overlay<'s>], problems: &mut Vec<Diagnostic>) -> Applied<'s> {
    let mut applied = Applied::default();
    for overlay in overlays {
        overlay.taken.store(true, Ordering::Relaxed);
        match (overlay.removal, applied.removed) {
            (Some(Removal::Removed(at)), None) => applied.removed = Some(at),
            (Some(Removal::Restored(_)), Some(_)) => applied.removed = None,
            (Some(Removal::Restored(at)), None) => {
                let what = format!("`{REMOVE}: false` keeps `{key}`, which no overlay below removes");
                problems.push(at.error(what, "leave it out"));
            }
            (_, Some(removed)) => problems.push(overlay.after_removal(key, &removed)),
            (None, None) => {}
        }
        overlay::merge(item, &overlay.item);
        if !applied.files.contains(&overlay.source.path) {
            applied.files.push(overlay.source.path.clone());
        }
    }
    applied
}

/// Takes `$remove` out of a document, and reports problems with it.
fn removal<'s>(item: &mut Item<'s>, problems: &mut Vec<Diagnostic>) -> Option<Removal<'s>> {
    let Value::Map(entries) = &mut item.value else { return None };
    let at = entries.iter().position(|entry| entry.key == REMOVE)?;
    let entry = entries.remove(at);
    let value = entry.item.text().filter(|_| matches!(entry.item.value, Value::Text(_, TextStyle::Plain)));
    match value {
        Some("false" | "False" | "FALSE") => Some(Removal::Restored(entry.key_at)),
        Some("true" | "True" | "TRUE") => {
            let metadata = entries.iter().find(|entry| entry.key == "metadata").map(|entry| entry.item.entries());
            let beside = entries.iter().filter(|entry| !matches!(&*entry.key, "metadata" | "kind"));
            let named = |entry: &&MapEntry<'_>| !matches!(&*entry.key, "name" | "namespace");
            for other in beside.chain(metadata.unwrap_or_default().iter().filter(named)) {
                let what = format!("`{}` is beside `{REMOVE}: true`", other.key);
                let label = "a document that removes has only a name and a namespace";
                problems.push(other.key_at.error(what, label));
            }
            Some(Removal::Removed(entry.key_at))
        }
        _ => {
            let what = format!("`{REMOVE}` is not a boolean");
            let label = match entry.item.text().is_some_and(variable::contains) {
                true => "no variable decides it: write `true` to remove the definition",
                false => "write `true` to remove the definition",
            };
            problems.push(entry.value_at().error(what, label));
            None
        }
    }
}

/// Substitutes the variables in the kind of a document, which selects a definition as its name does.
fn substitute_kind<'s>(item: &mut Item<'s>, variables: &'s Variables, problems: &mut Vec<Diagnostic>) {
    let Value::Map(entries) = &mut item.value else { return };
    let kind = entries.iter_mut().filter(|entry| entry.key == "kind");
    kind.for_each(|entry| substitute(&mut entry.item, variables, problems));
}

/// The key of a document, with variables substituted.
fn key_of(item: &Item<'_>, variables: &Variables) -> Option<String> {
    let metadata = item.get("metadata")?;
    let part = |key: &str| {
        let mut part = metadata.get(key)?.clone();
        // An undefined variable is reported where the whole definition is read.
        substitute(&mut part, variables, &mut Vec::new());
        part.text().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let kind = item.described().map(|kind| format!("{kind}:")).unwrap_or_default();
    Some(format!("{kind}{}/{}", part("namespace")?, part("name")?))
}

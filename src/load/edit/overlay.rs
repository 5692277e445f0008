//! Takes live values over into an overlay of the chosen environment, so that the definitions which other environments
//! share stay as they are. An overlay sets what differs and `null` where live has the default; documents that are there
//! are edited in place, and new ones are written. Pure: texts in, texts out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::part::parts;
use super::patch::{EditedDocument, Patch, below};
use super::{AdoptedEdits, NotEditable, ValueToAdopt, adopt, as_written, field};
use crate::kind::KindName;
use crate::load::careful::{self, SecondReading};
use crate::load::item::resolve;
use crate::load::level::Level;
use crate::load::loaded::Loaded;
use crate::load::overlays::REMOVE;
use crate::load::rules::StackRules;
use crate::load::source_map::{WrittenNode, written};
use crate::load::splice::spliced;
use crate::load::text::SourceText;
use crate::load::tree::Documents;
use crate::model::{Definition, Json, Key, Object, SourceLocation};

/// The edits that take the live values over into the overlay in `directory`, which belongs to the environment that
/// `loaded` was loaded for. Definitions that lie in it are edited in place. Nothing is written.
pub fn adopt_into_overlay(loaded: &Loaded, directory: &str, wanted: &[ValueToAdopt]) -> AdoptedEdits {
    let is_below = |file: &str| file.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let is_own = |one: &&ValueToAdopt| {
        let definition = loaded.desired.definitions.get(&one.key);
        definition.is_some_and(|definition| is_below(&definition.file))
    };
    let (own, shared): (Vec<&ValueToAdopt>, Vec<&ValueToAdopt>) = wanted.iter().partition(is_own);
    let own: Vec<ValueToAdopt> = own.into_iter().cloned().collect();
    let mut edits = adopt(loaded, &own);
    let mut editor = OverlayEditor::new(loaded, directory);
    for one in shared {
        let Some(definition) = loaded.desired.definitions.get(&one.key) else { continue };
        let file = definition.overlays.iter().rfind(|file| is_below(file)).cloned();
        let file = file.unwrap_or_else(|| editor.path(&one.key));
        match editor.adopt(definition, &file, one) {
            Ok(place) => edits.adopted.push((one.key.clone(), one.field.clone(), Some(place))),
            Err(reason) => edits.left.push((one.key.clone(), one.field.clone(), None, reason)),
        }
    }
    edits.files.extend(editor.texts.into_iter().map(|(file, text)| (file, text.into_bytes())));
    edits
}

/// A new overlay that removes a definition, unless the overlay has a document of it or a file of its name.
pub fn removal_in_overlay(loaded: &Loaded, directory: &str, key: &Key) -> Option<(Arc<str>, Vec<u8>)> {
    let definition = loaded.desired.definitions.get(key)?;
    let editor = OverlayEditor::new(loaded, directory);
    let files = definition.overlays.iter().chain([&definition.file]);
    let is_there = files.into_iter().any(|file| file.starts_with(&format!("{directory}/")));
    let path = editor.path(key);
    let is_free = loaded.reads(&path, false) && editor.read(&path).is_empty() && loaded.origin.is_replaceable(&path);
    (is_free && !is_there).then(|| (path, format!("{REMOVE}: true\n{}", head(key)).into_bytes()))
}

/// What names a definition.
fn head(key: &Key) -> String {
    let kind = if key.kind.is_endpoint() { String::new() } else { format!("kind: {}\n", key.kind) };
    format!("{kind}metadata:\n  name: {}\n  namespace: {}\n", key.name, key.namespace)
}

struct OverlayEditor<'l> {
    loaded: &'l Loaded,
    directory: &'l str,
    /// The files that have changed so far.
    texts: BTreeMap<Arc<str>, String>,
    /// The documents of the files of definitions that were looked at, by what they define.
    documents: BTreeMap<Arc<str>, BTreeMap<String, Arc<str>>>,
}

impl<'l> OverlayEditor<'l> {
    fn new(loaded: &'l Loaded, directory: &'l str) -> Self {
        Self { loaded, directory, texts: BTreeMap::new(), documents: BTreeMap::new() }
    }

    /// The document of a definition, with what its file has around it where it cannot be cut out.
    fn document(&mut self, definition: &Definition) -> Option<SourceText> {
        let file = &definition.file;
        let loaded = self.loaded;
        let documents = self.documents.entry(file.clone()).or_insert_with(|| {
            let bytes = loaded.origin.read(file, &loaded.options.limits).unwrap_or_default();
            let text = String::from_utf8(bytes).unwrap_or_default();
            let reading = SecondReading::with(loaded, Vec::new());
            let of_part = |part: &str| {
                let source = SourceText::new(file, part.as_bytes().to_vec()).ok();
                let context = reading.context(StackRules::new(&loaded.config), &mut Vec::new());
                let names = |source: &SourceText| -> Vec<String> {
                    let documents = careful::prepare(source, &context, &mut Vec::new());
                    documents.iter().filter_map(|document| document.item.names()).collect()
                };
                source.as_ref().map(names).unwrap_or_default()
            };
            let parts = parts(file, &text).into_iter();
            parts.flat_map(|part| of_part(part).into_iter().map(move |name| (name, Arc::from(part)))).collect()
        });
        let text = documents.get(&definition.endpoint.key.to_string())?;
        SourceText::new(file, text.as_bytes().to_vec()).ok()
    }

    /// Where a new document of a key is written.
    fn path(&self, key: &Key) -> Arc<str> {
        let kind = if key.kind.is_endpoint() { String::new() } else { format!("{}/", key.kind) };
        format!("{}/{}/{kind}{}.yaml", self.directory, key.namespace, key.name).into()
    }

    /// The text of a file as it is now; empty where there is none.
    fn read(&self, file: &Arc<str>) -> String {
        let of_disk = || self.loaded.origin.read(file, &self.loaded.options.limits).ok();
        let text = self.texts.get(file).cloned();
        text.or_else(|| String::from_utf8(of_disk()?).ok()).unwrap_or_default()
    }

    /// Sets one value in an overlay file, and checks that the definition becomes what is wanted.
    fn adopt(
        &mut self,
        definition: &Definition,
        file: &Arc<str>,
        wanted: &ValueToAdopt,
    ) -> Result<SourceLocation, NotEditable> {
        if !self.loaded.reads(file, false) {
            return Err(NotEditable::Withdrawn);
        }
        if !self.loaded.origin.is_replaceable(file) {
            return Err(NotEditable::Link);
        }
        let source = self.document(definition).ok_or(NotEditable::Withdrawn)?;
        let before = self.effective((definition, &source), None).ok_or(NotEditable::Withdrawn)?;
        let current = wanted.field.value(&before);
        if current != wanted.field.value(&definition.endpoint) {
            return Err(NotEditable::EditedMeanwhile);
        }
        let path = field::keys(wanted.key.kind, &wanted.field).unwrap_or_else(|| vec!["spec".to_owned()]);
        let value = with_defaults(wanted.key.kind, &path, (&current, &wanted.live), as_written(wanted, &current));
        let mut text = self.read(file);
        if text.is_empty() {
            text = head(&wanted.key);
        }
        let mut place = None;
        for (path, value) in changes(wanted.key.kind, &path, &current, &value) {
            text = set(&text, file, &wanted.key, &path, &value)?;
            place = root(&text, file, &wanted.key).and_then(|root| Some(root.at(&path)?.value.place.clone())).or(place);
        }
        let mut expected = before;
        wanted.field.assign(&mut expected, &current, &value).map_err(|_| NotEditable::Withdrawn)?;
        if self.effective((definition, &source), Some((file, &text))) != Some(expected) {
            return Err(NotEditable::Withdrawn);
        }
        self.texts.insert(file.clone(), text);
        place.ok_or(NotEditable::Withdrawn)
    }

    /// The definition with its overlays, one of them with another text.
    fn effective(
        &self,
        (definition, source): (&Definition, &SourceText),
        edited: Option<(&Arc<str>, &String)>,
    ) -> Option<Object> {
        let mut files: Vec<Arc<str>> = definition.overlays.clone();
        let own = self.path(&definition.endpoint.key);
        files.extend(
            self.texts.contains_key(&own).then_some(own).into_iter().chain(edited.map(|(file, _)| file.clone())),
        );
        files.sort();
        files.dedup();
        let text = |file: &Arc<str>| match edited {
            Some((other, text)) if other == file => text.clone(),
            _ => self.read(file),
        };
        let texts: Vec<SourceText> =
            files.iter().map(|file| SourceText::new(file, text(file).into_bytes()).ok()).collect::<Option<_>>()?;
        let reading = SecondReading::with(self.loaded, texts);
        let mut problems = Vec::new();
        let context = reading.context(StackRules::new(&self.loaded.config), &mut problems);
        let read = careful::read(source, &context);
        let found = read.found.into_iter().find(|found| found.endpoint.key == definition.endpoint.key)?;
        (problems.is_empty() && read.problems.is_empty()).then_some(found.endpoint)
    }
}

/// The paths that an overlay sets so that a field becomes `wanted`, with their values; null sets one to its default, or takes it out.
fn changes(kind: KindName, path: &[String], current: &Json, wanted: &Json) -> Vec<(Vec<String>, Json)> {
    let mut found = Vec::new();
    differences(kind, path, (current, wanted), &mut found);
    found
}

/// A wanted value with the live defaults of groups of which the definition chooses another option: an overlay need not be
/// able to take that one out, and the default drops it.
fn with_defaults(kind: KindName, path: &[String], (current, live): (&Json, &Json), wanted: Json) -> Json {
    let Json::Object(old) = current else { return wanted };
    let level = Level::at(kind, path);
    let chosen = |key: &String| {
        let default = level.default_option(key)?;
        live.get(default).map(|live| (default.to_owned(), live.clone()))
    };
    let mut new = match wanted {
        Json::Object(new) => new,
        // A group of which no option is left is no value.
        Json::Null if old.keys().any(|key| chosen(key).is_some()) => serde_json::Map::new(),
        wanted => return wanted,
    };
    for (key, old) in old {
        match new.remove(key) {
            Some(value) => {
                let value = with_defaults(kind, &below(path, key), (old, &live[key.as_str()]), value);
                new.insert(key.clone(), value);
            }
            None if level.options(key).iter().any(|option| new.contains_key(*option)) => {}
            None => new.extend(chosen(key)),
        }
    }
    Json::Object(new)
}

fn differences(
    kind: KindName,
    path: &[String],
    (current, wanted): (&Json, &Json),
    found: &mut Vec<(Vec<String>, Json)>,
) {
    let (Json::Object(old), Json::Object(new)) = (current, wanted) else {
        if let Json::Object(new) = wanted
            && !new.is_empty()
        {
            for (key, value) in new {
                differences(kind, &below(path, key), (&Json::Null, value), found);
            }
        } else if current != wanted {
            found.push((path.to_vec(), wanted.clone()));
        }
        return;
    };
    let level = Level::at(kind, path);
    // The option that is chosen drops the others.
    let is_dropped = |key: &String| level.options(key).iter().any(|option| new.contains_key(*option));
    let gone = old.keys().filter(|key| !new.contains_key(*key) && !is_dropped(key));
    found.extend(gone.map(|key| (below(path, key), Json::Null)));
    for (key, value) in new {
        match old.get(key) {
            Some(old) if old == value => {}
            Some(old) => differences(kind, &below(path, key), (old, value), found),
            None => differences(kind, &below(path, key), (&Json::Null, value), found),
        }
    }
}

/// The last document of a key in an overlay file, as it is written; nothing where the file cannot be read.
fn root(text: &str, file: &Arc<str>, key: &Key) -> Option<WrittenNode> {
    let source = SourceText::new(file, text.as_bytes().to_vec()).ok()?;
    let items = Documents::new(&source).map(|tree| resolve(&tree.ok()?, &source, &mut Vec::new()));
    let of_key = items.flatten().filter(|item| item.names().is_some_and(|name| name == key.to_string()));
    of_key.last().map(|item| written(&item))
}

/// The text with a value set in the document of a key. Other options of the groups that the path chooses from are
/// taken out.
fn set(text: &str, file: &Arc<str>, key: &Key, path: &[String], value: &Json) -> Result<String, NotEditable> {
    let edit = |text: &str, change: &dyn Fn(&mut Patch<'_>) -> Result<(), NotEditable>| {
        let root = root(text, file, key).ok_or(NotEditable::Shape)?;
        let document = EditedDocument { text, file, root: &root, kind: key.kind };
        let mut patch = Patch { document, splices: Vec::new() };
        change(&mut patch)?;
        spliced(text, patch.splices).ok_or(NotEditable::Shape)
    };
    let mut text = text.to_owned();
    for length in 1..path.len() {
        if value.is_null() {
            continue;
        }
        let options = Level::at(key.kind, &path[..length]).options(&path[length]);
        for rival in options.iter().filter(|option| **option != path[length]) {
            let rival = below(&path[..length], rival);
            text = edit(&text, &|patch| {
                if patch.node(&rival).is_some() { patch.remove(std::slice::from_ref(&rival)) } else { Ok(()) }
            })?;
        }
    }
    edit(&text, &|patch| match patch.node(path) {
        Some(node) if patch.slice(node.value.clone())?.contains("${") => Err(NotEditable::Variable),
        Some(_) => patch.replace(path, value),
        None => patch.insert(path, value),
    })
}

#[cfg(test)]
mod tests;

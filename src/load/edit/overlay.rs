//! Adopts live values into an overlay of the chosen environment, so that definitions shared with other environments
//! stay unchanged. An overlay sets what differs, and `null` where live has the default. Existing documents are edited
//! in place, and new ones are written. Pure: texts in, texts out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::part::parts;
use super::patch::{Patch, below};
use super::value::{Surrounding, key_text};
use super::{AdoptedEdits, NotEditable, ValueToAdopt, adopt, as_written, has_secret};
use crate::file::FileEdit;
use crate::kind::KindName;
use crate::load::careful::{self, SecondReading};
use crate::load::definition::REMOVE;
use crate::load::item::{Item, resolve};
use crate::load::level::Level;
use crate::load::loaded::Loaded;
use crate::load::source::{FileFilter, can_be_named, file_of};
use crate::load::source_map::{WrittenNode, written};
use crate::load::splice::spliced;
use crate::load::text::SourceText;
use crate::load::tree::Documents;
use crate::load::variable::{self, Variables};
use crate::model::{Definition, Json, Key, Object};

/// The edits that adopt the live values in the overlay in `directory`, which belongs to the environment that
/// `loaded` was loaded for. Definitions inside of the overlay are edited in place. Nothing is written.
pub fn adopt_into_overlay(loaded: &Loaded, directory: &str, wanted: &[ValueToAdopt]) -> AdoptedEdits {
    let mut editor = OverlayEditor::new(loaded, directory);
    let is_own = |one: &&ValueToAdopt| {
        let definition = loaded.desired.definitions.get(&one.key);
        definition.is_some_and(|definition| editor.is_in(&definition.file))
    };
    let (own, shared): (Vec<&ValueToAdopt>, Vec<&ValueToAdopt>) = wanted.iter().partition(is_own);
    let own: Vec<ValueToAdopt> = own.into_iter().cloned().collect();
    let mut edits = adopt(loaded, &own);
    // A file of the overlay can contain its own objects beside changes of shared definitions.
    for (file, edit) in &edits.files {
        let of_file = FileParts::new(file, &text(edit.now.clone()), &editor.variables);
        editor.files.insert(file.clone(), FileParts { before: edit.before.clone(), ..of_file });
    }
    for one in shared {
        let Some(definition) = loaded.desired.definitions.get(&one.key) else { continue };
        let file = editor.file_for(definition);
        edits.add(one, editor.adopt(definition, &file, one));
    }
    let changed = editor.files.into_iter().filter(|(_, file)| file.is_changed);
    let edit = |of_file: FileParts| FileEdit { before: of_file.before, now: of_file.parts.concat().into_bytes() };
    edits.files.extend(changed.map(|(file, of_file)| (file, edit(of_file))));
    edits
}

/// For a definition outside of the overlay in `directory`: the file of the overlay to change it in, or the directory
/// where a load would not read that file.
pub fn overlay_files<'l>(loaded: &'l Loaded, directory: &'l str) -> impl Fn(&Key) -> Option<Arc<str>> + 'l {
    let editor = OverlayEditor::new(loaded, directory);
    move |key| {
        let definition = loaded.desired.definitions.get(key)?;
        let file = editor.file_for(definition);
        let is_read = matches!(editor.check(&file), Ok(()) | Err(NotEditable::Link));
        (!editor.is_in(&definition.file)).then(|| if is_read { file } else { directory.into() })
    }
}

/// Where the overlay in `directory` can remove a definition from outside of it, with the edit for a new file. Without
/// an edit, a user has to remove it: in the file that changes the definition, else in the directory.
pub fn removal_in_overlay(loaded: &Loaded, directory: &str, key: &Key) -> Option<(Arc<str>, Option<FileEdit>)> {
    let definition = loaded.desired.definitions.get(key)?;
    let mut editor = OverlayEditor::new(loaded, directory);
    if editor.is_in(&definition.file) {
        return None;
    }
    if let Some(there) = definition.overlays.iter().rfind(|file| editor.is_in(file)) {
        return Some((there.clone(), None));
    }
    let path = editor.path(key);
    let is_free = editor.check(&path).is_ok() && read(loaded, &path).is_empty();
    let mut text = || format!("{REMOVE}: true\n{}", editor.head(definition)).into_bytes();
    Some(if is_free { (path, Some(FileEdit { before: Vec::new(), now: text() })) } else { (directory.into(), None) })
}

/// The text of a file; empty where the file does not exist.
fn read(loaded: &Loaded, file: &Arc<str>) -> String {
    loaded.origin.read(file).map(text).unwrap_or_default()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// A file split into its documents, so that each is edited and read again without the others.
struct FileParts {
    /// The text before any edit.
    before: Vec<u8>,
    parts: Vec<String>,
    /// The part of each document, by the object that it defines or changes.
    of_key: BTreeMap<String, usize>,
    /// The file has no document, but may have comments.
    is_vacant: bool,
    is_changed: bool,
}

impl FileParts {
    fn new(file: &Arc<str>, text: &str, variables: &Variables) -> Self {
        let parts: Vec<String> = parts(file, text).into_iter().map(str::to_owned).collect();
        let of_part = |(at, part): (usize, &String)| {
            let source = SourceText::edited(file, part);
            let named = source.iter().flat_map(|source| named(source, variables));
            let names: Vec<String> = named.map(|(name, _)| name).collect();
            names.into_iter().map(move |name| (name, at))
        };
        let of_key = parts.iter().enumerate().flat_map(of_part).collect();
        let is_vacant = SourceText::edited(file, text)
            .is_some_and(|source| Documents::new(&source).all(|tree| tree.is_ok_and(|tree| tree.root.is_none())));
        Self { before: text.into(), parts, of_key, is_vacant, is_changed: false }
    }

    /// The part with the document of a key, and its text; a file without a document gets one that begins with `head`.
    fn part(&self, key: &Key, head: &str) -> Option<(usize, String)> {
        if let Some(part) = self.of_key.get(&key.to_string()) {
            return Some((*part, self.parts[*part].clone()));
        }
        let comments = self.parts.concat();
        let end = if comments.is_empty() || comments.ends_with('\n') { "" } else { "\n" };
        self.is_vacant.then(|| (0, format!("{comments}{end}{head}")))
    }

    /// The text to read for a key: its part, else the whole file.
    fn text(&self, key: &Key) -> String {
        let part = self.of_key.get(&key.to_string());
        part.map_or_else(|| self.parts.concat(), |part| self.parts[*part].clone())
    }

    fn set(&mut self, key: &Key, part: usize, text: String) {
        self.parts[part] = text;
        self.of_key.insert(key.to_string(), part);
        (self.is_vacant, self.is_changed) = (false, true);
    }
}

/// The documents of a text as they are written, each with the name that it has with these variables.
fn named<'s>(source: &'s SourceText, variables: &'s Variables) -> impl Iterator<Item = (String, Item<'s>)> {
    let items = Documents::new(source).filter_map(|tree| resolve(&tree.ok()?, source, &mut Vec::new()));
    items.filter_map(|item| {
        let mut substituted = item.clone();
        variable::substitute(&mut substituted, variables, &mut Vec::new());
        Some((substituted.names()?, item))
    })
}

struct OverlayEditor<'l> {
    loaded: &'l Loaded,
    directory: &'l str,
    /// Classifies the files of the stack.
    filter: FileFilter,
    /// The variables of the environment.
    variables: Variables,
    /// The files read so far, with their edits.
    files: BTreeMap<Arc<str>, FileParts>,
}

impl<'l> OverlayEditor<'l> {
    fn new(loaded: &'l Loaded, directory: &'l str) -> Self {
        let variables = Variables::of_stack(&loaded.config, loaded.options());
        Self { loaded, directory, filter: loaded.filter(), variables, files: BTreeMap::new() }
    }

    /// Whether a file belongs to this overlay, and not to another one inside of it.
    fn is_in(&self, file: &str) -> bool {
        self.filter.overlay_of(file).is_some_and(|overlay| overlay == self.directory)
    }

    /// A file with its edits so far.
    fn file(&mut self, file: &Arc<str>) -> &mut FileParts {
        let parts = || FileParts::new(file, &read(self.loaded, file), &self.variables);
        self.files.entry(file.clone()).or_insert_with(parts)
    }

    /// The document of a definition, with the text around it where it cannot be separated.
    fn document(&mut self, definition: &Definition) -> Option<SourceText> {
        let file = self.file(&definition.file);
        let part = *file.of_key.get(&definition.endpoint.key.to_string())?;
        SourceText::edited(&definition.file, &file.parts[part])
    }

    /// The lines that name a definition, as written: another environment may have other values for the variables.
    fn head(&mut self, definition: &Definition) -> String {
        let (key, source) = (&definition.endpoint.key, self.document(definition));
        let of_key = |source| named(source, &self.variables).find(|(name, _)| *name == key.to_string());
        let item = source.as_ref().and_then(of_key).map(|(_, item)| item);
        let text = |part: &str, known: &str| {
            let written = item.as_ref().and_then(|item| item.get("metadata")?.get(part)?.text());
            key_text(written.unwrap_or(known), Surrounding::Block).replace("$${", "${")
        };
        let kind = if key.kind.is_endpoint() { String::new() } else { format!("kind: {}\n", key.kind) };
        let (name, namespace) = (text("name", key.name.as_str()), text("namespace", key.namespace.as_str()));
        format!("{kind}metadata:\n  name: {name}\n  namespace: {namespace}\n")
    }

    /// Where a new document of a key is written.
    fn path(&self, key: &Key) -> Arc<str> {
        format!("{}/{}", self.directory, file_of(key)).into()
    }

    /// The file to change a shared definition in: the one that already changes it, else a new one.
    fn file_for(&self, definition: &Definition) -> Arc<str> {
        let there = definition.overlays.iter().rfind(|file| self.is_in(file)).cloned();
        there.unwrap_or_else(|| self.path(&definition.endpoint.key))
    }

    /// Checks that a load reads the file as part of this overlay, and that the file can be written.
    fn check(&self, file: &Arc<str>) -> Result<(), NotEditable> {
        if !self.filter.reads(file, false) || !self.is_in(file) {
            return Err(NotEditable::Withdrawn);
        }
        if !can_be_named(file) {
            return Err(NotEditable::LongName);
        }
        if self.loaded.origin.is_replaceable(file) { Ok(()) } else { Err(NotEditable::Link) }
    }

    /// Sets one value in an overlay file, and checks that the definition becomes what is wanted.
    fn adopt(&mut self, definition: &Definition, file: &Arc<str>, wanted: &ValueToAdopt) -> Result<(), NotEditable> {
        self.check(file)?;
        for file in definition.overlays.iter().chain([file]) {
            self.file(file);
        }
        let source = self.document(definition).ok_or(NotEditable::Withdrawn)?;
        let before = self.effective((definition, &source), None).ok_or(NotEditable::Withdrawn)?;
        let current = wanted.field.value(&before);
        if current != wanted.field.value(&definition.endpoint) {
            return Err(NotEditable::EditedMeanwhile);
        }
        let path = wanted.field.keys(wanted.key.kind).unwrap_or_else(|| vec!["spec".to_owned()]);
        let value = with_defaults(wanted.key.kind, &path, (&current, &wanted.live), as_written(wanted, &current));
        let head = self.head(definition);
        let (part, mut text) = self.files[file].part(&wanted.key, &head).ok_or(NotEditable::Shape)?;
        let mut changes = Vec::new();
        differences(wanted.key.kind, &path, (&current, &value), &mut changes);
        for (path, value) in &changes {
            text = set(&text, (file, &self.variables), &wanted.key, path, value)?;
        }
        let mut expected = before;
        wanted.field.assign(&mut expected, &current, &value).map_err(|_| NotEditable::Withdrawn)?;
        if changes.is_empty() || self.effective((definition, &source), Some((file, &text))) != Some(expected) {
            return Err(if has_secret(wanted) { NotEditable::Secret } else { NotEditable::Withdrawn });
        }
        let of_file = self.files.get_mut(file).ok_or(NotEditable::Withdrawn)?;
        of_file.set(&wanted.key, part, text);
        Ok(())
    }

    /// The definition with its overlays, one of them with an edited text.
    fn effective(
        &self,
        (definition, source): (&Definition, &SourceText),
        edited: Option<(&Arc<str>, &String)>,
    ) -> Option<Object> {
        let mut files: BTreeSet<Arc<str>> = definition.overlays.iter().cloned().collect();
        let key = &definition.endpoint.key;
        let own = Some(self.path(key)).filter(|own| self.files.get(own).is_some_and(|file| file.is_changed));
        files.extend(own.into_iter().chain(edited.map(|(file, _)| file.clone())));
        let text = |file: &Arc<str>| match edited {
            Some((other, text)) if other == file => text.clone(),
            _ => self.files.get(file).map(|file| file.text(key)).unwrap_or_default(),
        };
        let texts: Option<_> = files.iter().map(|file| SourceText::edited(file, &text(file))).collect();
        let reading = SecondReading::with(self.loaded, texts?);
        let mut problems = Vec::new();
        let context = reading.context(&mut problems);
        let read = careful::read(source, &context);
        let found = read.found.into_iter().find(|found| found.endpoint.key == definition.endpoint.key)?;
        (problems.is_empty() && read.problems.is_empty()).then_some(found.endpoint)
    }
}

/// The wanted value with the live default of each group in which the definition chooses another option: an overlay may
/// be unable to remove that option, but setting the default drops it.
fn with_defaults(kind: KindName, path: &[String], (current, live): (&Json, &Json), wanted: Json) -> Json {
    let Json::Object(old) = current else { return wanted };
    let level = Level::at(kind, path);
    let chosen = |key: &String| {
        let default = level.default_option(key)?;
        live.get(default).map(|live| (default.to_owned(), live.clone()))
    };
    let mut new = match wanted {
        Json::Object(new) => new,
        // A group without any option left is null.
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

/// The paths and values that an overlay sets to make a field `wanted`; null resets a path to its default or removes it.
fn differences(
    kind: KindName,
    path: &[String],
    (current, wanted): (&Json, &Json),
    found: &mut Vec<(Vec<String>, Json)>,
) {
    let none = serde_json::Map::new();
    let (old, new) = match (current, wanted) {
        (Json::Object(old), Json::Object(new)) => (old, new),
        (_, Json::Object(new)) if !new.is_empty() => (&none, new),
        _ => return found.extend((current != wanted).then(|| (path.to_vec(), wanted.clone()))),
    };
    let level = Level::at(kind, path);
    // Choosing an option drops the others of its group.
    let is_dropped = |key: &String| level.options(key).iter().any(|option| new.contains_key(*option));
    let gone = old.keys().filter(|key| !new.contains_key(*key) && !is_dropped(key));
    found.extend(gone.map(|key| (below(path, key), Json::Null)));
    for (key, value) in new {
        differences(kind, &below(path, key), (old.get(key).unwrap_or(&Json::Null), value), found);
    }
}

/// The last document of a key in an overlay file, as it is written; `None` where the file cannot be read.
fn root(text: &str, (file, variables): (&Arc<str>, &Variables), key: &Key) -> Option<WrittenNode> {
    let source = SourceText::edited(file, text)?;
    let of_key = named(&source, variables).filter(|(name, _)| *name == key.to_string());
    of_key.last().map(|(_, item)| written(&item))
}

/// The text with a value set in the document of a key. Other options of the groups that the path chooses from are
/// removed.
fn set(
    text: &str,
    of: (&Arc<str>, &Variables),
    key: &Key,
    path: &[String],
    value: &Json,
) -> Result<String, NotEditable> {
    let edit = |text: &str, change: &dyn Fn(&mut Patch<'_>) -> Result<(), NotEditable>| {
        let root = root(text, of, key).ok_or(NotEditable::Shape)?;
        let mut patch = Patch::new(text, of.0, &root, key.kind);
        change(&mut patch)?;
        spliced(text, patch.splices).ok_or(NotEditable::Shape)
    };
    let mut text = text.to_owned();
    for rival in Level::rivals(key.kind, path).filter(|_| !value.is_null()) {
        text = edit(&text, &|patch| {
            if patch.node(&rival).is_some() { patch.remove(std::slice::from_ref(&rival)) } else { Ok(()) }
        })?;
    }
    edit(&text, &|patch| match patch.node(path) {
        Some(node) if !variable::names(patch.slice(node.value.clone())?).is_empty() => Err(NotEditable::Variable),
        Some(_) => patch.replace(path, value),
        None => patch.insert(path, value),
    })
}

#[cfg(test)]
mod tests;

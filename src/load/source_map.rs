//! Finds where the values of a definition are written, on demand. The careful reader reads the file again;
//! the result is cached for the next query. It contains the bytes, the style and the origin of each value,
//! which are enough for an edit in place.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::careful::{self, PreparedDocument, ReadContext, SecondReading};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::item::{Item, MapEntry, TextSpan, Value, ValueOrigin};
use super::level::Level;
use super::loaded::Loaded;
use super::secrets::Secrets;
use super::source::FileOrigin;
use super::text::SourceText;
use super::tree::TextStyle;
use crate::kind::KindName;
use crate::model::{Definition, Field, Key, SourceLocation};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueStyle {
    /// No text after the colon; the range is empty and begins right after the colon.
    Empty,
    /// A scalar without quotes.
    Plain,
    /// A scalar in quotes.
    Quoted,
    /// A `|` or `>` scalar; the range begins at its header.
    Block,
    /// A list or mapping in block style.
    Collection,
    /// A list or mapping in brackets.
    Flow,
}

/// A value of a definition as it is written in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenValue {
    /// Where its key begins; for an item of a list, where the item begins.
    pub place: SourceLocation,
    /// The bytes of its key in the file; empty for an item of a list.
    pub key: Range<usize>,
    /// The bytes of its value in the file, without an anchor or tag before it.
    pub value: Range<usize>,
    /// How it is written.
    pub writing: ValueStyle,
    /// Its origin; only a `Written` value can be edited without an effect elsewhere.
    pub origin: ValueOrigin,
}

/// A value as it is written, with the values in it by their keys; items of lists have their numbers as keys.
#[derive(Debug)]
pub(super) struct WrittenNode {
    pub(super) value: WrittenValue,
    pub(super) below: BTreeMap<String, WrittenNode>,
}

impl WrittenNode {
    /// The value at a path below this one.
    pub(super) fn at(&self, path: &[impl AsRef<str>]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.below.get(key.as_ref()))
    }
}

/// The definitions of a file by `namespace/name`.
type FileNodes = HashMap<String, WrittenNode>;

/// Finds where the values of a load are written.
#[derive(Debug)]
pub struct SourceMap<'l> {
    loaded: &'l Loaded,
    /// Reads a file without overlays.
    plain: SecondReading<'l>,
    /// The overlay files that change definitions of a file.
    overlays: BTreeMap<&'l Arc<str>, BTreeSet<&'l Arc<str>>>,
    /// Files with several definitions, and the newest file with a single one.
    cached: RefCell<HashMap<Arc<str>, Arc<FileNodes>>>,
    /// The texts of files with errors.
    texts: RefCell<HashMap<Arc<str>, Option<ShownText>>>,
}

/// The text of a file, lines of which diagnostics show.
#[derive(Debug)]
struct ShownText {
    source: SourceText,
    /// Whether any of its documents has a secret.
    has_secret: bool,
}

impl ShownText {
    fn new(source: SourceText) -> Self {
        Self { has_secret: Secrets::are_in(&source), source }
    }
}

impl<'l> SourceMap<'l> {
    /// A map for a load; the files must not have changed since.
    pub fn new(loaded: &'l Loaded) -> Self {
        let plain = SecondReading::new(loaded, []);
        Self { loaded, plain, overlays: loaded.overlays(), cached: RefCell::default(), texts: RefCell::default() }
    }

    /// The place of a definition or of a field in it; for a definition that an overlay removes, the place that removes
    /// it. `None` where it is not written.
    pub fn place(&self, key: &Key, field: Option<&Field>) -> Option<SourceLocation> {
        if let Some(removed) = self.loaded.removed.get(key) {
            return Some(removed.clone());
        }
        let written = match field {
            None => self.at(key, &[""; 0]),
            Some(field) => self.field(key, field),
        };
        written.map(|written| written.place)
    }

    /// How a field of a definition is written; for an exclusive group its chosen option.
    pub fn field(&self, key: &Key, field: &Field) -> Option<WrittenValue> {
        let (paths, chosen) = paths(key.kind, field);
        let written = |path: &Vec<String>| self.at(key, path);
        paths.iter().filter_map(written).find(|written| !(chosen && written.writing == ValueStyle::Empty))
    }

    /// The place of the first value of a field in a file for which `is_one` is true.
    pub fn place_in(&self, key: &Key, field: &Field, is_one: &dyn Fn(&str) -> bool) -> Option<SourceLocation> {
        fn first(node: &WrittenNode, is_one: &dyn Fn(&str) -> bool) -> Option<SourceLocation> {
            let own = Some(&node.value.place).filter(|place| is_one(&place.file)).cloned();
            own.or_else(|| node.below.values().find_map(|node| first(node, is_one)))
        }
        let file = self.file(self.loaded.desired.definitions.get(key)?);
        let root = file.get(&key.to_string())?;
        paths(key.kind, field).0.iter().find_map(|path| first(root.at(path)?, is_one))
    }

    /// How the value at a path of snake_case keys is written; items of lists have their numbers as keys, and
    /// the empty path is the whole definition.
    pub fn at(&self, key: &Key, path: &[impl AsRef<str>]) -> Option<WrittenValue> {
        let definition = self.loaded.desired.definitions.get(key)?;
        let file = self.file(definition);
        file.get(&key.to_string())?.at(path).map(|node| node.value.clone())
    }

    /// The same for a path of a report, such as `spec.pools[0].pool`, or for the nearest written value above it whose
    /// path has at least `least` steps.
    fn nearest(&self, key: &Key, path: &str, least: usize) -> Option<WrittenValue> {
        let mut steps: Vec<&str> = path.split(['.', '[']).map(|step| step.trim_end_matches(']')).collect();
        while steps.len() >= least {
            if let Some(written) = self.at(key, &steps) {
                return Some(written);
            }
            steps.pop()?;
        }
        None
    }

    /// The place of a value in a field of the spec, by its path in a report, or of the nearest written value above it.
    /// `None` where no part of the field is written.
    pub fn value(&self, key: &Key, path: &str) -> Option<SourceLocation> {
        self.nearest(key, path, 2).map(|written| written.place)
    }

    /// An error about the values at these paths, each with its label.
    pub fn error(&self, message: &str, help: &str, places: &[(&Key, &str, String)]) -> Diagnostic {
        let mut diagnostic = Diagnostic::without_place(message, help);
        let mut has_secret = false;
        for (key, path, label) in places {
            let Some(written) = self.nearest(key, path, 0) else { continue };
            let file: Arc<str> = written.place.file.into();
            let mut texts = self.texts.borrow_mut();
            let text = || self.loaded.origin.text(&file).ok().map(ShownText::new);
            let Some(text) = texts.entry(file.clone()).or_insert_with(text) else { continue };
            diagnostic = diagnostic.also(&text.source, written.value, label);
            has_secret |= text.has_secret;
        }
        if has_secret {
            diagnostic.hide_source();
        }
        diagnostic
    }

    /// The diagnostics of these errors in files of the load.
    pub fn problems(&self, errors: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics::new(errors, self.loaded.desired.files).below(self.loaded.root.clone())
    }

    fn file(&self, definition: &Definition) -> Arc<FileNodes> {
        if let Some(kept) = self.cached.borrow().get(&definition.file) {
            return kept.clone();
        }
        let read = Arc::new(self.read(&definition.file).unwrap_or_default());
        let mut kept = self.cached.borrow_mut();
        // Files with one definition are usually read once; caching all of them would cost memory.
        kept.retain(|_, file| file.len() > 1);
        kept.insert(definition.file.clone(), read.clone());
        read
    }

    fn read(&self, file: &Arc<str>) -> Option<FileNodes> {
        let source = self.loaded.origin.text(file).ok()?;
        let with_overlays =
            self.overlays.get(file).map(|overlays| SecondReading::new(self.loaded, overlays.iter().copied()));
        let context = with_overlays.as_ref().unwrap_or(&self.plain).context(&mut Vec::new());
        let documents = careful::prepare(&source, &context);
        let nodes = documents.iter().filter_map(|document| {
            let (key, mut root) = (document.item.names()?, written(&document.item));
            for overlay in context.overlays.of(&key).iter().rev() {
                nulls(&overlay.item, Level::root(overlay.item.described()), &mut root);
            }
            Some((key, root))
        });
        Some(nodes.collect())
    }
}

/// Adds the values that an overlay sets to `null`, which the merged definition does not have.
fn nulls(overlay: &Item<'_>, level: Level, found: &mut WrittenNode) {
    for entry in overlay.entries() {
        let key = level.spelled(&entry.key);
        let level = level.below(&key);
        if entry.item.is_null() {
            let node = || entry_node(entry, level, ValueOrigin::Written);
            found.below.entry(key.into_owned()).or_insert_with(node);
        } else if let Some(found) = found.below.get_mut(&*key) {
            nulls(&entry.item, level, found);
        }
    }
}

/// The paths at which a field can be written, and whether they are the options of an exclusive group, where an
/// option without a value is not the chosen one.
fn paths(kind: KindName, field: &Field) -> (Vec<Vec<String>>, bool) {
    if let Some(path) = field.keys(kind) {
        return (vec![path], false);
    }
    let group = kind.message().groups.iter().find(|group| field.unit() == Some(group.name));
    let options = group.into_iter().flat_map(|group| &group.members);
    (options.map(|option| ["spec", *option].map(str::to_owned).to_vec()).collect(), true)
}

/// A document as it is written.
pub(super) fn written(root: &Item<'_>) -> WrittenNode {
    let first = root.entries().first().map_or(root.span, |entry| entry.key_at);
    node(root, (first, 0..0), Level::root(root.described()), ValueOrigin::Written)
}

fn entry_node(entry: &MapEntry<'_>, level: Level, above: ValueOrigin) -> WrittenNode {
    let key = entry.key_at.source.file_range(&entry.key_at.range());
    node(&entry.item, (entry.key_at, key), level, above)
}

/// A value that begins at `start`, with the bytes of its key.
fn node(item: &Item<'_>, (start, key): (TextSpan<'_>, Range<usize>), level: Level, above: ValueOrigin) -> WrittenNode {
    let origin = match above {
        ValueOrigin::Written => item.origin,
        ValueOrigin::Anchored if item.origin != ValueOrigin::Written => item.origin,
        above => above,
    };
    let below = match &item.value {
        Value::Text(..) | Value::Refused => BTreeMap::new(),
        Value::List(items) => {
            let node = |item: &Item<'_>| node(item, (item.span, 0..0), level.below(""), origin);
            items.iter().enumerate().map(|(index, item)| (index.to_string(), node(item))).collect()
        }
        Value::Map(entries) => {
            let node = |entry: &MapEntry<'_>| {
                let key = level.spelled(&entry.key);
                let node = entry_node(entry, level.below(&key), origin);
                (key.into_owned(), node)
            };
            entries.iter().map(node).collect()
        }
    };
    let value = item.span.source.file_range(&item.span.range());
    WrittenNode { value: WrittenValue { place: start.location(), key, value, writing: style(item), origin }, below }
}

fn style(item: &Item<'_>) -> ValueStyle {
    let begins = |item: &Item<'_>| item.span.range().start;
    match &item.value {
        Value::Text(_, TextStyle::Plain) if item.span.is_empty() => ValueStyle::Empty,
        Value::Text(_, TextStyle::Plain) => ValueStyle::Plain,
        Value::Text(_, TextStyle::Quoted) => ValueStyle::Quoted,
        Value::Text(_, TextStyle::Block) => ValueStyle::Block,
        // A list without brackets begins where its first item does, and that item may have brackets.
        Value::List(items) if items.first().is_some_and(|first| begins(first) == begins(item)) => {
            ValueStyle::Collection
        }
        Value::List(_) | Value::Map(_) if item.span.slice().starts_with(['{', '[']) => ValueStyle::Flow,
        Value::List(_) | Value::Map(_) | Value::Refused => ValueStyle::Collection,
    }
}

/// The problems of duplicate definitions, each with both places. Each file is read once.
pub(super) fn twice(
    pairs: &[(&Definition, &Definition)],
    origin: &FileOrigin,
    context: &ReadContext<'_>,
) -> Vec<Diagnostic> {
    let named = |file| {
        let source = origin.text(file).ok()?;
        let names = names(&source, context);
        Some((ShownText::new(source), names))
    };
    let files: BTreeSet<&Arc<str>> = pairs.iter().flat_map(|(first, second)| [&first.file, &second.file]).collect();
    let files: BTreeMap<&Arc<str>, _> = files.into_iter().map(|file| (file, named(file))).collect();
    let place = |found: &Definition| {
        let (text, names) = files.get(&found.file)?.as_ref()?;
        Some((text, names.get(&found.document).cloned().unwrap_or_default()))
    };
    let problem = |(first, second): &(&Definition, &Definition)| {
        let what = format!("`{}` is defined twice", first.endpoint.key);
        let (Some((one, one_at)), Some((two, two_at))) = (place(first), place(second)) else {
            return Diagnostic::of_file(what, &second.file, format!("it is also in {}", first.file));
        };
        let twice = Diagnostic::error(what, &two.source, two_at, "second definition here");
        let mut twice = twice.also(&one.source, one_at, "first definition here");
        // The rendering may include lines between the two places.
        if one.has_secret || two.has_secret {
            twice.hide_source();
        }
        twice
    };
    pairs.iter().map(problem).collect()
}

/// The place of the name in each document of a file.
fn names<'s>(source: &'s SourceText, context: &ReadContext<'s>) -> HashMap<usize, Range<usize>> {
    let documents = careful::prepare(source, context);
    let name = |document: &PreparedDocument<'_>| {
        let at = document.item.get("metadata")?.get("name")?.span;
        // An overlay's name is in another file.
        let place = if at.source.path == source.path { at.range() } else { 0..0 };
        Some((document.document, place))
    };
    documents.iter().filter_map(name).collect()
}

//! Where each value of an effective definition comes from: the definition, an overlay, a variable and the layer of the
//! settings that sets it, or the default. It reads the files again, so it is meant for the one definition that a user
//! asks about.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::careful::{ReadContext, SecondReading};
use super::config::{ExplainedSetting, LayerName};
use super::item::{Item, MapEntry, Value, resolve};
use super::level::Level;
use super::loaded::Loaded;
use super::overlay;
use super::tree::Documents;
use super::variable::{self, substitute};
use crate::kind::{KindName, place_in_file};
use crate::model::{Field, Json, Key, Object, SourceLocation};

/// An effective definition, value by value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedDefinition {
    /// `namespace/name`
    pub key: Key,
    /// Where an overlay removes it; a removed definition has no values.
    pub removed: Option<SourceLocation>,
    /// Its values, in the order in which files have them; those that it does not set are defaults.
    pub values: Vec<ExplainedValue>,
}

/// A value of a definition with everything that decided it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedValue {
    /// Its keys from the root of the document.
    pub path: Vec<String>,
    /// The effective value; null means absent.
    pub value: Json,
    /// What sets it.
    pub source: ValueSource,
    /// Where it is written. For a default, where an overlay resets it; for an unnamed value, where an overlay removes
    /// it.
    pub place: Option<SourceLocation>,
    /// The variables in it.
    pub variables: Vec<ExplainedVariable>,
    /// The values that it replaces, the nearest first.
    pub replaced: Vec<ReplacedValue>,
}

/// What sets a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// The definition.
    Definition,
    /// An overlay of the environment.
    Overlay,
    /// Nothing sets it: it is the default.
    Default,
    /// Nothing sets it: an overlay removes the value of the definition. For kinds other than endpoint.
    Unnamed,
}

/// A variable in a value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedVariable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The layer of the settings that sets it.
    pub layer: LayerName,
    /// Where it is set.
    pub place: Option<SourceLocation>,
}

/// A value that another one replaces.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplacedValue {
    /// Its keys from the root of the document; they differ where it is another option of an exclusive group.
    pub path: Vec<String>,
    /// The value as it is written.
    pub written: String,
    /// Where it is written.
    pub place: SourceLocation,
}

/// The text shown for a secret.
const NOT_SHOWN: &str = "(not shown)";

/// The entries of a document by their path of snake_case keys, without those in lists.
type Entries<'i, 's> = BTreeMap<Vec<String>, &'i MapEntry<'s>>;

/// Where the values of a definition come from; `None` where the definition does not exist. `settings` are those of
/// the same environment.
pub fn definition(loaded: &Loaded, key: &Key, settings: &[ExplainedSetting]) -> Option<ExplainedDefinition> {
    if let Some(place) = loaded.removed.get(key) {
        return Some(ExplainedDefinition { key: key.clone(), removed: Some(place.clone()), values: Vec::new() });
    }
    let definition = loaded.desired.definitions.get(key)?;
    let source = loaded.origin.text(&definition.file).ok()?;
    let reading = SecondReading::new(loaded, &definition.overlays);
    let ReadContext { variables, overlays, .. } = reading.context(&mut Vec::new());
    let tree = Documents::new(&source).nth(definition.document)?.ok()?;
    let base = resolve(&tree, &source, &mut Vec::new())?;
    let documents: Vec<&Item<'_>> =
        std::iter::once(&base).chain(overlays.of(&key.to_string()).iter().map(|overlay| &overlay.item)).collect();
    let mut raw = base.clone();
    for overlay in documents.iter().skip(1) {
        overlay::merge(&mut raw, overlay);
    }
    let mut effective = raw.clone();
    substitute(&mut effective, variables, &mut Vec::new());
    let wire = serde_json::to_value(&definition.endpoint).unwrap_or_default();
    let explainer = Explainer {
        loaded,
        settings,
        endpoint: &definition.endpoint,
        wire,
        raw: entries(&raw),
        documents: documents.into_iter().map(entries).collect(),
    };
    let values = explainer.values(&entries(&effective));
    Some(ExplainedDefinition { key: key.clone(), removed: None, values })
}

struct Explainer<'e, 'i, 's> {
    loaded: &'e Loaded,
    settings: &'e [ExplainedSetting],
    endpoint: &'e Object,
    wire: Json,
    /// The entries with all overlays applied, before variables are substituted.
    raw: Entries<'i, 's>,
    /// The definition and its overlays, each separately.
    documents: Vec<Entries<'i, 's>>,
}

impl Explainer<'_, '_, '_> {
    fn values(&self, effective: &Entries<'_, '_>) -> Vec<ExplainedValue> {
        let kind = self.endpoint.key.kind;
        let written = effective.iter().filter(|(path, entry)| is_value(kind, path, entry));
        let mut values: Vec<ExplainedValue> = written.map(|(path, entry)| self.written(path, entry)).collect();
        let absent: BTreeSet<Vec<String>> = self.absent(effective);
        values.extend(absent.into_iter().filter_map(|path| self.default(path)));
        values.sort_by_cached_key(|value| {
            value.path.iter().map(|key| (place_in_file(key), key.clone())).collect::<Vec<(usize, String)>>()
        });
        values
    }

    /// The paths of absent values: fields that no document sets, and values that an overlay resets.
    fn absent(&self, effective: &Entries<'_, '_>) -> BTreeSet<Vec<String>> {
        let (fixed, kind) = (self.fixed(), self.endpoint.key.kind);
        let nulls = self.documents.iter().skip(1).flatten().filter(|(_, entry)| entry.item.is_null());
        let set_back = nulls.map(|(path, _)| path.clone()).filter(|path| !self.is_dropped(effective, path));
        let is_there = |path: &Vec<String>| {
            effective.iter().any(|(other, entry)| {
                is_value(kind, other, entry) && (other.starts_with(path) || path.starts_with(other))
            })
        };
        fixed.chain(set_back).filter(|path| !is_there(path)).collect()
    }

    /// Whether a path is below an option of an exclusive group that another option replaces.
    fn is_dropped(&self, effective: &Entries<'_, '_>, path: &[String]) -> bool {
        let above = path.split_last().map_or(path, |(_, above)| above);
        Level::rivals(self.endpoint.key.kind, above).any(|rival| effective.contains_key(&rival))
    }

    /// The paths of the fields that an object of the kind always has.
    fn fixed(&self) -> impl Iterator<Item = Vec<String>> {
        let kind = self.endpoint.key.kind;
        let is_of_all = move |field: &Field| kind.is_whole() || !field.is_of_spec();
        Field::of_endpoint().filter(is_of_all).filter_map(move |field| field.keys(kind))
    }

    fn written(&self, path: &[String], entry: &MapEntry<'_>) -> ExplainedValue {
        let place = entry.key_at.location();
        let is_overlay = self.loaded.filter().is_overlay(&place.file);
        let mut replaced = Vec::new();
        // An overlay repeats the name of the definition, which changes nothing.
        if !matches!(path, [metadata, name] if metadata == "metadata" && (name == "name" || name == "namespace")) {
            replaced = self.replaced(path, Some(&place));
            replaced.extend(self.rivals(path));
        }
        ExplainedValue {
            path: path.to_vec(),
            value: self.value(path),
            source: if is_overlay { ValueSource::Overlay } else { ValueSource::Definition },
            place: Some(place),
            variables: self.variables(path),
            replaced,
        }
    }

    /// An absent value; `None` where the field has no fixed default and no overlay removed a value.
    fn default(&self, path: Vec<String>) -> Option<ExplainedValue> {
        let set_back = |entries: &Entries<'_, '_>| {
            let mut above = (1..=path.len()).filter_map(|length| entries.get(&path[..length]));
            above.find(|entry| entry.item.is_null()).map(|entry| entry.key_at.location())
        };
        let place = self.documents.iter().skip(1).rev().find_map(set_back);
        let replaced = if place.is_some() { self.replaced(&path, None) } else { Vec::new() };
        let is_fixed = self.fixed().any(|fixed| fixed == path);
        let is_kept = !self.endpoint.key.kind.is_whole() && path.first().is_some_and(|first| first == "spec");
        (is_fixed || !replaced.is_empty()).then(|| ExplainedValue {
            value: self.value(&path),
            source: if is_kept { ValueSource::Unnamed } else { ValueSource::Default },
            // Resetting a value that is not set changes nothing.
            place: place.filter(|_| !replaced.is_empty()),
            variables: Vec::new(),
            replaced,
            path,
        })
    }

    fn value(&self, path: &[String]) -> Json {
        let kind = self.endpoint.key.kind;
        if let Some(value) = path.iter().try_fold(&self.wire, |at, key| at.get(key)) {
            return if is_secret(kind, path) { NOT_SHOWN.into() } else { value.clone() };
        }
        if let Some(field) = Field::of_endpoint().find(|field| field.keys(kind).is_some_and(|keys| keys == path)) {
            return field.value(self.endpoint);
        }
        match Level::at(kind, path) {
            Level::Empty => Json::Object(serde_json::Map::new()),
            _ => Json::Null,
        }
    }

    /// The values that the documents set at a path or below it, except for the effective one.
    fn replaced(&self, path: &[String], in_force: Option<&SourceLocation>) -> Vec<ReplacedValue> {
        let (mut replaced, kind) = (Vec::new(), self.endpoint.key.kind);
        for document in self.documents.iter().rev() {
            let below =
                document.iter().filter(|(other, entry)| other.starts_with(path) && is_value(kind, other, entry));
            replaced.extend(below.map(|(path, entry)| replaced_value(kind, path, entry)));
        }
        replaced.retain(|value: &ReplacedValue| Some(&value.place) != in_force);
        replaced
    }

    /// The values that the documents set in other options of the exclusive groups that a path chooses from.
    fn rivals(&self, path: &[String]) -> Vec<ReplacedValue> {
        Level::rivals(self.endpoint.key.kind, path).flat_map(|rival| self.replaced(&rival, None)).collect()
    }

    fn variables(&self, path: &[String]) -> Vec<ExplainedVariable> {
        // The value of a variable may be a whole mapping.
        let mut paths = (1..=path.len()).rev().map(|length| &path[..length]);
        let written = paths.find_map(|path| Some((path, self.raw.get(path)?)));
        let mut names = Vec::new();
        if let Some((path, entry)) = written {
            collect_names(&entry.item, Level::at(self.endpoint.key.kind, path), &mut names);
        }
        let of = |name: String| {
            let value = self.loaded.config.variables.get(&name)?.clone();
            let is_secret = self.loaded.options.secret_variables.contain(&name);
            let value = if is_secret { NOT_SHOWN.to_owned() } else { value };
            let set = self.settings.iter().find(|setting| setting.path == ["variables", &name]);
            let (layer, place) =
                set.map_or((LayerName::Call("--var".to_owned()), None), |set| (set.layer.clone(), set.place.clone()));
            Some(ExplainedVariable { name, value, layer, place })
        };
        names.into_iter().filter_map(of).collect()
    }
}

/// Whether the value at a path is a secret, however it is written.
fn is_secret(kind: KindName, path: &[String]) -> bool {
    matches!(Level::at(kind, path), Level::Secret)
}

/// Whether an entry is a value, not a mapping of values: a scalar, a list, an option without fields, a label, a secret.
fn is_value(kind: KindName, path: &[String], entry: &MapEntry<'_>) -> bool {
    let is_one = match Level::at(kind, path) {
        Level::Unknown => return false,
        // Entries inside of a secret are a part of it.
        Level::Secret if is_secret(kind, &path[..path.len() - 1]) => return false,
        Level::Value | Level::Empty | Level::Secret => true,
        // An empty mapping of labels changes nothing.
        Level::Several(_) if path.len() == 2 => false,
        Level::Object(_) | Level::Metadata | Level::Message(_) | Level::Several(_) => entry.item.entries().is_empty(),
    };
    !entry.item.is_null() && (is_one || !matches!(entry.item.value, Value::Map(_)))
}

fn entries<'i, 's>(root: &'i Item<'s>) -> Entries<'i, 's> {
    fn collect<'i, 's>(item: &'i Item<'s>, level: Level, path: &mut Vec<String>, found: &mut Entries<'i, 's>) {
        for entry in item.entries() {
            let key = level.spelled(&entry.key);
            path.push(key.clone().into_owned());
            found.insert(path.clone(), entry);
            collect(&entry.item, level.below(&key), path, found);
            path.pop();
        }
    }
    let mut found = Entries::new();
    collect(root, Level::root(root.described()), &mut Vec::new(), &mut found);
    found
}

fn replaced_value(kind: KindName, path: &[String], entry: &MapEntry<'_>) -> ReplacedValue {
    let slice = entry.item.span.slice();
    let written = match entry.item.text() {
        _ if is_secret(kind, path) => NOT_SHOWN.to_owned(),
        Some(text) => text.to_owned(),
        // A list in an object of another kind may contain a secret.
        None if slice.contains('\n') || !kind.is_endpoint() => entry.item.kind().to_owned(),
        None => slice.to_owned(),
    };
    ReplacedValue { path: path.to_vec(), written, place: entry.key_at.location() }
}

/// The variables in an item, except where the item is a secret: their values are secret too.
fn collect_names(item: &Item<'_>, level: Level, names: &mut Vec<String>) {
    if matches!(level, Level::Secret) {
        return;
    }
    match &item.value {
        Value::Text(text, _) => {
            for name in variable::names(text) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| collect_names(item, level.below("0"), names)),
        Value::Map(entries) => {
            entries.iter().for_each(|entry| collect_names(&entry.item, level.below(&entry.key), names));
        }
        Value::Refused => {}
    }
}

#[cfg(test)]
mod tests;

//! The unit of comparison: a scalar, a whole exclusive group, one label, one annotation. This file gets
//! the value of each from an object, and sets it in an object and in the JSON of the wire.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Json, JsonTree, Namespace, Object, Spec, StringMap};
use crate::kind::{self, KindName, as_text};

/// The letter of the digests of units without a letter of their own.
pub(super) const UNIT: char = 'u';

/// The unit of comparison: a scalar, a whole exclusive group, one label, one annotation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(
    with = "String",
    description = "A field by its path; an option of a group names the group.",
    extend("pattern" = r"^(description|disable|labels\.[\s\S]*|annotations\.[\s\S]*|spec\.[a-z0-9_]+)$")
)]
pub enum Field {
    /// `description`
    Description,
    /// `disable`
    Disable,
    /// `labels.KEY`
    Label(String),
    /// `annotations.KEY`
    Annotation(String),
    /// A unit of the spec: a field, or an exclusive group by its name
    Unit(Cow<'static, str>),
}

/// The value of a field in an object. It is compared as a value and serialised as the wire writes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum FieldValue<'e> {
    /// A text that is empty by default.
    Text(&'e str),
    /// A label or an annotation; `None` where it is absent.
    Entry(Option<&'e str>),
    /// `true` or `false`, false by default.
    Flag(bool),
    /// A unit of the spec.
    #[serde(serialize_with = "unit_value")]
    Unit(UnitValue<'e>),
}

/// The value of a unit and the object that has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitValue<'e> {
    kind: KindName,
    name: &'e str,
    /// Its canonical text; `None` where it is left out.
    text: Option<&'e str>,
    namespace: &'e Namespace,
}

impl UnitValue<'_> {
    /// See [`FieldValue::write_digested`]. For kinds with `is_whole`, the digest covers the text, as it always did.
    fn write_digested(&self, out: &mut Vec<u8>) -> bool {
        let Some(text) = self.text else { return false };
        if self.kind.is_whole() {
            out.extend_from_slice(text.as_bytes());
            return true;
        }
        let value = self.value();
        let digested = kind::digested(self.kind.message(), self.name, &value, self.namespace.as_str());
        digested.is_some_and(|digested| serde_json::to_writer(out, &digested).is_ok())
    }

    /// Its hidden values, which responses do not show.
    pub(super) fn hidden(&self) -> Option<Json> {
        // Specs of kinds with `is_whole` have no hidden values.
        self.text.filter(|_| !self.kind.is_whole())?;
        kind::hidden(self.kind.message(), self.name, &self.value())
    }

    fn value(&self) -> Json {
        // The text was written from a tree, so it can be read.
        let tree = self.text.map(|text| serde_json::from_str::<JsonTree>(text).unwrap_or_default().0);
        tree.unwrap_or_else(|| {
            if self.kind.is_whole() { kind::open_value(self.kind.message(), self.name) } else { Json::Null }
        })
    }
}

impl FieldValue<'_> {
    /// Writes the value as its digest covers it, and returns whether there is one: a default of the service means the
    /// same as leaving the field out.
    pub(super) fn write_digested(&self, out: &mut Vec<u8>) -> bool {
        match self {
            FieldValue::Text("") | FieldValue::Entry(None) | FieldValue::Flag(false) => false,
            // Whether anything is left is known only afterwards.
            FieldValue::Unit(unit) => unit.write_digested(out),
            // Texts and flags cannot fail.
            value => serde_json::to_writer(out, value).is_ok(),
        }
    }
}

fn unit_value<S: serde::Serializer>(unit: &UnitValue<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    unit.value().serialize(serializer)
}

/// A value that a field cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` cannot be {value}: {reason}")]
pub struct FieldError {
    field: Field,
    value: Json,
    reason: String,
}

impl Field {
    /// The fields that every object has, without labels and annotations.
    pub const OF_METADATA: [Field; 2] = [Field::Description, Field::Disable];

    /// The fields that every endpoint has.
    pub fn of_endpoint() -> impl Iterator<Item = Self> {
        Self::OF_METADATA.into_iter().chain(digests().iter().map(|(unit, _)| Field::Unit(Cow::Borrowed(unit))))
    }

    /// The fields that either object may have, without labels and annotations.
    pub fn of_both<'e>(one: &'e Object, other: &'e Object) -> impl Iterator<Item = Field> + 'e {
        let of_spec = Spec::units_of_both(&one.spec, &other.spec);
        Self::OF_METADATA.into_iter().chain(of_spec.map(Field::of_unit))
    }

    /// The field of this unit of a spec.
    pub fn of_unit(name: &str) -> Self {
        let known = digests().iter().find(|(unit, _)| *unit == name);
        Field::Unit(known.map_or_else(|| name.to_owned().into(), |(unit, _)| (*unit).into()))
    }

    /// The name of the unit, if the field is one.
    pub fn unit(&self) -> Option<&str> {
        match self {
            Field::Unit(name) => Some(name),
            Field::Description | Field::Disable | Field::Label(_) | Field::Annotation(_) => None,
        }
    }

    /// The value of this field in `endpoint`.
    pub(super) fn of<'e>(&'e self, endpoint: &'e Object) -> FieldValue<'e> {
        match self {
            Field::Description => FieldValue::Text(&endpoint.description),
            Field::Disable => FieldValue::Flag(endpoint.disable),
            Field::Label(key) => FieldValue::Entry(endpoint.labels.get(key).map(String::as_str)),
            Field::Annotation(key) => FieldValue::Entry(endpoint.annotations.get(key).map(String::as_str)),
            Field::Unit(name) => FieldValue::Unit(UnitValue {
                kind: endpoint.key.kind,
                name,
                text: endpoint.spec.text(name),
                namespace: &endpoint.key.namespace,
            }),
        }
    }

    /// The field of an endpoint with this path. An option of a group gives the group; `metadata.` and `spec.` may be
    /// left out.
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.strip_prefix("metadata.").unwrap_or(path);
        if let Some(key) = path.strip_prefix("labels.") {
            return Some(Field::Label(key.to_owned()));
        }
        if let Some(key) = path.strip_prefix("annotations.") {
            return Some(Field::Annotation(key.to_owned()));
        }
        let of_spec = path.strip_prefix("spec.");
        match of_spec.map_or(path, |rest| rest.split('.').next().unwrap_or(rest)) {
            "description" if of_spec.is_none() => Some(Field::Description),
            "disable" if of_spec.is_none() => Some(Field::Disable),
            key => Self::of_option(KindName::ENDPOINT, key),
        }
    }

    fn of_option(kind: KindName, key: &str) -> Option<Self> {
        let unit = kind::unit_of(kind.message(), key);
        kind::units(kind.message()).find(|known| *known == unit).map(Self::of_unit)
    }

    /// The field of the key of a spec that this path begins with, in an object of any kind.
    pub fn of_key(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("spec.")?;
        rest.split(['.', '[']).next().map(Self::of_unit)
    }

    /// The field of an object of this kind with this path. An option of a group gives the group.
    pub fn of_kind(kind: KindName, path: &str) -> Option<Self> {
        match path.strip_prefix("spec.") {
            Some(rest) => Self::of_option(kind, rest.split(['.', '[']).next().unwrap_or(rest)),
            None => Self::from_path(path),
        }
    }

    /// The part of a value of this field that `wanted` names; the whole value if `wanted` is `null`.
    pub fn seen(&self, kind: KindName, live: &Json, wanted: &Json) -> Json {
        let seen = |unit| kind::seen_as(kind.message(), unit, live, wanted);
        self.unit().filter(|_| !wanted.is_null()).map_or_else(|| live.clone(), seen)
    }

    /// The path of a difference between two values that a replace cannot make, if there is one.
    pub fn fixed(&self, kind: KindName, live: &Json, wanted: &Json) -> Option<String> {
        kind::fixed(kind.message(), self.unit()?, live, wanted)
    }

    /// Whether it is a field of the spec.
    pub fn is_of_spec(&self) -> bool {
        self.unit().is_some()
    }

    /// Its position in reports, the letter of its digests, and its path in two parts.
    fn known(&self) -> (usize, char, &'static str, &str) {
        match self {
            Field::Description => (0, 'd', "description", ""),
            Field::Disable => (1, 'x', "disable", ""),
            Field::Label(key) => (2, 'l', "labels.", key),
            Field::Annotation(key) => (3, 'a', "annotations.", key),
            Field::Unit(name) => {
                let place = digests().iter().position(|(unit, _)| unit == name);
                let letter = place.map_or(UNIT, |place| digests()[place].1);
                (4 + place.unwrap_or(digests().len()), letter, "spec.", name)
            }
        }
    }

    /// The letter of its digests in `trueup/applied`.
    pub(super) fn letter(&self) -> char {
        self.known().1
    }

    /// The keys that lead to it in an object of this kind; `None` for an exclusive group of the spec, which has several
    /// keys.
    pub fn keys(&self, kind: KindName) -> Option<Vec<String>> {
        let keys = match self {
            Field::Description => vec!["metadata", "description"],
            Field::Disable => vec!["metadata", "disable"],
            Field::Label(key) => vec!["metadata", "labels", key],
            Field::Annotation(key) => vec!["metadata", "annotations", key],
            Field::Unit(name) if kind::is_group(kind.message(), name) => return None,
            Field::Unit(name) => vec!["spec", name],
        };
        Some(keys.into_iter().map(str::to_owned).collect())
    }

    /// Whether both have the same value.
    pub fn is_same(&self, one: &Object, other: &Object) -> bool {
        self.of(one) == self.of(other)
    }

    /// The value of this field in `endpoint`, as the wire writes it: for an exclusive group an object with its
    /// only option, `null` for a label, annotation or unit that is absent.
    pub fn value(&self, endpoint: &Object) -> Json {
        // Strings, numbers and maps with text keys cannot fail.
        serde_json::to_value(self.of(endpoint)).unwrap_or_default()
    }

    /// The value as its digest covers it; `None` where nothing is left.
    pub fn digested(&self, endpoint: &Object) -> Option<Json> {
        let mut text = Vec::new();
        let is_said = self.of(endpoint).write_digested(&mut text);
        is_said.then(|| serde_json::from_slice::<JsonTree>(&text).unwrap_or_default().0)
    }

    /// Whether a live object still has a value that a change of this field from `before` to `after` removes.
    pub fn keeps(&self, live: &Object, before: &Json, after: &Json) -> bool {
        // In kinds with `is_whole`, values that the definition does not name are always removed.
        let Some(unit) = self.unit().filter(|_| !live.key.kind.is_whole()) else { return false };
        kind::keeps(live.key.kind.message(), unit, &self.digested(live).unwrap_or_default(), (before, after))
    }

    /// Sets this field of `endpoint` to a value as [`Field::value`] returns it; `null` sets the default. For kinds
    /// without `is_whole`, only values in `before` that are not in `value` are removed.
    ///
    /// # Errors
    /// A value that the field cannot have.
    pub fn assign(&self, endpoint: &mut Object, before: &Json, value: &Json) -> Result<(), FieldError> {
        let error = |reason: String| FieldError { field: self.clone(), value: value.clone(), reason };
        let text = || match value {
            Json::Null => Ok(None),
            Json::String(text) => Ok(Some(text)),
            _ => Err(error("a text is needed".to_owned())),
        };
        match self {
            Field::Description => endpoint.description = text()?.cloned().unwrap_or_default(),
            Field::Disable => {
                endpoint.disable = match value {
                    Json::Null => false,
                    value => value.as_bool().ok_or_else(|| error("`true` or `false` is needed".to_owned()))?,
                }
            }
            Field::Label(key) => put_entry(&mut endpoint.labels, key, text()?),
            Field::Annotation(key) => put_entry(&mut endpoint.annotations, key, text()?),
            Field::Unit(name) => endpoint.spec.set(name, before, value).map_err(error)?,
        }
        Ok(())
    }

    /// Sets this field of a whole object of this kind (`metadata` and `spec` at its root) to `value`. Everything
    /// else stays unchanged, including keys of a group that the model does not know. `null` removes the
    /// field.
    pub fn set(&self, kind: KindName, object: &mut Json, before: &Json, value: &Json) {
        let Some(unit) = self.unit() else {
            if let Some([above @ .., key]) = self.keys(kind).as_deref() {
                put(object, above, key, value);
            }
            return;
        };
        if !object.get("spec").is_some_and(Json::is_object) {
            object["spec"] = Json::Object(serde_json::Map::new());
        }
        let Json::Object(spec) = &mut object["spec"] else { return };
        kind::merged(kind.message(), unit, spec, before, value);
    }

    /// Whether setting this field of `live` from `before` to `value` removes the value at a path that neither of them
    /// names, because an option or item that contains it is removed. `path` begins with `spec.`.
    pub fn drops(&self, path: &str, live: &Object, before: &Json, value: &Json) -> bool {
        let kind = live.key.kind;
        let mut object = Json::Object(serde_json::Map::new());
        self.set(kind, &mut object, &Json::Null, &self.value(live));
        // A unique mark, because the value may move to another place.
        let unnamed = Json::from(path);
        if !put_at(&mut object, path, &unnamed) {
            return false;
        }
        self.set(kind, &mut object, before, value);
        !has(&object, &unnamed)
    }
}

/// Sets the key at a path, such as `spec.ref[0].uid`. Returns whether the object around it exists.
fn put_at(object: &mut Json, path: &str, value: &Json) -> bool {
    let pointer = format!("/{}", path.replace('/', "~1").replace(['.', '['], "/").replace(']', ""));
    let above = pointer.rsplit_once('/').and_then(|(above, key)| Some((object.pointer_mut(above)?, key)));
    let Some((Json::Object(above), key)) = above else { return false };
    above.insert(key.to_owned(), value.clone());
    true
}

/// Whether a value equals or contains another one.
fn has(value: &Json, part: &Json) -> bool {
    match value {
        Json::Object(values) => values.values().any(|value| has(value, part)),
        Json::Array(items) => items.iter().any(|item| has(item, part)),
        value => value == part,
    }
}

/// The units with a letter of their own in `trueup/applied`, in the order of reports. Units of other kinds with the
/// same name have the same letter.
fn digests() -> &'static [(&'static str, char)] {
    &KindName::ENDPOINT.kind().digests
}

/// Sets an entry of labels or annotations; `None` removes it.
fn put_entry(map: &mut StringMap, key: &str, value: Option<&String>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        None => drop(map.remove(key)),
    }
}

/// Sets a key of the metadata, or of a map in it.
fn put(object: &mut Json, into: &[String], key: &str, value: &Json) {
    let mut map = object;
    for step in into {
        if !map.get(step).is_some_and(Json::is_object) {
            map[step] = Json::Object(serde_json::Map::new());
        }
        map = &mut map[step];
    }
    let Json::Object(map) = map else { return };
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value.clone());
    }
}

impl Ord for Field {
    /// The order of reports and documents: units of an endpoint in the order of their list, others by name.
    fn cmp(&self, other: &Self) -> Ordering {
        let ((place, _, _, name), (other_place, _, _, other_name)) = (self.known(), other.known());
        (place, name).cmp(&(other_place, other_name))
    }
}

impl PartialOrd for Field {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, _, of, name) = self.known();
        write!(f, "{of}{name}")
    }
}

as_text!(Field, |path| {
    // A unit of another kind may have the name of an option of an endpoint, or of a field of the metadata. A field that
    // does not exist in an object is refused when it is set.
    let unit = path.strip_prefix("spec.").filter(|unit| !unit.is_empty()).map(Field::of_unit);
    unit.or_else(|| Field::from_path(&path)).ok_or_else(|| format!("`{path}` is not a field of an endpoint").into())
});

//! The spec of an object, by the description of its kind.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{JsonTree, Namespace};
use crate::kind::{self, Described, KindName, Message, Ordered};

/// The spec of an object by unit: a field of it, or an exclusive group as a whole. It contains no secret. Each value is kept as
/// canonical text: a tree would take many times the memory, and nearly always texts are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    kind: KindName,
    /// In the order of the description where a definition has the whole spec, else by name.
    units: Box<[Unit]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    name: Cow<'static, str>,
    text: Box<str>,
}

impl Spec {
    /// A spec as the service shows it.
    ///
    /// # Errors
    /// Why a spec of a kind that a definition has whole is none, as a fragment.
    pub fn live(kind: KindName, spec: Json) -> Result<Self, String> {
        Self::read(kind, spec, kind::canonical)
    }

    /// A spec as a definition writes it: what it sets to nothing is named too, where it need not name everything.
    ///
    /// # Errors
    /// As [`Spec::live`].
    pub fn written(kind: KindName, spec: Json) -> Result<Self, String> {
        Self::read(kind, spec, kind::named)
    }

    fn read(kind: KindName, spec: Json, other: fn(&Message, Json) -> BTreeMap<String, Json>) -> Result<Self, String> {
        let message = kind.message();
        let units = if kind.is_whole() {
            kind::whole(message, &spec)?.into_iter().map(|(name, text)| Unit { name: name.into(), text }).collect()
        } else {
            other(message, spec).into_iter().map(|(name, value)| Unit::new(name, &value)).collect()
        };
        Ok(Self { kind, units })
    }

    /// The kind.
    pub fn kind(&self) -> KindName {
        self.kind
    }

    /// The names of its units.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.units.iter().map(|unit| &*unit.name)
    }

    /// Its units with their names.
    pub fn units(&self) -> impl Iterator<Item = (&str, Json)> {
        self.units.iter().map(|unit| (&*unit.name, unit.value()))
    }

    /// The value of a unit: of a field its own, of a group an object of its one option; `null` is absence.
    pub fn unit(&self, name: &str) -> Json {
        self.entry(name).map(Unit::value).unwrap_or_default()
    }

    fn entry(&self, name: &str) -> Option<&Unit> {
        self.units.iter().find(|unit| unit.name == name)
    }

    /// The text of a unit.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.entry(name).map(|unit| &*unit.text)
    }

    /// The names of the units that either has.
    pub(super) fn units_of_both<'s>(one: &'s Spec, other: &'s Spec) -> impl Iterator<Item = &'s str> {
        let mut names: Vec<&str> = one.names().collect();
        let shared = names.len();
        names.extend(other.names().filter(|name| one.entry(name).is_none()));
        if names.len() > shared {
            let place = |name: &str| one.kind.is_whole().then(|| one.kind.message().unit_place(name));
            names.sort_unstable_by_key(|name| (place(name), *name));
        }
        names.into_iter()
    }

    /// Its units that may refer to other objects.
    pub fn referring(&self) -> impl Iterator<Item = (&str, Json)> {
        let units = self.units.iter().filter(|unit| refers(self.kind.message(), &unit.name));
        units.map(|unit| (&*unit.name, unit.value()))
    }

    /// The value of a unit without what says nothing.
    pub(super) fn significant(&self, name: &str) -> Json {
        kind::significant(self.kind.message(), name, &self.unit(name))
    }

    /// The spec of an object that refers to others by name alone.
    ///
    /// # Errors
    /// As [`Spec::live`].
    pub fn without_uids(&self) -> Result<Self, String> {
        Self::live(self.kind, kind::without_uids(self.kind.message(), self.json()))
    }

    /// The spec as a definition would write it, without what the service fills in an object of `tenant`.
    pub fn unfilled(&self, tenant: Option<&str>) -> Json {
        kind::without_fills(self.kind.message(), self.json(), tenant)
    }

    /// A unit of this live spec as far as `wanted` names it, and as `wanted` would write it.
    pub fn seen_as(&self, name: &str, wanted: &Spec) -> Json {
        kind::seen_as(self.kind.message(), name, &self.unit(name), &wanted.unit(name))
    }

    /// The texts that a digest of this live unit may cover: each way in which a definition could have written it, or as far
    /// as `wanted`, a definition in this namespace, names it.
    pub(super) fn spelled(&self, name: &str, wanted: &Spec, namespace: &Namespace) -> Vec<String> {
        let spec = self.kind.message();
        if self.kind.is_whole() {
            return kind::spellings(spec, name, &self.unit(name));
        }
        // What the definition names now it named before, as far as anybody knows.
        let seen = self.seen_as(name, wanted);
        let digested = kind::digested(spec, name, &seen, namespace.as_str());
        digested.map(|seen| serde_json::to_string(&seen).unwrap_or_default()).into_iter().collect()
    }

    /// A value of a unit without what no answer shows.
    pub fn without_hidden(&self, name: &str, value: &Json) -> Json {
        kind::without_hidden(self.kind.message(), name, value)
    }

    /// Whether a value of a unit contains a secret.
    pub fn has_secret(&self, name: &str, value: &Json) -> bool {
        let spec = self.kind.message();
        !kind::sealed::digests(spec, kind::keys_of(spec, name, value)).is_empty()
    }

    /// Whether a value of a unit contains something that no answer shows.
    pub fn has_hidden(&self, name: &str, value: &Json) -> bool {
        kind::hidden(self.kind.message(), name, value).is_some()
    }

    /// The units of its kind of which a replace that leaves them out resets what no answer shows.
    pub fn reset(&self) -> impl Iterator<Item = &str> {
        kind::reset(self.kind.message())
    }

    /// The paths of what no description knows.
    pub fn unknown(&self) -> Vec<String> {
        kind::unknown(self.kind.message(), &self.json(), "spec")
    }

    /// What the digest of a unit of this live spec covers that no description knows and that is a single value.
    pub(super) fn unknown_value(&self, name: &str) -> Option<String> {
        let value = self.unit(name);
        let is_one = !kind::is_zero(&value) && !value.is_object() && !value.is_array();
        is_one.then(|| kind::hidden(self.kind.message(), name, &value))?.map(|hidden| hidden.to_string())
    }

    /// Whether a unit names something that no description knows.
    pub fn has_unknown(&self, name: &str) -> bool {
        let spec = self.kind.message();
        kind::has_unknown(spec, kind::keys_of(spec, name, &self.unit(name)))
    }

    /// Whether each unit of this live spec is plainly what `wanted` writes: see [`kind::agrees`]. Cheap, and nearly always
    /// true.
    pub fn agrees(&self, wanted: &Spec) -> bool {
        let others = wanted.names().filter(|name| self.entry(name).is_none());
        self.names().chain(others).all(|name| self.agrees_in(name, wanted))
    }

    /// The same of a unit.
    pub fn agrees_in(&self, name: &str, wanted: &Spec) -> bool {
        let spec = self.kind.message();
        let (one, other) = (self.text(name), wanted.text(name));
        let is_same = one == other;
        let is_filled = || one.zip(other).is_some_and(|(live, wanted)| kind::is_filled(live, wanted));
        if self.kind.is_whole() && (is_same || is_filled()) {
            return true;
        }
        let live = self.unit(name);
        let wanted = if is_same { live.clone() } else { wanted.unit(name) };
        kind::agrees(spec, name, &live, &wanted)
    }

    /// Whether a unit of this live spec is as `wanted` wants it, as far as `wanted` names it.
    pub fn is_as(&self, name: &str, wanted: &Spec) -> bool {
        if self.text(name) == wanted.text(name) {
            return true;
        }
        let is_seen = self.seen_as(name, wanted) == wanted.significant(name);
        if self.kind.is_whole() {
            return is_seen && self.unnamed(name, wanted).is_empty();
        }
        let is_untaken = || {
            let (taken, paths) = self.taken(name, wanted);
            let seen = kind::seen_as(self.kind.message(), name, &self.unit(name), &taken);
            !paths.is_empty() && seen == kind::significant(self.kind.message(), name, &taken)
        };
        is_seen || is_untaken()
    }

    /// Whether this spec, written by `written`, is shown by the service without losing anything: it is as written but for
    /// what the service fills.
    pub fn is_as_written(&self, written: &Spec) -> bool {
        Spec::units_of_both(self, written).all(|unit| self.is_as(unit, written))
    }

    /// Whether a unit of this live spec has something that `wanted` does not name and may have named before.
    pub fn has_more(&self, name: &str, wanted: &Spec) -> bool {
        match self.kind.is_whole() {
            true => kind::has_chosen(self.kind.message(), name, &self.unit(name), &wanted.unit(name)),
            false => !self.unnamed(name, wanted).is_empty(),
        }
    }

    /// Whether the service took all of a unit of `wanted` that a description knows.
    pub fn takes(&self, name: &str, wanted: &Spec) -> bool {
        self.taken(name, wanted).1.is_empty()
    }

    /// Whether the service took all of a unit of `wanted`, and all of it is something that answers show.
    pub fn shows(&self, name: &str, wanted: &Spec) -> bool {
        let unit = wanted.unit(name);
        self.without_hidden(name, &unit) == unit && self.takes(name, wanted)
    }

    /// A unit of `wanted` without what no description knows and this live spec does not have, and the paths of that.
    pub fn taken(&self, name: &str, wanted: &Spec) -> (Json, Vec<String>) {
        kind::taken(self.kind.message(), name, &self.unit(name), &wanted.unit(name))
    }

    /// The paths of a unit of this live spec that `wanted` does not name and no description explains.
    pub fn unnamed(&self, name: &str, wanted: &Spec) -> Vec<String> {
        let spec = self.kind.message();
        let (live, wanted) = (self.unit(name), wanted.unit(name));
        if wanted.is_null() && self.mirrored(name).is_some() {
            return Vec::new();
        }
        kind::unnamed(spec, name, &live, &wanted)
    }

    /// The unit from which the service writes what a unit of this live spec has.
    pub fn mirrored(&self, name: &str) -> Option<&'static str> {
        kind::mirrored(self.kind.message(), name, |unit| self.unit(unit))
    }

    /// Whether a unit of this live spec has nothing that the same object did not have `before`, but what the service fills.
    pub fn adds_nothing(&self, name: &str, before: &Spec) -> bool {
        let chooses = || kind::has_chosen_more(self.kind.message(), name, &self.unit(name), &before.unit(name));
        self.unnamed(name, before).is_empty() && !chooses()
    }

    /// The paths of a unit of this live spec that are not in `shown`, a part of it, and that no description explains.
    pub fn unnamed_beside(&self, name: &str, shown: &Json) -> Vec<String> {
        kind::unnamed(self.kind.message(), name, &self.unit(name), shown)
    }

    /// Sets a unit, without what was in `before`; `null` removes it.
    ///
    /// # Errors
    /// Why the unit cannot have that value, as [`Spec::live`].
    pub fn set(&mut self, name: &str, before: &Json, value: &Json) -> Result<(), String> {
        let spec = self.kind.message();
        let mut keys = self.keys();
        kind::merged(spec, name, &mut keys, before, value);
        *self = Self::written(self.kind, Json::Object(keys))?;
        Ok(())
    }

    /// The spec as the wire writes it.
    pub fn json(&self) -> Json {
        Json::Object(self.keys())
    }

    /// Its keys: the options of its groups are keys of their own.
    pub fn keys(&self) -> Map<String, Json> {
        let spec = self.kind.message();
        let mut keys = Map::new();
        for (name, value) in self.units() {
            match value {
                Json::Object(options) if kind::is_group(spec, name) => keys.extend(options),
                value => _ = keys.insert(name.to_owned(), value),
            }
        }
        for field in spec.fields.iter().filter(|field| field.is(kind::Flag::Shown)) {
            keys.entry(field.name).or_insert_with(|| kind::open_value(spec, field.name));
        }
        keys
    }
}

impl Unit {
    fn new(name: String, value: &Json) -> Self {
        Self { name: name.into(), text: value.to_string().into() }
    }

    fn value(&self) -> Json {
        // It was written from a tree.
        serde_json::from_str::<JsonTree>(&self.text).unwrap_or_default().0
    }
}

/// Whether a unit may refer to other objects.
fn refers(spec: &'static Message, unit: &str) -> bool {
    let refers = |key: &str| spec.field(key).and_then(kind::Field::message).is_some_and(Message::refers);
    let group = spec.groups.iter().find(|group| group.name == unit);
    group.map_or_else(|| refers(unit), |group| group.members.iter().any(|key| refers(key)))
}

impl Serialize for Spec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.kind.is_whole() {
            return self.json().serialize(serializer);
        }
        Ordered::new(Described::of(self.kind.message()), &self.json()).serialize(serializer)
    }
}

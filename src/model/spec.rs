//! The spec of an object, by the description of its kind.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{JsonTree, Namespace};
use crate::kind::{self, Described, KindName, Message, Ordered};

/// The spec of an object by unit: a field of it, or a whole exclusive group. It does not contain secrets. Each value is
/// stored as canonical text: a tree would take many times the memory, and usually texts are just compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    kind: KindName,
    /// In the order of the description for kinds with `is_whole`, else by name.
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
    /// Why a spec of a kind with `is_whole` is not valid, as a fragment.
    pub fn live(kind: KindName, spec: Json) -> Result<Self, String> {
        Self::read(kind, spec, kind::canonical)
    }

    /// A spec as a definition writes it. It keeps zeros, which the definition names, unless the kind has `is_whole`.
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

    /// The value of a unit: that of a field, or an object with the only option of a group; `null` where it is absent.
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

    /// The names of the units that either spec has.
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

    /// The value of a unit without zero values.
    pub(super) fn significant(&self, name: &str) -> Json {
        kind::significant(self.kind.message(), name, &self.unit(name))
    }

    /// The spec with references by name alone, without uids.
    ///
    /// # Errors
    /// As [`Spec::live`].
    pub fn without_uids(&self) -> Result<Self, String> {
        Self::live(self.kind, kind::without_uids(self.kind.message(), self.json()))
    }

    /// The spec as a definition would write it, without values that the service fills into an object of `tenant`.
    pub fn unfilled(&self, tenant: Option<&str>) -> Json {
        kind::without_fills(self.kind.message(), self.json(), tenant)
    }

    /// The part of a unit of this live spec that `wanted` names, as `wanted` would write it.
    pub fn seen_as(&self, name: &str, wanted: &Spec) -> Json {
        kind::seen_as(self.kind.message(), name, &self.unit(name), &wanted.unit(name))
    }

    /// The texts that a digest of this live unit may cover: every text with which a definition could have written it
    /// or, for kinds without `is_whole`, the part that `wanted`, a definition in this namespace, names.
    pub(super) fn spelled(&self, name: &str, wanted: &Spec, namespace: &Namespace) -> Vec<String> {
        let spec = self.kind.message();
        if self.kind.is_whole() {
            return kind::spellings(spec, name, &self.unit(name));
        }
        // Assume that the definition named the same values before.
        let seen = self.seen_as(name, wanted);
        let digested = kind::digested(spec, name, &seen, namespace.as_str());
        digested.map(|seen| serde_json::to_string(&seen).unwrap_or_default()).into_iter().collect()
    }

    /// A value of a unit without hidden values.
    pub fn without_hidden(&self, name: &str, value: &Json) -> Json {
        kind::without_hidden(self.kind.message(), name, value)
    }

    /// Whether a value of a unit contains a secret.
    pub fn has_secret(&self, name: &str, value: &Json) -> bool {
        let spec = self.kind.message();
        !kind::sealed::digests(spec, kind::keys_of(spec, name, value)).is_empty()
    }

    /// Whether a value of a unit contains hidden values.
    pub fn has_hidden(&self, name: &str, value: &Json) -> bool {
        kind::hidden(self.kind.message(), name, value).is_some()
    }

    /// The units of its kind with hidden values that a replace without the unit would reset.
    pub fn reset(&self) -> impl Iterator<Item = &str> {
        kind::reset(self.kind.message())
    }

    /// The paths of values that the description does not have.
    pub fn unknown(&self) -> Vec<String> {
        kind::unknown(self.kind.message(), &self.json(), "spec")
    }

    /// The text that a digest covers of an unknown unit of this live spec, if its value is a scalar.
    pub(super) fn unknown_value(&self, name: &str) -> Option<String> {
        let value = self.unit(name);
        let is_one = !kind::is_zero(&value) && !value.is_object() && !value.is_array();
        is_one.then(|| kind::hidden(self.kind.message(), name, &value))?.map(|hidden| hidden.to_string())
    }

    /// Whether a unit names a key that the description does not have.
    pub fn has_unknown(&self, name: &str) -> bool {
        let spec = self.kind.message();
        kind::has_unknown(spec, kind::keys_of(spec, name, &self.unit(name)))
    }

    /// Whether each unit of this live spec obviously equals what `wanted` writes: see [`kind::agrees`]. Cheap, and
    /// nearly always true.
    pub fn agrees(&self, wanted: &Spec) -> bool {
        let others = wanted.names().filter(|name| self.entry(name).is_none());
        self.names().chain(others).all(|name| self.agrees_in(name, wanted))
    }

    /// The same for one unit.
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

    /// Whether a unit of this live spec has the values that `wanted` names.
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

    /// Whether this live spec shows everything that was written with `written`: it may differ only in values that the
    /// service filled in.
    pub fn is_as_written(&self, written: &Spec) -> bool {
        Spec::units_of_both(self, written).all(|unit| self.is_as(unit, written))
    }

    /// Whether a unit of this live spec has values that `wanted` does not name and may have named before.
    pub fn has_more(&self, name: &str, wanted: &Spec) -> bool {
        match self.kind.is_whole() {
            true => kind::has_chosen(self.kind.message(), name, &self.unit(name), &wanted.unit(name)),
            false => !self.unnamed(name, wanted).is_empty(),
        }
    }

    /// Whether the service accepted all keys of a unit of `wanted` that the description does not have.
    pub fn takes(&self, name: &str, wanted: &Spec) -> bool {
        self.taken(name, wanted).1.is_empty()
    }

    /// Whether the service accepted all of those keys, and the unit of `wanted` has no hidden values.
    pub fn shows(&self, name: &str, wanted: &Spec) -> bool {
        let unit = wanted.unit(name);
        self.without_hidden(name, &unit) == unit && self.takes(name, wanted)
    }

    /// A unit of `wanted` without keys that neither the description nor this live spec has, and their paths.
    pub fn taken(&self, name: &str, wanted: &Spec) -> (Json, Vec<String>) {
        kind::taken(self.kind.message(), name, &self.unit(name), &wanted.unit(name))
    }

    /// The paths of a unit of this live spec that neither `wanted` names nor the description explains.
    pub fn unnamed(&self, name: &str, wanted: &Spec) -> Vec<String> {
        let spec = self.kind.message();
        let (live, wanted) = (self.unit(name), wanted.unit(name));
        if wanted.is_null() && self.mirrored(name).is_some() {
            return Vec::new();
        }
        kind::unnamed(spec, name, &live, &wanted)
    }

    /// The unit of this live spec from which the service derived a unit, if it did.
    pub fn mirrored(&self, name: &str) -> Option<&'static str> {
        kind::mirrored(self.kind.message(), name, |unit| self.unit(unit))
    }

    /// Whether a unit of this live spec has no values that the same object did not have `before`, except filled ones.
    pub fn adds_nothing(&self, name: &str, before: &Spec) -> bool {
        let chooses = || kind::has_chosen_more(self.kind.message(), name, &self.unit(name), &before.unit(name));
        self.unnamed(name, before).is_empty() && !chooses()
    }

    /// The paths of a unit of this live spec that neither `shown`, a part of it, has nor the description explains.
    pub fn unnamed_beside(&self, name: &str, shown: &Json) -> Vec<String> {
        kind::unnamed(self.kind.message(), name, &self.unit(name), shown)
    }

    /// Sets a unit, and removes values of `before` that are not in `value`; `null` removes the unit.
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
        // The text was written from a tree, so it can be read.
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

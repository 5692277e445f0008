//! The spec of an object: typed for an endpoint, by the description of its kind for any other.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::EndpointSpec;
use super::shape::UNITS;
use crate::kind::{self, KindName, Message};

/// The spec of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every object is an endpoint; a box would cost an allocation each"
)]
pub enum Spec {
    /// Of an endpoint.
    Endpoint(EndpointSpec),
    /// Of an object of another kind.
    Described(Described),
}

/// The spec of an object of a described kind, by unit: a field of it, or an exclusive group as a whole. It contains no
/// secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    kind: KindName,
    units: BTreeMap<String, Json>,
}

impl Spec {
    /// That of an endpoint.
    pub fn endpoint(&self) -> Option<&EndpointSpec> {
        match self {
            Spec::Endpoint(spec) => Some(spec),
            Spec::Described(_) => None,
        }
    }

    /// The names of the units that either may have.
    pub(super) fn units_of_both<'s>(one: &'s Spec, other: &'s Spec) -> impl Iterator<Item = &'s str> {
        let described = [one, other].map(Spec::described);
        let of_endpoint = if described == [None, None] { UNITS.as_slice() } else { &[] };
        let mut units: Vec<&str> = described.into_iter().flatten().flat_map(Described::names).collect();
        units.sort_unstable();
        units.dedup();
        of_endpoint.iter().map(|unit| unit.name).chain(units)
    }

    /// Whether this live spec is plainly what `wanted` writes. Cheap, and nearly always true.
    pub fn agrees(&self, wanted: &Spec) -> bool {
        match (self, wanted) {
            (Spec::Described(live), Spec::Described(wanted)) => live.agrees(wanted),
            (live, wanted) => live == wanted,
        }
    }

    /// The same of a unit.
    pub fn agrees_in(&self, unit: &str, wanted: &Spec) -> bool {
        match (self, wanted) {
            (Spec::Endpoint(live), Spec::Endpoint(wanted)) => live.unit(unit) == wanted.unit(unit),
            (Spec::Described(live), Spec::Described(wanted)) => live.agrees_in(unit, wanted),
            _ => false,
        }
    }

    /// Whether a unit of this live spec is as `wanted` wants it, as far as `wanted` names it.
    pub fn is_as(&self, unit: &str, wanted: &Spec) -> bool {
        match (self, wanted) {
            (Spec::Endpoint(live), Spec::Endpoint(wanted)) => match (live.unit(unit), wanted.unit(unit)) {
                (Some(live), Some(wanted)) => live.is_as(&wanted),
                (live, wanted) => live == wanted,
            },
            (Spec::Described(live), Spec::Described(wanted)) => live.is_as(unit, wanted),
            _ => false,
        }
    }

    /// Whether a unit of this live spec has something that `wanted` does not name and may have named before.
    pub fn has_more(&self, unit: &str, wanted: &Spec) -> bool {
        match (self, wanted) {
            (Spec::Endpoint(live), Spec::Endpoint(wanted)) => {
                live.unit(unit).zip(wanted.unit(unit)).is_some_and(|(live, wanted)| live.has_more(&wanted))
            }
            (Spec::Described(live), Spec::Described(wanted)) => !live.unnamed(unit, wanted).is_empty(),
            _ => false,
        }
    }

    /// Whether the service took all of a unit of `wanted` that a description knows.
    pub fn takes(&self, unit: &str, wanted: &Spec) -> bool {
        match (self, wanted) {
            (Spec::Described(live), Spec::Described(wanted)) => live.taken(unit, wanted).1.is_empty(),
            _ => true,
        }
    }

    /// Whether this spec, written by `written`, is shown by the service without losing anything: it is as written but for
    /// what the service fills.
    pub fn is_as_written(&self, written: &Spec) -> bool {
        Spec::units_of_both(self, written).all(|unit| self.is_as(unit, written))
    }

    /// That of another kind.
    pub fn described(&self) -> Option<&Described> {
        match self {
            Spec::Endpoint(_) => None,
            Spec::Described(described) => Some(described),
        }
    }
}

impl Described {
    /// A spec as the service shows it.
    #[must_use]
    pub fn live(kind: KindName, spec: Json) -> Self {
        Self { kind, units: kind::canonical(kind.message(), spec) }
    }

    /// A spec as a definition writes it: what it sets to nothing is named too.
    #[must_use]
    pub fn written(kind: KindName, spec: Json) -> Self {
        Self { kind, units: kind::named(kind.message(), spec) }
    }

    /// The kind.
    pub fn kind(&self) -> KindName {
        self.kind
    }

    /// The names of its units.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.units.keys().map(String::as_str)
    }

    /// Its units by name.
    pub fn units(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.units.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value of a unit: of a field its own, of a group an object of its one option.
    pub fn unit(&self, name: &str) -> Option<&Json> {
        self.units.get(name)
    }

    /// A unit by its name, which lives as long as the spec.
    pub(super) fn entry(&self, name: &str) -> Option<(&str, &Json)> {
        self.units.get_key_value(name).map(|(name, value)| (name.as_str(), value))
    }

    /// The value of a unit without what says nothing.
    pub(super) fn significant(&self, name: &str) -> Option<Json> {
        kind::significant(self.kind.message(), name, self.unit(name)?)
    }

    /// The spec as a definition would write it, without what the service fills in an object of `tenant`.
    pub fn unfilled(&self, tenant: Option<&str>) -> Json {
        kind::without_fills(self.kind.message(), self.json(), tenant)
    }

    /// A unit of this live spec as far as `wanted` names it, and as `wanted` would write it.
    pub fn seen_as(&self, name: &str, wanted: &Described) -> Option<Json> {
        kind::seen_as(self.kind.message(), name, self.unit(name), wanted.unit(name))
    }

    /// A value of a unit without what no answer shows.
    pub fn without_hidden(&self, name: &str, value: &Json) -> Option<Json> {
        kind::without_hidden(self.kind.message(), name, value)
    }

    /// Whether a value of a unit contains a secret.
    pub fn has_secret(&self, name: &str, value: &Json) -> bool {
        let spec = self.kind.message();
        !kind::sealed::digests(spec, kind::keys_of(spec, name, Some(value))).is_empty()
    }

    /// Whether a value of a unit contains something that no answer shows.
    pub fn has_hidden(&self, name: &str, value: &Json) -> bool {
        kind::hidden(self.kind.message(), name, value).is_some()
    }

    /// Whether each unit of this live spec is plainly what `wanted` writes: see [`kind::agrees`].
    pub fn agrees(&self, wanted: &Described) -> bool {
        let others = wanted.names().filter(|name| !self.units.contains_key(*name));
        self.kind == wanted.kind && self.names().chain(others).all(|name| self.agrees_in(name, wanted))
    }

    /// The same of a unit.
    pub fn agrees_in(&self, name: &str, wanted: &Described) -> bool {
        kind::agrees(self.kind.message(), name, self.unit(name), wanted.unit(name))
    }

    /// Whether a unit of this live spec is as `wanted` wants it.
    pub fn is_as(&self, name: &str, wanted: &Described) -> bool {
        let is_untaken = || {
            let (taken, paths) = self.taken(name, wanted);
            let taken =
                Described { kind: self.kind, units: taken.map(|taken| (name.to_owned(), taken)).into_iter().collect() };
            !paths.is_empty() && self.seen_as(name, &taken) == taken.significant(name)
        };
        self.unit(name) == wanted.unit(name) || self.seen_as(name, wanted) == wanted.significant(name) || is_untaken()
    }

    /// A unit of `wanted` without what no description knows and this live spec does not have, and the paths of that.
    pub fn taken(&self, name: &str, wanted: &Described) -> (Option<Json>, Vec<String>) {
        let taken = |unit| kind::taken(self.kind.message(), name, self.unit(name), unit);
        wanted.unit(name).map(taken).unwrap_or_default()
    }

    /// The paths of a unit of this live spec that `wanted` does not name and no description explains.
    pub fn unnamed(&self, name: &str, wanted: &Described) -> Vec<String> {
        let spec = self.kind.message();
        let (live, wanted) = (self.unit(name), wanted.unit(name));
        let is_mirror = |live| kind::is_mirror(spec, name, live, |source| self.unit(source));
        if wanted.is_none() && live.is_some_and(is_mirror) {
            return Vec::new();
        }
        kind::unnamed(spec, name, live, wanted)
    }

    /// Sets a unit, without what was in `before`; `None` removes it.
    pub fn set(&mut self, name: &str, before: Option<&Json>, value: Option<&Json>) {
        let Self { kind, units } = self;
        let spec = kind.message();
        let mut keys = keys(std::mem::take(units), spec);
        kind::merged(spec, name, &mut keys, before, value);
        *units = kind::named(spec, Json::Object(keys));
    }

    /// The spec as the wire writes it.
    pub fn json(&self) -> Json {
        Json::Object(self.keys())
    }

    /// Its keys.
    pub fn keys(&self) -> Map<String, Json> {
        keys(self.units.clone(), self.kind.message())
    }
}

/// The keys of a spec: the options of its groups are keys of their own.
fn keys(units: BTreeMap<String, Json>, spec: &Message) -> Map<String, Json> {
    let groups: Vec<&str> = spec.groups.iter().map(|group| group.name).collect();
    let mut keys = Map::new();
    for (name, value) in units {
        match value {
            Json::Object(options) if groups.contains(&name.as_str()) => keys.extend(options),
            value => _ = keys.insert(name, value),
        }
    }
    keys
}

impl Serialize for Described {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

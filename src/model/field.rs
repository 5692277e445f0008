//! The unit of comparison: a scalar, an exclusive group as a whole, one label, one annotation. This file
//! lists the fields, and knows the value of each in an endpoint, how it is copied from one endpoint to
//! another and how it is set in an object as the wire writes it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::SPEC;
use super::{
    Described, Endpoint, EndpointSpec, Namespace, Protocol, SnatPool, Spec, StringMap, Target, Where, WireSnatPool,
    WireSpec, WireWhere,
};
use crate::kind::{self, KindName};

/// A JSON value: how a field's value travels in plans, journals and requests. `null` is absence.
pub type Json = serde_json::Value;

/// The unit of comparison: a scalar, an exclusive group as a whole, one label, one annotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// `description`
    Description,
    /// `disable`
    Disable,
    /// `labels.KEY`
    Label(String),
    /// `annotations.KEY`
    Annotation(String),
    /// `spec.target`: the exclusive group of `dns_name`, `dns_name_advanced`, `ip`, `service_info`
    Target,
    /// `spec.protocol`
    Protocol,
    /// `spec.port`
    Port,
    /// `spec.health_check_port`
    HealthCheckPort,
    /// `spec.snat_pool`: an exclusive group
    SnatPool,
    /// `spec.where`: an exclusive group
    Where,
    /// A unit of the spec of another kind: a field, or an exclusive group by its name
    Unit(String),
}

/// The value of a field in an endpoint. It compares as a value and serialises as the wire writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'e> {
    /// A text that is empty by default.
    Text(&'e str),
    /// A label or an annotation; `None` is absence.
    Entry(Option<&'e str>),
    /// `true` or `false`, false by default.
    Flag(bool),
    /// A number, 0 by default.
    Number(u64),
    /// The protocol.
    Protocol(Protocol),
    /// The target, which has no default.
    Target(&'e Target),
    /// The source NAT pool.
    SnatPool(&'e SnatPool),
    /// The place.
    Where(Option<&'e Where>),
    /// A unit of another kind; `None` is absence.
    Unit(Option<UnitValue<'e>>),
}

/// The value of a unit, with where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitValue<'e> {
    kind: KindName,
    name: &'e str,
    value: &'e Json,
    namespace: &'e Namespace,
}

impl UnitValue<'_> {
    /// The value as its digest covers it; `None` where it says nothing.
    pub(super) fn digested(&self) -> Option<Json> {
        kind::digested(self.kind.kind().spec, self.name, self.value, self.namespace.as_str())
    }

    /// What no answer shows of it.
    pub(super) fn hidden(&self) -> Option<Json> {
        kind::hidden(self.kind.kind().spec, self.name, self.value)
    }
}

impl FieldValue<'_> {
    /// Whether this is the service's default, so that leaving the field out means the same.
    pub fn is_default(&self) -> bool {
        match *self {
            FieldValue::Text(text) => text.is_empty(),
            FieldValue::Entry(entry) => entry.is_none(),
            FieldValue::Flag(flag) => !flag,
            FieldValue::Number(number) => number == 0,
            FieldValue::Protocol(protocol) => protocol == Protocol::default(),
            FieldValue::Target(_) => false,
            FieldValue::SnatPool(pool) => *pool == SnatPool::None,
            FieldValue::Where(place) => place.is_none(),
            FieldValue::Unit(unit) => unit.is_none_or(|unit| unit.digested().is_none()),
        }
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            FieldValue::Text(text) => text.serialize(serializer),
            FieldValue::Entry(entry) => entry.serialize(serializer),
            FieldValue::Flag(flag) => flag.serialize(serializer),
            FieldValue::Number(number) => number.serialize(serializer),
            FieldValue::Protocol(protocol) => protocol.as_str().serialize(serializer),
            FieldValue::Target(target) => WireSpec::of_target(target).serialize(serializer),
            FieldValue::SnatPool(pool) => WireSnatPool::from(pool).serialize(serializer),
            FieldValue::Where(place) => place.map(WireWhere::from).serialize(serializer),
            FieldValue::Unit(unit) => unit.map(|unit| unit.value).serialize(serializer),
        }
    }
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
    /// The fields that every endpoint has.
    pub const FIXED: [Field; 8] = [
        Field::Description,
        Field::Disable,
        Field::Target,
        Field::Protocol,
        Field::Port,
        Field::HealthCheckPort,
        Field::SnatPool,
        Field::Where,
    ];

    /// The fields that both may have besides labels and annotations.
    pub fn of_both<'e>(one: &'e Endpoint, other: &'e Endpoint) -> impl Iterator<Item = Field> + 'e {
        let has_units = |endpoint: &Endpoint| endpoint.spec.described().is_some();
        let is_described = has_units(one) || has_units(other);
        let specs = [one, other].map(|endpoint| endpoint.spec.described());
        let mut units: Vec<&str> = specs.into_iter().flatten().flat_map(Described::names).collect();
        units.sort_unstable();
        units.dedup();
        let fixed = Field::FIXED.into_iter().filter(move |field| !is_described || !field.is_of_spec());
        fixed.chain(units.into_iter().map(Field::of_unit))
    }

    /// The path of a fixed field and the letter of a field in the digests of `trueup/applied`.
    fn facts(&self) -> (&'static str, char) {
        match self {
            Field::Description => ("description", 'd'),
            Field::Disable => ("disable", 'x'),
            Field::Label(_) => ("labels", 'l'),
            Field::Annotation(_) => ("annotations", 'a'),
            Field::Target => ("spec.target", 't'),
            Field::Protocol => ("spec.protocol", 'p'),
            Field::Port => ("spec.port", 'o'),
            Field::HealthCheckPort => ("spec.health_check_port", 'h'),
            Field::SnatPool => ("spec.snat_pool", 's'),
            Field::Where => ("spec.where", 'w'),
            Field::Unit(_) => ("spec", 'u'),
        }
    }

    /// The field of this unit of a spec.
    #[must_use]
    pub fn of_unit(name: &str) -> Self {
        let fixed = Field::FIXED.into_iter().find(|field| field.is_of_spec() && field.name() == name);
        fixed.unwrap_or_else(|| Field::Unit(name.to_owned()))
    }

    /// The unit of the spec that it is, in an object of another kind than endpoint.
    pub fn unit(&self) -> Option<&str> {
        match self {
            Field::Unit(name) => Some(name),
            field if field.is_of_spec() => Some(field.name()),
            _ => None,
        }
    }

    /// The value of this field in `endpoint`.
    pub fn of<'e>(&self, endpoint: &'e Endpoint) -> FieldValue<'e> {
        let spec = match &endpoint.spec {
            Spec::Endpoint(spec) => spec,
            Spec::Described(spec) => return self.of_described(endpoint, spec),
        };
        match self {
            Field::Description => FieldValue::Text(&endpoint.description),
            Field::Disable => FieldValue::Flag(endpoint.disable),
            Field::Label(key) => FieldValue::Entry(endpoint.labels.get(key).map(String::as_str)),
            Field::Annotation(key) => FieldValue::Entry(endpoint.annotations.get(key).map(String::as_str)),
            Field::Target => FieldValue::Target(&spec.target),
            Field::Protocol => FieldValue::Protocol(spec.protocol),
            Field::Port => FieldValue::Number(spec.port.into()),
            Field::HealthCheckPort => FieldValue::Number(spec.health_check_port.into()),
            Field::SnatPool => FieldValue::SnatPool(&spec.snat_pool),
            Field::Where => FieldValue::Where(spec.place.as_ref()),
            Field::Unit(_) => FieldValue::Unit(None),
        }
    }

    fn of_described<'e>(&self, endpoint: &'e Endpoint, spec: &'e Described) -> FieldValue<'e> {
        match self {
            Field::Description => FieldValue::Text(&endpoint.description),
            Field::Disable => FieldValue::Flag(endpoint.disable),
            Field::Label(key) => FieldValue::Entry(endpoint.labels.get(key).map(String::as_str)),
            Field::Annotation(key) => FieldValue::Entry(endpoint.annotations.get(key).map(String::as_str)),
            _ => FieldValue::Unit(self.unit().and_then(|unit| {
                let (name, value) = spec.entry(unit)?;
                Some(UnitValue { kind: spec.kind(), name, value, namespace: &endpoint.key.namespace })
            })),
        }
    }

    /// Copies the value of a field of the spec from one to another.
    fn copy_spec(&self, from: &EndpointSpec, to: &mut EndpointSpec) {
        match self {
            Field::Target => to.target.clone_from(&from.target),
            Field::Protocol => to.protocol = from.protocol,
            Field::Port => to.port = from.port,
            Field::HealthCheckPort => to.health_check_port = from.health_check_port,
            Field::SnatPool => to.snat_pool.clone_from(&from.snat_pool),
            Field::Where => to.place.clone_from(&from.place),
            Field::Description | Field::Disable | Field::Label(_) | Field::Annotation(_) | Field::Unit(_) => {}
        }
    }

    /// The field with this path; an option of a group names the group, `metadata.` may be left out.
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.strip_prefix("metadata.").unwrap_or(path);
        if let Some(key) = path.strip_prefix("labels.") {
            return Some(Field::Label(key.to_owned()));
        }
        if let Some(key) = path.strip_prefix("annotations.") {
            return Some(Field::Annotation(key.to_owned()));
        }
        let of_spec = path.strip_prefix("spec.");
        let first = of_spec.map_or(path, |rest| rest.split('.').next().unwrap_or(rest));
        if SPEC.options().contains(&first) {
            return Some(Field::Target);
        }
        Field::FIXED.into_iter().find(|field| field.name() == first && (of_spec.is_none() || field.is_of_spec()))
    }

    /// The field of the key of a spec that this path begins with, in an object of whichever kind.
    pub fn of_key(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("spec.")?;
        rest.split(['.', '[']).next().map(Self::of_unit)
    }

    /// The field of an object of this kind with this path. An option of a group names the group.
    pub fn of_kind(kind: KindName, path: &str) -> Option<Self> {
        let unit = path.strip_prefix("spec.").map(|rest| rest.split(['.', '[']).next().unwrap_or(rest));
        match unit.filter(|_| !kind.is_endpoint()) {
            Some(key) => {
                let spec = kind.kind().spec;
                let unit = kind::unit_of(spec, key);
                kind::units(spec).find(|name| *name == unit).map(Self::of_unit)
            }
            None => Self::from_path(path),
        }
    }

    /// Whether two endpoints agree in it exactly where its values are equal: the service fills nothing in it, and no one
    /// else has a part of it.
    pub fn is_plain(&self) -> bool {
        !matches!(self, Field::Target | Field::Where | Field::Label(_) | Field::Annotation(_) | Field::Unit(_))
    }

    /// The path of what no replace of an object of this kind can change, if that differs between two values.
    pub fn fixed(&self, kind: KindName, live: &Json, wanted: &Json) -> Option<String> {
        let unit = self.unit().filter(|_| !kind.is_endpoint())?;
        let [live, wanted] = [live, wanted].map(|value| Some(value).filter(|value| !value.is_null()));
        kind::fixed(kind.kind().spec, unit, live, wanted)
    }

    /// Whether it is a field of the spec.
    pub fn is_of_spec(&self) -> bool {
        self.facts().0.starts_with("spec")
    }

    /// The last key of its path; that of the map for a label or an annotation.
    fn name(&self) -> &'static str {
        let (path, _) = self.facts();
        path.strip_prefix("spec.").unwrap_or(path)
    }

    /// The letter of its digests.
    pub(super) fn letter(&self) -> char {
        self.facts().1
    }

    /// The keys that lead to it in an object; nothing for the target, which is one of several keys.
    pub fn keys(&self) -> Option<Vec<&str>> {
        let (path, _) = self.facts();
        match self {
            Field::Target | Field::Unit(_) => None,
            Field::Label(key) | Field::Annotation(key) => Some(vec!["metadata", path, key]),
            _ => Some(path.strip_prefix("spec.").map_or_else(|| vec!["metadata", path], |key| vec!["spec", key])),
        }
    }

    /// The value of this field in `endpoint`, as the wire writes it: for the target an object of its
    /// one option, `null` for a label, annotation or place that is absent.
    pub fn value(&self, endpoint: &Endpoint) -> Json {
        // The wire structs contain strings, numbers and maps with text keys only: nothing that fails.
        serde_json::to_value(self.of(endpoint)).unwrap_or_default()
    }

    /// The value of a unit of another kind as its digest covers it.
    pub fn digested(&self, endpoint: &Endpoint) -> Option<Json> {
        let FieldValue::Unit(unit) = self.of(endpoint) else { return None };
        unit?.digested()
    }

    /// Whether `endpoint` has the service's default here, so that leaving the field out means the same.
    pub fn is_default(&self, endpoint: &Endpoint) -> bool {
        self.of(endpoint).is_default()
    }

    /// Sets this field of `endpoint` to a value as [`Field::value`] gives it; `null` sets the default. Of a spec that a
    /// definition need not name whole, what is in `before` and not in the value goes.
    ///
    /// # Errors
    /// A value that the field cannot have.
    pub fn assign(&self, endpoint: &mut Endpoint, before: &Json, value: &Json) -> Result<(), FieldError> {
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
            _ => match &mut endpoint.spec {
                Spec::Endpoint(spec) => *spec = self.spec_with(spec, value).map_err(error)?,
                Spec::Described(spec) => {
                    let [before, value] = [before, value].map(|value| Some(value).filter(|value| !value.is_null()));
                    spec.set(self.unit().unwrap_or_default(), before, value);
                }
            },
        }
        Ok(())
    }

    /// `spec` with this field set to `value`.
    fn spec_with(&self, spec: &EndpointSpec, value: &Json) -> Result<EndpointSpec, String> {
        if let Field::Unit(name) = self {
            return Err(format!("`{name}` is not a field of an endpoint"));
        }
        // Read beside any target, because a spec needs one.
        let mut object = serde_json::to_value(WireSpec::of_target(&spec.target)).unwrap_or_default();
        self.set_spec(&mut object, value);
        let wire: WireSpec = serde_json::from_value(object).map_err(|error| error.to_string())?;
        let mut problems = Vec::new();
        let Some(read) = wire.spec(&mut problems) else {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(lines.join("; "));
        };
        let mut spec = spec.clone();
        self.copy_spec(&read, &mut spec);
        Ok(spec)
    }

    /// Sets this field of a whole object of this kind (`metadata` and `spec` at its root) to `value`, and leaves
    /// everything else as it is, keys inside of a group that the model does not know included. `null`
    /// removes the field.
    pub fn set(&self, kind: KindName, object: &mut Json, before: &Json, value: &Json) {
        match self.keys().as_deref() {
            Some([above @ .., key]) if above != ["spec"] => put(object, above, key, value),
            _ => {
                if !object.get("spec").is_some_and(Json::is_object) {
                    object["spec"] = Json::Object(serde_json::Map::new());
                }
                let spec = &mut object["spec"];
                match (spec, self.unit()) {
                    (Json::Object(spec), Some(unit)) if !kind.is_endpoint() => {
                        let [before, value] = [before, value].map(|value| Some(value).filter(|value| !value.is_null()));
                        kind::merged(kind.kind().spec, unit, spec, before, value);
                    }
                    (spec, _) => self.set_spec(spec, value),
                }
            }
        }
    }

    /// Sets this field of the spec to `value`.
    fn set_spec(&self, spec: &mut Json, value: &Json) {
        let Json::Object(spec) = spec else { return };
        if *self != Field::Target {
            return SPEC.write_key(spec, self.name(), value);
        }
        for option in SPEC.options() {
            SPEC.write_key(spec, option, value.get(option).unwrap_or(&Json::Null));
        }
    }

    /// Whether setting this field of `live` to `value` removes a key of a live spec that the model does not
    /// know: the option of a group that contains it is removed. `path` begins with `spec.`.
    pub fn drops(&self, path: &str, live: &Endpoint, value: &Json) -> bool {
        let kind = live.key.kind;
        let mut now = Json::Object(serde_json::Map::new());
        self.set(kind, &mut now, &Json::Null, &self.value(live));
        let mut wanted = Json::Object(serde_json::Map::new());
        self.set(kind, &mut wanted, &Json::Null, value);
        let (mut now, mut wanted) = (&now, &wanted);
        // `ref[0]` is a key and an index.
        for step in path.split(['.', '[']) {
            let step = step.trim_end_matches(']');
            let down = |level: &'_ Json| match step.parse::<usize>() {
                Ok(index) => level.get(index).is_some(),
                Err(_) => level.get(step).is_some(),
            };
            match (down(now), down(wanted)) {
                // The key itself: the model knows nothing below.
                (false, _) => return false,
                (true, false) => return true,
                (true, true) => {}
            }
            (now, wanted) = match step.parse::<usize>() {
                Ok(index) => (&now[index], &wanted[index]),
                Err(_) => (&now[step], &wanted[step]),
            };
        }
        false
    }
}

/// Sets an entry of labels or annotations; nothing removes it.
fn put_entry(map: &mut StringMap, key: &str, value: Option<&String>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        None => drop(map.remove(key)),
    }
}

/// Sets a key of the metadata, or of a map in it.
fn put(object: &mut Json, into: &[&str], key: &str, value: &Json) {
    let mut map = object;
    for step in into {
        if !map.get(step).is_some_and(Json::is_object) {
            map[*step] = Json::Object(serde_json::Map::new());
        }
        map = &mut map[*step];
    }
    let Json::Object(map) = map else { return };
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value.clone());
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, _) = self.facts();
        match self {
            Field::Label(key) | Field::Annotation(key) | Field::Unit(key) => write!(f, "{path}.{key}"),
            _ => f.write_str(path),
        }
    }
}

impl JsonSchema for Field {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Field".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A field by its path; an option of a group names the group.",
            "pattern": r"^(description|disable|labels\.[\s\S]*|annotations\.[\s\S]*|spec\.[a-z0-9_]+)$",
        })
    }
}

impl Serialize for Field {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        // A unit of another kind may have the name of an option of an endpoint, or of a field of the metadata. What does not
        // exist in an object is refused where it is set.
        let unit = path.strip_prefix("spec.").filter(|unit| !unit.is_empty()).map(Field::of_unit);
        unit.or_else(|| Field::from_path(&path))
            .ok_or_else(|| serde::de::Error::custom(format!("`{path}` is not a field of an endpoint")))
    }
}

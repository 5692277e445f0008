//! The spec of an object by the description of its kind, as JSON: its canonical form and its units. Nothing here knows a
//! kind.
//!
//! A **unit** is a field of the spec, or an exclusive group of it as a whole: the unit of causes, digests and
//! conflicts. Its value is that of the field; of a group an object of its one option.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::walk::{is_reference, is_zero};
use super::{Field, FieldKind, Flag, Group, Message, Value, message, sealed, snake};

/// Which values of nothing a canonical form keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zeros {
    /// None: what a service shows of a field that was never set says nothing.
    Dropped,
    /// All: a definition that writes one names the field.
    Kept,
}

/// The names of the units of a spec.
pub fn units(spec: &str) -> impl Iterator<Item = &'static str> {
    let message = message(spec);
    let groups = message.groups.iter().map(|group| group.name);
    let fields = message.fields.iter().filter(|field| message.group_of(field.name).is_none());
    groups.chain(fields.map(|field| field.name))
}

/// The unit that a key of a spec belongs to.
#[must_use]
pub fn unit_of<'k>(spec: &str, key: &'k str) -> &'k str {
    message(spec).group_of(key).map_or(key, |group| group.name)
}

/// A live spec in canonical form, by unit: keys in snake case, names of enumerations, numbers as numbers, without what
/// says nothing, what only the service writes, and secrets. Unknown keys stay as they are.
#[must_use]
pub fn canonical(spec: &str, live: &Json) -> BTreeMap<String, Json> {
    by_unit(spec, object(message(spec), live, Zeros::Dropped))
}

/// What a definition writes as its spec, by unit; what it sets to nothing stays.
#[must_use]
pub fn named(spec: &str, written: &Json) -> BTreeMap<String, Json> {
    by_unit(spec, object(message(spec), written, Zeros::Kept))
}

pub(super) fn by_unit(spec: &str, keys: Map<String, Json>) -> BTreeMap<String, Json> {
    let mut units = BTreeMap::new();
    for (key, value) in keys {
        match message(spec).group_of(&key) {
            None => _ = units.insert(key, value),
            Some(group) => {
                let unit = units.entry(group.name.to_owned()).or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(options) = unit {
                    options.insert(key, value);
                }
            }
        }
    }
    units
}

/// The value of a unit without what says nothing; `None` where nothing is left.
#[must_use]
pub fn significant(spec: &str, unit: &str, value: &Json) -> Option<Json> {
    let keys = object(message(spec), &keys_of(spec, unit, Some(value)), Zeros::Dropped);
    by_unit(spec, keys).remove(unit)
}

/// The keys of the spec with which a unit is written.
#[must_use]
pub fn keys_of(spec: &str, unit: &str, value: Option<&Json>) -> Json {
    let Some(value) = value else { return Json::Object(Map::new()) };
    match is_group(spec, unit) {
        true => value.clone(),
        false => Json::Object(Map::from_iter([(unit.to_owned(), value.clone())])),
    }
}

pub(super) fn is_group(spec: &str, unit: &str) -> bool {
    message(spec).groups.iter().any(|group| group.name == unit)
}

pub(super) fn is_zero_of(field: &Field, value: &Json) -> bool {
    let zero = || match (&field.kind, value) {
        (FieldKind::Enum(id), Json::String(name)) if !field.is_list => super::is_zero_of_enum(id, name),
        (FieldKind::Map(_), Json::Object(entries)) => entries.is_empty(),
        _ => false,
    };
    is_zero(value) || zero()
}

pub(super) fn object(message: &Message, value: &Json, zeros: Zeros) -> Map<String, Json> {
    let mut known = Map::new();
    let Json::Object(entries) = value else { return known };
    for (key, value) in entries {
        let key = snake(key);
        let Some(field) = message.field(&key) else {
            if !value.is_null() && (zeros == Zeros::Kept || !is_zero(value)) {
                known.insert(key.into_owned(), value.clone());
            }
            continue;
        };
        // A reference is to what it names, whatever the service calls the kind.
        if value.is_null() || field.is(Flag::ReadOnly) {
            continue;
        }
        if field.is(Flag::Secret) {
            // Of a live spec nothing is kept, of a definition what stands for it.
            if sealed::digest_of(value).is_some() {
                known.insert(key.into_owned(), value.clone());
            }
            continue;
        }
        let value = part(field, value, zeros);
        let is_option = message.group_of(field.name).is_some();
        if is_option || zeros == Zeros::Kept || !is_zero_of(field, &value) {
            known.insert(key.into_owned(), value);
        }
    }
    if zeros == Zeros::Dropped {
        for group in &message.groups {
            drop_unchosen(message, group, &mut known);
        }
    }
    known
}

/// Takes out the options of a group that were never set: a service may write their zeros.
fn drop_unchosen(message: &Message, group: &Group, known: &mut Map<String, Json>) {
    let is_zero = |name: &str, value: &Json| message.field(name).is_some_and(|field| is_zero_of(field, value));
    let is_one_chosen = group.members.iter().any(|name| known.get(*name).is_some_and(|value| !is_zero(name, value)));
    for name in &group.members {
        let Some(value) = known.get(*name).filter(|value| is_zero(name, value)) else { continue };
        let value = match value {
            Json::String(text) if text.is_empty() => Value::Text(String::new()),
            Json::Bool(_) => Value::Flag(false),
            _ => Value::Integer(0),
        };
        let rules = message.field(name).map(|field| field.rules.as_slice()).unwrap_or_default();
        if is_one_chosen
            || value == Value::Text(String::new())
            || rules.iter().any(|(_, rule)| rule.broken(&value).is_some())
        {
            known.remove(*name);
        }
    }
}

fn part(field: &Field, value: &Json, zeros: Zeros) -> Json {
    match value {
        Json::Array(items) if field.is_list => items.iter().map(|item| one(&field.kind, item, zeros)).collect(),
        _ => one(&field.kind, value, zeros),
    }
}

/// One value in its canonical writing; what does not have its type stays as it is.
pub(super) fn one(kind: &FieldKind, value: &Json, zeros: Zeros) -> Json {
    match (kind, value) {
        (FieldKind::Message(id), Json::Object(_)) => {
            let mut known = object(message(id), value, zeros);
            if is_reference(id) {
                known.remove("kind");
            }
            Json::Object(known)
        }
        (FieldKind::Map(kind), Json::Object(entries)) => {
            entries.iter().map(|(key, value)| (key.clone(), one(kind, value, zeros))).collect()
        }
        (FieldKind::Empty, Json::Object(_)) => Json::Object(Map::new()),
        (FieldKind::Integer { .. }, Json::String(digits)) => digits
            .parse::<i64>()
            .map(Json::from)
            .or_else(|_| digits.parse::<u64>().map(Json::from))
            .unwrap_or(value.clone()),
        (FieldKind::Enum(id), Json::Number(number)) => {
            let number = number.as_i64();
            let known = super::values(id).into_iter().find(|(_, of)| of.is_some() && of.map(i64::from) == number);
            known.map_or_else(|| value.clone(), |(name, _)| name.into())
        }
        (FieldKind::Float, Json::Number(number)) => number.as_f64().map_or_else(|| value.clone(), Json::from),
        (FieldKind::Duration, Json::String(text)) => seconds(text).unwrap_or_else(|| value.clone()),
        (FieldKind::Timestamp, Json::String(text)) => {
            text.parse::<jiff::Timestamp>().map_or_else(|_| value.clone(), |time| time.to_string().into())
        }
        _ => value.clone(),
    }
}

/// `1.500s` as `1.5s`
fn seconds(text: &str) -> Option<Json> {
    let (whole, part) = text.strip_suffix('s')?.split_once('.')?;
    let part = part.trim_end_matches('0');
    Some(if part.is_empty() { format!("{whole}s") } else { format!("{whole}.{part}s") }.into())
}

pub(super) fn without_zeros(message: &Message, keys: Map<String, Json>) -> Map<String, Json> {
    object(message, &Json::Object(keys), Zeros::Dropped)
}

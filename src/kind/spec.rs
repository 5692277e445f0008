//! The spec of an object by the description of its kind, as JSON: its canonical form and its units. Nothing here is
//! specific to a kind.
//!
//! A **unit** is a field of the spec, or a whole exclusive group of it: the unit of causes, digests and conflicts. Its
//! value is that of the field; for a group, an object with its only option.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json};

use super::walk::{Keys, is_zero};
use super::{Field, FieldKind, Flag, Message, form, sealed};

/// Which zero values a canonical form keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zeros {
    /// None: the service also shows the zeros of fields that were never set.
    Dropped,
    /// Those that may be the choice of a group: a request repeats them.
    Chosen,
    /// All: a definition that writes one names the field.
    Kept,
}

/// The names of the units of a spec.
pub fn units(message: &'static Message) -> impl Iterator<Item = &'static str> {
    let groups = message.groups.iter().map(|group| group.name);
    let fields = message.fields.iter().filter(|field| message.group_of(field.name).is_none());
    groups.chain(fields.map(|field| field.name))
}

/// The unit that a key of a spec belongs to.
pub fn unit_of<'k>(spec: &Message, key: &'k str) -> &'k str {
    spec.group_of(key).map_or(key, |group| group.name)
}

/// A live spec in canonical form, by unit: keys in snake case, names of enumerations, numbers as numbers, without zero
/// values, fields that only the service writes, and secrets. Unknown keys stay unchanged.
pub fn canonical(spec: &Message, live: Json) -> BTreeMap<String, Json> {
    by_unit(spec, live, Zeros::Dropped)
}

/// The spec of a definition, by unit; zero values stay.
pub fn named(spec: &Message, written: Json) -> BTreeMap<String, Json> {
    by_unit(spec, written, Zeros::Kept)
}

fn by_unit(spec: &Message, value: Json, zeros: Zeros) -> BTreeMap<String, Json> {
    let Json::Object(mut keys) = value else { return BTreeMap::new() };
    tidy(spec, &mut keys, zeros);
    let mut units = BTreeMap::new();
    for (key, value) in keys {
        match spec.group_of(&key) {
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

/// The value of a unit without zero values; `null` where nothing is left.
pub fn significant(spec: &Message, unit: &str, value: &Json) -> Json {
    value_of(spec, unit, without_zeros(spec, keys_of(spec, unit, value).owned()))
}

/// The keys of the spec that a unit consists of; none where the value is `null`.
pub fn keys_of<'v>(spec: &Message, unit: &'v str, value: &'v Json) -> Keys<'v> {
    match value {
        Json::Null => Keys::None,
        value if is_group(spec, unit) => Keys::of(value),
        value => Keys::One(unit, value),
    }
}

/// The value of the unit that consists of these keys of the spec; `null` where there are none.
pub(super) fn value_of(spec: &Message, unit: &str, mut keys: Map<String, Json>) -> Json {
    match is_group(spec, unit) {
        true if keys.is_empty() => Json::Null,
        true => Json::Object(keys),
        false => keys.remove(unit).unwrap_or_default(),
    }
}

/// Whether a unit is an exclusive group, whose options are keys of the spec.
pub fn is_group(spec: &Message, unit: &str) -> bool {
    spec.groups.iter().any(|group| group.name == unit)
}

pub(super) fn is_zero_of(field: &Field, value: &Json) -> bool {
    let is_empty_map = || matches!(field.kind, FieldKind::Map(_)) && value.as_object().is_some_and(Map::is_empty);
    field.is_unset(value) || is_empty_map()
}

/// Brings the keys of a message into their canonical form.
pub(super) fn tidy(message: &Message, keys: &mut Map<String, Json>, zeros: Zeros) {
    if keys.keys().any(|key| message.spelled(key) != *key) {
        let spelled = |(key, value): (String, Json)| (message.spelled(&key).into_owned(), value);
        *keys = std::mem::take(keys).into_iter().map(spelled).collect();
    }
    let mut zero_options = Vec::new();
    keys.retain(|key, value| {
        if value.is_null() {
            return false;
        }
        let Some(field) = message.field(key) else { return zeros == Zeros::Kept || !is_zero(value) };
        if field.is(Flag::ReadOnly) {
            return false;
        }
        if field.is(Flag::Secret) {
            // The mark in a definition stays; a live secret stays only for a request.
            return sealed::digest_of(value).is_some() || zeros == Zeros::Chosen && !is_zero(value);
        }
        tidy_field(field, value, zeros);
        if zeros == Zeros::Kept || !is_zero_of(field, value) {
            return true;
        }
        let is_option = message.group_of(field.name).is_some();
        zero_options.extend(is_option.then_some(field));
        is_option
    });
    let is_written = |key: &str| keys.contains_key(key);
    let is_unchosen = |field: &&Field| {
        zeros == Zeros::Dropped && is_beside_secret(message, field)
            || keys.get(field.name).is_some_and(|zero| is_unchosen(message, field, zero, &zero_options, &is_written))
    };
    let unchosen: Vec<&str> = zero_options.iter().copied().filter(is_unchosen).map(|field| field.name).collect();
    for key in unchosen {
        keys.remove(key);
    }
}

/// Whether this option of a group, whose value is a zero, was never set: a service may write the zeros of all options.
/// `zeros` are the written options with zero values.
pub(super) fn is_unchosen(
    message: &Message,
    option: &Field,
    zero: &Json,
    zeros: &[&Field],
    is_written: &dyn Fn(&str) -> bool,
) -> bool {
    let zero = match zero {
        Json::String(text) if text.is_empty() => return true,
        Json::Bool(_) => Json::Bool(false),
        _ => Json::from(0),
    };
    let is_chosen = |name: &&str| is_written(name) && !zeros.iter().any(|zero| zero.name == *name);
    message.group_of(option.name).is_some_and(|group| group.members.iter().any(is_chosen))
        || option.rules.iter().any(|(_, rule)| rule.broken(option, &zero).is_some())
}

/// Whether a secret, which responses would not show, may be chosen instead of this option.
pub(super) fn is_beside_secret(message: &Message, option: &Field) -> bool {
    let is_secret = |name: &&str| message.field(name).is_some_and(|field| field.is(Flag::Secret));
    message.group_of(option.name).is_some_and(|group| group.members.iter().any(is_secret))
}

/// Brings the value of a field into its canonical form.
pub(super) fn tidy_field(field: &Field, value: &mut Json, zeros: Zeros) {
    match value {
        Json::Array(items) if field.is_list => {
            items.retain(|item| !field.is_served(item));
            items.iter_mut().for_each(|item| tidy_value(field, &field.kind, item, zeros));
        }
        value => tidy_value(field, &field.kind, value, zeros),
    }
}

/// Brings one value into its canonical form; a value of another type stays unchanged.
fn tidy_value(field: &Field, kind: &FieldKind, value: &mut Json, zeros: Zeros) {
    match (kind, &mut *value) {
        (FieldKind::Message(_), Json::Object(keys)) => {
            if let Some(message) = field.message() {
                tidy(message, keys, zeros);
                // The name identifies the object; the service writes the kind in various ways.
                if message.is_reference {
                    keys.remove("kind");
                }
            }
        }
        (FieldKind::Map(kind), Json::Object(entries)) => {
            entries.values_mut().for_each(|value| tidy_value(field, kind, value, zeros));
        }
        (kind, scalar) => {
            if let Some(written) = self::scalar(field, kind, scalar) {
                *scalar = written;
            }
        }
    }
}

/// The canonical form of a scalar of this type, where it may differ from the value.
pub(super) fn scalar(field: &Field, kind: &FieldKind, value: &Json) -> Option<Json> {
    match (kind, value) {
        (FieldKind::Text, Json::String(text)) => form::written(field.form()?, text, field.is_list).map(Json::from),
        (FieldKind::Integer { .. }, Json::String(digits)) => {
            digits.parse::<i64>().map(Json::from).or_else(|_| digits.parse::<u64>().map(Json::from)).ok()
        }
        (FieldKind::Enum(id), Json::Number(number)) => {
            let number = number.as_i64();
            let known = super::values(id).iter().find(|(_, of)| of.is_some() && of.map(i64::from) == number);
            known.map(|(name, _)| (*name).into())
        }
        (FieldKind::Float { bits: 32 }, Json::Number(number)) => single(number),
        (FieldKind::Float { .. }, Json::Number(number)) => number.as_f64().map(Json::from),
        (FieldKind::Duration, Json::String(text)) if kind.has(text) => seconds(text),
        (FieldKind::Timestamp, Json::String(text)) => super::utc(text).map(Json::from),
        _ => None,
    }
}

/// `37.774929` as `37.77493`: a number of 32 bits has no more digits, and the service shows none.
fn single(number: &Number) -> Option<Json> {
    let single: f32 = number.to_string().parse().ok()?;
    Number::from_f64(single.to_string().parse().ok()?).map(Json::from)
}

/// `01.500s` as `1.5s`
fn seconds(text: &str) -> Option<Json> {
    let number = text.strip_suffix('s')?;
    let (sign, number) = number.split_at(usize::from(number.starts_with('-')));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    let (whole, point) = (if whole.is_empty() { "0" } else { whole }, if part.is_empty() { "" } else { "." });
    Some(format!("{sign}{whole}{point}{part}s").into())
}

pub(super) fn without_zeros(message: &Message, mut keys: Map<String, Json>) -> Map<String, Json> {
    tidy(message, &mut keys, Zeros::Dropped);
    keys
}

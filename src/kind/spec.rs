//! The spec of an object by the description of its kind, as JSON: its canonical form, its units, how a live spec looks
//! under a definition, and what a replace makes of it. Nothing here knows a kind.
//!
//! A **unit** is a field of the spec, or an exclusive group of it as a whole: the unit of causes, digests and
//! conflicts. Its value is that of the field; of a group an object of its one option.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

#[path = "taken.rs"]
mod taken;

pub use taken::{taken_over, with_unnamed};

use super::items::{align, is_of_messages};
use super::{Field, FieldKind, Flag, Group, Message, Value, message, sealed, snake};

/// References to other objects.
const REFERENCES: [&str; 2] = ["ObjectRefType", "views.ObjectRefType"];

/// Whether a message is a reference to another object; each says of what kind it is.
#[must_use]
pub fn is_reference(id: &str) -> bool {
    REFERENCES.contains(&id)
}

/// Which values of nothing a canonical form keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zeros {
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

fn by_unit(spec: &str, keys: Map<String, Json>) -> BTreeMap<String, Json> {
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

/// How much of what the service fills is left out.
#[derive(Debug, Clone, Copy)]
enum Fills<'a> {
    /// What it surely fills again in an object of this tenant.
    Sure(Option<&'a str>),
    /// All that means no more than to leave it out in an object of this namespace, so that two ways to write a value are
    /// one.
    All(&'a str),
}

/// A spec of an object of `tenant` without what the service fills in references and in groups that are left open.
#[must_use]
pub fn without_fills(spec: &str, value: &Json, tenant: Option<&str>) -> Json {
    unfilled(spec, value, Fills::Sure(tenant))
}

/// A spec that a definition of `namespace` writes, with what its references leave out: the namespace of the object itself.
#[must_use]
pub fn with_namespaces(id: &str, value: &Json, namespace: &str) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    let mut object = entries.clone();
    if is_reference(id) {
        object.entry("namespace").or_insert_with(|| namespace.into());
        return object.into();
    }
    for (key, value) in &mut object {
        if let Some(field) = message(id).field(key) {
            *value = each_message(field, value, |id, value| with_namespaces(id, value, namespace));
        }
    }
    object.into()
}

/// The value of a unit of an object of `namespace` as its digest covers it; `None` where it says nothing.
#[must_use]
pub fn digested(spec: &str, unit: &str, value: &Json, namespace: &str) -> Option<Json> {
    let keys = object(message(spec), &shown(spec, &keys_of(spec, unit, Some(value))), Zeros::Dropped);
    let Json::Object(keys) = unfilled(spec, &Json::Object(keys), Fills::All(namespace)) else { return None };
    by_unit(spec, keys).remove(unit)
}

/// What no answer shows of the value of a unit that a definition writes; `None` where it writes nothing of that.
#[must_use]
pub fn hidden(spec: &str, unit: &str, value: &Json) -> Option<Json> {
    hidden_below(spec, &keys_of(spec, unit, Some(value)))
}

/// The value of a unit as answers show it.
#[must_use]
pub fn without_hidden(spec: &str, unit: &str, value: &Json) -> Option<Json> {
    let Json::Object(keys) = shown(spec, &keys_of(spec, unit, Some(value))) else { return None };
    by_unit(spec, keys).remove(unit)
}

fn is_hidden(field: &Field) -> bool {
    field.is(Flag::Unanswered) || field.is(Flag::Secret)
}

fn hidden_below(id: &str, value: &Json) -> Option<Json> {
    let is_nothing = |value: &Json| match value {
        Json::Array(items) => items.iter().all(Json::is_null),
        Json::Object(values) => values.values().all(Json::is_null),
        value => value.is_null(),
    };
    let of_entry = |(key, value): (&String, &Json)| {
        let field = message(id).field(key)?;
        if is_hidden(field) {
            return Some((key.clone(), value.clone()));
        }
        field.below()?;
        let found = each_message(field, value, |id, value| hidden_below(id, value).unwrap_or_default());
        (!is_nothing(&found)).then(|| (key.clone(), found))
    };
    let found: Map<String, Json> = value.as_object()?.iter().filter_map(of_entry).collect();
    (!found.is_empty()).then_some(Json::Object(found))
}

/// A value of a message without what no answer shows.
fn shown(id: &str, value: &Json) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    let of_entry = |(key, value): (&String, &Json)| match message(id).field(key) {
        Some(field) if is_hidden(field) => None,
        Some(field) => Some((key.clone(), each_message(field, value, shown))),
        None => Some((key.clone(), value.clone())),
    };
    entries.iter().filter_map(of_entry).collect()
}

/// The value of a field with what `of` makes of each message in it.
fn each_message(field: &Field, value: &Json, of: impl Fn(&str, &Json) -> Json) -> Json {
    let Some(id) = field.below() else { return value.clone() };
    match (&field.kind, value) {
        (_, Json::Array(items)) => items.iter().map(|item| of(id, item)).collect(),
        (FieldKind::Map(_), Json::Object(values)) => {
            values.iter().map(|(key, value)| (key.clone(), of(id, value))).collect()
        }
        (_, value) => of(id, value),
    }
}

fn unfilled(id: &str, value: &Json, fills: Fills<'_>) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    if is_reference(id) {
        return unfilled_reference(entries, fills);
    }
    let message = message(id);
    let is_fill = |key: &str, value: &Json| {
        let group = message.group_of(key).filter(|group| matches!(fills, Fills::All(_)) || group.is_filled);
        group.is_some_and(|group| is_default_choice(message, group, key, value))
    };
    // What the description does not know, no definition can name.
    let below = |(key, value): (&String, &Json)| {
        let value = each_message(message.field(key)?, value, |id, value| unfilled(id, value, fills));
        (!is_fill(key, &value)).then(|| (key.clone(), value))
    };
    entries.iter().filter_map(below).collect()
}

fn unfilled_reference(parts: &Map<String, Json>, fills: Fills<'_>) -> Json {
    let is_filled = |key: &str, value: &Json| match (key, fills) {
        ("uid" | "kind", _) | ("tenant", Fills::All(_)) => true,
        ("tenant", Fills::Sure(tenant)) => value.as_str() == tenant,
        ("namespace", Fills::All(own)) => value == own,
        _ => false,
    };
    parts
        .iter()
        .filter(|(key, value)| !is_filled(key, value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
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

fn is_group(spec: &str, unit: &str) -> bool {
    message(spec).groups.iter().any(|group| group.name == unit)
}

/// A unit of a live spec as far as the definition names it, and as the definition would write it; `None` where nothing is
/// left. It equals the [`significant`] form of `wanted` where live is as the definition wants it.
#[must_use]
pub fn seen_as(spec: &str, unit: &str, live: Option<&Json>, wanted: Option<&Json>) -> Option<Json> {
    let message = message(spec);
    let is_filled = message.groups.iter().any(|group| group.name == unit && group.is_filled);
    // A field that no definition names belongs to others; so does a group that has no default.
    let live = live.filter(|_| wanted.is_some() || is_filled);
    let (live, wanted) = (keys_of(spec, unit, live), keys_of(spec, unit, wanted));
    let (Json::Object(live), Json::Object(wanted)) = (live, wanted) else { return None };
    let seen = seen_message(message, &live, &wanted);
    by_unit(spec, without_zeros(message, seen)).remove(unit)
}

/// The values of a live unit that a definition does not name and that no description explains, by path below the spec.
#[must_use]
pub fn unnamed(spec: &str, unit: &str, live: Option<&Json>, wanted: Option<&Json>) -> Vec<String> {
    let (live, wanted) = (keys_of(spec, unit, live), keys_of(spec, unit, wanted));
    let mut paths = Vec::new();
    if let (Json::Object(live), Json::Object(wanted)) = (live, wanted) {
        unnamed_below(message(spec), &live, &wanted, "", &mut paths);
    }
    paths
}

/// Sets a unit of a live spec, as the service shows it, to what a definition writes; `None` removes it. What neither the
/// definition nor `before` names stays at any depth, in items of lists too, as far as they can be told apart; what `before`
/// names, which a plan shows as the old value, and the definition does not, goes.
pub fn merged(spec: &str, unit: &str, live: &mut Map<String, Json>, before: Option<&Json>, wanted: Option<&Json>) {
    let message = message(spec);
    let (before, wanted) = (keys_of(spec, unit, before), keys_of(spec, unit, wanted));
    let Json::Object(wanted) = wanted else { return };
    let is_of_unit = |key: &str| unit_of(spec, key) == unit;
    live.retain(|key, _| {
        let key = snake(key);
        !is_of_unit(&key) || wanted.contains_key(&*key)
    });
    merge_message(message, live, &before, &wanted);
}

/// Whether a value says nothing: the service writes unset fields like that.
pub(super) fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        // `{}` is presence.
        Json::Bool(true) | Json::Object(_) => false,
    }
}

fn is_zero_of(field: &Field, value: &Json) -> bool {
    let zero = || match (&field.kind, value) {
        (FieldKind::Enum(id), Json::String(name)) if !field.is_list => super::is_zero_of_enum(id, name),
        (FieldKind::Map(_), Json::Object(entries)) => entries.is_empty(),
        _ => false,
    };
    is_zero(value) || zero()
}

fn object(message: &Message, value: &Json, zeros: Zeros) -> Map<String, Json> {
    let mut known = Map::new();
    let Json::Object(entries) = value else { return known };
    for (key, value) in entries {
        let key = snake(key);
        let Some(field) = message.field(&key) else {
            if !is_zero(value) {
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
    let is_chosen = |name: &&&str| known.get(**name).is_some_and(|value| !is_zero(value));
    let is_one_chosen = group.members.iter().any(|name| is_chosen(&name));
    for name in &group.members {
        let Some(value) = known.get(*name).filter(|value| is_zero(value)) else { continue };
        let value = match value {
            Json::String(_) => Value::Text(String::new()),
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
fn one(kind: &FieldKind, value: &Json, zeros: Zeros) -> Json {
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

fn without_zeros(message: &Message, keys: Map<String, Json>) -> Map<String, Json> {
    object(message, &Json::Object(keys), Zeros::Dropped)
}

/// The default choice of a group, which says no more than an open group.
fn is_default_choice(message: &Message, group: &Group, key: &str, value: &Json) -> bool {
    let is_empty = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    let without_fields = |field: &Field| field.kind == FieldKind::Empty;
    group.default == Some(key) && (is_empty(value) || message.field(key).is_some_and(without_fields))
}

/// What becomes of a key of a live message under a definition that does not name it.
enum Open {
    /// It is a difference: the definition leaves a group open of which the service fills the default.
    Difference,
    /// It is the default of its group.
    Default,
    /// The definition does not name it.
    Unnamed,
}

/// The same for the option of a group; nothing where the definition chooses an option of it.
fn open(message: &Message, key: &str, value: &Json, wanted: &Map<String, Json>) -> Option<Open> {
    if message.field(key).is_some_and(|field| field.is(Flag::Filled)) {
        return Some(Open::Default);
    }
    let Some(group) = message.group_of(key) else { return Some(Open::Unnamed) };
    if group.members.iter().any(|member| wanted.contains_key(*member)) {
        return None;
    }
    Some(match () {
        () if is_default_choice(message, group, key, value) => Open::Default,
        () if group.is_filled => Open::Difference,
        () => Open::Unnamed,
    })
}

fn seen_message(message: &Message, live: &Map<String, Json>, wanted: &Map<String, Json>) -> Map<String, Json> {
    let mut seen = Map::new();
    for (key, value) in live {
        match wanted.get(key) {
            Some(wanted) => {
                let value = match message.field(key) {
                    Some(field) => seen_field(field, value, wanted),
                    None => value.clone(),
                };
                seen.insert(key.clone(), value);
            }
            None => {
                if matches!(open(message, key, value, wanted), None | Some(Open::Difference)) {
                    seen.insert(key.clone(), value.clone());
                }
            }
        }
    }
    // What no answer shows is taken for what was asked for, and so is what the service makes of it.
    for field in message.fields.iter().filter(|field| is_hidden(field)) {
        let Some(value) = wanted.get(field.name) else { continue };
        let others = message.group_of(field.name).map(|group| group.members.as_slice()).unwrap_or_default();
        seen.retain(|key, _| !others.contains(&key.as_str()));
        seen.insert(field.name.to_owned(), value.clone());
    }
    seen
}

/// Whether an item of a live list is as an item of a definition wants it.
fn is_same(message: &Message) -> impl Fn(&Json, &Json) -> bool {
    move |live, wanted| match (live, wanted) {
        (Json::Object(live), Json::Object(wanted)) => {
            without_zeros(message, seen_message(message, live, wanted)) == without_zeros(message, wanted.clone())
        }
        _ => live == wanted,
    }
}

fn seen_field(field: &Field, live: &Json, wanted: &Json) -> Json {
    match (&field.kind, live, wanted) {
        (FieldKind::Message(id), Json::Array(items), Json::Array(wants)) => {
            let message = message(id);
            let aligned = align(items, wants, &is_same(message));
            let seen = |(item, to): (&Json, &Option<usize>)| match (item, to.map(|to| &wants[to])) {
                (Json::Object(item), Some(Json::Object(wanted))) => Json::Object(seen_message(message, item, wanted)),
                _ => item.clone(),
            };
            items.iter().zip(&aligned).map(seen).collect()
        }
        (FieldKind::Message(id), Json::Object(live), Json::Object(wanted)) => {
            Json::Object(seen_message(message(id), live, wanted))
        }
        (FieldKind::Map(kind), Json::Object(live), Json::Object(wanted)) => {
            let FieldKind::Message(id) = **kind else { return Json::Object(live.clone()) };
            let seen = |(key, value): (&String, &Json)| {
                let value = match (value, wanted.get(key)) {
                    (Json::Object(live), Some(Json::Object(wanted))) => {
                        Json::Object(seen_message(message(id), live, wanted))
                    }
                    _ => value.clone(),
                };
                (key.clone(), value)
            };
            live.iter().map(seen).collect()
        }
        _ => live.clone(),
    }
}

fn unnamed_below(
    message: &Message,
    live: &Map<String, Json>,
    wanted: &Map<String, Json>,
    above: &str,
    paths: &mut Vec<String>,
) {
    for (key, value) in live {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match (wanted.get(key), message.field(key)) {
            (Some(wanted), Some(field)) => unnamed_in(field, value, wanted, &path, paths),
            (Some(_), None) => {}
            (None, _) => {
                if matches!(open(message, key, value, wanted), Some(Open::Unnamed)) {
                    paths.push(path);
                }
            }
        }
    }
}

fn unnamed_in(field: &Field, live: &Json, wanted: &Json, path: &str, paths: &mut Vec<String>) {
    let Some(id) = field.below() else { return };
    let message = message(id);
    let mut below = |live: &Json, wanted: &Json, path: String| {
        if let (Json::Object(live), Json::Object(wanted)) = (live, wanted) {
            let known = if is_reference(id) { &["namespace", "tenant", "uid"][..] } else { &[] };
            let mut live = live.clone();
            // What the service fills in a reference is known.
            live.retain(|key, _| !known.contains(&key.as_str()));
            unnamed_below(message, &live, wanted, &path, paths);
        }
    };
    match (&field.kind, live, wanted) {
        (FieldKind::Message(_), Json::Array(items), Json::Array(wants)) => {
            let aligned = align(items, wants, &is_same(message));
            for (index, to) in aligned.iter().enumerate() {
                if let Some(to) = to {
                    below(&items[index], &wants[*to], format!("{path}[{index}]"));
                }
            }
        }
        (FieldKind::Map(_), Json::Object(live), Json::Object(wanted)) => {
            for (key, value) in live {
                if let Some(wanted) = wanted.get(key) {
                    below(value, wanted, format!("{path}.{key}"));
                }
            }
        }
        _ => below(live, wanted, path.to_owned()),
    }
}

/// Lays what a definition writes over a live message as the service shows it.
fn merge_message(message: &Message, live: &mut Map<String, Json>, before: &Json, wanted: &Map<String, Json>) {
    live.retain(|key, _| {
        let key = snake(key);
        before.get(&*key).is_none() || wanted.contains_key(&*key)
    });
    for (key, value) in wanted {
        let others = message.group_of(key).map(|group| group.members.as_slice()).unwrap_or_default();
        let spelled = live.keys().find(|live| snake(live) == *key).cloned();
        let current = spelled.and_then(|spelled| live.remove(&spelled)).unwrap_or_default();
        live.retain(|live, _| !others.contains(&&*snake(live)));
        let value = match message.field(key) {
            Some(field) if !field.is(Flag::Secret) => merge_field(field, current, &before[key], value),
            _ => value.clone(),
        };
        live.insert(key.clone(), value);
    }
}

fn merge_field(field: &Field, live: Json, before: &Json, wanted: &Json) -> Json {
    let Some(id) = field.below() else { return wanted.clone() };
    match (&field.kind, live, wanted) {
        (FieldKind::Message(_), Json::Array(items), Json::Array(wants)) if is_of_messages(&items) => {
            let known: Vec<Json> = items.iter().map(|item| one(&field.kind, item, Zeros::Dropped)).collect();
            let mut of: Vec<Option<usize>> = vec![None; wants.len()];
            for (index, to) in align(&known, wants, &is_same(message(id))).into_iter().enumerate() {
                if let Some(to) = to {
                    of[to] = Some(index);
                }
            }
            // A plan shows every item of the live list, or it is another list by now.
            let before = before.as_array().filter(|before| before.len() == items.len());
            let merge = |(wanted, of): (&Json, Option<usize>)| match of {
                Some(index) => {
                    let before = before.map_or(&Json::Null, |before| &before[index]);
                    merge_one(id, items[index].clone(), before, wanted)
                }
                None => wanted.clone(),
            };
            wants.iter().zip(of).map(merge).collect()
        }
        (FieldKind::Map(_), Json::Object(mut live), Json::Object(wanted)) => {
            let merge = |(key, wanted): (&String, &Json)| {
                (key.clone(), merge_one(id, live.remove(key).unwrap_or_default(), &before[key], wanted))
            };
            wanted.iter().map(merge).collect()
        }
        (_, live, wanted) => merge_one(id, live, before, wanted),
    }
}

fn merge_one(id: &str, live: Json, before: &Json, wanted: &Json) -> Json {
    match (live, wanted) {
        (Json::Object(mut live), Json::Object(wanted)) => {
            // The parts that the service filled belong to what the reference named.
            let differs = |part: &str| wanted.get(part).is_some_and(|wanted| live.get(part) != Some(wanted));
            let is_another = is_reference(id) && (differs("name") || differs("namespace"));
            if is_another {
                live.clear();
            }
            merge_message(message(id), &mut live, before, wanted);
            Json::Object(live)
        }
        (_, wanted) => wanted.clone(),
    }
}

/// Takes out of the spec of a replace what only the service writes, what a replace does not have, and what is unset.
pub fn prune_replace(spec: &str, live: &mut Json) {
    prune(message(spec), live);
}

fn prune(message: &Message, value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| prune(message, item)),
        Json::Object(entries) => {
            let mut known = without_zeros(message, entries.clone());
            entries.retain(|key, value| {
                let Some(field) = message.field(&snake(key)) else { return !value.is_null() };
                // An option that was never set would be a second choice.
                let is_unset = message.group_of(field.name).is_some() && known.remove(field.name).is_none();
                !value.is_null() && !is_unset && !field.is(Flag::ReadOnly) && !field.is(Flag::CreateOnly)
            });
            for (key, value) in entries.iter_mut() {
                let Some(field) = message.field(&snake(key)) else { continue };
                match (&field.kind, &mut *value) {
                    (FieldKind::Map(kind), Json::Object(values)) => {
                        if let FieldKind::Message(id) = **kind {
                            values.values_mut().for_each(|value| prune(super::message(id), value));
                        }
                    }
                    (FieldKind::Message(id), value) => prune(super::message(id), value),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The places of a spec, as a service shows it or a definition writes it, where a secret is or may be: a service shows no
/// secret, so the message around one counts.
#[must_use]
pub fn secret_places(spec: &str, value: &Json) -> Vec<String> {
    let mut places = Vec::new();
    secrets_of(message(spec), value, "spec", &mut places);
    places
}

fn secrets_of(message: &Message, value: &Json, path: &str, places: &mut Vec<String>) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                secrets_of(message, item, &format!("{path}[{index}]"), places);
            }
        }
        Json::Object(entries) => {
            for field in &message.fields {
                let written = || entries.iter().find(|(key, _)| snake(key) == field.name).map(|(_, value)| value);
                let path = format!("{path}.{}", field.name);
                match field.below() {
                    _ if field.is(Flag::Secret) => {
                        let is_option = message.group_of(field.name).is_some();
                        // Another option, or none of a group, is no secret; a field of its own may have one.
                        if !is_option || written().is_some_and(|value| !is_zero(value)) {
                            places.push(path);
                        }
                    }
                    Some(id) => match (&field.kind, written()) {
                        (FieldKind::Map(_), Some(Json::Object(values))) => {
                            for (key, value) in values {
                                secrets_of(super::message(id), value, &format!("{path}.{key}"), places);
                            }
                        }
                        (_, Some(value)) => secrets_of(super::message(id), value, &path, places),
                        (_, None) => {}
                    },
                    None => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;

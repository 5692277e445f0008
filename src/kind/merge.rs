//! The effect of a replace on a live spec: values that a definition names are set, and everything else stays.

use serde_json::{Map, Value as Json};

use super::compare::{aligned, inverse};
use super::items::{fill_places, is_of_messages};
use super::spec::{Zeros, keys_of, tidy, tidy_field, unit_of};
use super::spelling::PARTS;
use super::walk::{Keys, each_message};
use super::{Field, FieldKind, Flag, Message};

/// Sets a unit of a live spec, as the service shows it, to what a definition writes; `null` removes it. Values that
/// neither the definition nor `before` names stay at any depth, also in items of lists that can be matched. Values that
/// `before` names (a plan shows it as the old value) and the definition does not are removed.
pub fn merged(message: &Message, unit: &str, live: &mut Map<String, Json>, before: &Json, wanted: &Json) {
    let (before, wanted) = (keys_of(message, unit, before), keys_of(message, unit, wanted));
    let is_of_unit = |key: &str| unit_of(message, key) == unit;
    live.retain(|key, value| {
        let key = message.spelled(key);
        !is_of_unit(&key) || wanted.has(&key) || keeps_served(message, &key, value)
    });
    merge_message(message, live, before, wanted);
}

/// Merges what a definition writes into a live message as the service shows it.
fn merge_message(message: &Message, live: &mut Map<String, Json>, before: Keys<'_>, wanted: Keys<'_>) {
    // Where an option is removed, other options that the service shows in its group were not chosen.
    let is_let_go = |key: &str| before.has(key) || message.options(key).iter().any(|option| before.has(option));
    live.retain(|key, value| {
        let key = message.spelled(key);
        wanted.has(&key) || !is_let_go(&key) || keeps_served(message, &key, value)
    });
    for (key, value) in wanted.iter() {
        let spelled = live.keys().find(|live| message.spelled(live) == key).cloned();
        let current = spelled.and_then(|spelled| live.remove(&spelled)).unwrap_or_default();
        live.retain(|live, _| !message.options(key).contains(&&*message.spelled(live)));
        let value = match message.field(key) {
            Some(field) if !field.is(Flag::Secret) => {
                merge_field(field, current, before.get(key).unwrap_or(&Json::Null), value)
            }
            _ => value.clone(),
        };
        live.insert(key.to_owned(), value);
    }
}

/// Whether items of a removed list belong to the service, and stay.
fn keeps_served(message: &Message, key: &str, value: &mut Json) -> bool {
    message.field(key).is_some_and(|field| field.keeps_served(value))
}

fn merge_field(field: &Field, live: Json, before: &Json, wanted: &Json) -> Json {
    let Some(message) = field.message() else { return wanted.clone() };
    match (&field.kind, live, wanted) {
        (FieldKind::Message(_), Json::Array(items), Json::Array(wants)) if is_of_messages(&items) => {
            let (served, items): (Vec<Json>, Vec<Json>) = items.into_iter().partition(|item| field.is_served(item));
            let mut known = Json::Array(items.clone());
            tidy_field(field, &mut known, Zeros::Dropped);
            let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut of = inverse(&aligned(message, known, wants), wants.len());
            // A reference that replaces another keeps fields newer than the description, like every replaced value.
            if message.is_reference {
                fill_places(&mut of, items.len());
            }
            // A plan shows every item of the live list; with another count, the list has changed since.
            let before = before.as_array().filter(|before| before.len() == items.len());
            let merge = |(wanted, of): (&Json, Option<usize>)| match of {
                Some(index) => {
                    let before = before.map_or(&Json::Null, |before| &before[index]);
                    merge_one(message, items[index].clone(), before, wanted)
                }
                None => wanted.clone(),
            };
            wants.iter().zip(of).map(merge).chain(served).collect()
        }
        (FieldKind::Map(_), Json::Object(mut live), Json::Object(wanted)) => {
            let merge = |(key, wanted): (&String, &Json)| {
                (key.clone(), merge_one(message, live.remove(key).unwrap_or_default(), &before[key], wanted))
            };
            wanted.iter().map(merge).collect()
        }
        (_, live, wanted) => merge_one(message, live, before, wanted),
    }
}

fn merge_one(message: &Message, live: Json, before: &Json, wanted: &Json) -> Json {
    match (live, wanted) {
        (Json::Object(mut live), Json::Object(wanted)) => {
            // The parts that the service filled in belong to the object that the reference named before.
            let differs = |part: &&str| wanted.get(*part).is_some_and(|wanted| live.get(*part) != Some(wanted));
            let is_another = message.is_reference && ["name", "namespace", "tenant"].iter().any(differs);
            if is_another {
                live.retain(|key, _| message.field(&message.spelled(key)).is_none() && !PARTS.contains(&&**key));
            }
            merge_message(message, &mut live, Keys::of(before), Keys::All(wanted));
            Json::Object(live)
        }
        (_, wanted) => wanted.clone(),
    }
}

/// A live spec without nulls, unset options, fields that only the service writes, and fields with the flag `absent`,
/// which the request does not have. Keys that the description does not have stay unchanged.
pub fn pruned(message: &Message, live: &Json, absent: Flag) -> Json {
    let Json::Object(entries) = live else { return live.clone() };
    let mut known = entries.clone();
    tidy(message, &mut known, Zeros::Chosen);
    let of_entry = |(key, value): (&String, &Json)| {
        let Some(field) = message.field(&message.spelled(key)) else {
            return Some((key.clone(), value.clone()));
        };
        // An option that was never set would be a second choice.
        let is_unset = message.group_of(field.name).is_some() && !known.contains_key(field.name);
        let stays = !value.is_null() && !is_unset && !field.is(Flag::ReadOnly) && !field.is(absent);
        stays.then(|| (key.clone(), each_message(field, value, |below, value| pruned(below, value, absent))))
    };
    entries.iter().filter_map(of_entry).collect()
}

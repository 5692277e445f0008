//! Compares a live spec with a definition: the part that the definition names, and the part that it does not name.

use std::iter::zip;

use serde_json::{Map, Value as Json};

use super::fills::{Digested, digested_below, is_default_choice, is_fill, says_nothing};
use super::hidden::{has_unknown, is_hidden};
use super::items::align;
use super::spec::{is_zero_of, keys_of, value_of, without_zeros};
use super::spelling::PARTS;
use super::walk::{Keys, each_message, each_message_mut, is_zero, messages};
use super::{Field, FieldKind, Flag, GroupFlag, Message};

/// The part of a live unit that the definition names, as the definition would write it; `null` where nothing is left.
/// It equals the [`significant`](super::significant) form of `wanted` where live is in sync with the definition.
pub fn seen_as(message: &Message, unit: &str, live: &Json, wanted: &Json) -> Json {
    let seen = seen_message(message, keys_of(message, unit, live), keys_of(message, unit, wanted));
    value_of(message, unit, without_zeros(message, seen))
}

/// Whether a live unit obviously equals what a definition writes: every named value is equal and shown, and every other
/// value is one that the service is known to fill in. Cheap, and nearly always true; otherwise a full comparison is
/// needed.
pub fn agrees(spec: &Message, unit: &str, live: &Json, wanted: &Json) -> bool {
    agrees_below(spec, keys_of(spec, unit, live), keys_of(spec, unit, wanted), &[])
}

fn agrees_below(message: &Message, live: Keys<'_>, wanted: Keys<'_>, known: &[&str]) -> bool {
    let is_equal = |(key, wanted): (&str, &Json)| match (live.get(key), message.field(key)) {
        (Some(live), Some(field)) => !is_hidden(field) && agrees_in(field, live, wanted),
        // Responses leave out values that were never set.
        (None, Some(field)) => message.group_of(key).is_none() && !is_hidden(field) && is_zero_of(field, wanted),
        (_, None) => false,
    };
    let is_filled = |key: &str, value: &Json| {
        known.contains(&key) || matches!(open(message, key, value, wanted), Some(Open::Default))
    };
    wanted.iter().all(is_equal) && live.iter().all(|(key, value)| wanted.has(key) || is_filled(key, value))
}

fn agrees_in(field: &Field, live: &Json, wanted: &Json) -> bool {
    let Some(message) = field.message() else { return live == wanted };
    let agrees = |live: &Json, wanted: &Json| match (live, wanted) {
        (Json::Object(live), Json::Object(wanted)) => {
            agrees_below(message, Keys::All(live), Keys::All(wanted), known_in(message))
        }
        _ => live == wanted,
    };
    match (&field.kind, live, wanted) {
        (FieldKind::Message(_), Json::Array(items), Json::Array(wants)) => {
            items.len() == wants.len() && items.iter().zip(wants).all(|(item, want)| agrees(item, want))
        }
        (FieldKind::Map(_), Json::Object(live), Json::Object(wanted)) => {
            let is_equal = |(key, value)| wanted.get(key).is_some_and(|wanted| agrees(value, wanted));
            live.len() == wanted.len() && live.iter().all(is_equal)
        }
        _ => agrees(live, wanted),
    }
}

/// The keys that the service fills into a message at any place: parts of a reference.
fn known_in(message: &Message) -> &'static [&'static str] {
    if message.is_reference { &PARTS } else { &[] }
}

/// Whether a live unit has a value that a definition leaves to the service to choose.
pub fn has_chosen(spec: &Message, unit: &str, live: &Json, wanted: &Json) -> bool {
    let (live, wanted) = (keys_of(spec, unit, live), keys_of(spec, unit, wanted));
    let mut found = Vec::new();
    unnamed_below(spec, (live, &[]), wanted, ("", Open::Chosen), &mut found);
    !found.is_empty()
}

/// The paths, below the spec, of live values of a unit that neither the definition names nor the description explains.
pub fn unnamed(spec: &Message, unit: &str, live: &Json, wanted: &Json) -> Vec<String> {
    let found = unnamed_values(spec, unit, live, wanted).into_iter();
    found.filter(|(_, value)| !is_zero(value)).map(|(path, _)| path).collect()
}

/// Whether a unit of a live spec has a zero that `before` does not have and that the description does not explain: a
/// zero can be a choice, too. [`unnamed`] finds the other values.
pub fn has_chosen_more(spec: &Message, unit: &str, now: &Json, before: &Json) -> bool {
    unnamed_values(spec, unit, now, before).iter().any(|(_, value)| is_zero(value))
}

/// Whether a unit of a live spec still has a value of `before` that `after` does not name.
pub fn keeps(spec: &Message, unit: &str, live: &Json, (before, after): (&Json, &Json)) -> bool {
    let [removed, shown] = [before, live].map(|value| unnamed_values(spec, unit, value, after));
    removed.iter().any(|(path, value)| {
        let is_there =
            |(of, now): &(String, &Json)| without_positions(of).eq(without_positions(path)) && has(now, value);
        shown.iter().any(is_there)
    })
}

/// Whether the description knows the value at a path of [`unnamed`]; everything below a map counts as known.
pub fn knows(spec: &Message, path: &str) -> bool {
    let mut above = Some(spec);
    without_positions(path).all(|step| {
        let Some(message) = above else { return true };
        let field = message.field(step);
        above = field.filter(|field| !matches!(field.kind, FieldKind::Map(_))).and_then(Field::message);
        field.is_some()
    })
}

/// A path without the indexes of items, because removing an item moves the items after it.
fn without_positions(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').map(|step| step.split('[').next().unwrap_or(step))
}

/// Whether a value contains all keys and values of another one.
fn has(value: &Json, part: &Json) -> bool {
    match (value, part) {
        (Json::Object(values), Json::Object(parts)) => {
            parts.iter().all(|(key, part)| values.get(key).is_some_and(|value| has(value, part)))
        }
        _ => value == part,
    }
}

fn unnamed_values<'l>(spec: &Message, unit: &'l str, live: &'l Json, wanted: &Json) -> Vec<(String, &'l Json)> {
    let mut found = Vec::new();
    if live == wanted || agrees(spec, unit, live, wanted) {
        return found;
    }
    let (live, wanted) = (keys_of(spec, unit, live), keys_of(spec, unit, wanted));
    unnamed_below(spec, (live, &[]), wanted, ("", Open::Unnamed), &mut found);
    found
}

/// How a live key that the definition does not name counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// It is a difference: the definition leaves its group open, and the service would fill in the default.
    Difference,
    /// It is the default of its group.
    Default,
    /// It is a number, a text or a list that the service chose.
    Chosen,
    /// The definition does not name it.
    Unnamed,
}

/// How a live key that the definition does not name counts; `None` where the definition chooses an option of its group.
pub(super) fn open(message: &Message, key: &str, value: &Json, wanted: Keys<'_>) -> Option<Open> {
    let group = message.group_of(key);
    let is_chosen = group.is_some_and(|group| group.members.iter().any(|member| wanted.has(member)));
    if let Some(field) = message.field(key).filter(|field| field.is(Flag::Filled)) {
        // The service also chooses the items of a list that mirrors no other field, and mappings such as coordinates.
        let is_plain = |message: &Message| message.fields.iter().all(|field| field.below().is_none());
        let is_its_own = field.message().is_none_or(|message| match field.is_list {
            true => field.mirrors.is_none(),
            false => is_plain(message),
        });
        match field.below() {
            Some(_) if is_fill(field, value) => return Some(Open::Default),
            _ if is_its_own && !is_chosen => return Some(Open::Chosen),
            _ => {}
        }
    }
    let Some(group) = group else { return Some(Open::Unnamed) };
    if is_chosen {
        return None;
    }
    // Empty in the sense of the digest.
    let is_empty = message.field(key).is_some_and(|field| says_nothing(field, value));
    Some(match () {
        () if is_default_choice(message, group, key, is_empty) => {
            // Digests do not cover fields that are newer than the description.
            if has_unknown(message, Keys::One(key, value)) { Open::Unnamed } else { Open::Default }
        }
        () if group.is(GroupFlag::Filled) => Open::Difference,
        () => Open::Unnamed,
    })
}

fn seen_message(message: &Message, live: Keys<'_>, wanted: Keys<'_>) -> Map<String, Json> {
    let mut seen = Map::new();
    for (key, value) in live.iter() {
        let is_left = || !matches!(open(message, key, value, wanted), None | Some(Open::Difference));
        let value = match (wanted.get(key), message.field(key)) {
            (Some(wanted), Some(field)) => each_aligned(field, value, wanted, seen_value),
            (None, _) if is_left() => continue,
            _ => value.clone(),
        };
        seen.insert(key.to_owned(), value);
    }
    // A hidden value counts as the wanted one, whatever the service shows in its group.
    for (key, value) in wanted.iter() {
        let Some(field) = message.field(key).filter(|field| is_hidden(field)) else { continue };
        seen.retain(|key, _| !message.options(field.name).contains(&key.as_str()));
        seen.insert(field.name.to_owned(), value.clone());
    }
    seen
}

/// For each item of a live list, the index of the matching item of the definition.
pub(super) fn aligned(message: &Message, live: &[Json], wanted: &[Json]) -> Vec<Option<usize>> {
    let content = |item: &Json| {
        let content = digested_below(message, Keys::of(item), "");
        serde_json::to_value(Digested::Map(content)).unwrap_or_default()
    };
    let is_same = |live: &Json, wanted: &Json| match (live, wanted) {
        (Json::Object(live), Json::Object(wanted)) => {
            let seen = seen_message(message, Keys::All(live), Keys::All(wanted));
            without_zeros(message, seen) == without_zeros(message, wanted.clone())
        }
        _ => live == wanted,
    };
    // An item that names few values matches many live items.
    let unnamed = |live: &Json, wanted: &Json| {
        let count = |which: Open| {
            let mut found = Vec::new();
            unnamed_below(message, (Keys::of(live), known_in(message)), Keys::of(wanted), ("", which), &mut found);
            found.iter().filter(|(_, value)| !is_zero(value)).count()
        };
        (count(Open::Unnamed), count(Open::Default))
    };
    align(live, wanted, &content, &is_same, &unnamed)
}

/// For each message in a live value of a field, in the order of [`messages`], the matching one of a definition.
fn wanted_of<'w>(field: &Field, live: &Json, wanted: &'w Json) -> Vec<Option<&'w Json>> {
    partners(field, live, wanted, &aligned)
}

/// For each message in a definition's value of a field, in the order of [`messages`], the matching live one.
pub(super) fn live_of<'l>(field: &Field, live: &'l Json, wanted: &Json) -> Vec<Option<&'l Json>> {
    partners(field, wanted, live, &|message, wants, items| inverse(&aligned(message, items, wants), wants.len()))
}

/// Finds, for each item of a list, the index of the matching item of another list.
type Pairing<'p> = &'p dyn Fn(&Message, &[Json], &[Json]) -> Vec<Option<usize>>;

/// For each message in a value of a field, the matching one of another value.
fn partners<'o>(field: &Field, value: &Json, other: &'o Json, items: Pairing<'_>) -> Vec<Option<&'o Json>> {
    let Some(message) = field.message() else { return Vec::new() };
    match (&field.kind, value, other) {
        (_, Json::Array(own), Json::Array(others)) => {
            items(message, own, others).into_iter().map(|at| Some(&others[at?])).collect()
        }
        (_, Json::Array(own), _) => vec![None; own.len()],
        (FieldKind::Map(_), Json::Object(own), other) => own.keys().map(|key| other.get(key)).collect(),
        (_, _, other) => vec![Some(other)],
    }
}

/// For each of `count` items of a definition, the index of the matching live item.
pub(super) fn inverse(to: &[Option<usize>], count: usize) -> Vec<Option<usize>> {
    let mut of = vec![None; count];
    for (index, to) in to.iter().enumerate() {
        if let Some(to) = to {
            of[*to] = Some(index);
        }
    }
    of
}

/// The live value of a field with each message mapped by `of`, which also gets the matching message of a definition.
pub(super) fn each_aligned(
    field: &Field,
    live: &Json,
    wanted: &Json,
    of: impl Fn(&'static Message, &Json, Option<&Json>) -> Json,
) -> Json {
    let mut wanted = wanted_of(field, live, wanted).into_iter();
    each_message(field, live, |message, live| of(message, live, wanted.next().flatten()))
}

fn seen_value(message: &Message, live: &Json, wanted: Option<&Json>) -> Json {
    match (live, wanted) {
        (Json::Object(live), Some(Json::Object(wanted))) => {
            Json::Object(seen_message(message, Keys::All(live), Keys::All(wanted)))
        }
        _ => live.clone(),
    }
}

fn unnamed_below<'l>(
    message: &Message,
    (live, known): (Keys<'l>, &[&str]),
    wanted: Keys<'_>,
    (above, which): (&str, Open),
    found: &mut Vec<(String, &'l Json)>,
) {
    let path = |key: &str| if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
    for (key, value) in live.iter().filter(|(key, _)| !known.contains(key)) {
        match (wanted.get(key), message.field(key)) {
            (Some(wanted), Some(field)) if field.below().is_some() => {
                unnamed_in(field, value, wanted, (&path(key), which), found);
            }
            (None, _) if open(message, key, value, wanted) == Some(which) => found.push((path(key), value)),
            _ => {}
        }
    }
}

fn unnamed_in<'l>(
    field: &Field,
    live: &'l Json,
    wanted: &Json,
    (path, which): (&str, Open),
    found: &mut Vec<(String, &'l Json)>,
) {
    for (live, wanted) in messages(field, live).into_iter().zip(wanted_of(field, live, wanted)) {
        if let (Json::Object(of_live), Some(Json::Object(wanted))) = (live.value, wanted) {
            let path = format!("{path}{}", live.step);
            let of_live = (Keys::All(of_live), known_in(live.message));
            unnamed_below(live.message, of_live, Keys::All(wanted), (&path, which), found);
        }
    }
}

/// A unit of a definition without the keys that neither the description nor live has, and the paths of those keys.
pub fn taken(spec: &Message, unit: &str, live: &Json, wanted: &Json) -> (Json, Vec<String>) {
    let mut paths = Vec::new();
    let mut wanted = keys_of(spec, unit, wanted).owned();
    strip(spec, keys_of(spec, unit, live), &mut wanted, "spec", &mut paths);
    (value_of(spec, unit, wanted), paths)
}

fn strip(of: &Message, live: Keys<'_>, wanted: &mut Map<String, Json>, above: &str, paths: &mut Vec<String>) {
    wanted.retain(|key, value| {
        let path = format!("{above}.{key}");
        match (of.field(key), live.get(key)) {
            (None, None) => {
                paths.extend(Some(path).filter(|_| !is_zero(value)));
                return false;
            }
            (Some(field), Some(live)) => strip_in(field, live, value, &path, paths),
            (None, Some(_)) | (Some(_), None) => {}
        }
        true
    });
}

fn strip_in(field: &Field, live: &Json, wanted: &mut Json, path: &str, paths: &mut Vec<String>) {
    let steps: Vec<String> = messages(field, wanted).into_iter().map(|below| below.step).collect();
    let mut lives = zip(steps, live_of(field, live, wanted));
    each_message_mut(field, wanted, &mut |message, wanted| {
        if let (Some((step, Some(Json::Object(live)))), Json::Object(wanted)) = (lives.next(), wanted) {
            strip(message, Keys::All(live), wanted, &format!("{path}{step}"), paths);
        }
    });
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;

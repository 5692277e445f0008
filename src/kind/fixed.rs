//! Finds changes that are impossible after the create.

use serde_json::{Map, Value as Json};

use super::compare::live_of;
use super::hidden::{is_hidden, without_hidden_keys};
use super::spec::{keys_of, without_zeros};
use super::walk::messages;
use super::{Field, Flag, Group, GroupFlag, Message};

/// The path of a change in a unit that a replace cannot make: of an immutable field or choice, or of a field that
/// replace requests do not have. `live` has only the values that the change is about, not those that stay.
pub fn fixed(of: &Message, unit: &str, live: &Json, wanted: &Json) -> Option<String> {
    if of.field(unit).is_some_and(is_fixed) {
        return Some(format!("spec.{unit}"));
    }
    let (live, wanted) = (keys_of(of, unit, live).owned(), keys_of(of, unit, wanted).owned());
    let wanted = without_zeros(of, wanted);
    let is_shown = without_hidden_keys(of, live.clone()) != without_hidden_keys(of, wanted.clone());
    // If all shown values are equal, the difference is in hidden ones.
    if is_shown { fixed_below(of, "spec", Some(&live), &wanted) } else { fixed_hidden(of, "spec", &wanted) }
}

fn is_fixed(field: &Field) -> bool {
    field.is(Flag::Immutable) || field.is(Flag::CreateOnly)
}

fn fixed_below(
    of: &Message,
    path: &str,
    live: Option<&Map<String, Json>>,
    wanted: &Map<String, Json>,
) -> Option<String> {
    let is_another = |group: &&Group| {
        let chosen = |object: &Map<String, Json>| group.members.iter().copied().find(|name| object.contains_key(*name));
        let then = chosen(wanted);
        // Only a replace can choose it.
        if then.and_then(|name| of.field(name)).is_some_and(|field| field.is(Flag::ReplaceOnly)) {
            return false;
        }
        let differs = |live| match chosen(live) {
            Some(was) => then != Some(was),
            // A default choice that is equivalent to an open group may be left out.
            None => then.is_some() && group.default.is_some_and(|default| then != Some(default)),
        };
        group.is(GroupFlag::Immutable) && live.is_some_and(differs)
    };
    if let Some(group) = of.groups.iter().find(is_another) {
        return Some(format!("{path}.{}", group.name));
    }
    let keys = live.into_iter().flat_map(Map::keys).chain(wanted.keys());
    let differs = |field: &Field| {
        let (now, then) = (live.and_then(|live| live.get(field.name)), wanted.get(field.name));
        if now == then || is_hidden(field) {
            return None;
        }
        let path = format!("{path}.{}", field.name);
        // A new message may have any value that replace requests can have.
        if field.is(Flag::CreateOnly) || (live.is_some() && field.is(Flag::Immutable)) {
            return Some(path);
        }
        fixed_in(field, &path, now.unwrap_or(&Json::Null), then?)
    };
    keys.filter_map(|key| of.field(key)).find_map(differs)
}

fn fixed_in(field: &Field, path: &str, live: &Json, wanted: &Json) -> Option<String> {
    messages(field, wanted).iter().zip(live_of(field, live, wanted)).find_map(|(below, live)| {
        let path = format!("{path}{}", below.step);
        fixed_below(below.message, &path, live.and_then(Json::as_object), below.value.as_object()?)
    })
}

/// The path of a hidden value of a definition that a replace cannot change.
fn fixed_hidden(of: &Message, path: &str, wanted: &Map<String, Json>) -> Option<String> {
    wanted.iter().find_map(|(key, value)| {
        let field = of.field(key)?;
        let path = format!("{path}.{key}");
        match is_hidden(field) {
            true => Some(path).filter(|_| is_fixed(field)),
            false => messages(field, value).iter().find_map(|below| {
                fixed_hidden(below.message, &format!("{path}{}", below.step), below.value.as_object()?)
            }),
        }
    })
}

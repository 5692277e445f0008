//! Fields that the service derives from a list: messages, each with an item of that list as its only value.

use std::iter::zip;

use serde_json::{Map, Value as Json};

use super::walk::is_zero;
use super::{Field, Message};

/// The unit of a live spec from which the service derived `unit`, if it did.
pub fn mirrored(spec: &Message, unit: &str, units: impl Fn(&str) -> Json) -> Option<&'static str> {
    spec.field(unit)?.mirrors.filter(|source| mirrors(&units(unit), &units(source)))
}

/// Removes the fields of a live message that the service derives from its other fields.
pub(super) fn drop_mirrors(message: &Message, live: &mut Map<String, Json>) {
    let gone: Vec<String> = pairs(message, live).into_iter().map(|(mirror, _)| mirror).collect();
    live.retain(|key, _| !gone.contains(key));
}

/// The unit that the service derived from `unit`, with its live value.
pub fn mirror_of(spec: &Message, live: &Map<String, Json>, unit: &str) -> Option<(&'static str, Json)> {
    let (mirror, _) = pairs(spec, live).into_iter().find(|(_, source)| spec.spelled(source) == unit)?;
    Some((spec.field(&spec.spelled(&mirror))?.name, live[&mirror].clone()))
}

/// The fields of a live message that are mirrors of others, with the keys of both as the service writes them.
fn pairs(message: &Message, live: &Map<String, Json>) -> Vec<(String, String)> {
    let pair = |field: &Field| {
        let (source, of) = message.entry(live, field.mirrors?)?;
        let (mirror, value) = message.entry(live, field.name)?;
        mirrors(value, of).then(|| (mirror.clone(), source.clone()))
    };
    message.fields.iter().filter_map(pair).collect()
}

/// Whether the only value in each item is the item of the other list.
fn mirrors(value: &Json, source: &Json) -> bool {
    let (Json::Array(items), Json::Array(of)) = (value, source) else { return false };
    let says = |(item, of): (&Json, &Json)| {
        let said = item.as_object().map(|entries| entries.values().filter(|value| !is_zero(value)));
        said.is_some_and(|said| said.eq([of]))
    };
    items.len() == of.len() && zip(items, of).all(says)
}

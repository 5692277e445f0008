//! What is written over the spec of a live endpoint: keys that the description knows become as wanted, and keys that it does
//! not know survive.

use serde_json::{Map, Value as Json};

use crate::kind::{self, Message, snake};

/// Writes the value of a unit of a spec: the key of that name, or the options of its exclusive group.
pub fn write_unit(spec: &Message, live: &mut Map<String, Json>, unit: &str, value: &Json) {
    if spec.field(unit).is_some() {
        return write_key(spec, live, unit, value);
    }
    for option in spec.groups.iter().filter(|group| group.name == unit).flat_map(|group| &group.members) {
        write_key(spec, live, option, value.get(option).unwrap_or(&Json::Null));
    }
}

/// Writes `value` as `key` of `live`, whatever the spelling of the key there; `null` removes it.
fn write_key(message: &Message, live: &mut Map<String, Json>, key: &str, value: &Json) {
    let written: Vec<String> = live.keys().filter(|written| snake(written) == key).cloned().collect();
    let mut old = written.iter().filter_map(|written| live.remove(written)).find(|old| !old.is_null());
    if value.is_null() {
        return;
    }
    // An option without fields may have some that are newer.
    let below = message.field(key).map(|field| kind::message(field.below().unwrap_or_default()));
    let merged = match (below, &mut old) {
        (Some(below), Some(old)) => {
            write(below, old, value);
            old.take()
        }
        _ => value.clone(),
    };
    live.insert(key.to_owned(), merged);
}

/// Writes `value` over `live`: what the description knows is as in `value` afterwards, and what it does not know stays. An
/// option of a group that `value` does not name is removed with everything in it.
fn write(message: &Message, live: &mut Json, value: &Json) {
    match (live, value) {
        (Json::Object(live), Json::Object(value)) => {
            let is_known = |key: &String| message.field(&snake(key)).is_some();
            let gone: Vec<String> =
                live.keys().filter(|key| is_known(key) && !is_given(value, &snake(key))).cloned().collect();
            for key in gone {
                live.remove(&key);
            }
            for (key, value) in value.iter().filter(|(_, value)| !value.is_null()) {
                write_key(message, live, key, value);
            }
        }
        (Json::Array(live), Json::Array(value)) => {
            live.resize(value.len(), Json::Null);
            for (live, value) in live.iter_mut().zip(value) {
                write(message, live, value);
            }
        }
        (live, value) => *live = value.clone(),
    }
}

fn is_given(value: &Map<String, Json>, key: &str) -> bool {
    value.get(key).is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kind::KindName;

    #[test]
    fn a_key_is_written_once_whatever_its_spelling_was() {
        let mut spec = json!({"healthCheckPort": 1, "dnsNameAdvanced": {"name": "a.b", "new": 1}});
        let Json::Object(map) = &mut spec else { unreachable!("an object") };
        let message = KindName::ENDPOINT.message();
        write_unit(message, map, "health_check_port", &json!(2));
        write_unit(message, map, "target", &json!({"dns_name_advanced": {"name": "c.d"}}));
        assert_eq!(spec, json!({"health_check_port": 2, "dns_name_advanced": {"name": "c.d", "new": 1}}));
    }
}

//! What is written over a live object follows the shape: keys that the model knows become as wanted, keys
//! that it does not know survive, and values that mean nothing are not sent back.

use serde_json::Map;

use super::{ShapeNode, snake};
use crate::model::Json;

impl ShapeNode {
    /// Writes `value` over `live`: what the model knows is as in `value` afterwards, and what it does not
    /// know stays. An option of a group that `value` does not name is removed with everything in it.
    pub fn write(&self, live: &mut Json, value: &Json) {
        match (live, value) {
            (Json::Object(live), Json::Object(value)) => {
                let known = |key: &String| self.child(&snake(key)).is_some();
                let gone: Vec<String> =
                    live.keys().filter(|key| known(key) && !is_given(value, &snake(key))).cloned().collect();
                for key in gone {
                    live.remove(&key);
                }
                for (key, value) in value.iter().filter(|(_, value)| !value.is_null()) {
                    self.write_key(live, key, value);
                }
            }
            (Json::Array(live), Json::Array(value)) => {
                live.resize(value.len(), Json::Null);
                for (live, value) in live.iter_mut().zip(value) {
                    self.write(live, value);
                }
            }
            (live, value) => *live = value.clone(),
        }
    }

    /// Writes `value` as `key` of `live`, whatever the spelling of the key there; `null` removes it.
    pub fn write_key(&self, live: &mut Map<String, Json>, key: &str, value: &Json) {
        let written: Vec<String> = live.keys().filter(|written| snake(written) == key).cloned().collect();
        let mut old = written.iter().filter_map(|written| live.remove(written)).find(|old| !old.is_null());
        if value.is_null() {
            return;
        }
        let merged = match (self.level(key), &mut old) {
            (Some(child), Some(old)) => {
                child.write(old, value);
                old.take()
            }
            _ => value.clone(),
        };
        live.insert(key.to_owned(), merged);
    }

    /// Writes the value of a unit of this spec: the key of that name, or the options of its exclusive group.
    pub fn write_unit(&self, live: &mut Map<String, Json>, unit: &str, value: &Json) {
        if self.child(unit).is_some() {
            return self.write_key(live, unit, value);
        }
        for option in self.options() {
            self.write_key(live, option, value.get(option).unwrap_or(&Json::Null));
        }
    }

    /// Removes what means nothing from a live object that is sent back: the `null` of a known key, and the zero values
    /// of options. The service's decoder takes a `null` option for one that is chosen (API.md 10b). What is unknown stays.
    pub fn prune(&self, live: &mut Json) {
        match live {
            Json::Object(map) => {
                map.retain(|key, value| {
                    let key = snake(key);
                    let says_nothing = value.is_null() && self.child(&key).is_some();
                    !(says_nothing || is_zero(value) && self.options().contains(&&*key))
                });
                for (key, value) in map.iter_mut() {
                    if let Some(level) = self.level(&snake(key)) {
                        level.prune(value);
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.prune(item)),
            _ => {}
        }
    }
}

fn is_given(value: &Map<String, Json>, key: &str) -> bool {
    value.get(key).is_some_and(|value| !value.is_null())
}

fn is_zero(value: &Json) -> bool {
    value == "" || value.as_f64() == Some(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::SPEC;
    use super::*;

    #[test]
    fn a_key_is_written_once_whatever_its_spelling_was() {
        let mut spec = json!({"healthCheckPort": 1, "dnsNameAdvanced": {"name": "a.b", "new": 1}});
        let Json::Object(map) = &mut spec else { unreachable!("an object") };
        SPEC.write_key(map, "health_check_port", &json!(2));
        SPEC.write_key(map, "dns_name_advanced", &json!({"name": "c.d"}));
        assert_eq!(spec, json!({"health_check_port": 2, "dns_name_advanced": {"name": "c.d", "new": 1}}));
    }

    #[test]
    fn what_means_nothing_is_not_sent_back() {
        let mut spec = json!({
            "where": null, "snat_pool": null, "dns_name": "", "ip": "10.0.0.1", "port": 0, "new": {"a": null, "b": 0},
            "dns_name_advanced": {"name": "", "refresh_interval": 0, "new": null}, "empty": "", "unknown": [null, {"a": null}]
        });
        SPEC.prune(&mut spec);
        let pruned = json!({
            "ip": "10.0.0.1", "port": 0, "new": {"a": null, "b": 0}, "dns_name_advanced": {"name": "", "new": null},
            "empty": "", "unknown": [null, {"a": null}]
        });
        assert_eq!(spec, pruned);
    }
}

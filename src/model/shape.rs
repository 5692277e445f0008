//! The levels of an endpoint's spec on the wire: which keys the model knows at each, which of them are
//! options of an exclusive group, and which contain a level of their own. What is written over a live
//! object follows these levels, so that keys which the model does not know survive.

use serde_json::Map;

use super::Json;

/// A level of the spec: what the model knows there.
pub struct KnownLevel {
    /// Its keys.
    pub keys: &'static [&'static str],
    /// Those of them that are options of an exclusive group.
    pub options: &'static [&'static str],
    /// Keys that contain levels of their own.
    children: &'static [(&'static str, &'static KnownLevel)],
}

static EMPTY: KnownLevel = KnownLevel { keys: &[], options: &[], children: &[] };
static REFERENCE: KnownLevel =
    KnownLevel { keys: &["kind", "name", "namespace", "tenant", "uid"], options: &[], children: &[] };
static SELECTOR: KnownLevel = KnownLevel { keys: &["expressions"], options: &[], children: &[] };
static PREFIXES: KnownLevel = KnownLevel { keys: &["prefixes", "ipv6_prefixes"], options: &[], children: &[] };
static ADVANCED: KnownLevel = KnownLevel {
    keys: &["name", "refresh_interval", "strict_ttl"],
    options: &["refresh_interval", "strict_ttl"],
    children: &[("strict_ttl", &EMPTY)],
};
static SERVICE: KnownLevel = KnownLevel {
    keys: &["discovery_type", "service_name", "service_selector"],
    options: &["service_name", "service_selector"],
    children: &[("service_selector", &SELECTOR)],
};
static SNAT_POOL: KnownLevel = KnownLevel {
    keys: &["no_snat_pool", "snat_pool"],
    options: &["no_snat_pool", "snat_pool"],
    children: &[("no_snat_pool", &EMPTY), ("snat_pool", &PREFIXES)],
};
static SITE: KnownLevel = KnownLevel {
    keys: &["ref", "refs", "network_type", "disable_internet_vip", "enable_internet_vip"],
    options: &["disable_internet_vip", "enable_internet_vip"],
    children: &[
        ("ref", &REFERENCE),
        ("refs", &REFERENCE),
        ("disable_internet_vip", &EMPTY),
        ("enable_internet_vip", &EMPTY),
    ],
};
static NETWORK: KnownLevel = KnownLevel { keys: &["ref"], options: &[], children: &[("ref", &REFERENCE)] };
static WHERE: KnownLevel = KnownLevel {
    keys: &["site", "virtual_site", "virtual_network"],
    options: &["site", "virtual_site", "virtual_network"],
    children: &[("site", &SITE), ("virtual_site", &SITE), ("virtual_network", &NETWORK)],
};

impl KnownLevel {
    /// The spec itself.
    pub const SPEC: KnownLevel = KnownLevel {
        keys: &[
            "dns_name",
            "dns_name_advanced",
            "ip",
            "service_info",
            "protocol",
            "port",
            "health_check_port",
            "snat_pool",
            "where",
        ],
        options: &["dns_name", "dns_name_advanced", "ip", "service_info"],
        children: &[
            ("dns_name_advanced", &ADVANCED),
            ("service_info", &SERVICE),
            ("snat_pool", &SNAT_POOL),
            ("where", &WHERE),
        ],
    };

    /// The level that `key`, in snake case, contains.
    #[must_use]
    pub fn child(&self, key: &str) -> Option<&'static KnownLevel> {
        self.children.iter().find(|(name, _)| *name == key).map(|(_, child)| *child)
    }

    /// Writes `value` over `live`: what the model knows is as in `value` afterwards, and what it does not
    /// know stays. An option of a group that `value` does not name goes with everything in it.
    pub fn write(&self, live: &mut Json, value: &Json) {
        match (live, value) {
            (Json::Object(live), Json::Object(value)) => {
                let known = |key: &String| self.keys.contains(&snake(key).as_str());
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
        let merged = match (self.child(key), &mut old) {
            (Some(child), Some(old)) => {
                child.write(old, value);
                old.take()
            }
            _ => value.clone(),
        };
        live.insert(key.to_owned(), merged);
    }

    /// Removes what says nothing from a live object that is sent back: every `null`, and the zero values
    /// of options. The service's decoder takes a `null` option for one that is chosen (API.md 10b).
    pub fn prune(&self, live: &mut Json) {
        match live {
            Json::Object(map) => {
                map.retain(|key, value| !(value.is_null() || is_zero(value) && self.is_option(key)));
                for (key, value) in map.iter_mut() {
                    self.child(&snake(key)).unwrap_or(&EMPTY).prune(value);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.prune(item)),
            _ => {}
        }
    }

    fn is_option(&self, key: &str) -> bool {
        self.options.contains(&snake(key).as_str())
    }
}

fn is_given(value: &Map<String, Json>, key: &str) -> bool {
    value.get(key).is_some_and(|value| !value.is_null())
}

fn is_zero(value: &Json) -> bool {
    value == "" || value.as_f64() == Some(0.0)
}

/// A key of the wire in snake case.
#[must_use]
pub fn snake(key: &str) -> String {
    let mut text = String::with_capacity(key.len() + 4);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_written_once_whatever_its_spelling_was() {
        let mut spec = json!({"healthCheckPort": 1, "dnsNameAdvanced": {"name": "a.b", "new": 1}});
        let Json::Object(map) = &mut spec else { unreachable!("an object") };
        KnownLevel::SPEC.write_key(map, "health_check_port", &json!(2));
        KnownLevel::SPEC.write_key(map, "dns_name_advanced", &json!({"name": "c.d"}));
        assert_eq!(spec, json!({"health_check_port": 2, "dns_name_advanced": {"name": "c.d", "new": 1}}));
    }

    #[test]
    fn what_says_nothing_is_not_sent_back() {
        let mut spec = json!({
            "where": null, "snat_pool": null, "dns_name": "", "ip": "10.0.0.1", "port": 0, "new": {"a": null, "b": 0},
            "dns_name_advanced": {"name": "", "refresh_interval": 0}, "empty": ""
        });
        KnownLevel::SPEC.prune(&mut spec);
        let pruned = json!({
            "ip": "10.0.0.1", "port": 0, "new": {"b": 0}, "dns_name_advanced": {"name": ""}, "empty": ""
        });
        assert_eq!(spec, pruned);
    }
}

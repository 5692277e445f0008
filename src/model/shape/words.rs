//! The values of the units of an endpoint in words: a target by its parts, a place by its names, a set of prefixes as a
//! list. They are as the files and the service wrote them, so whoever shows them escapes them.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// How the value of a unit is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitForm {
    /// As it is.
    Value,
    /// As a number, on the right of a column.
    Number,
    /// The option of an exclusive group with its parts.
    Choice,
    /// A place in words.
    Place,
    /// A set of prefixes.
    Prefixes,
}

/// The chosen option of an exclusive group, taken apart.
#[derive(Debug)]
pub struct Choice {
    /// The option; empty where there is none.
    pub option: String,
    /// The values that it contains, each by its path below the spec.
    pub leaves: Vec<(String, String)>,
}

impl Choice {
    /// That of a value.
    pub fn of(value: &Json) -> Self {
        let Some((option, value)) = value.as_object().and_then(|map| map.iter().next()) else {
            return Self { option: String::new(), leaves: Vec::new() };
        };
        let mut leaves = Vec::new();
        collect(option, value, &mut leaves);
        Self { option: option.clone(), leaves }
    }

    /// The value alone where the option is one, else each part by its name.
    pub fn text(&self) -> String {
        match self.leaves.as_slice() {
            [(_, only)] => only.clone(),
            leaves => {
                let part = |(name, text): &(String, String)| {
                    let name = name.strip_prefix(&self.option).unwrap_or(name).trim_start_matches('.');
                    format!("{name} {text}")
                };
                leaves.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The one value that shows what it is, such as an address or a name.
    pub fn main(&self) -> Option<&str> {
        let mains = ["ip", "dns_name", "dns_name_advanced.name", "service_info.service_name"];
        mains.iter().find_map(|main| Some(self.leaves.iter().find(|(path, _)| path == main)?.1.as_str()))
    }

    /// The option in words.
    pub fn noun(&self) -> &'static str {
        match self.option.as_str() {
            "ip" => "an IP address",
            "dns_name" => "a host name",
            "dns_name_advanced" => "a host name with a refresh interval",
            "service_info" => "a discovered service",
            _ => "what it was",
        }
    }
}

fn collect(path: &str, value: &Json, leaves: &mut Vec<(String, String)>) {
    match value {
        Json::Null => {}
        Json::Object(map) if map.is_empty() => leaves.push((path.to_owned(), "{}".to_owned())),
        Json::Object(map) => {
            for (key, value) in map {
                // A selector is a list of one expression: its name says nothing that the value does not.
                let path = if key == "expressions" { path.to_owned() } else { format!("{path}.{key}") };
                collect(&path, value, leaves);
            }
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().filter_map(scalar).collect();
            leaves.push((path.to_owned(), items.join(", ")));
        }
        scalar => leaves.push((path.to_owned(), self::scalar(scalar).unwrap_or_default())),
    }
}

/// A value without parts; nothing is absence.
pub fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The prefixes of a pool; nothing without a pool.
pub fn prefixes(value: &Json) -> Option<BTreeSet<String>> {
    let pool = value.get("snat_pool")?.as_object()?;
    let lists = ["prefixes", "ipv6_prefixes"].into_iter().filter_map(|key| pool.get(key)?.as_array());
    Some(lists.flatten().filter_map(Json::as_str).map(str::to_owned).collect())
}

/// The namespace, where one is named, and the name of a reference.
fn reference_name(reference: &Json) -> String {
    let part = |key: &str| reference.get(key).and_then(Json::as_str);
    let namespace = part("namespace").map_or_else(String::new, |namespace| format!("{namespace}/"));
    format!("{namespace}{}", part("name").unwrap_or_default())
}

/// A place in words. Parts of a reference that `names` does not name are left out: the service filled them in.
pub fn place(value: &Json, names: impl Fn(&str) -> bool) -> Option<String> {
    let (option, inner) = value.as_object()?.iter().next()?;
    let reference = inner.pointer("/ref/0")?;
    let mut words = format!("{} {}", option.replace('_', " "), reference_name(reference));
    for key in ["tenant", "uid"] {
        if let (Some(text), true) = (reference.get(key).and_then(Json::as_str), names(key)) {
            words.push_str(&format!(" ({key} {text})"));
        }
    }
    if let Some(network) = inner.get("network_type").and_then(Json::as_str) {
        let network = network.trim_start_matches("VIRTUAL_NETWORK_").to_lowercase().replace('_', "-");
        words.push_str(&format!(", {} network", network.trim_end_matches("-network")));
    }
    if inner.get("enable_internet_vip").is_some_and(|choice| !choice.is_null()) {
        words.push_str(", with an Internet VIP");
    }
    let refs = inner.get("refs").and_then(Json::as_array).into_iter().flatten();
    let names: Vec<String> = refs.map(reference_name).collect();
    if !names.is_empty() {
        words.push_str(&format!(", refs {}", names.join(" ")));
    }
    Some(words)
}

/// Whether a place of the other side of a comparison names a part of its reference; of no other side it names all.
pub fn names_part(other: Option<&Json>) -> impl Fn(&str) -> bool {
    let across = other.and_then(|other| other.as_object()?.values().next()?.pointer("/ref/0"));
    move |key| across.is_none_or(|across| across.get(key).is_some())
}

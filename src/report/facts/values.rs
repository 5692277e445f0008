//! The value of a field in words: a target by its parts, a place by its names, a set of prefixes as a list.
//! Every report shows values with these texts. They are as the files and the service wrote them, so drawers
//! escape them.

use std::collections::BTreeSet;

use crate::model::{Field, Json, StringMap, is_ownership_annotation};
use crate::report::line::{Line, line};

/// The value of a field as words; nothing is absence.
pub fn words(field: &Field, value: &Json) -> Option<String> {
    match field {
        Field::Target => {
            let target = target(value);
            (!target.option.is_empty()).then(|| format!("{} {}", target.option, target.text()))
        }
        _ => of_value(field, value, None),
    }
}

/// The value of a field; nothing is absence. Parts of a reference that `other` does not name are left out.
pub fn of_value(field: &Field, value: &Json, other: Option<&Json>) -> Option<String> {
    match field {
        Field::Where => place(value, other),
        Field::SnatPool => Some(
            prefixes(value)
                .map_or_else(|| "none".to_owned(), |prefixes| prefixes.into_iter().collect::<Vec<_>>().join(", ")),
        ),
        _ => scalar(value),
    }
}

fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A map as `key=value` pairs, without the ownership annotations, which no definition sets.
pub fn pairs(map: &StringMap) -> String {
    let theirs = map.iter().filter(|(key, _)| !is_ownership_annotation(key));
    theirs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

/// A target taken apart: its option, and the values that it contains.
struct TargetParts {
    option: String,
    leaves: Vec<(String, String)>,
}

impl TargetParts {
    /// The value alone where the option is one, else each part by its name.
    fn text(&self) -> String {
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

    fn words(&self) -> &'static str {
        match self.option.as_str() {
            "ip" => "an IP address",
            "dns_name" => "a host name",
            "dns_name_advanced" => "a host name with a refresh interval",
            "service_info" => "a discovered service",
            _ => "what it was",
        }
    }
}

fn target(value: &Json) -> TargetParts {
    let Some((option, value)) = value.as_object().and_then(|map| map.iter().next()) else {
        return TargetParts { option: String::new(), leaves: Vec::new() };
    };
    let mut leaves = Vec::new();
    collect(option, value, &mut leaves);
    TargetParts { option: option.clone(), leaves }
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

/// The values of a target, each by its path below `spec`.
pub fn target_parts(value: &Json) -> Vec<(String, String)> {
    target(value).leaves
}

/// Whether a target keeps its option, in words.
pub fn target_words(before: &Json, after: &Json) -> Line<'static> {
    let (old, new) = (target(before), target(after));
    match old.option == new.option {
        true => line!["stays ", new.words()],
        false => line!["becomes ", new.words(), " instead of ", old.words()],
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

/// A place in words. Parts of a reference that only one side names were filled in by the service and
/// are not a difference.
fn place(value: &Json, other: Option<&Json>) -> Option<String> {
    let (option, inner) = value.as_object()?.iter().next()?;
    let reference = inner.pointer("/ref/0")?;
    let named = |key: &str| reference.get(key).and_then(Json::as_str);
    let across = other.and_then(|other| other.as_object()?.values().next()?.pointer("/ref/0"));
    let mut words = format!("{} {}", option.replace('_', " "), reference_name(reference));
    for key in ["tenant", "uid"] {
        let compared = across.is_none_or(|across| across.get(key).is_some());
        if let (Some(text), true) = (named(key), compared) {
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

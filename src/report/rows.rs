//! What a change says, as rows of a name and a text: the target by its option, a place in words, a
//! prefix set by what comes and goes. Every report draws these rows in its own way; the texts are as
//! the files and the service wrote them, so whoever draws them escapes them.

use std::collections::BTreeSet;

use crate::model::{Endpoint, Field, Json, SourceLocation, StringMap};
use crate::plan::{Attribution, Cause, FieldChange};

/// Values longer than this, in characters, get a difference by lines.
const LONG: usize = 60;

/// One row under a change.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldRow {
    /// The field, by the name that a file gives it.
    pub name: String,
    /// What becomes of it.
    pub text: RowText,
    /// Where the definition says it.
    pub place: Option<SourceLocation>,
    /// Why it differs; nothing for what a whole object brings along.
    pub cause: Option<Cause>,
    /// Whose change it is.
    pub attribution: Option<Attribution>,
}

/// What becomes of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowText {
    /// A value that comes with its object.
    Value(String),
    /// One value becomes another; nothing is absence.
    Moved {
        /// The live value.
        before: Option<String>,
        /// The wanted value.
        after: Option<String>,
    },
    /// In words.
    Words(String),
    /// A value of several lines, or a long one, becomes another.
    Lines {
        /// The live value.
        before: String,
        /// The wanted value.
        after: String,
    },
}

/// The rows of an endpoint that appears: everything that is not the service's default.
#[must_use]
pub fn of_endpoint(endpoint: &Endpoint) -> Vec<FieldRow> {
    let plain = |name: &str, text: String| FieldRow {
        name: name.to_owned(),
        text: RowText::Value(text),
        place: None,
        cause: None,
        attribution: None,
    };
    let mut rows: Vec<FieldRow> = target(&Field::Target.value(endpoint))
        .leaves
        .into_iter()
        .map(|(name, text)| plain(&format!("spec.{name}"), text))
        .collect();
    // The address is whole with its port.
    let first = [Field::Port, Field::Protocol];
    let others = Field::FIXED.into_iter().filter(|field| {
        !matches!(field, Field::Description | Field::Disable | Field::Target | Field::Port | Field::Protocol)
    });
    for field in first.into_iter().chain(others) {
        if !field.is_default(endpoint) {
            let value = field.value(endpoint);
            rows.push(plain(&name(&field), of_value(&field, &value, None).unwrap_or_default()));
        }
    }
    for (name, map) in [("labels", &endpoint.labels), ("annotations", &endpoint.annotations)] {
        if !map.is_empty() {
            rows.push(plain(name, pairs(map)));
        }
    }
    if !endpoint.description.is_empty() {
        rows.push(plain("description", endpoint.description.clone()));
    }
    if endpoint.disable {
        rows.push(plain("disable", "true".to_owned()));
    }
    rows
}

/// The rows of one field that changes.
#[must_use]
pub fn of_field(change: &FieldChange) -> Vec<FieldRow> {
    let FieldChange { field, before, after, cause, attribution: side, place } = change;
    let texts = match field {
        Field::Target => of_target(before, after),
        Field::SnatPool => vec![(name(field), of_prefixes(before, after))],
        _ => vec![(name(field), moved(of_value(field, before, Some(after)), of_value(field, after, Some(before))))],
    };
    texts
        .into_iter()
        .map(|(name, text)| FieldRow { name, text, place: place.clone(), cause: Some(*cause), attribution: *side })
        .collect()
}

/// The value of a field as words; nothing is absence.
#[must_use]
pub fn words(field: &Field, value: &Json) -> Option<String> {
    match field {
        Field::Target => {
            let target = target(value);
            (!target.option.is_empty()).then(|| format!("{} {}", target.option, target.text()))
        }
        _ => of_value(field, value, None),
    }
}

/// The field by the name under which a report shows it.
fn name(field: &Field) -> String {
    match field {
        Field::Where => "where".to_owned(),
        field => field.to_string(),
    }
}

fn moved(before: Option<String>, after: Option<String>) -> RowText {
    let long = |text: &Option<String>| text.as_ref().is_some_and(|text| is_long(text));
    match (before, after) {
        (before, after) if long(&before) || long(&after) => {
            RowText::Lines { before: before.unwrap_or_default(), after: after.unwrap_or_default() }
        }
        (before, after) => RowText::Moved { before, after },
    }
}

/// Whether a value is better read by lines.
#[must_use]
pub fn is_long(text: &str) -> bool {
    text.contains('\n') || text.chars().count() > LONG
}

fn of_value(field: &Field, value: &Json, other: Option<&Json>) -> Option<String> {
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

fn pairs(map: &StringMap) -> String {
    map.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

/// A target taken apart: its option, and what it holds.
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

/// What a target holds, each part by its path below `spec`.
pub(super) fn target_parts(value: &Json) -> Vec<(String, String)> {
    target(value).leaves
}

fn of_target(before: &Json, after: &Json) -> Vec<(String, RowText)> {
    let (old, new) = (target(before), target(after));
    if old.option != new.option {
        let name = format!("spec.{}", old.option);
        let after = format!("spec.{} {}", new.option, new.text());
        let instead = format!("becomes {} instead of {}", new.words(), old.words());
        return vec![
            (name, RowText::Moved { before: Some(old.text()), after: Some(after) }),
            ("target".to_owned(), RowText::Words(instead)),
        ];
    }
    let value = |target: &TargetParts, name: &str| {
        target.leaves.iter().find(|(leaf, _)| leaf == name).map(|(_, text)| text.clone())
    };
    let names: BTreeSet<&String> = old.leaves.iter().chain(&new.leaves).map(|(name, _)| name).collect();
    let mut rows: Vec<(String, RowText)> = names
        .into_iter()
        .filter(|name| value(&old, name) != value(&new, name))
        .map(|name| (format!("spec.{name}"), moved(value(&old, name), value(&new, name))))
        .collect();
    rows.push(("target".to_owned(), RowText::Words(format!("stays {}", new.words()))));
    rows
}

/// The prefixes of a pool; nothing without a pool.
pub(super) fn prefixes(value: &Json) -> Option<BTreeSet<String>> {
    let pool = value.get("snat_pool")?.as_object()?;
    let lists = ["prefixes", "ipv6_prefixes"].into_iter().filter_map(|key| pool.get(key)?.as_array());
    Some(lists.flatten().filter_map(Json::as_str).map(str::to_owned).collect())
}

fn of_prefixes(before: &Json, after: &Json) -> RowText {
    let (Some(old), Some(new)) = (prefixes(before), prefixes(after)) else {
        return moved(of_value(&Field::SnatPool, before, None), of_value(&Field::SnatPool, after, None));
    };
    let list = |set: Vec<&String>| set.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let come = new.difference(&old).collect::<Vec<_>>();
    let go = old.difference(&new).collect::<Vec<_>>();
    let stay = old.intersection(&new).count();
    let mut parts = Vec::new();
    if !come.is_empty() {
        parts.push(format!("adds {}", list(come)));
    }
    if !go.is_empty() {
        parts.push(format!("removes {}", list(go)));
    }
    parts.push(format!("{stay} {}", if stay == 1 { "stays" } else { "stay" }));
    RowText::Words(parts.join("; "))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(field: Field, before: Json, after: Json) -> FieldChange {
        FieldChange { field, before, after, cause: Cause::Pending, attribution: None, place: None }
    }

    fn lines(field: Field, before: Json, after: Json) -> Vec<String> {
        of_field(&change(field, before, after))
            .into_iter()
            .map(|row| match row.text {
                RowText::Value(text) | RowText::Words(text) => format!("{}: {text}", row.name),
                RowText::Moved { before, after } => format!("{}: {before:?} -> {after:?}", row.name),
                RowText::Lines { before, after } => format!("{}: {before} => {after}", row.name),
            })
            .collect()
    }

    #[test]
    fn a_target_that_keeps_its_option_is_reported_by_its_value() {
        let rows = lines(Field::Target, json!({"ip": "10.9.9.9"}), json!({"ip": "10.0.0.7"}));
        assert_eq!(rows, [r#"spec.ip: Some("10.9.9.9") -> Some("10.0.0.7")"#, "target: stays an IP address"]);
    }

    #[test]
    fn a_target_that_changes_its_option_is_reported_by_both() {
        let rows = lines(Field::Target, json!({"dns_name": "a.example.net"}), json!({"ip": "10.0.0.7"}));
        assert_eq!(
            rows,
            [
                r#"spec.dns_name: Some("a.example.net") -> Some("spec.ip 10.0.0.7")"#,
                "target: becomes an IP address instead of a host name",
            ]
        );
    }

    #[test]
    fn only_the_part_of_a_target_that_changes_is_reported() {
        let before = json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 30}});
        let after = json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 60}});
        let rows = lines(Field::Target, before, after);
        assert_eq!(rows[0], r#"spec.dns_name_advanced.refresh_interval: Some("30") -> Some("60")"#);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_place_is_reported_in_words_without_what_the_service_filled_in() {
        let live = json!({"site": {"ref": [{"name": "ce01", "namespace": "system", "tenant": "acme-x", "uid": "7"}],
            "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}});
        let wanted = json!({"virtual_site": {"ref": [{"name": "edge", "namespace": "shared"}],
            "network_type": "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE", "enable_internet_vip": {}}});
        assert_eq!(
            lines(Field::Where, live, wanted),
            [
                r#"where: site system/ce01, site-local network => virtual site shared/edge, site-local-inside network, with an Internet VIP"#
            ]
        );
    }

    #[test]
    fn a_prefix_set_is_reported_by_what_comes_and_goes() {
        let pool = |prefixes: &[&str]| json!({"snat_pool": {"prefixes": prefixes}});
        let rows = lines(Field::SnatPool, pool(&["10.1.0.0/16", "10.2.0.0/16"]), pool(&["10.2.0.0/16", "10.3.0.0/16"]));
        assert_eq!(rows, ["spec.snat_pool: adds 10.3.0.0/16; removes 10.1.0.0/16; 1 stays"]);
        let rows = lines(Field::SnatPool, json!({"no_snat_pool": {}}), pool(&["10.2.0.0/16"]));
        assert_eq!(rows, [r#"spec.snat_pool: Some("none") -> Some("10.2.0.0/16")"#]);
    }

    #[test]
    fn a_label_that_goes_is_reported_as_absence() {
        let rows = lines(Field::Label("tier".to_owned()), json!("db"), Json::Null);
        assert_eq!(rows, [r#"labels.tier: Some("db") -> None"#]);
    }
}

//! The rules for values, as the vendor's validators name them. Text formats that the sandbox does not know are not
//! checked.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::form;
use crate::kind::{self, Field, FieldKind, Flag, Part, Rule, Unit};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::{self, BodyPath};

/// Checks a value against the rules of this part of a field. An enumeration is checked by its number. For the vendor's
/// internal fields the service accepts any value.
pub fn check(field: &Field, part: Part, value: &Value, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
    let mut rules = field.rules.iter().filter(|(of, _)| *of == part && !field.is(Flag::Internal));
    let broken = rules.find_map(|(_, rule)| Some((rule, broken(rule, value)?)));
    let Some((rule, (name, constraint))) = broken else { return Ok(()) };
    let of = match (value, &field.kind) {
        (Value::String(_), _) => "string",
        (Value::Array(_), _) => "repeated",
        (Value::Object(_), FieldKind::Map(_)) => "map",
        (Value::Object(_), _) => "message",
        (_, FieldKind::Enum(_)) => "enum",
        (_, FieldKind::Integer { bits: 32, is_signed: false }) => "uint32",
        _ => "number",
    };
    let part = match part {
        Part::Value => "",
        Part::Items => "repeated.items.",
        Part::Keys => "map.keys.",
        Part::Values => "map.values.",
    };
    let (name, should) = (format!("{part}{of}.{name}"), should(field, rule, value));
    Err(place.breaks(&message::Rule::new(&name, &constraint, &should), in_words(field, value)))
}

/// What a value should be according to a rule.
fn should(field: &Field, rule: &Rule, value: &Value) -> String {
    match (rule, &field.kind) {
        (_, FieldKind::Enum(id)) if value.is_number() => {
            let names = kind::values(id).iter().filter(|(_, number)| broken(rule, &(*number).into()).is_none());
            format!("one of {}", names.map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
        (Rule::Pattern(pattern), _) => format!("a text that matches {pattern}"),
        (Rule::Unique | Rule::UniqueValues, _) => "without repetition".to_owned(),
        (Rule::UniqueNames, _) => "without two items of the same name".to_owned(),
        (Rule::Format(_), _) => {
            let problem = value.as_str().filter(|_| is_selector(rule)).and_then(|text| form::selector(text).err());
            problem.map_or_else(|| rule.words(), |problem| format!("{} ({problem})", rule.words()))
        }
        _ => rule.words(),
    }
}

fn is_selector(rule: &Rule) -> bool {
    matches!(rule, Rule::Format(forms) if forms.contains(&"k8s_label_selector"))
}

/// A value in a message; of an enumeration, its name.
fn in_words(field: &Field, value: &Value) -> String {
    match (value, &field.kind) {
        (Value::Number(number), FieldKind::Enum(id)) => {
            kind::word(id, &number.to_string()).map_or_else(|| number.to_string(), ToOwned::to_owned)
        }
        (Value::Array(items), _) if items.is_empty() => "nil".to_owned(),
        _ => written(value),
    }
}

/// The vendor's name and constraint of a rule, if the value breaks it.
fn broken(rule: &Rule, value: &Value) -> Option<(&'static str, String)> {
    let breaks = |is_broken: bool, name, constraint: &dyn Display| is_broken.then(|| (name, constraint.to_string()));
    let listed = |values: &[&str]| values.contains(&written(value).as_str());
    match rule {
        Rule::Range { unit, least, most } => {
            let amount = amount(*unit, value)?;
            let bound = |bound: Option<&str>| bound.and_then(|bound| bound.parse::<f64>().ok());
            let (low, high) = names(*unit);
            let below = bound(*least).filter(|least| amount < *least).map(|least| (low, least.to_string()));
            below.or_else(|| bound(*most).filter(|most| amount > *most).map(|most| (high, most.to_string())))
        }
        Rule::ItemCounts(counts) => {
            let is_broken = !counts.contains(&value.as_array()?.len().to_string().as_str());
            breaks(is_broken, "num_items", &counts.join(","))
        }
        Rule::Ranges(ranges) => breaks(!within(ranges, value.as_f64()?), "ranges", &ranges.join(",")),
        Rule::NotInRanges(ranges) => breaks(within(ranges, value.as_f64()?), "not_in_ranges", &ranges.join(",")),
        Rule::In(values) => breaks(!listed(values), "in", &format_args!("{values:?}")),
        Rule::NotIn(values) => breaks(listed(values), "not_in", &format_args!("{values:?}")),
        Rule::Const(only) => breaks(written(value) != *only, "const", only),
        Rule::Pattern(pattern) => {
            let is_broken = !kind::expression(pattern)?.is_match(value.as_str()?);
            breaks(is_broken, "pattern", pattern)
        }
        Rule::Format(forms) => {
            let text = value.as_str()?;
            forms.iter().find(|form| !has_form(form, text)).map(|form| (*form, "true".to_owned()))
        }
        Rule::Unique => breaks(repeats(value.as_array()?.iter()), "unique", &true),
        Rule::UniqueValues => breaks(repeats(value.as_object()?.values()), "unique_values", &true),
        Rule::UniqueNames => {
            let names = value.as_array()?.iter().filter_map(|item| item.pointer("/metadata/name"));
            breaks(repeats(names), "unique_metadata_name", &true)
        }
        Rule::OneNonzero => {
            let is_broken = value.as_object()?.values().all(is_zero);
            breaks(is_broken, "required_one_nonzero_field", &true)
        }
        // A number without a name is refused when it is read.
        Rule::DefinedOnly => None,
    }
}

/// Whether a value is that of an unset field.
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    }
}

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn names(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Number => ("gte", "lte"),
        Unit::Characters => ("min_len", "max_len"),
        Unit::Bytes => ("min_bytes", "max_bytes"),
        Unit::Items => ("min_items", "max_items"),
        Unit::Pairs => ("min_pairs", "max_pairs"),
        Unit::Ports => ("min_ports", "max_ports"),
        Unit::PrefixLength => ("min_ip_prefix_length", "max_ip_prefix_length"),
    }
}

fn amount(unit: Unit, value: &Value) -> Option<f64> {
    let count = match unit {
        Unit::Number => return value.as_f64(),
        Unit::Characters => value.as_str()?.chars().count(),
        Unit::Bytes => value.as_str()?.len(),
        Unit::Items => value.as_array()?.len(),
        Unit::Pairs => value.as_object()?.len(),
        Unit::Ports => value.as_str()?.split(',').filter_map(ports).sum(),
        Unit::PrefixLength => value.as_str()?.split_once('/')?.1.parse().ok()?,
    };
    Some(f64::from(u32::try_from(count).ok()?))
}

/// The number of ports in a range such as `80` or `80-90`.
fn ports(range: &str) -> Option<usize> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    last.checked_sub(first).map(|ports| ports + 1)
}

fn within(ranges: &[&str], number: f64) -> bool {
    ranges.iter().filter_map(|range| range.split_once("..")).any(|(first, last)| {
        first.parse().is_ok_and(|first: f64| first <= number) && last.parse().is_ok_and(|last: f64| number <= last)
    })
}

fn repeats<'v>(values: impl Iterator<Item = &'v Value>) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    !values.map(Value::to_string).all(|value| seen.insert(value))
}

fn has_form(form: &str, text: &str) -> bool {
    match form {
        "ip" => text.parse::<IpAddr>().is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "ipv4_prefix" => form::is_prefix::<Ipv4Addr>(text, 32),
        "ipv6_prefix" => form::is_prefix::<Ipv6Addr>(text, 128),
        "ip_prefix" => has_form("ipv4_prefix", text) || has_form("ipv6_prefix", text),
        "hostname" => form::is_hostname(text),
        "k8s_label_selector" => form::selector(text).is_ok(),
        _ => true,
    }
}

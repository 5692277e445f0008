//! The rules for the values of a field, beyond its type. A rule that cannot be evaluated with certainty does not refuse
//! a value: the service decides.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ipnet::IpNet;
use regex::Regex;
use serde_json::{Number, Value as Json};

use super::form;
use super::{Field, values};

/// Which part of a field a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The value itself.
    Value,
    /// Each item of a list.
    Items,
    /// Each key of a map.
    Keys,
    /// Each value of a map.
    Values,
}

/// One rule of the vendor.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// The bounds of a number, or of an amount.
    Range {
        /// What is compared.
        unit: Unit,
        /// The least allowed.
        least: Option<&'static str>,
        /// The most allowed.
        most: Option<&'static str>,
    },
    /// A list with one of these numbers of items.
    ItemCounts(Vec<&'static str>),
    /// Numbers in one of these ranges.
    Ranges(Vec<&'static str>),
    /// Numbers in none of these ranges.
    NotInRanges(Vec<&'static str>),
    /// One of these values; for an enumeration, these are numbers.
    In(Vec<&'static str>),
    /// None of these values.
    NotIn(Vec<&'static str>),
    /// This value.
    Const(&'static str),
    /// A regular expression in RE2's syntax, not anchored.
    Pattern(&'static str),
    /// A text that has all of these formats, by the vendor's names, such as `hostname`.
    Format(Vec<&'static str>),
    /// No item twice.
    Unique,
    /// No two equal values in a map.
    UniqueValues,
    /// No two items with the same `metadata.name`.
    UniqueNames,
    /// Only numbers that the enumeration names.
    DefinedOnly,
    /// At least one field below is set.
    OneNonzero,
}

/// What a range limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The number itself.
    Number,
    /// Characters of a text.
    Characters,
    /// Bytes of a text.
    Bytes,
    /// Items of a list.
    Items,
    /// Entries of a map.
    Pairs,
    /// Ports of a text with ranges of ports.
    Ports,
    /// The length of the prefix of an address.
    PrefixLength,
}

impl Part {
    /// A rule of this part in words.
    pub fn words(self, rule: &str) -> String {
        match self {
            Part::Value => rule.to_owned(),
            Part::Items => format!("each item {rule}"),
            Part::Keys => format!("each key {rule}"),
            Part::Values => format!("each value {rule}"),
        }
    }
}

impl Rule {
    /// How a value of this field breaks the rule, as the end of a sentence; `None` where it does not, or where that is
    /// uncertain.
    pub fn broken(&self, field: &Field, value: &Json) -> Option<String> {
        let word = || word(field, value);
        match (self, value) {
            // The key of a map, which is always a text in JSON.
            (_, Json::String(key)) if self.is_about_numbers() => {
                match key.parse::<u32>().ok().filter(|number| number.to_string() == *key) {
                    Some(number) => self.broken(field, &number.into()).map(|_| "is out of range".to_owned()),
                    None => Some("is not a plain number".to_owned()),
                }
            }
            (Rule::Range { unit, least, most }, _) => {
                let amount = amount(*unit, value)?;
                let is_below = least.and_then(|least| compare(amount, least)) == Some(Ordering::Less);
                let is_above = most.and_then(|most| compare(amount, most)) == Some(Ordering::Greater);
                (is_below || is_above).then(|| said_of_amount(*unit, value, amount))
            }
            (Rule::ItemCounts(counts), Json::Array(items)) => {
                (!counts.contains(&items.len().to_string().as_str())).then(|| format!("has {} items", items.len()))
            }
            (Rule::Ranges(ranges), _) => (!is_in(ranges, &word()?)?).then(|| "is in none of the ranges".to_owned()),
            (Rule::NotInRanges(ranges), _) => is_in(ranges, &word()?)?.then(|| "is in one of the ranges".to_owned()),
            (Rule::In(values), _) => (!values.contains(&&*word()?)).then(|| said(value)),
            (Rule::NotIn(values), _) => values.contains(&&*word()?).then(|| said(value)),
            (Rule::Const(only), _) => (*only != word()?).then(|| said(value)),
            (Rule::Pattern(pattern), Json::String(text)) => {
                (!expression(pattern)?.is_match(text)).then(|| "does not match".to_owned())
            }
            (Rule::Format(forms), Json::String(text)) => {
                let (form, fault) = forms.iter().find_map(|form| Some((form, form::fault(form, text)?)))?;
                let why = if fault.is_empty() { fault } else { format!(": {fault}") };
                Some(format!("is not a valid {}{why}", form::words(form)))
            }
            (Rule::Unique, Json::Array(items)) if items.len() > 1 => {
                let items = items.iter().filter(|item| !item.is_null()).map(|item| field.canonical(item, None));
                twice(items).then(|| "has an item twice".to_owned())
            }
            (Rule::UniqueValues, Json::Object(entries)) => {
                twice(entries.values()).then(|| "has a value twice".to_owned())
            }
            (Rule::UniqueNames, Json::Array(items)) => {
                twice(items.iter().filter_map(|item| item.get("metadata")?.get("name")))
                    .then(|| "has two items with the same name".to_owned())
            }
            (Rule::OneNonzero, Json::Object(entries)) => {
                let below = |key: &str| field.message()?.field(key);
                let is_set = |(key, value): (&String, &Json)| !below(key).is_some_and(|field| field.is_unset(value));
                (!entries.iter().any(is_set)).then(|| "has no field that is set".to_owned())
            }
            _ => None,
        }
    }

    /// Whether it depends on the content of the parts of a value, not on their number.
    pub fn is_about_parts(&self) -> bool {
        matches!(self, Rule::Unique | Rule::UniqueValues | Rule::UniqueNames | Rule::OneNonzero)
    }

    /// Whether it is about a number itself.
    pub fn is_about_numbers(&self) -> bool {
        matches!(self, Rule::Range { unit: Unit::Number, .. } | Rule::Ranges(_) | Rule::NotInRanges(_))
    }

    /// A description of texts that satisfy it; empty where the rule itself is enough.
    pub fn example(&self) -> &'static str {
        match self {
            Rule::Format(forms) => forms.first().map_or("", |form| form::example(form)),
            _ => "",
        }
    }

    /// The rule in words.
    pub fn words(&self) -> String {
        match self {
            Rule::Range { unit, least, most } => range(*unit, *least, *most),
            Rule::ItemCounts(counts) => format!("exactly {} items", counts.join(" or ")),
            Rule::Ranges(ranges) => format!("one of the ranges {}", ranges.join(", ").replace("..", " to ")),
            Rule::NotInRanges(ranges) => format!("in none of the ranges {}", ranges.join(", ").replace("..", " to ")),
            Rule::In(values) => format!("one of {}", values.join(", ")),
            Rule::NotIn(values) => format!("none of {}", values.join(", ")),
            Rule::Const(value) => format!("exactly {value}"),
            Rule::Pattern(pattern) => format!("matches {pattern}"),
            Rule::Format(forms) => {
                let forms: Vec<String> = forms.iter().map(|form| form::words(form)).collect();
                format!("a valid {}", forms.join(" and "))
            }
            Rule::Unique => "no item twice".to_owned(),
            Rule::UniqueValues => "no value twice".to_owned(),
            Rule::UniqueNames => "no two items with the same name".to_owned(),
            Rule::DefinedOnly => "a known value".to_owned(),
            Rule::OneNonzero => "at least one field that is set".to_owned(),
        }
    }
}

/// The compiled pattern of a rule, cached and shared, because a clone would build its own caches. `None` where the
/// library does not support the syntax.
pub fn expression(pattern: &'static str) -> Option<Arc<Regex>> {
    type Patterns = HashMap<&'static str, Option<Arc<Regex>>>;
    static ALL: LazyLock<RwLock<Patterns>> = LazyLock::new(RwLock::default);
    let known = ALL.read().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned();
    known.unwrap_or_else(|| {
        let made = Regex::new(pattern).ok().map(Arc::new);
        ALL.write().unwrap_or_else(PoisonError::into_inner).insert(pattern, made.clone());
        made
    })
}

/// The amount that a range limits.
fn amount(unit: Unit, value: &Json) -> Option<f64> {
    let count = match (unit, value) {
        (Unit::Number, Json::Number(number)) => return number.as_f64(),
        (Unit::Characters, Json::String(text)) => text.chars().count(),
        (Unit::Bytes, Json::String(text)) => text.len(),
        (Unit::Items, Json::Array(items)) => items.len(),
        (Unit::Pairs, Json::Object(entries)) => entries.len(),
        (Unit::Ports, Json::String(text)) => text.split(',').map(ports).sum::<Option<usize>>()?,
        (Unit::PrefixLength, Json::String(text)) => text.parse::<IpNet>().ok()?.prefix_len().into(),
        _ => return None,
    };
    Some(count as f64)
}

/// How many ports a range such as `80-90` or `80` has.
fn ports(range: &str) -> Option<usize> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let [first, last] = [first, last].map(|port| port.trim().parse::<u16>().ok());
    Some((first?..=last?).len())
}

/// The message about an amount that is out of range.
fn said_of_amount(unit: Unit, value: &Json, amount: f64) -> String {
    match (unit, value) {
        (Unit::Number, Json::Number(number)) => format!("is {}", shortest(number)),
        (Unit::Characters | Unit::Bytes, _) if amount == 0.0 => "is empty".to_owned(),
        (Unit::Characters, _) => format!("is {amount} characters long"),
        (Unit::Bytes, _) => format!("is {amount} bytes long"),
        (Unit::Items, _) => format!("has {amount} items"),
        (Unit::Ports, _) => format!("has {amount} ports"),
        (Unit::PrefixLength, _) => format!("has a prefix of {amount} bits"),
        _ => format!("has {amount} entries"),
    }
}

fn compare(amount: f64, bound: &str) -> Option<Ordering> {
    amount.partial_cmp(&bound.parse().ok()?)
}

/// Whether a number is in one of the ranges, each written `1..5`.
fn is_in(ranges: &[&str], number: &str) -> Option<bool> {
    let number: i128 = number.parse().ok()?;
    let is_within = |range: &&str| {
        let (first, last) = range.split_once("..")?;
        Some((first.parse().ok()?..=last.parse().ok()?).contains(&number))
    };
    Some(ranges.iter().any(|range| is_within(range).unwrap_or(true)))
}

/// The message about a scalar that is not allowed.
fn said(value: &Json) -> String {
    match value {
        Json::String(text) => format!("is `{text}`"),
        Json::Number(number) => format!("is `{}`", shortest(number)),
        other => format!("is `{other}`"),
    }
}

/// A scalar as rules write it: a word of an enumeration as its number.
fn word<'v>(field: &Field, value: &'v Json) -> Option<Cow<'v, str>> {
    match (field.enumeration(), value) {
        (Some(id), Json::String(name)) => {
            let (_, number) = values(id).iter().find(|(known, _)| known == name)?;
            Some(number.as_ref()?.to_string().into())
        }
        (_, Json::String(text)) => Some(text.into()),
        (_, Json::Bool(flag)) => Some(flag.to_string().into()),
        (_, Json::Number(number)) => Some(shortest(number).into()),
        (_, Json::Null | Json::Array(_) | Json::Object(_)) => None,
    }
}

/// A number without a fraction of zero: `1`, not `1.0`.
fn shortest(number: &Number) -> String {
    number.as_f64().filter(|_| number.is_f64()).map_or_else(|| number.to_string(), |number| number.to_string())
}

fn twice<V: Hash + Eq>(mut values: impl Iterator<Item = V>) -> bool {
    let mut seen = HashSet::new();
    !values.all(|value| seen.insert(value))
}

fn range(unit: Unit, least: Option<&'static str>, most: Option<&str>) -> String {
    let (one, many) = match unit {
        Unit::Number => ("", ""),
        Unit::Characters => (" character", " characters"),
        Unit::Bytes => (" byte", " bytes"),
        Unit::Items => (" item", " items"),
        Unit::Pairs => (" entry", " entries"),
        Unit::Ports => (" port", " ports"),
        Unit::PrefixLength => (" bit of prefix", " bits of prefix"),
    };
    let word = |number: &str| if number == "1" { one } else { many };
    match (least, most) {
        (Some(least), Some(most)) if least == most => format!("exactly {least}{}", word(most)),
        (Some(least), Some(most)) => format!("{least} to {most}{}", word(most)),
        (Some(least), None) => format!("at least {least}{}", word(least)),
        (None, Some(most)) => format!("at most {most}{}", word(most)),
        (None, None) => String::new(),
    }
}

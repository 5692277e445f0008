//! What is allowed in a field, beyond its type. A rule of which the program is not sure is broken by nothing: the service
//! decides.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::Regex;

use super::Value;
use super::form::{self, has_form};

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
    /// From and to: of a number, or of how much there must be of something.
    Range {
        /// What is compared.
        unit: Unit,
        /// The least allowed.
        least: Option<&'static str>,
        /// The most allowed.
        most: Option<&'static str>,
    },
    /// So many items of a list: one of these numbers.
    ItemCounts(Vec<&'static str>),
    /// Numbers in one of these ranges.
    Ranges(Vec<&'static str>),
    /// Numbers in none of these ranges.
    NotInRanges(Vec<&'static str>),
    /// One of these values; of an enumeration the numbers.
    In(Vec<&'static str>),
    /// None of these values.
    NotIn(Vec<&'static str>),
    /// This value.
    Const(&'static str),
    /// A regular expression in RE2's syntax, not anchored.
    Pattern(&'static str),
    /// The vendor's names for forms of text, such as `hostname`, all of which it has.
    Format(Vec<&'static str>),
    /// No item twice.
    Unique,
    /// No two values of a map alike.
    UniqueValues,
    /// No two items with the same `metadata.name`.
    UniqueNames,
    /// Only numbers that the enumeration names.
    DefinedOnly,
    /// At least one field below is set.
    OneNonzero,
}

/// What a range is about.
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
    /// What of the value breaks the rule, as the end of a sentence; nothing where it does not, or the program is not sure.
    pub fn broken(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Rule::Range { unit, least, most }, _) => {
                let amount = amount(*unit, value)?;
                let is_below = least.and_then(|least| compare(amount, least)) == Some(Ordering::Less);
                let is_above = most.and_then(|most| compare(amount, most)) == Some(Ordering::Greater);
                (is_below || is_above).then(|| said_of_amount(*unit, value, amount))
            }
            (Rule::ItemCounts(counts), Value::List(items)) => {
                (!counts.contains(&items.len().to_string().as_str())).then(|| format!("has {} items", items.len()))
            }
            (Rule::Ranges(ranges), _) => (!is_in(ranges, value)?).then(|| "is in none of the ranges".to_owned()),
            (Rule::NotInRanges(ranges), _) => is_in(ranges, value)?.then(|| "is in one of the ranges".to_owned()),
            (Rule::In(values), _) => said(value).filter(|_| word(value).is_some_and(|word| !values.contains(&&*word))),
            (Rule::NotIn(values), _) => {
                said(value).filter(|_| word(value).is_some_and(|word| values.contains(&&*word)))
            }
            (Rule::Const(only), _) => said(value).filter(|_| word(value).is_some_and(|word| *only != word)),
            (Rule::Pattern(pattern), Value::Text(text)) => {
                (!expression(pattern)?.is_match(text)).then(|| "does not match".to_owned())
            }
            (Rule::Format(forms), Value::Text(text)) => {
                let other = forms.iter().find(|form| has_form(form, text) == Some(false))?;
                Some(format!("is not a valid {}", form::words(other)))
            }
            (Rule::Unique, Value::List(items)) => twice(items.iter()).then(|| "has an item twice".to_owned()),
            (Rule::UniqueValues, Value::Map(entries)) => {
                twice(entries.values()).then(|| "has a value twice".to_owned())
            }
            (Rule::UniqueNames, Value::List(items)) => {
                twice(items.iter().filter_map(name)).then(|| "has two items with the same name".to_owned())
            }
            (Rule::OneNonzero, Value::Map(entries)) => {
                entries.values().all(Value::is_absent).then(|| "has no field that is set".to_owned())
            }
            _ => None,
        }
    }

    /// Whether it is about what the parts of a value are, and not about how many there are.
    pub fn is_about_parts(&self) -> bool {
        matches!(self, Rule::Unique | Rule::UniqueValues | Rule::UniqueNames | Rule::OneNonzero)
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

/// The expression of a pattern of a rule, which is made once; a copy of it would make its caches anew. Nothing where the
/// syntax is not that of the library.
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

/// How much a range is about.
fn amount(unit: Unit, value: &Value) -> Option<f64> {
    let count = match (unit, value) {
        (Unit::Number, Value::Integer(number)) => return Some(*number as f64),
        (Unit::Number, Value::Number(number)) => return number.parse().ok(),
        (Unit::Characters, Value::Text(text)) => text.chars().count(),
        (Unit::Bytes, Value::Text(text)) => text.len(),
        (Unit::Items, Value::List(items)) => items.len(),
        (Unit::Pairs, Value::Map(entries)) => entries.len(),
        _ => return None,
    };
    Some(count as f64)
}

/// What is said of an amount that is out of range.
fn said_of_amount(unit: Unit, value: &Value, amount: f64) -> String {
    match (unit, value) {
        (Unit::Number, Value::Integer(number)) => format!("is {number}"),
        (Unit::Number, Value::Number(number)) => format!("is {number}"),
        (Unit::Characters, _) => format!("is {amount} characters long"),
        (Unit::Bytes, _) => format!("is {amount} bytes long"),
        (Unit::Items, _) => format!("has {amount} items"),
        _ => format!("has {amount} entries"),
    }
}

fn compare(amount: f64, bound: &str) -> Option<Ordering> {
    amount.partial_cmp(&bound.parse().ok()?)
}

/// Whether a number is in one of the ranges, each written `1..5`.
fn is_in(ranges: &[&str], value: &Value) -> Option<bool> {
    let number: i128 = word(value)?.parse().ok()?;
    let is_within = |range: &&str| {
        let (first, last) = range.split_once("..")?;
        Some((first.parse().ok()?..=last.parse().ok()?).contains(&number))
    };
    Some(ranges.iter().any(|range| is_within(range).unwrap_or(true)))
}

/// What a scalar is.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::Word(name, _) => Some(format!("is `{name}`")),
        other => word(other).map(|word| format!("is `{word}`")),
    }
}

/// A scalar as the description writes it: a name of an enumeration by its number.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::Flag(flag) => Some(flag.to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Number(text) | Value::Text(text) => Some(text.clone()),
        Value::Word(_, number) => number.map(|number| number.to_string()),
        Value::List(_) | Value::Map(_) | Value::Any(_) => None,
    }
}

fn name(item: &Value) -> Option<&Value> {
    let Value::Map(item) = item else { return None };
    let Value::Map(metadata) = item.get("metadata")? else { return None };
    metadata.get("name")
}

fn twice<'v>(mut values: impl Iterator<Item = &'v Value>) -> bool {
    let mut seen = BTreeSet::new();
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

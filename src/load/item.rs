//! A document with its aliases resolved and its merge keys applied: the values that a decoder reads,
//! each with the place where it is written and its origin.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Number;

use super::diagnostic::Diagnostic;
use super::text::{Position, SourceText};
use super::tree::{AliasTarget, NodeId, NodeShape, TextStyle, Tree};
use crate::kind::{self, KindName};
use crate::model::{Json, SourceLocation};

/// The most values of one document with all aliases resolved.
const MOST_ITEMS: usize = 200_000;
/// The most bytes of all its texts with all aliases resolved.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// The most levels with all aliases resolved.
const DEEPEST: usize = 64;

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSpan<'s> {
    pub(super) source: &'s SourceText,
    start: usize,
    end: usize,
}

impl<'s> TextSpan<'s> {
    pub(super) fn new(source: &'s SourceText, range: &Range<usize>) -> Self {
        Self { source, start: range.start, end: range.end }
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    pub(super) fn slice(&self) -> &'s str {
        self.source.as_str().get(self.range()).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Its beginning.
    pub(super) fn location(&self) -> SourceLocation {
        let Position { line, column } = self.source.position(self.start);
        SourceLocation { file: self.source.path.to_string(), line, column }
    }

    pub(super) fn error(&self, message: impl AsRef<str>, label: impl AsRef<str>) -> Diagnostic {
        Diagnostic::error(message, self.source, self.range(), label)
    }
}

/// How a value got to the place where it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOrigin {
    /// It is written there.
    Written,
    /// It is written there and carries an anchor, so that aliases elsewhere read it too.
    Anchored,
    /// An alias names it.
    Alias,
    /// It comes from a merge key.
    Merged,
    /// It contains a variable.
    Variable,
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Item<'s> {
    pub(super) value: Value<'s>,
    pub(super) span: TextSpan<'s>,
    pub(super) origin: ValueOrigin,
    /// Written in flow style, or a scalar on one line: its own place can be marked.
    pub(super) compact: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Value<'s> {
    Text(Cow<'s, str>, TextStyle),
    List(Vec<Item<'s>>),
    Map(Vec<MapEntry<'s>>),
    /// A problem of the value was reported already, so no further one is.
    Refused,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct MapEntry<'s> {
    pub(super) key: Cow<'s, str>,
    pub(super) key_at: TextSpan<'s>,
    pub(super) item: Item<'s>,
}

impl<'s> MapEntry<'s> {
    /// The place that marks the value: an empty or long one is marked by its key.
    pub(super) fn value_at(&self) -> TextSpan<'s> {
        if self.item.compact && !self.item.span.is_empty() { self.item.span } else { self.key_at }
    }
}

impl<'s> Item<'s> {
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Text(text, TextStyle::Plain) if is_null(text))
    }

    pub(super) fn entries(&self) -> &[MapEntry<'s>] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Text(..) | Value::List(_) | Value::Refused => &[],
        }
    }

    pub(super) fn items(&self) -> &[Item<'s>] {
        match &self.value {
            Value::List(items) => items,
            Value::Text(..) | Value::Map(_) | Value::Refused => &[],
        }
    }

    /// The value of `key`; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Item<'s>> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.item).filter(|item| !item.is_null())
    }

    /// Visits the entries that are `null`, at any depth of its mappings.
    pub(super) fn each_null(&self, take: &mut dyn FnMut(&MapEntry<'s>)) {
        for entry in self.entries() {
            if entry.item.is_null() {
                take(entry);
            }
            entry.item.each_null(take);
        }
    }

    /// The number of values in it, including itself.
    pub(super) fn size(&self) -> usize {
        1 + match &self.value {
            Value::Text(..) | Value::Refused => 0,
            Value::List(items) => items.iter().map(Item::size).sum(),
            Value::Map(entries) => entries.iter().map(|entry| entry.item.size()).sum::<usize>(),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text, _) => Some(text),
            Value::List(_) | Value::Map(_) | Value::Refused => None,
        }
    }

    /// The kind of a document, unless it is an endpoint.
    pub(super) fn described(&self) -> Option<KindName> {
        self.get("kind")?.text().and_then(KindName::find).filter(|kind| !kind.is_endpoint())
    }

    /// The key of a document, as text.
    pub(super) fn names(&self) -> Option<String> {
        let part = |key: &str| self.get("metadata")?.get(key)?.text();
        let kind = self.get("kind").and_then(Item::text).filter(|kind| *kind != kind::ENDPOINT);
        let kind = kind.map(|kind| format!("{kind}:")).unwrap_or_default();
        Some(format!("{kind}{}/{}", part("namespace")?, part("name")?))
    }

    /// Its type, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(..) if self.is_null() => "null",
            Value::Text(_, TextStyle::Plain) => "a scalar",
            Value::Text(..) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Refused => "refused",
        }
    }

    /// Gives every value in it the place `at`.
    pub(super) fn moved(mut self, at: TextSpan<'s>, origin: ValueOrigin) -> Self {
        self.span = at;
        self.origin = origin;
        self.compact = true;
        self.value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(|item| item.moved(at, origin)).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|entry| MapEntry { key: entry.key, key_at: at, item: entry.item.moved(at, origin) })
                    .collect(),
            ),
            other @ (Value::Text(..) | Value::Refused) => other,
        };
        self
    }
}

/// The ways to write null in the core schema.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The document's value; `None` where it is empty or too large.
pub(super) fn resolve<'s>(tree: &Tree<'s>, source: &'s SourceText, problems: &mut Vec<Diagnostic>) -> Option<Item<'s>> {
    let mut resolver = Resolver { tree, source, problems, items: 0, bytes: 0, reported: false };
    let item = resolver.item(tree.root?, 0, ValueOrigin::Written);
    // An incomplete document would only cause further problems.
    item.filter(|_| !resolver.reported)
}

struct Resolver<'t, 's, 'p> {
    tree: &'t Tree<'s>,
    source: &'s SourceText,
    problems: &'p mut Vec<Diagnostic>,
    items: usize,
    bytes: usize,
    reported: bool,
}

impl<'s> Resolver<'_, 's, '_> {
    fn at(&self, id: NodeId) -> TextSpan<'s> {
        TextSpan::new(self.source, &self.tree.node(id).range)
    }

    /// Whether one more value fits into the limits at this depth; the first that does not fit is reported.
    fn room(&mut self, id: NodeId, depth: usize) -> bool {
        self.items += 1;
        if let NodeShape::Scalar { text, .. } = &self.tree.node(id).shape {
            self.bytes += text.len();
        }
        if self.items <= MOST_ITEMS && self.bytes <= MOST_BYTES && depth <= DEEPEST {
            return true;
        }
        if !self.reported {
            self.reported = true;
            let what = "the aliases of the document expand to more values than allowed";
            self.problems.push(self.at(id).error(what, "write the values out"));
        }
        false
    }

    fn item(&mut self, id: NodeId, depth: usize, origin: ValueOrigin) -> Option<Item<'s>> {
        if !self.room(id, depth) {
            return None;
        }
        let node = self.tree.node(id);
        let at = self.at(id);
        if let Some(tag) = &node.unknown_tag {
            self.problems.push(at.error(format!("the tag `{tag}` means nothing here"), "remove the tag"));
        }
        let own = if node.anchored && origin == ValueOrigin::Written { ValueOrigin::Anchored } else { origin };
        let (value, compact) = match &node.shape {
            NodeShape::Scalar { text, style } => (Value::Text(text.clone(), *style), !at.slice().contains('\n')),
            NodeShape::Alias { target: AliasTarget::Node(target) } => {
                let origin = if origin == ValueOrigin::Merged { origin } else { ValueOrigin::Alias };
                let item = self.item(*target, depth + 1, origin)?;
                // The place is that of the alias: its anchor may be far away.
                return Some(Item { span: at, compact: true, ..item });
            }
            NodeShape::Alias { target: AliasTarget::Around } => {
                self.problems.push(at.error("the alias is inside the value that it names", "write the value out"));
                (Value::Refused, true)
            }
            NodeShape::Alias { target: AliasTarget::Missing(name) } => {
                let what = format!("`*{name}` names no anchor of this document");
                self.problems.push(at.error(what, "define it before with `&`, or write a text in quotes"));
                (Value::Refused, true)
            }
            NodeShape::List { items } => {
                let items = items.iter().filter_map(|item| self.item(*item, depth + 1, own)).collect();
                (Value::List(items), node.flow && !at.slice().contains('\n'))
            }
            NodeShape::Map { entries } => {
                (Value::Map(self.entries(entries, depth, own)), node.flow && !at.slice().contains('\n'))
            }
        };
        Some(Item { value, span: at, origin: own, compact })
    }

    fn entries(&mut self, pairs: &[(NodeId, NodeId)], depth: usize, origin: ValueOrigin) -> Vec<MapEntry<'s>> {
        let mut entries: Vec<MapEntry<'s>> = Vec::with_capacity(pairs.len());
        let mut merges = Vec::new();
        let mut seen = HashMap::new();
        for (key_id, value_id) in pairs {
            let key_at = self.at(*key_id);
            let Some((key, style)) = self.tree.scalar(*key_id) else {
                self.problems.push(key_at.error("a key is a list or a mapping", "a key is a text"));
                continue;
            };
            if let Some(first) = seen.insert(key.clone(), key_at) {
                let diagnostic = key_at.error(format!("duplicate key `{key}`"), "second time here");
                self.problems.push(diagnostic.also(self.source, first.range(), "first time here"));
                continue;
            }
            let is_alias = matches!(self.tree.node(*key_id).shape, NodeShape::Alias { .. });
            if style == TextStyle::Plain
                && !is_alias
                && let Some(problem) = self.not_a_key(key, key_at, *value_id)
            {
                self.problems.push(problem);
                continue;
            }
            if key == "<<" && style == TextStyle::Plain && !is_alias {
                merges.push(*value_id);
                continue;
            }
            if let Some(item) = self.item(*value_id, depth + 1, origin) {
                entries.push(MapEntry { key: key.clone(), key_at, item });
            }
        }
        for merge in merges {
            self.merge(&mut entries, &mut seen, merge, depth);
        }
        entries
    }

    /// What is wrong with a plain key: it is missing, or its value was read as part of it, as in `{port:80}`.
    fn not_a_key(&self, key: &str, at: TextSpan<'s>, value: NodeId) -> Option<Diagnostic> {
        if at.is_empty() {
            return Some(at.error("a key is missing before the `:`", "here"));
        }
        let is_written =
            !self.tree.node(value).range.is_empty() || self.source.as_str()[at.range().end..].starts_with(':');
        let problem = || at.error(format!("`{key}` has no value"), "a space is missing after the first `:`");
        (!is_written && key.contains(':')).then(problem)
    }

    /// Adds the entries that a merge key names; existing entries stay, and the first of several mappings wins.
    fn merge(
        &mut self,
        entries: &mut Vec<MapEntry<'s>>,
        seen: &mut HashMap<Cow<'s, str>, TextSpan<'s>>,
        id: NodeId,
        depth: usize,
    ) {
        let Some(item) = self.item(id, depth + 1, ValueOrigin::Merged) else { return };
        let span = item.span;
        let values = match item.value {
            Value::List(items) => items.into_iter().map(|item| item.value).collect(),
            value => vec![value],
        };
        // A refused value, such as an alias without an anchor, was reported already.
        if values.iter().any(|value| !matches!(value, Value::Map(_) | Value::Refused)) {
            self.problems.push(span.error("`<<` merges a mapping or a list of mappings", "no mapping here"));
            return;
        }
        let maps = values.into_iter().map(|value| if let Value::Map(entries) = value { entries } else { Vec::new() });
        for entry in maps.flatten() {
            if seen.insert(entry.key.clone(), entry.key_at).is_none() {
                entries.push(entry);
            }
        }
    }
}

/// A value as JSON, typed by the core schema of YAML 1.2, without the keys that are null. A number that JSON cannot express,
/// or that YAML 1.1 reads as another number, is passed to `odd` and kept as a text.
pub(super) fn json<'i, 's>(item: &'i Item<'s>, odd: &mut dyn FnMut(&'i Item<'s>)) -> Json {
    match &item.value {
        Value::Text(text, TextStyle::Plain) => scalar(text).unwrap_or_else(|| {
            odd(item);
            Json::from(&**text)
        }),
        Value::Text(text, _) => Json::from(&**text),
        Value::List(items) => items.iter().map(|item| json(item, odd)).collect(),
        Value::Map(entries) => {
            let set = entries.iter().filter(|entry| !entry.item.is_null());
            set.map(|entry| (entry.key.to_string(), json(&entry.item, odd))).collect()
        }
        // The text as written, such as a variable of another environment.
        Value::Refused => Json::from(item.span.slice()),
    }
}

/// What a plain scalar means in the core schema of YAML 1.2.
fn scalar(text: &str) -> Option<Json> {
    static FLOAT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").expect("a constant"));
    match text {
        text if is_null(text) => return Some(Json::Null),
        "true" | "True" | "TRUE" => return Some(true.into()),
        "false" | "False" | "FALSE" => return Some(false.into()),
        _ if has_leading_zero(text) => return None,
        _ => {}
    }
    let is_not_finite = || {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
    };
    match integer_of(text, TextStyle::Plain) {
        Some(number) => Number::from_i128(number.ok()?).map(Json::Number),
        None if is_not_finite() => None,
        None if FLOAT.is_match(text) => Number::from_f64(text.parse().ok()?).map(Json::Number),
        None => Some(text.into()),
    }
}

/// Whether versions of YAML disagree about the number.
pub(super) fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The integer that a scalar means in YAML 1.2, or by quoted digits; `Err` where it is too large.
pub(super) fn integer_of(text: &str, style: TextStyle) -> Option<Result<i128, ()>> {
    let (digits, radix, negative) = if style == TextStyle::Plain {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
            (Some(hex), _) => (hex, 16, false),
            (_, Some(octal)) => (octal, 8, false),
            _ => (unsigned, 10, text.starts_with('-')),
        }
    } else {
        (text, 10, false)
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).map_err(|_| ());
    Some(number.map(|number| if negative { -number } else { number }))
}

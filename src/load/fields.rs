//! Reads the fields of a mapping one by one, remembers which ones were read, and reports problems with
//! each and unknown keys. The readers of definitions and settings use it.

use std::collections::BTreeMap;

use super::diagnostic::Diagnostic;
use super::item::{self, Item, MapEntry, TextSpan, Value, ValueOrigin, has_leading_zero, integer_of};
use super::suggestion::nearest;
use super::syntax::is_odd_blank;
use super::text::Language;
use super::tree::TextStyle;
use crate::kind::{self, Field, Flag, KindName, Message, camel, snake};
use crate::model::{Json, Segment};

/// Keys with which users try to put a secret into settings, which do not contain secrets.
const SECRETS: [&str; 4] = ["api_key", "api_token", "password", "token"];

/// Where a secret belongs instead.
const NO_SECRET: &str =
    "settings must not contain secrets: put the token in TRUEUP_TOKEN, or in a file for --token-file";

/// What is wrong with a quoted variable whose value must not be a text.
const IN_QUOTES: &str = "in quotes, a variable is a text: write it without, on a line of its own";

/// The most unknown keys of one mapping that are reported one by one, each with the allowed ones.
const MOST_UNKNOWN: usize = 50;

/// The most allowed fields that the problem of an unknown one lists.
pub const MOST_ALLOWED: usize = 20;

/// Why a value cannot be read; `None` where that was reported already.
pub(super) type Fault = Option<Diagnostic>;

/// A problem with the path of the value that it affects, so that problems which only follow are left out.
#[derive(Debug)]
pub(super) struct FieldProblem {
    pub(super) diagnostic: Fault,
    pub(super) path: Vec<Segment>,
}

/// A value and its place.
#[derive(Clone)]
pub(super) struct Place<'i, 's> {
    pub(super) item: &'i Item<'s>,
    pub(super) at: TextSpan<'i>,
    pub(super) path: Vec<Segment>,
}

impl<'i, 's> Place<'i, 's> {
    /// The place of a whole document.
    pub(super) fn root(item: &'i Item<'s>) -> Self {
        Self { item, at: item.span, path: Vec::new() }
    }

    pub(super) fn of(entry: &'i MapEntry<'s>, path: Vec<Segment>) -> Self {
        Self { item: &entry.item, at: entry.value_at(), path }
    }

    /// The place of an entry below this one, whose key the user chooses.
    pub(super) fn entry(&self, entry: &'i MapEntry<'s>) -> Self {
        Self::of(entry, self.join(Segment::Key(entry.key.clone().into_owned().into())))
    }

    /// The place of an item below this one.
    pub(super) fn item(&self, index: usize, item: &'i Item<'s>) -> Self {
        let at = if item.span.is_empty() { self.at } else { first_line(item) };
        Self { item, at, path: self.join(index) }
    }

    /// The path of a part of the value.
    pub(super) fn join(&self, segment: impl Into<Segment>) -> Vec<Segment> {
        let mut path = self.path.clone();
        path.push(segment.into());
        path
    }

    /// The nearest key, which names the value in messages.
    pub(super) fn name(&self) -> &str {
        self.path.iter().rev().find_map(Segment::key).unwrap_or("the document")
    }

    /// The problem that it has another type than the wanted one.
    pub(super) fn wrong(&self, wanted: &str) -> Fault {
        let Self { item, at, .. } = self;
        if let Value::Refused = item.value {
            return None;
        }
        let what = format!("`{}` is {}, not {wanted}", self.name(), described(item));
        let is_collection = matches!(wanted, "a list" | "a mapping");
        let label = match &item.value {
            // `port:80` is one text.
            Value::Text(text, TextStyle::Plain) if wanted == "a mapping" && text.contains(':') => {
                "a space is missing after the first `:`".to_owned()
            }
            Value::Text(_, TextStyle::Quoted) if item.origin == ValueOrigin::Variable && is_collection => {
                IN_QUOTES.to_owned()
            }
            Value::List(_) | Value::Map(_) if item.origin == ValueOrigin::Variable && wanted == "a text" => {
                "a text is needed here: write the variable in quotes".to_owned()
            }
            _ => format!("{wanted} is needed here"),
        };
        Some(at.error(what, label))
    }

    pub(super) fn entries(&self) -> Result<&'i [MapEntry<'s>], Fault> {
        if let Value::Map(entries) = &self.item.value { Ok(entries) } else { Err(self.wrong("a mapping")) }
    }

    pub(super) fn items(&self) -> Result<&'i [Item<'s>], Fault> {
        if let Value::List(items) = &self.item.value { Ok(items) } else { Err(self.wrong("a list")) }
    }

    pub(super) fn text(&self) -> Result<String, Fault> {
        match &self.item.value {
            // An overlay may be written in another language than its definition.
            Value::Text(text, TextStyle::Plain) if self.item.span.source.language() == Language::Json => {
                let what = format!("`{}` is `{text}`, not a text", self.name());
                Err(Some(self.at.error(what, "write it in quotes")))
            }
            Value::Text(text, _) => Ok(text.clone().into_owned()),
            Value::List(_) | Value::Map(_) | Value::Refused => Err(self.wrong("a text")),
        }
    }

    pub(super) fn integer<N: TryFrom<i128>>(&self) -> Result<N, Fault> {
        let Value::Text(text, style) = &self.item.value else { return Err(self.wrong("an integer")) };
        self.no_leading_zero()?;
        let number = integer_of(text, *style).ok_or_else(|| self.wrong("an integer"))?;
        number.and_then(|number| N::try_from(number).map_err(drop)).map_err(|()| {
            Some(self.at.error(format!("`{}` is {text}, too large an integer", self.name()), "a smaller one"))
        })
    }

    /// The number of a field that may have a fraction.
    pub(super) fn float(&self) -> Result<f64, Fault> {
        self.no_leading_zero()?;
        let number = self.item.text().and_then(|text| text.parse::<f64>().ok()).filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong("a number"))
    }

    fn no_leading_zero(&self) -> Result<(), Fault> {
        match &self.item.value {
            Value::Text(text, TextStyle::Plain) if has_leading_zero(text) => {
                let what = format!("`{}` is `{text}`, which is octal in YAML 1.1 and decimal in YAML 1.2", self.name());
                let label = "write the number without the leading zero; octal is 0o17";
                Err(Some(self.at.error(what, label)))
            }
            _ => Ok(()),
        }
    }

    /// A value of any type.
    pub(super) fn any(&self) -> Result<Json, Fault> {
        self.no_leading_zero()?;
        let mut odd = None;
        let value = item::json(self.item, &mut |item| _ = odd.get_or_insert(item));
        odd.map_or(Ok(value), |item| {
            let what = format!("`{}` cannot be sent as a number", item.text().unwrap_or_default());
            Err(Some(item.span.error(what, "write a number of JSON without a leading zero, or a text in quotes")))
        })
    }

    pub(super) fn boolean(&self) -> Result<bool, Fault> {
        let Self { item, at, .. } = self;
        match &item.value {
            Value::Text(text, TextStyle::Plain) if matches!(&**text, "true" | "True" | "TRUE") => Ok(true),
            Value::Text(text, TextStyle::Plain) if matches!(&**text, "false" | "False" | "FALSE") => Ok(false),
            Value::Refused => Err(None),
            _ => {
                let what = format!("`{}` is {}, not a boolean", self.name(), described(item));
                let is_variable = item.origin == ValueOrigin::Variable && matches!(item.text(), Some("true" | "false"));
                Err(Some(at.error(what, if is_variable { IN_QUOTES } else { "write `true` or `false`" })))
            }
        }
    }
}

/// What readers of fields share: the kind, and the problems found so far.
#[derive(Debug)]
pub(super) struct Decoder {
    pub(super) faults: Vec<FieldProblem>,
    /// The kind of the object. Its description shows where an unknown key belongs, and may be older than the key. Keys
    /// may also be in the `camelCase` that the vendor's tool prints. Settings have no kind.
    kind: Option<KindName>,
}

impl Decoder {
    pub(super) fn new(kind: Option<KindName>) -> Self {
        Self { faults: Vec::new(), kind }
    }

    /// The key of the mapping that an unknown key of `place` belongs under: below that place, else in the spec.
    fn home(&self, place: &Place<'_, '_>, key: &str) -> Option<&'static str> {
        let kind = self.kind?.kind();
        let is_given =
            |name: &str| place.item.entries().iter().any(|entry| entry.key == name || entry.key == camel(name));
        let below = || kind.home(place.path.iter().filter_map(Segment::key), key, is_given);
        let home = match kind::metadata().field(key) {
            Some(_) if place.path.len() < 2 => Some("metadata"),
            // Far below, a `name` is not the name of the object.
            Some(_) => below(),
            None => below().or_else(|| kind.home(["spec"], key, is_given)),
        };
        home.filter(|home| place.path.last() != Some(&Segment::from(*home)))
    }

    pub(super) fn fault(&mut self, path: &[Segment], fault: impl Into<Fault>) {
        self.faults.push(FieldProblem { diagnostic: fault.into(), path: path.to_vec() });
    }

    /// Whether something is wrong with the value at this path, or below it.
    pub(super) fn is_faulty(&self, path: &[Segment]) -> bool {
        self.faults.iter().any(|fault| fault.path.starts_with(path))
    }

    /// Returns the value that was read, or records the fault.
    pub(super) fn take<T>(&mut self, place: &Place<'_, '_>, read: Result<T, Fault>) -> Option<T> {
        read.map_err(|fault| self.fault(&place.path, fault)).ok()
    }
}

pub(super) fn described(item: &Item<'_>) -> String {
    match item.text() {
        Some(text) if !item.is_null() && text.len() <= 60 => format!("`{text}`"),
        _ => item.kind().to_owned(),
    }
}

/// The fields of one mapping.
pub(super) struct Fields<'i, 's, 'd> {
    pub(super) decoder: &'d mut Decoder,
    pub(super) place: Place<'i, 's>,
    known: Vec<&'static str>,
    taken: Vec<bool>,
}

impl<'i, 's, 'd> Fields<'i, 's, 'd> {
    /// The fields of the mapping at `place`; `None` and a problem where it is not a mapping.
    pub(super) fn open(decoder: &'d mut Decoder, place: Place<'i, 's>) -> Option<Self> {
        let entries = decoder.take(&place, place.entries())?;
        Some(Self { decoder, known: Vec::new(), taken: vec![false; entries.len()], place })
    }

    /// The entry of `name`, whatever its value.
    pub(super) fn entry(&mut self, name: &'static str) -> Option<&'i MapEntry<'s>> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let camel = self.decoder.kind.filter(|_| name.contains('_')).map(|_| camel(name));
        let mut found: Option<&'i MapEntry<'s>> = None;
        for (at, entry) in self.place.item.entries().iter().enumerate() {
            if entry.key != name && camel.as_deref() != Some(&*entry.key) {
                continue;
            }
            self.taken[at] = true;
            if let Some(first) = found {
                self.twice(name, first, entry);
            } else {
                found = Some(entry);
            }
        }
        found
    }

    /// The written fields of a message, in the order of the text.
    pub(super) fn described(&mut self, message: &'static Message) -> Vec<(&'static Field, &'i MapEntry<'s>)> {
        let mut written: Vec<(&Field, &'i MapEntry<'s>)> = Vec::with_capacity(self.taken.len());
        for (at, entry) in self.place.item.entries().iter().enumerate() {
            let Some(field) = message.field(&message.spelled(&entry.key)) else { continue };
            self.taken[at] = true;
            match written.iter().find(|(first, _)| first.name == field.name) {
                Some((_, first)) => self.twice(field.name, first, entry),
                None => written.push((field, entry)),
            }
        }
        if self.taken.contains(&false) {
            // Fields that only the service writes are not suggested for a misspelt field.
            let offered = message.fields.iter().filter(|field| !field.is(Flag::ReadOnly));
            self.known = offered.map(|field| field.name).collect();
        }
        written
    }

    fn twice(&mut self, name: &'static str, first: &MapEntry<'_>, entry: &MapEntry<'_>) {
        let what = format!("`{}` and `{}` are two spellings of one field", first.key, entry.key);
        let diagnostic = entry.key_at.error(what, "second time here");
        let rendered = diagnostic.also(first.key_at.source, first.key_at.range(), "first time here");
        self.decoder.fault(&self.place.join(name), rendered);
    }

    /// The entry of `name`, unless its value is null.
    pub(super) fn given(&mut self, name: &'static str) -> Option<&'i MapEntry<'s>> {
        self.entry(name).filter(|entry| !entry.item.is_null())
    }

    /// The same with its place.
    pub(super) fn given_at(&mut self, name: &'static str) -> Option<Place<'i, 's>> {
        Some(Place::of(self.given(name)?, self.place.join(name)))
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let place = self.given_at(name)?;
        self.decoder.take(&place, place.text())
    }

    pub(super) fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let place = self.given_at(name)?;
        self.decoder.take(&place, place.boolean())
    }

    /// A mapping of texts whose keys users choose; a `null` value becomes `None`.
    pub(super) fn map(&mut self, name: &'static str) -> Option<BTreeMap<String, Option<String>>> {
        let place = self.given_at(name)?;
        let entries = self.decoder.take(&place, place.entries())?;
        let text = |entry: &'i MapEntry<'s>| {
            let place = place.entry(entry);
            let text = match entry.item.is_null() {
                true => None,
                false => Some(self.decoder.take(&place, place.text())?),
            };
            Some((entry.key.clone().into_owned(), text))
        };
        Some(entries.iter().filter_map(text).collect())
    }

    /// Every entry of a mapping whose keys users choose; none of them is reported as unknown.
    pub(super) fn named(&mut self) -> &'i [MapEntry<'s>] {
        self.taken.fill(true);
        self.place.item.entries()
    }

    /// Takes the remaining entries whose names in snake case satisfy `may_be`.
    pub(super) fn others(&mut self, may_be: impl Fn(&str) -> bool) -> BTreeMap<String, &'i MapEntry<'s>> {
        let mut others = BTreeMap::new();
        for (entry, taken) in self.place.item.entries().iter().zip(&mut self.taken).filter(|(_, taken)| !**taken) {
            let name = snake(&entry.key).into_owned();
            if may_be(&name) && !others.contains_key(&name) {
                *taken = true;
                others.insert(name, entry);
            }
        }
        others
    }

    /// Takes an entry without reading it.
    pub(super) fn skip(&mut self, name: &'static str) -> Option<&'i MapEntry<'s>> {
        let found = self.entry(name);
        // It is not suggested for a misspelt field.
        self.known.pop();
        found
    }

    /// Reports the entries that were not taken.
    pub(super) fn finish(self) {
        let entries = self.place.item.entries().iter().zip(&self.taken);
        let mut unknown = entries.filter(|(_, taken)| !**taken).map(|(entry, _)| entry);
        for entry in unknown.by_ref().take(MOST_UNKNOWN) {
            let free: Vec<&str> = self.known.clone();
            let name = snake(&entry.key);
            let label = nearest(&name, free.iter().copied()).map(str::to_owned);
            let path = self.place.join(Segment::Key(label.clone().unwrap_or_else(|| entry.key.to_string()).into()));
            let keys = || self.place.path.iter().filter_map(Segment::key).collect::<Vec<_>>().join(".");
            let names: Vec<String> = free.iter().map(|name| format!("`{name}`")).collect();
            let allowed = match (names.as_slice(), self.decoder.kind) {
                ([], _) => "nothing is allowed here".to_owned(),
                (names, Some(kind)) if names.len() > MOST_ALLOWED => {
                    let count = names.len();
                    format!("to list the {count} fields that are allowed here: trueup explain {kind}.{}", keys())
                }
                (names, _) => format!("allowed here: {}", names.join(", ")),
            };
            let beside = match (&label, self.decoder.home(&self.place, &name)) {
                _ if name.starts_with(is_odd_blank) => "a blank before it is not a space".to_owned(),
                _ if name.starts_with('-') => match name[1..].starts_with(is_odd_blank) {
                    true => "the blank after the `-` is not a space".to_owned(),
                    false => "a space is missing after the `-`".to_owned(),
                },
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, Some(home)) => format!("it belongs under `{home}`"),
                (None, None) => String::new(),
            };
            let is_name = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
            let is_newer =
                |kind: &KindName| !kind.is_endpoint() && beside.is_empty() && is_name && keys().starts_with("spec");
            let allowed = match self.decoder.kind.filter(is_newer) {
                Some(kind) => {
                    let path = format!("{kind}.{}.{name}", keys());
                    format!("{allowed}; if it is newer than this trueup, list it in trueup.yaml: `unchecked: [{path}]`")
                }
                None => allowed,
            };
            let what = format!("unknown field `{}`", entry.key);
            let problem = match self.decoder.kind.is_none() && SECRETS.contains(&&*name) {
                true => entry.key_at.error(what, "").without_source().with_help(NO_SECRET),
                false => entry.key_at.error(what, beside).with_help(allowed),
            };
            self.decoder.fault(&path, problem);
        }
        if let Some(next) = unknown.next() {
            let what = format!("{} more unknown fields", 1 + unknown.count());
            self.decoder.fault(&self.place.path, next.key_at.error(what, "the first of them"));
        }
    }
}

/// The first line of an item, which marks the item in messages.
pub(super) fn first_line<'s>(item: &Item<'s>) -> TextSpan<'s> {
    let range = item.span.range();
    let end = item.span.slice().find('\n').map_or(range.end, |end| range.start + end);
    TextSpan::new(item.span.source, &(range.start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_yaml_1_2_and_quoted_digits() {
        let plain = |text| integer_of(text, TextStyle::Plain);
        for (text, number) in [("80", 80), ("0", 0), ("-0", 0), ("0x1F", 31), ("0o17", 15), ("+5", 5), ("-5", -5)] {
            assert!(!has_leading_zero(text), "{text}");
            assert_eq!(plain(text), Some(Ok(number)), "{text}");
        }
        for text in ["010", "-010", "+0120", "00", "08"] {
            assert!(has_leading_zero(text), "{text}");
        }
        for text in ["", "0b11", "1_000", "12:30", "1e3", "+0x1F", "-0x1F", "0x", "8.0", "٣"] {
            assert_eq!(plain(text), None, "{text}");
        }
        assert_eq!(plain("18446744073709551615"), Some(Ok(18_446_744_073_709_551_615)));
        assert_eq!(plain("170141183460469231731687303715884105728"), Some(Err(())));
        assert_eq!(integer_of("80", TextStyle::Quoted), Some(Ok(80)));
        assert_eq!(integer_of("-80", TextStyle::Quoted), None);
        assert_eq!(integer_of("0x50", TextStyle::Quoted), None);
    }
}

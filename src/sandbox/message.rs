//! Reads request bodies as the service's decoder does, by the rules of proto3 JSON: a key in either spelling, integers
//! also as strings, enum values by name or any number, unknown fields ignored. A `null` is an absent field; for an
//! option, an item or a value of a map it is the zero value. A value of the wrong type or outside its rule is an error
//! with the field's path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::ErrorResponse;

/// Where a value is in the request, such as `spec.where.site.ref[0]`.
#[derive(Clone, Copy, Debug)]
pub struct BodyPath<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

impl<'a> BodyPath<'a> {
    /// The path of a whole body, or of a part that messages name by itself.
    pub fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Field(name) }
    }

    /// The path of a field of this value.
    pub fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    /// The path of an item of this list.
    pub fn item(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Item(index) }
    }

    /// Whether it is in an item of a list.
    pub fn is_in_list(&self) -> bool {
        matches!(self.step, Step::Item(_)) || self.parent.is_some_and(Self::is_in_list)
    }

    /// The error for a value that breaks a rule, with the text of the live service.
    pub fn breaks(&self, rule: &Rule<'_>, got: impl fmt::Display) -> ErrorResponse {
        let got = got.to_string();
        let got = shortened(&got);
        self.wrong(rule.should, &got).detail(format!(
            "Validating Request: {self} fails rule ves.io.schema.rules.{} constraint {} due to value {got}",
            rule.name, rule.constraint
        ))
    }

    /// The error for a wrong value that no named rule covers.
    pub fn wrong(&self, should: impl fmt::Display, got: impl fmt::Display) -> ErrorResponse {
        ErrorResponse::invalid(format!("Field {self} should be {should}, got {got} in request."))
    }
}

impl fmt::Display for BodyPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match (self.step, self.parent) {
            (Step::Item(index), _) => write!(formatter, "[{index}]"),
            (Step::Field(name), None) => formatter.write_str(name),
            (Step::Field(name), Some(_)) => write!(formatter, ".{name}"),
        }
    }
}

/// A rule of the published specification: its name and constraint there, and its text in messages.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    pub name: &'a str,
    pub constraint: &'a str,
    pub should: &'a str,
}

impl<'a> Rule<'a> {
    /// A rule from its three parts.
    pub const fn new(name: &'a str, constraint: &'a str, should: &'a str) -> Self {
        Self { name, constraint, should }
    }
}

/// The rule that a message or a choice is required.
pub const REQUIRED: Rule<'_> = Rule::new("message.required", "true", "not nil");

fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A value of the request with its path. A `null` is the zero value of any type that it is read as.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    pub value: &'a Value,
    pub place: BodyPath<'a>,
}

impl<'a> Sent<'a> {
    /// This value, if it is an object.
    pub fn object(self) -> Result<Self, ErrorResponse> {
        if matches!(self.value, Value::Object(_) | Value::Null) { Ok(self) } else { Err(self.mistyped("an object")) }
    }

    /// A field under either spelling; `null` is absent.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.find(name).filter(|value| !value.is_null())
    }

    /// Like [`Self::get`], but `null` counts as a value.
    pub fn find(&self, name: &str) -> Option<&'a Value> {
        let camel = if name.contains('_') { self.value.get(camel(name)) } else { None };
        // If both spellings are present, the service's decoder uses this one.
        camel.or_else(|| self.value.get(name))
    }

    /// The present option of an exclusive group. A `null` chooses its option too, even if another one is present.
    pub fn one_of<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Option<(&'n str, &'a Value)>, ErrorResponse> {
        let mut chosen: Option<(&'n str, &'a Value)> = None;
        for name in names {
            let Some(value) = self.find(name) else { continue };
            match chosen {
                Some((_, Value::Null)) => {}
                Some((other, _)) if !value.is_null() => {
                    let only = "the only one of its group";
                    return Err(self.place.field(name).wrong(only, format_args!("{other} too")));
                }
                _ => chosen = Some((name, value)),
            }
        }
        Ok(chosen)
    }

    /// A field; `null` if it is absent.
    pub fn at<'s>(&'s self, name: &'s str) -> Sent<'s> {
        Sent { value: self.find(name).unwrap_or(&Value::Null), place: self.place.field(name) }
    }

    /// A string.
    pub fn text(&self) -> Result<String, ErrorResponse> {
        match self.value {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.mistyped("a string")),
        }
    }

    /// A boolean.
    pub fn boolean(&self) -> Result<bool, ErrorResponse> {
        match self.value {
            Value::Null => Ok(false),
            Value::Bool(value) => Ok(*value),
            _ => Err(self.mistyped("a boolean")),
        }
    }

    /// A floating point number, which may be written as text.
    pub fn double(&self) -> Result<f64, ErrorResponse> {
        match self.value {
            Value::Null => Ok(0.0),
            Value::Number(number) => Ok(number.as_f64().unwrap_or_default()),
            Value::String(text) => text.parse().map_err(|_| self.place.wrong("a number", shortened(text))),
            _ => Err(self.mistyped("a number")),
        }
    }

    /// An integer of the size of `N`, called `wanted` in messages.
    pub fn integer<N: DeserializeOwned + Default>(&self, wanted: &str) -> Result<N, ErrorResponse> {
        match self.value {
            Value::Null => Ok(N::default()),
            Value::Number(number) => N::deserialize(number).map_err(|_| self.place.wrong(wanted, number)),
            // Such a string is read as JSON, which has neither a plus sign nor leading zeros.
            Value::String(text) => serde_json::from_str(text).map_err(|_| self.place.wrong(wanted, self.value)),
            _ => Err(self.mistyped("a number")),
        }
    }

    /// The number of an enum value, given by name or number.
    pub fn choice(&self, names: &[&str]) -> Result<i32, ErrorResponse> {
        match self.value {
            Value::String(text) => {
                let known = (0..).zip(names).find(|(_, name)| *name == text);
                let unknown = || self.place.wrong(format_args!("one of {}", names.join(", ")), shortened(text));
                known.map(|(number, _)| number).ok_or_else(unknown)
            }
            Value::Null | Value::Number(_) => self.integer("a 32 bit integer"),
            _ => Err(self.mistyped("the name of an enum value")),
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Result<&'a [Value], ErrorResponse> {
        match self.value {
            Value::Null => Ok(&[]),
            Value::Array(items) => Ok(items),
            _ => Err(self.mistyped("a list")),
        }
    }

    /// A map of strings.
    pub fn map(&self) -> Result<BTreeMap<String, String>, ErrorResponse> {
        let entry = |(key, value): (&String, _)| {
            let text = Sent { value, place: self.place.field(&shortened(key)) }.text()?;
            Ok((key.clone(), text))
        };
        match self.value {
            Value::Null => Ok(BTreeMap::new()),
            Value::Object(entries) => entries.iter().map(entry).collect(),
            _ => Err(self.mistyped("an object")),
        }
    }

    fn mistyped(&self, wanted: &str) -> ErrorResponse {
        let got = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.place.wrong(wanted, got)
    }
}

/// The JSON of a request's body.
pub fn parse(body: &[u8]) -> Result<Value, ErrorResponse> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    let invalid = |error| ErrorResponse::invalid(format!("request body is not valid JSON: {error}"));
    serde_json::from_slice(body).or_else(|error| serde_json::from_slice(&paired(body)).map_err(|_| invalid(error)))
}

/// The text with U+FFFD for each unpaired half of a surrogate pair, as the service's decoder reads it.
fn paired(json: &[u8]) -> Vec<u8> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut text = Vec::with_capacity(json.len());
    let mut at = 0;
    while at < json.len() {
        let (piece, length): (&[u8], usize) = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&json[at..at + 12], 12),
            (Some(0xd800..=0xdfff), _) => (br"\ufffd", 6),
            // Another escape, whose second character may be a backslash.
            _ if json[at] == b'\\' => (&json[at..json.len().min(at + 2)], 2),
            _ => (&json[at..=at], 1),
        };
        text.extend_from_slice(piece);
        at += length;
    }
    text
}

/// Parses a request's body with `read`.
pub fn read<T>(body: &[u8], read: impl FnOnce(&Sent<'_>) -> Result<T, ErrorResponse>) -> Result<T, ErrorResponse> {
    read(&self::body(&parse(body)?)?)
}

/// A body, which is an object.
pub fn body(value: &Value) -> Result<Sent<'_>, ErrorResponse> {
    Sent { value, place: BodyPath::root("body") }.object()
}

/// The lower camel case that proto3 JSON gives the field `name`.
pub fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        camel.extend(word.chars().take(1).map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(word.get(1..).unwrap_or_default());
    }
    camel
}

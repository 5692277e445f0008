//! Reads request bodies as the service's decoder does, by the rules of proto3 JSON: both spellings of a
//! key, integers also as strings, enum values by name or number, unknown fields dropped without a
//! word. A `null` is an absent field and the zero value of an option, of an item and of a map's value.
//! A value of the wrong type or outside its rule is refused with the field's path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json::{Fields, Json};
use crate::sandbox::answer::{Code, ErrorResponse};

/// Where a value stands in the request, such as `spec.where.site.ref[0]`.
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
    pub fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Field(name) }
    }

    pub fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    pub fn item(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Item(index) }
    }

    /// The refusal of a value that breaks a rule, in the words of the live service.
    pub fn breaks(&self, rule: RuleViolation<'_>, got: impl fmt::Display) -> ErrorResponse {
        let got = got.to_string();
        let got = shortened(&got);
        let message = format!("Field {self} should be {}, got {got} in request.", rule.should);
        let detail = format!(
            "Validating Request: {self} fails rule ves.io.schema.rules.{} constraint {} due to value {got}",
            rule.name, rule.constraint
        );
        ErrorResponse::new(Code::InvalidArgument, message).detail(detail)
    }

    fn mistyped(&self, wanted: &str, value: &Json<'_>) -> ErrorResponse {
        let got = match value {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "a list",
            Json::Object(_) => "an object",
        };
        let message = format!("Field {self} should be {wanted}, got {got} in request.");
        ErrorResponse::new(Code::InvalidArgument, message)
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

/// A rule of the published specification: its name and constraint there, and how to say it.
#[derive(Clone, Copy, Debug)]
pub struct RuleViolation<'a> {
    pub name: &'a str,
    pub constraint: &'a str,
    pub should: &'a str,
}

/// The rule that a message or a choice must be there.
pub const REQUIRED: RuleViolation<'_> =
    RuleViolation { name: "message.required", constraint: "true", should: "not nil" };

fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A JSON object of the request.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    fields: &'a Fields<'a>,
    pub place: BodyPath<'a>,
}

impl<'a> Message<'a> {
    pub fn new(value: &'a Json<'a>, place: BodyPath<'a>) -> Result<Self, ErrorResponse> {
        static NONE: Fields<'static> = Fields::NONE;
        match value {
            Json::Object(fields) => Ok(Self { fields, place }),
            Json::Null => Ok(Self { fields: &NONE, place }),
            other => Err(place.mistyped("an object", other)),
        }
    }

    /// A field under either spelling; `null` is absent.
    pub fn get(&self, name: &str) -> Result<Option<&'a Json<'a>>, ErrorResponse> {
        Ok(self.find(name)?.filter(|value| !matches!(value, Json::Null)))
    }

    /// A field under either spelling.
    fn find(&self, name: &str) -> Result<Option<&'a Json<'a>>, ErrorResponse> {
        let snake = self.fields.find(|key| key == name);
        let value = if name.contains('_') {
            match (snake, self.fields.find(|key| is_camel(key, name))) {
                (Some(_), Some(_)) => {
                    let message = format!("Field {} stands twice in request.", self.place.field(name));
                    return Err(ErrorResponse::new(Code::InvalidArgument, message));
                }
                (snake, camel) => snake.or(camel),
            }
        } else {
            snake
        };
        Ok(value)
    }

    /// The one option of an exclusive group that is there. A `null` chooses its option too, and it is
    /// the one that is kept beside another.
    pub fn one_of(&self, names: &[&'static str]) -> Result<Option<(&'static str, &'a Json<'a>)>, ErrorResponse> {
        let mut chosen: Option<(&'static str, &'a Json<'a>)> = None;
        for name in names {
            let Some(value) = self.find(name)? else { continue };
            if let Some((other, before)) = chosen {
                match (before, value) {
                    (Json::Null, _) => continue,
                    (_, Json::Null) => {
                        chosen = Some((name, value));
                        continue;
                    }
                    _ => {}
                }
                let message = format!(
                    "Field {} should be the only one of its group, got {other} too in request.",
                    self.place.field(name)
                );
                return Err(ErrorResponse::new(Code::InvalidArgument, message));
            }
            chosen = Some((name, value));
        }
        Ok(chosen)
    }

    pub fn text(&self, name: &str) -> Result<String, ErrorResponse> {
        self.get(name)?.map_or_else(|| Ok(String::new()), |value| text(value, self.place.field(name)))
    }

    pub fn boolean(&self, name: &str) -> Result<bool, ErrorResponse> {
        match self.get(name)? {
            None => Ok(false),
            Some(Json::Bool(value)) => Ok(*value),
            Some(other) => Err(self.place.field(name).mistyped("a boolean", other)),
        }
    }

    pub fn number(&self, name: &str) -> Result<u32, ErrorResponse> {
        self.get(name)?.map_or(Ok(0), |value| number(value, self.place.field(name)))
    }

    /// A signed integer of 32 or 64 bits.
    pub fn signed<N: DeserializeOwned + Default>(&self, name: &str) -> Result<N, ErrorResponse> {
        self.get(name)?.map_or_else(|| Ok(N::default()), |value| integer(value, self.place.field(name), "an integer"))
    }

    /// An enum value by its name or its number; the first is the default.
    pub fn choice(&self, name: &str, names: &'static [&'static str]) -> Result<&'static str, ErrorResponse> {
        let place = self.place.field(name);
        let unknown = |got: &dyn fmt::Display| {
            let message = format!("Field {place} should be one of {}, got {got} in request.", names.join(", "));
            ErrorResponse::new(Code::InvalidArgument, message)
        };
        match self.get(name)? {
            None => names.first().copied().ok_or_else(|| unknown(&"nothing")),
            Some(Json::String(text)) => {
                names.iter().find(|name| *name == text).copied().ok_or_else(|| unknown(&shortened(text)))
            }
            Some(value @ Json::Number(_)) => {
                let index = number(value, place)?;
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                names.get(index).copied().ok_or_else(|| unknown(&index))
            }
            Some(other) => Err(place.mistyped("the name of an enum value", other)),
        }
    }

    pub fn list(&self, name: &str) -> Result<&'a [Json<'a>], ErrorResponse> {
        match self.get(name)? {
            None => Ok(&[]),
            Some(Json::Array(items)) => Ok(items),
            Some(other) => Err(self.place.field(name).mistyped("a list", other)),
        }
    }

    /// A map of strings.
    pub fn map(&self, name: &str) -> Result<BTreeMap<String, String>, ErrorResponse> {
        let place = self.place.field(name);
        match self.get(name)? {
            None => Ok(BTreeMap::new()),
            Some(Json::Object(entries)) => entries
                .iter()
                .map(|(key, value)| Ok((key.to_owned(), text(value, place.field(&shortened(key)))?)))
                .collect(),
            Some(other) => Err(place.mistyped("an object", other)),
        }
    }
}

/// What `read` makes of a request's body.
///
/// # Errors
/// A body that is no JSON, no object, or not what `read` expects.
pub fn read<T>(body: &[u8], read: impl FnOnce(&Message<'_>) -> Result<T, ErrorResponse>) -> Result<T, ErrorResponse> {
    let json = super::draft::parse(body)?;
    read(&Message::new(&json, BodyPath::root("body"))?)
}

/// A string.
pub fn text(value: &Json<'_>, place: BodyPath<'_>) -> Result<String, ErrorResponse> {
    match value {
        Json::Null => Ok(String::new()),
        Json::String(text) => Ok(text.clone().into_owned()),
        other => Err(place.mistyped("a string", other)),
    }
}

/// A 32 bit unsigned integer, as a number without fraction and exponent or as a string of one.
pub fn number(value: &Json<'_>, place: BodyPath<'_>) -> Result<u32, ErrorResponse> {
    integer(value, place, "an unsigned 32 bit integer")
}

fn integer<N: DeserializeOwned + Default>(
    value: &Json<'_>,
    place: BodyPath<'_>,
    wanted: &str,
) -> Result<N, ErrorResponse> {
    let outside = |got: &dyn fmt::Display| {
        ErrorResponse::new(Code::InvalidArgument, format!("Field {place} should be {wanted}, got {got} in request."))
    };
    match value {
        Json::Null => Ok(N::default()),
        Json::Number(number) => N::deserialize(number).map_err(|_| outside(number)),
        // Such a string is read as JSON, which has no sign and no zeros in front.
        Json::String(text) => serde_json::from_str(text).map_err(|_| outside(&Value::from(&**text))),
        other => Err(place.mistyped("a number", other)),
    }
}

/// Whether `key` is the lower camel case that proto3 JSON gives the field `name`, which holds a `_`.
fn is_camel(key: &str, name: &str) -> bool {
    let mut rest = key.as_bytes();
    for (index, word) in name.split('_').enumerate() {
        let Some((found, after)) = rest.split_at_checked(word.len()) else { return false };
        let same = match (index, word.as_bytes(), found) {
            (0, word, found) => word == found,
            (_, [first, word @ ..], [found_first, found @ ..]) => {
                first.to_ascii_uppercase() == *found_first && word == found
            }
            _ => true,
        };
        if !same {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

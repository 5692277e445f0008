//! The JSON of a request as a tree that borrows its texts from the body. A request is read once and
//! thrown away, so its objects keep their fields in a list as they came: they are few, and a tree of
//! `serde_json::Value` costs three times as much to build and to drop. Of a key that stands twice the
//! last one counts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// Any JSON.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'a, str>),
    Array(Vec<Self>),
    Object(Fields<'a>),
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(Vec<(Text<'a>, Json<'a>)>);

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Json<'a> {
    /// The same as a ready tree.
    pub fn of(value: &'a Value) -> Self {
        // Every value can be visited, so there is no error to tell.
        Self::deserialize(value).unwrap_or(Self::Null)
    }

    /// The field of an object that has it.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.find(|key| key == name),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&Json<'_>> for Value {
    fn from(json: &Json<'_>) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number.clone()),
            Json::String(text) => Self::String(text.clone().into_owned()),
            Json::Array(items) => items.iter().map(Self::from).collect(),
            Json::Object(fields) => fields.iter().map(|(key, value)| (key.to_owned(), Self::from(value))).collect(),
        }
    }
}

impl<'a> Fields<'a> {
    /// The fields of an empty object.
    pub const NONE: Self = Self(Vec::new());

    /// The value of the key that is wanted.
    pub fn find(&self, mut wanted: impl FnMut(&str) -> bool) -> Option<&Json<'a>> {
        self.0.iter().rev().find(|(key, _)| wanted(&key.0)).map(|(_, value)| value)
    }

    /// All of them, those with the same key too.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (&*key.0, value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            fields.push(entry);
        }
        Ok(Json::Object(Fields(fields)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_key_that_stands_twice_the_last_one_counts() {
        let json: Json<'_> = serde_json::from_str(r#"{"a": 1, "a": "two"}"#).unwrap();
        assert_eq!(json.field("a").and_then(Json::text), Some("two"));
    }

    #[test]
    fn a_ready_tree_reads_as_its_text_does() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,0.5,"b\n\u00e9"],"c":{"d":""}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let read: Json<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(format!("{:?}", Json::of(&value)), format!("{read:?}"));
    }
}

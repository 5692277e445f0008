//! A value of an object, as the description of its kind reads it: a number is one however it was written, a word of an
//! enumeration has its name, and what means the same as nothing is absent.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// A value of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `true` or `false`
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// A number, in its shortest writing.
    Number(String),
    /// A text.
    Text(String),
    /// A name of an enumeration with its number, where that is known.
    Word(&'static str, Option<i32>),
    /// A list.
    List(Vec<Value>),
    /// A mapping.
    Map(BTreeMap<String, Value>),
    /// Anything as JSON, where the description allows it.
    Any(String),
}

impl Value {
    /// Whether it means the same as nothing, where it is not a member of an exclusive group.
    pub fn is_absent(&self) -> bool {
        match self {
            Value::Flag(flag) => !flag,
            Value::Integer(number) => *number == 0,
            Value::Number(number) => number == "0",
            Value::Text(text) => text.is_empty(),
            Value::Word(_, number) => *number == Some(0),
            Value::List(items) => items.is_empty(),
            // `{}` is a choice.
            Value::Map(_) | Value::Any(_) => false,
        }
    }

    /// The value as the wire writes it.
    pub fn json(self) -> Json {
        match self {
            Value::Flag(flag) => flag.into(),
            Value::Integer(number) => {
                let large = || u64::try_from(number).map_or(Json::Null, Json::from);
                i64::try_from(number).map_or_else(|_| large(), Json::from)
            }
            Value::Number(number) => number.parse::<f64>().map_or(Json::Null, Json::from),
            Value::Text(text) => text.into(),
            Value::Word(name, _) => name.into(),
            Value::List(items) => items.into_iter().map(Value::json).collect(),
            Value::Map(entries) => entries.into_iter().map(|(key, value)| (key, value.json())).collect(),
            Value::Any(text) => serde_json::from_str(&text).unwrap_or_default(),
        }
    }
}

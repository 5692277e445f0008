//! JSON as a tree, with every key as it is written.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number};

/// A JSON value, the form of values in plans, journals and requests. `null` means absent.
pub type Json = serde_json::Value;

/// A foreign JSON value. [`Json`] would interpret a map whose first key is the name that `serde_json` uses for raw
/// texts: it reads the content of that text or fails, and any client can write such a key into an annotation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonTree(pub Json);

impl<'de> Deserialize<'de> for JsonTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DuplicateKeys::Replace.deserialize(deserializer).map(Self)
    }
}

/// Reads a JSON text that a user wrote: it may begin with a byte-order mark, and a duplicate key is an error.
///
/// # Errors
/// The text is not valid; the error names line and column.
pub fn read_written(bytes: &[u8]) -> Result<Json, serde_json::Error> {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = DuplicateKeys::Refuse.deserialize(&mut deserializer)?;
    deserializer.end().map(|()| value)
}

/// The meaning of a duplicate key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DuplicateKeys {
    /// The last value counts.
    Replace,
    /// It is an error.
    Refuse,
}

impl<'de> DeserializeSeed<'de> for DuplicateKeys {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(TreeVisitor(self))
    }
}

struct TreeVisitor(DuplicateKeys);

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("not a number of JSON"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.0)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if self.0 == DuplicateKeys::Refuse && map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = entries.next_value_seed(self.0)?;
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_person_has_each_key_once_and_may_begin_with_a_byte_order_mark() {
        assert_eq!(read_written("\u{feff}{\"a\": {\"b\": [1]}}".as_bytes()).expect("JSON")["a"]["b"][0], 1);
        let error = |text: &str| read_written(text.as_bytes()).expect_err("wrong").to_string();
        assert_eq!(error("{\"a\": {\"b\": 1,\n \"b\": 2}}"), "duplicate key `b` at line 2 column 4");
        assert_eq!(error("{} {}"), "trailing characters at line 1 column 4");
    }

    #[test]
    fn a_tree_is_what_json_reads_but_for_the_names_of_its_library() {
        let text = r#"{"a":[1,-2,3.5,"x\n",true,null,{}],"b":{"c":18446744073709551615,"c":"\ud83d\ude00"}}"#;
        let tree: JsonTree = serde_json::from_str(text).expect("JSON");
        assert_eq!(tree.0, serde_json::from_str::<Json>(text).expect("JSON"));
        for text in
            [r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#, r#"{"$serde_json::private::RawValue":"x","b":1}"#]
        {
            let tree: JsonTree = serde_json::from_str(text).expect("JSON");
            assert_eq!(tree.0.to_string(), text);
        }
        for wrong in ["", "{", "1e400", "[1,]", "{\"a\"}", &"[".repeat(200)] {
            assert!(serde_json::from_str::<JsonTree>(wrong).is_err(), "{wrong}");
        }
    }
}

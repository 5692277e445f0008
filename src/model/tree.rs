//! JSON as a tree, with every key as it was written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number};

/// A JSON value: how a field's value travels in plans, journals and requests. `null` is absence.
pub type Json = serde_json::Value;

/// A foreign JSON value. [`Json`] reads a map whose first key is the name that `serde_json` has for raw texts as
/// whatever that text contains, or as an error: anybody can write such a key into an annotation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonTree(pub Json);

impl<'de> Deserialize<'de> for JsonTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Self)
    }
}

struct TreeVisitor;

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
        while let Some(JsonTree(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some((key, JsonTree(value))) = entries.next_entry::<String, _>()? {
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

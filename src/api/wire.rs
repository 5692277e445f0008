//! Small rules of the service's JSON that more than one resource needs: unset values are `null`, and
//! 64-bit integers are texts (API.md 3.1).

use serde::{Deserialize, Deserializer};

use crate::model::Json;

/// The value, or its default where the service writes `null`.
pub(super) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// A larger number counts nothing, and no answer has room for as many others as overflow when they are added.
pub const MOST_COUNTED: u64 = 1 << 40;

/// An integer as a number or as a text of digits, below [`MOST_COUNTED`]; anything else is nothing.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(as_count(&Json::deserialize(from)?))
}

/// A number as a text, whichever of the two it is; nothing where it is unset.
pub(super) fn number_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Json::deserialize(from)? {
        Json::Null => None,
        Json::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

/// See [`count`].
pub(super) fn as_count(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).filter(|count| *count < MOST_COUNTED)
}

/// A part of an answer: everything in it may be missing or `null`, and what is not known is kept.
macro_rules! part {
    ($(#[$doc:meta])* $type:ident { $($(#[$fdoc:meta])* $field:ident: $of:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            $($(#[$fdoc])* #[serde(default, deserialize_with = "nullable")] pub $field: $of,)+
            /// What the service says beyond that.
            #[serde(flatten)]
            pub others: serde_json::Map<String, Json>,
        }
    };
}
pub(super) use part;

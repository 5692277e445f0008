//! Rules of the service's JSON that several resources need: unset values are `null`, and 64-bit integers are texts
//! (API.md 3.1).

use serde::{Deserialize, Deserializer};

use crate::model::Json;

/// The value, or its default if the service writes `null`.
pub(super) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// Larger numbers are not real counts; smaller ones cannot overflow when those of one answer are added.
pub const MOST_COUNTED: u64 = 1 << 40;

/// An integer as a number or as a text of digits, below [`MOST_COUNTED`]; `None` for anything else.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(as_count(&Json::deserialize(from)?))
}

/// A number or a text, as text; `None` if it is unset.
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

/// A JSON text with U+FFFD for each half of a surrogate pair, which a string cannot contain.
pub(super) fn whole_characters(json: &str) -> String {
    let (mut whole, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('\\') {
        let escape = |at: usize| {
            let digits = rest.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let (is_half, length) = match (escape(at), escape(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (false, 12),
            (Some(0xD800..=0xDFFF), _) => (true, 6),
            _ => (false, 2),
        };
        let Some(escaped) = rest.get(at..at + length) else { break };
        whole.push_str(&rest[..at]);
        whole.push_str(if is_half { "\\ufffd" } else { escaped });
        rest = &rest[at + length..];
    }
    whole + rest
}

/// Parts of an answer: every field may be missing or `null`, and unknown fields are kept.
macro_rules! parts {
    ($($(#[$doc:meta])* $type:ident { $($(#[$fdoc:meta])* $field:ident: $of:ty),+ $(,)? })+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            $($(#[$fdoc])* #[serde(default, deserialize_with = "nullable")] pub $field: $of,)+
            /// All other fields.
            #[serde(flatten)]
            pub others: serde_json::Map<String, Json>,
        })+
    };
}
pub(super) use parts;

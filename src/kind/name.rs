//! The name of a kind, as keys and files contain it.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use schemars::JsonSchema;

use super::{Block, ENDPOINT, INDEX, Kind, Message};

/// Writes a type as the text that it displays, and reads it from a text.
macro_rules! as_text {
    ($type:ty, |$text:ident| $read:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let $text: String = serde::Deserialize::deserialize(deserializer)?;
                let read = || -> Result<Self, Box<dyn std::error::Error>> { $read };
                read().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use as_text;

/// The name of a kind in the description, such as `origin_pool`, stored as its index, so that keys are small. Endpoints
/// come first and are the default; the others are sorted by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName(u8);

impl KindName {
    /// The kind that a document without `kind` has.
    pub const ENDPOINT: KindName = KindName(0);

    /// The kind of this name, where the description has it.
    pub fn find(name: &str) -> Option<Self> {
        if name == ENDPOINT {
            return Some(Self::ENDPOINT);
        }
        let at = BLOCKS[1..].binary_search_by_key(&name, |(name, _)| name).ok()?;
        u8::try_from(at + 1).ok().map(Self)
    }

    /// All kinds of the description.
    pub fn all() -> impl Iterator<Item = Self> {
        super::all().map(Self::from)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        BLOCKS[usize::from(self.0)].0
    }

    /// The noun for objects of these kinds in messages, to be put after a number.
    pub fn noun(kinds: impl IntoIterator<Item = Self>) -> &'static str {
        if kinds.into_iter().all(Self::is_endpoint) { "endpoint" } else { "object" }
    }

    /// Whether it is an endpoint.
    pub fn is_endpoint(self) -> bool {
        self == Self::ENDPOINT
    }

    /// Whether a definition has its whole spec.
    pub fn is_whole(self) -> bool {
        self.kind().is_whole
    }

    /// Its description.
    pub fn kind(self) -> &'static Kind {
        BLOCKS[usize::from(self.0)].1.kind()
    }

    /// The message of its spec.
    pub fn message(self) -> &'static Message {
        self.kind().message()
    }
}

/// The kinds by number.
static BLOCKS: LazyLock<Vec<(&'static str, &'static Block<Kind>)>> = LazyLock::new(|| {
    let mut blocks: Vec<_> = INDEX.kinds.iter().map(|(name, block)| (*name, block)).collect();
    blocks.sort_by_key(|(name, _)| *name != ENDPOINT);
    blocks
});

impl From<&Kind> for KindName {
    fn from(kind: &Kind) -> Self {
        Self::find(kind.name).unwrap_or_default()
    }
}

as_text!(KindName, |name| {
    Self::find(&name).ok_or_else(|| format!("the kind `{name}` is unknown to this version").into())
});

impl JsonSchema for KindName {
    fn schema_name() -> Cow<'static, str> {
        "KindName".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! The reader without places: decodes the documents of a file directly by the description of their kind. It succeeds
//! only where the careful reader would read the same without a problem, and gives up at the first doubt.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::definition::names_other_kind;
use super::plain::{MessageSeed, doubt};
use super::text::{Language, SourceText};
use crate::kind::KindName;
use crate::model::{Json, WireMetadata};

/// The most documents of one file.
pub(super) const MOST_DOCUMENTS: usize = 20_000;

/// A document as it is written.
#[derive(Debug)]
pub(super) struct PlainDocument {
    pub(super) kind: KindName,
    pub(super) metadata: WireMetadata,
    pub(super) spec: Json,
}

/// The documents of a file; `None` where the careful reader has to read it.
pub(super) fn read(source: &SourceText) -> Option<Vec<PlainDocument>> {
    if is_read_otherwise(source.as_str()) {
        return None;
    }
    if source.language() == Language::Json {
        return Some(vec![serde_json::from_str(source.as_str()).ok()?]);
    }
    let mut documents = Vec::new();
    // The iterator repeats a syntax error forever, so the first one has to end it.
    for document in serde_yaml::Deserializer::from_str(source.as_str()) {
        if documents.len() >= MOST_DOCUMENTS {
            return None;
        }
        documents.push(PlainDocument::deserialize(document).ok()?);
    }
    Some(documents)
}

impl<'de> Deserialize<'de> for PlainDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = PlainDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a definition whose kind comes before its spec")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainDocument, A::Error> {
        let (mut kind, mut metadata, mut spec) = (KindName::ENDPOINT, None, None);
        let mut seen: Vec<String> = Vec::with_capacity(3);
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(doubt());
            }
            match key.as_str() {
                "kind" if spec.is_none() => kind = KindName::find(&map.next_value::<String>()?).ok_or_else(doubt)?,
                "metadata" => metadata = map.next_value::<Option<WireMetadata>>()?,
                "spec" => spec = Some(map.next_value_seed(MessageSeed(kind.message()))?),
                _ => return Err(doubt()),
            }
            seen.push(key);
        }
        let is_plain = |map: &Option<BTreeMap<String, Option<String>>>| {
            map.iter().flatten().all(|(key, value)| value.is_some() && !key.is_empty() && key != "~")
        };
        // An empty document may be a comment or a mistake, which the careful reader decides.
        match (metadata, spec) {
            (Some(metadata), Some(spec)) if is_plain(&metadata.labels) && is_plain(&metadata.annotations) => {
                Ok(PlainDocument { kind, metadata, spec })
            }
            _ => Err(doubt()),
        }
    }
}

/// Whether a text contains a character that the two readers interpret differently: one that ends a line in YAML 1.1 but
/// not in YAML 1.2 (U+0085, U+2028, U+2029), or a byte-order mark after its beginning.
fn is_read_otherwise(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_one =
        |at: usize| matches!(bytes[at..], [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb, 0xbf, ..]);
    memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes).any(is_one)
}

/// Whether a JSON text is a document of another kind, without building a tree of it.
pub(super) fn is_other_kind(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct PlainHead {
        kind: String,
        format_version: Option<IgnoredAny>,
        metadata: Option<IgnoredAny>,
        spec: Option<IgnoredAny>,
    }
    serde_json::from_slice::<PlainHead>(text).is_ok_and(|head| {
        let is_object = head.metadata.is_some() || head.spec.is_some();
        names_other_kind(&head.kind, head.format_version.is_some(), is_object)
    })
}

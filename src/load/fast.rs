//! The typed reader: a file's documents straight into the wire form. It answers only where it sees
//! everything that the careful reader would see, and gives up at the first doubt.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::definition::names_other_kind;
use super::text::{Language, SourceText};
use crate::kind::ENDPOINT;
use crate::model::{WireEndpoint, WireMetadata, WireSpec};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainDocument {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<WireMetadata>,
    #[serde(default)]
    spec: Option<WireSpec>,
}

impl PlainDocument {
    /// The endpoint; an empty document may be a comment or a mistake, which the careful reader decides.
    fn endpoint(self) -> Option<WireEndpoint> {
        let endpoint = self.kind.as_deref().is_none_or(|kind| kind == ENDPOINT);
        let empty = self.metadata.is_none() && self.spec.is_none();
        (endpoint && !empty).then_some(WireEndpoint { metadata: self.metadata, spec: self.spec })
    }
}

/// The documents of a file, `None` where the careful reader has to look.
pub(super) fn read(source: &SourceText, most: usize) -> Option<Vec<WireEndpoint>> {
    if source.language() == Language::Json {
        let document: PlainDocument = serde_json::from_str(source.as_str()).ok()?;
        return Some(vec![document.endpoint()?]);
    }
    if has_old_breaks(source.as_str()) || seems_other_kind(source.as_str()) {
        return None;
    }
    let mut endpoints = Vec::new();
    // The iterator repeats a syntax error for ever, so the first one has to end it.
    for document in serde_yaml::Deserializer::from_str(source.as_str()) {
        if endpoints.len() >= most {
            return None;
        }
        endpoints.push(PlainDocument::deserialize(document).ok()?.endpoint()?);
    }
    Some(endpoints)
}

/// Whether a document seems to name another kind than endpoint, which would be read here in vain.
fn seems_other_kind(text: &str) -> bool {
    let is_other = |(at, _): (usize, &str)| {
        let is_key = at == 0 || text.as_bytes()[at - 1] == b'\n';
        is_key && text[at + "kind:".len()..].lines().next().is_some_and(|kind| kind.trim() != ENDPOINT)
    };
    text.match_indices("kind:").any(is_other)
}

/// Whether a text contains a character that ends a line in YAML 1.1, as this reader takes it, and not in
/// YAML 1.2, as the careful reader does: U+0085, U+2028, U+2029.
fn has_old_breaks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_break = |at: usize| matches!(bytes[at..], [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..]);
    memchr::memchr2_iter(0xc2, 0xe2, bytes).any(is_break)
}

/// Whether a JSON text is a document of another kind, without building anything of it.
pub(super) fn is_other_kind(source: &SourceText) -> bool {
    #[derive(Deserialize)]
    struct PlainHead {
        kind: String,
        #[serde(default)]
        format_version: Option<IgnoredAny>,
    }
    if source.language() != Language::Json {
        return false;
    }
    serde_json::from_str::<PlainHead>(source.as_str())
        .is_ok_and(|head| names_other_kind(&head.kind, head.format_version.is_some()))
}

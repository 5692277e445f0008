//! The definitions of a stack: each endpoint with the file that it was read from. Places in files are
//! here too, because plans and reports name them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Json, Key, Object, displayed};
use crate::kind::sealed;

/// All definitions of a stack, validated, in canonical form.
#[derive(Debug, Clone, Default)]
pub struct Desired {
    /// The definitions by key.
    pub definitions: BTreeMap<Key, Definition>,
    /// Files that were read.
    pub files: usize,
}

impl Desired {
    /// The secrets of all definitions.
    pub fn sealed(&self) -> SealedSecrets {
        SealedSecrets::of(std::slice::from_ref(self))
    }
}

/// Secrets in their sealed form, by the digest that marks them wherever else the object is. Debug shows none.
#[derive(Clone, Default, PartialEq)]
pub struct SealedSecrets(BTreeMap<String, Json>);

displayed!(Debug: SealedSecrets, |secrets| "{} sealed secrets", secrets.0.len());

impl SealedSecrets {
    /// The secrets of all definitions of these.
    pub fn of(all: &[Desired]) -> Self {
        let definitions = all.iter().flat_map(|desired| desired.definitions.values());
        Self(definitions.flat_map(|definition| definition.sealed.0.clone()).collect())
    }

    /// Takes in a secret; returns its digest.
    pub fn insert(&mut self, value: Json) -> String {
        let digest = sealed::digest(&value);
        self.0.insert(digest.clone(), value);
        digest
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has the secret of this digest.
    pub fn contains(&self, digest: &str) -> bool {
        self.0.contains_key(digest)
    }

    /// A request with the secrets in the places of their marks. All else stays byte for byte.
    pub fn unseal<'r>(&self, request: &'r str) -> Cow<'r, str> {
        let mut text = Cow::Borrowed(request);
        for (digest, value) in &self.0 {
            // In a text the quotes would be escaped.
            let mark = sealed::mark(digest).to_string();
            if text.contains(&mark) {
                text = text.replace(&mark, &value.to_string()).into();
            }
        }
        text
    }
}

/// One endpoint as written in a file.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The endpoint.
    pub endpoint: Object,
    /// Its secrets.
    pub sealed: SealedSecrets,
    /// The file, relative to the stack's directory, with `/` between parts.
    pub file: Arc<str>,
    /// The document in the file, from 0.
    pub document: usize,
    /// Overlay files that changed it, in order.
    pub overlays: Vec<Arc<str>>,
}

/// A place in a file; line and column count from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceLocation {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

displayed!(SourceLocation, |place| "{}:{}:{}", place.file, place.line, place.column);

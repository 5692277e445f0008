//! The definitions of a stack: each object with the file that it was read from. Places in files are here
//! too, because plans and reports name them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Json, Key, Object, displayed};
use crate::kind::{KindName, sealed};

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

/// Secrets in their sealed form, by the digest that replaces them everywhere else. Debug output does not show them.
#[derive(Clone, Default, PartialEq)]
pub struct SealedSecrets(BTreeMap<String, Json>);

displayed!(Debug: SealedSecrets, |secrets| "{} sealed secrets", secrets.0.len());

impl SealedSecrets {
    /// The secrets of all these definitions.
    pub fn of(all: &[Desired]) -> Self {
        let definitions = all.iter().flat_map(|desired| desired.definitions.values());
        Self(definitions.flat_map(|definition| definition.sealed.0.clone()).collect())
    }

    /// Adds a secret and returns its digest.
    pub fn insert(&mut self, value: Json) -> String {
        let digest = sealed::digest(&value);
        self.0.insert(digest.clone(), value);
        digest
    }

    /// Whether it has no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has the secret of this digest.
    pub fn contains(&self, digest: &str) -> bool {
        self.0.contains_key(digest)
    }

    /// The body of a request for an object of this kind, with the secrets where its spec has their marks. A text that
    /// looks like a mark anywhere else stays: a definition or another client may have written it.
    pub fn unseal<'b>(&self, kind: KindName, body: &'b RawValue) -> Cow<'b, RawValue> {
        if !self.0.keys().any(|digest| body.get().contains(digest)) {
            return Cow::Borrowed(body);
        }
        let unsealed = || {
            let mut parts: BTreeMap<String, Box<RawValue>> = serde_json::from_str(body.get())?;
            if let Some(spec) = parts.get_mut("spec") {
                *spec = sealed::unsealed(kind.message(), spec, &|digest| self.0.get(digest).cloned())?;
            }
            serde_json::value::to_raw_value(&parts)
        };
        // A body without its secrets must not be sent.
        Cow::Owned(unsealed().unwrap_or_else(|error: serde_json::Error| unreachable!("a body is an object: {error}")))
    }
}

/// One object as written in a file.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The object.
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

//! The definitions of a stack: each endpoint with the file that it was read from. Places in files are
//! here too, because plans and reports name them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Endpoint, Key};

/// All definitions of a stack, validated, in canonical form.
#[derive(Debug, Clone, Default)]
pub struct Desired {
    /// The definitions by key.
    pub definitions: BTreeMap<Key, Definition>,
    /// Files that were read.
    pub files: usize,
}

/// One endpoint as written in a file.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The endpoint.
    pub endpoint: Endpoint,
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

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

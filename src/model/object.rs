//! An object: its key, labels, annotations and spec.

use litemap::LiteMap;

use super::{Key, Spec};

/// Labels or annotations. An endpoint has a handful, for which the nodes of a tree would be the better
/// part of its memory.
pub type StringMap = LiteMap<String, String>;

/// One object in canonical form; nearly always an endpoint: a network target and the place where it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What identifies it.
    pub key: Key,
    /// Labels; they belong to the definition whole, because selectors depend on them.
    pub labels: StringMap,
    /// Annotations; on a live object also those of others and our ownership annotations.
    pub annotations: StringMap,
    /// Free text, at most 1,200 bytes.
    pub description: String,
    /// Administratively disabled.
    pub disable: bool,
    /// What it points at, and where.
    pub spec: Spec,
}

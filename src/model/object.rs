//! An object: its key, labels, annotations and spec.

use litemap::LiteMap;

use super::{Key, Spec};

/// Labels or annotations. An object has only a few, for which the nodes of a tree would take most of the
/// memory.
pub type StringMap = LiteMap<String, String>;

/// One object in canonical form; nearly always an endpoint: a network target and the place where it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key.
    pub key: Key,
    /// Labels; a definition has all of them, because selectors depend on them.
    pub labels: StringMap,
    /// Annotations; a live object also has those of others and the ownership annotations.
    pub annotations: StringMap,
    /// Free text, at most 1,200 bytes.
    pub description: String,
    /// Administratively disabled.
    pub disable: bool,
    /// The fields of its kind.
    pub spec: Spec,
}

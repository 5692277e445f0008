//! An object: its key, labels, annotations and spec.

use super::{Key, Spec, StringMap};

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

//! The bounds of metadata, which the rules check. `kinds/metadata.txt` says the same for `explain` and the schemas.

/// Bytes of a description.
pub const LONGEST_DESCRIPTION: usize = 1200;
/// Characters of an annotation's key.
pub const LONGEST_ANNOTATION_KEY: usize = 64;
/// Characters of an annotation's value.
pub const LONGEST_ANNOTATION: usize = 1024;

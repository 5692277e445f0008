//! The bounds of an endpoint's values: lengths, counts and ranges. The shape names them and the rules check them.

/// Bytes of a description.
pub const LONGEST_DESCRIPTION: usize = 1200;
/// Characters of an annotation's key.
pub const LONGEST_ANNOTATION_KEY: usize = 64;
/// Characters of an annotation's value.
pub const LONGEST_ANNOTATION: usize = 1024;

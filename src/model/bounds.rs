//! The bounds of an endpoint's values: lengths, counts and ranges. The shape names them and the rules check them.

/// Seconds between look-ups of an advanced DNS name (reference/openapi, `refresh_interval`).
pub const REFRESH_INTERVAL: std::ops::RangeInclusive<u32> = 10..=604_800;
/// Bytes of a description.
pub const LONGEST_DESCRIPTION: usize = 1200;
/// Characters of an annotation's key.
pub const LONGEST_ANNOTATION_KEY: usize = 64;
/// Characters of an annotation's value.
pub const LONGEST_ANNOTATION: usize = 1024;
/// Characters of a host name.
pub const LONGEST_HOST_NAME: usize = 256;
/// Bytes of a service name.
pub const LONGEST_SERVICE_NAME: usize = 256;
/// Characters of a selector expression.
pub const LONGEST_SELECTOR: usize = 4096;
/// Prefixes of a source NAT pool.
pub const MOST_PREFIXES: usize = 128;
/// Bytes of a reference's name.
pub const LONGEST_REFERENCE_NAME: usize = 128;
/// Bytes of a reference's namespace and tenant.
pub const LONGEST_REFERENCE_PART: usize = 64;

//! The order of keys in a file, for everything that writes or formats definitions.

use super::SPEC;

/// The keys of the metadata in order.
const METADATA: [&str; 6] = ["name", "namespace", "description", "disable", "labels", "annotations"];

/// Where a key in snake case is written among the keys beside it. Keys with the same number are in the order of the
/// alphabet.
pub fn order(key: &str) -> usize {
    let known = || METADATA.into_iter().chain(SPEC.children.iter().map(|node| node.key));
    known().position(|known| known == key).unwrap_or(usize::MAX)
}

//! The map of texts that labels and annotations are.

use litemap::LiteMap;

/// Labels or annotations. An endpoint has a handful, for which the nodes of a tree would be the better
/// part of its memory.
pub type StringMap = LiteMap<String, String>;

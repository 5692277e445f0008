//! Counts and lists of names in words: `2 endpoints`, `a, b and 3 more`.

use super::safe;

/// A list of names that does not grow without end.
pub(crate) fn some_of(names: &[String], shown: usize) -> String {
    let list = names.iter().take(shown).map(|name| safe::line(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(shown) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// `1 endpoint`, `2 endpoints`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

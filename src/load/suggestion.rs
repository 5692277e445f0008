//! Finds the word that a misspelt one most likely means.

use std::cell::Cell;

/// The most words that the searches of a load compare.
const MOST_COMPARED: usize = 300_000;

/// Searches for intended words, each through a long list. After 300,000 compared words they find nothing, which limits
/// the time for many mistakes among many words.
#[derive(Debug)]
pub struct Searches {
    left: Cell<usize>,
}

impl Default for Searches {
    fn default() -> Self {
        Self { left: Cell::new(MOST_COMPARED) }
    }
}

impl Searches {
    /// Like [`nearest`], within the limit.
    pub fn nearest<'a>(&self, text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let left = self.left.get();
        if left == 0 {
            return None;
        }
        let mut compared = 0;
        let near = nearest(text, known.into_iter().inspect(|_| compared += 1));
        self.left.set(left.saturating_sub(compared));
        near
    }
}

/// The word among `known` that `text` most likely means, if one is near enough.
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long text is not a typing error, and its distance would be expensive.
    if text.len() > 64 {
        return None;
    }
    let lower = text.to_lowercase();
    let distance = |word: &'a str| {
        let length = word.chars().count();
        let most = ((length + 1) / 3).max(1).min(length.saturating_sub(1));
        // The difference of the lengths is a lower bound, and cheap.
        let by_length = lower.chars().count().abs_diff(length);
        let distance = (by_length <= most).then(|| strsim::damerau_levenshtein(&lower, &word.to_lowercase()))?;
        // Of equal distances, prefer the same length: letters are swapped more often than left out.
        (distance <= most).then_some(((distance, by_length), word))
    };
    known.into_iter().filter_map(distance).min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// A question for the nearest word, or else another text.
pub(super) fn did_you_mean<'a>(
    text: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(text, known).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_strange_one_none() {
        let known = ["protocol", "port", "ip", "where"];
        assert_eq!(nearest("protocl", known), Some("protocol"));
        assert_eq!(nearest("Prot", known), Some("port"));
        assert_eq!(nearest("id", known), Some("ip"));
        assert_eq!(nearest("replicas", known), None);
        assert_eq!(nearest("xy", known), None);
        assert_eq!(nearest("prot_redirect", ["proto_redirect", "port_redirect"]), Some("port_redirect"));
    }
}

//! Searches for names of secrets in a text that cannot be parsed: where it has one, a secret may be at any place.

use std::collections::HashSet;

use super::suggestion::nearest;
use crate::kind::{self, snake};

/// The most words of a text that are checked; a longer text counts as one with a secret.
const MOST_WORDS: usize = 2_000;

/// The length from which a name counts anywhere. Shorter names are common words and count only as possible keys.
const LONG_NAME: usize = 8;

/// Whether a word of a text is, or is probably meant as, the name of a secret.
pub(super) fn may_be_in(text: &str) -> bool {
    let words: HashSet<&str> = words(text).collect();
    if words.len() > MOST_WORDS || words.iter().any(|word| kind::sealed::is_name(&snake(word))) {
        return true;
    }
    let names = kind::sealed::names();
    let is_near = |word: &&str| {
        let like_it = names.iter().copied().filter(|name| name.len() >= LONG_NAME || word.len() < LONG_NAME);
        nearest(&snake(word), like_it).is_some()
    };
    words.iter().any(is_near)
}

/// The words of a text that are long, or at a place where a key can be.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_quiet = |c: char| matches!(c, ' ' | '"' | '\'');
    let mut end = 0;
    text.split(move |c| !is_word(c)).filter(move |word| {
        let start = end;
        end = start + word.len() + text[start + word.len()..].chars().next().map_or(0, char::len_utf8);
        let before = text[..start].trim_end_matches(is_quiet).chars().next_back();
        let is_first = before.is_none_or(|before| matches!(before, '\n' | '-' | '{' | ',' | '['));
        let is_key = is_first || text[start + word.len()..].trim_start_matches(is_quiet).starts_with(':');
        !word.is_empty() && (is_key || word.len() >= LONG_NAME)
    })
}

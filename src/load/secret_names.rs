//! The names of secrets in a text that cannot be parsed: a secret may be at any place of one that has such a name.

use std::collections::HashSet;

use super::suggestion::nearest;
use crate::kind::{self, snake};

/// Words of a text that are looked at; one with more may have a secret.
const MOST_WORDS: usize = 2_000;

/// Letters of a name that is looked for anywhere: a shorter one is a word of many texts, and counts where a key may be.
const LONG_NAME: usize = 8;

/// Whether a word of a text is the name of a secret, or was probably meant as one.
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

/// The words of a text that are long, or where a key may be.
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

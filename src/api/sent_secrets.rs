//! Removes the secrets in the body of a write from refusals, which may repeat them. A whole secret is replaced by a
//! mark. If a refusal repeats a part of a secret, or one too short to be distinguished from other words, its text is
//! not shown at all.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::request::Request;
use crate::kind;
use crate::model::neutral;

/// What replaces a secret.
const MASK: &str = "[secret]";
/// The replacement for a text that repeats a part of a secret.
const WITHHELD: &str = "its words repeat a secret and are not shown";
/// A shorter part of a secret could be a part of any word.
const SHORTEST: usize = 8;

/// The secrets of a request.
#[derive(Debug, Default)]
pub(super) struct SentSecrets {
    /// Each secret as plain text and as JSON writes it.
    texts: HashSet<String>,
}

impl SentSecrets {
    /// The secrets in the body of a request; endpoints have none.
    pub(super) fn of(request: &Request) -> Self {
        let Some(body) = request.body.as_deref().filter(|_| !request.kind.is_endpoint()) else {
            return Self::default();
        };
        let body: Json = serde_json::from_slice(body).unwrap_or_default();
        let mut texts = HashSet::new();
        for text in kind::sealed::texts(request.kind.message(), &body["spec"]) {
            // The scheme of a location is not secret, and many answers contain it.
            let text = text.split_once(":///").map_or(text, |(_, text)| text);
            let quoted = Json::from(text).to_string();
            // The text of a refusal is neutralised too.
            texts.extend([text, &quoted[1..quoted.len() - 1]].map(|text| neutral(text, usize::MAX / 8)));
        }
        texts.retain(|text| !text.trim().is_empty());
        Self { texts }
    }

    /// A text of an answer without the secrets.
    pub(super) fn scrub(&self, text: String) -> String {
        let (mut long, short): (Vec<&String>, Vec<&String>) =
            self.texts.iter().partition(|text| text.len() >= SHORTEST);
        // Longest first, so that a secret that begins with another one is masked as a whole.
        long.sort_by_key(|text| (std::cmp::Reverse(text.len()), *text));
        let masked = long.iter().fold(text, |text, secret| text.replace(secret.as_str(), MASK));
        let parts: HashSet<&[u8]> = masked.as_bytes().windows(SHORTEST).collect();
        let repeats = |secret: &&String| secret.as_bytes().windows(SHORTEST).any(|part| parts.contains(part));
        if long.iter().any(repeats) || short.iter().any(|secret| has_word(&masked, secret)) {
            return WITHHELD.to_owned();
        }
        masked
    }
}

/// Whether a text contains this word without a letter or digit next to it.
fn has_word(text: &str, word: &str) -> bool {
    let is_open = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    text.match_indices(word)
        .any(|(at, _)| is_open(text[..at].chars().next_back()) && is_open(text[at + word.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> SentSecrets {
        SentSecrets { texts: texts.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn a_secret_is_masked_whole_and_a_part_of_one_takes_the_words_along() {
        let secrets = secrets(&["abcdefghijkl", "hush"]);
        assert_eq!(secrets.scrub("got string:///abcdefghijkl here".to_owned()), "got string:///[secret] here");
        for text in ["abcdefgh", "…bcdefghi", "abcdefghijkl and efghijkl", "not hush", "\"hush\"", "hush"] {
            assert_eq!(secrets.scrub(text.to_owned()), WITHHELD, "{text}");
        }
        let secrets = self::secrets(&["abcdefghijkl", "abcdefgh", "defghijk"]);
        assert_eq!(secrets.scrub("got abcdefghijkl, abcdefgh".to_owned()), "got [secret], [secret]");
        for text in ["abcdefg", "hushed", "got string:/// here", ""] {
            assert_eq!(secrets.scrub(text.to_owned()), text);
        }
    }
}

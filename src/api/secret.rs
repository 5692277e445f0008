//! The token, in a type that cannot be printed. It is compared and masked here, and leaves only as the value of the
//! Authorization header. Texts are searched with their escapes resolved: JSON can write each character as `\u002B`, and
//! JSON inside JSON escapes that again.

use std::ops::Range;

use http::HeaderValue;
use memchr::{memchr_iter, memchr2, memmem};

use crate::model::displayed;

/// What replaces a token.
const MASK: &str = "[token]";

/// A shorter token cannot be distinguished from ordinary text, so it is not searched for.
const SHORTEST: usize = 16;
/// A longer text is not a token.
const LONGEST: usize = 16 * 1024;

/// An API token. Debug shows nothing of it, and it has no Display.
#[derive(Clone)]
pub struct Secret {
    token: Box<str>,
    header: HeaderValue,
    finder: memmem::Finder<'static>,
}

/// Why a text is not a token. It never shows the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing, or only white space.
    #[error("the token is empty")]
    Empty,
    /// White space or a control character inside, or not ASCII.
    #[error(
        "the token contains a blank or a character that a header cannot contain: give the token alone, without `APIToken`"
    )]
    NotHeaderText,
}

impl Secret {
    /// A token; white space around it is removed.
    ///
    /// # Errors
    /// [`SecretError`], which does not show the token.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let token = text.trim();
        if token.is_empty() {
            return Err(SecretError::Empty);
        }
        if token.len() > LONGEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::NotHeaderText);
        }
        let mut header = HeaderValue::from_str(&format!("APIToken {token}")).map_err(|_| SecretError::NotHeaderText)?;
        header.set_sensitive(true);
        let finder = memmem::Finder::new(token.as_bytes()).into_owned();
        Ok(Self { token: token.into(), header, finder })
    }

    /// Whether the token is too short to be searched for in answers.
    pub fn is_short(&self) -> bool {
        self.token.len() < SHORTEST
    }

    /// The value of the Authorization header (reference section 5).
    pub fn authorization(&self) -> HeaderValue {
        self.header.clone()
    }

    /// `text` with every token in it masked.
    pub fn scrub(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.masked(text.as_bytes())).into_owned()
    }

    /// `body` with every token in it masked; not copied if it has none.
    pub fn scrub_bytes(&self, body: bytes::Bytes) -> bytes::Bytes {
        if self.appears_in(&body) { self.masked(&body).into() } else { body }
    }

    /// Whether `body` contains the token, with any escapes.
    pub fn appears_in(&self, body: &[u8]) -> bool {
        self.tokens(body).next().is_some()
    }

    fn masked(&self, text: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(text.len());
        let mut end = 0;
        for found in self.tokens(text) {
            clean.extend_from_slice(&text[end..found.start]);
            clean.extend_from_slice(MASK.as_bytes());
            end = found.end;
        }
        clean.extend_from_slice(&text[end..]);
        clean
    }

    fn tokens<'t>(&'t self, text: &'t [u8]) -> Tokens<'t> {
        let plain = if self.is_short() { None } else { self.finder.find(text) };
        Tokens { secret: self, text, at: 0, plain }
    }

    fn find_escaped(&self, text: &[u8]) -> Option<Range<usize>> {
        let first = *self.token.as_bytes().first()?;
        let mut from = 0;
        while let Some(found) = memchr2(first, b'\\', &text[from..]) {
            let start = from + found;
            if let Some(length) = self.escaped_at(&text[start..]) {
                return Some(start..start + length);
            }
            // Skip the whole row of backslashes: a token that begins inside it would have been found at its start.
            from = start + escapes(&text[start..]).max(1);
        }
        None
    }

    /// The length of the token at the beginning of `text`, with its escapes.
    fn escaped_at(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        // After a backslash of the token, the row of backslashes may include the escape of the next character.
        let mut carried = false;
        for expected in self.token.bytes() {
            let escapes = escapes(&text[at..]);
            let next = &text[at + escapes..];
            at += escapes
                + match next {
                    [b'u', b'0', b'0', high, low, ..]
                        if (escapes > 0 || carried) && hexadecimal(*high, *low) == Some(expected) =>
                    {
                        5
                    }
                    [byte, ..] if *byte == expected => 1,
                    // The escape itself is the character.
                    _ if expected == b'\\' && escapes > 0 => 0,
                    _ => return None,
                };
            carried = expected == b'\\';
        }
        Some(at)
    }
}

/// The length of the row of backslashes at the beginning of `text`, each of which may be escaped any number of times.
fn escapes(text: &[u8]) -> usize {
    if text.first() != Some(&b'\\') {
        return 0;
    }
    let mut at = 1;
    loop {
        match &text[at..] {
            [b'\\', ..] => at += 1,
            [b'u', b'0', b'0', b'5', b'c' | b'C', ..] => at += 5,
            _ => return at,
        }
    }
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

/// Finds the tokens in a text from start to end, and searches each part only once.
struct Tokens<'t> {
    secret: &'t Secret,
    text: &'t [u8],
    at: usize,
    /// The next token without escapes.
    plain: Option<usize>,
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { secret, text, at, .. } = *self;
        if secret.is_short() {
            return None;
        }
        if self.plain.is_some_and(|plain| plain < at) {
            self.plain = secret.finder.find(&text[at..]).map(|found| at + found);
        }
        // Most texts have no escape that could be a character of a token.
        let before = &text[at..self.plain.unwrap_or(text.len())];
        let has_escape = memchr_iter(b'\\', before).any(|at| matches!(before.get(at + 1), Some(b'u' | b'/' | b'\\')));
        let escaped = if has_escape { secret.find_escaped(before) } else { None };
        let found = match (escaped, self.plain) {
            (Some(found), _) => at + found.start..at + found.end,
            (None, Some(plain)) => plain..plain + secret.token.len(),
            (None, None) => return None,
        };
        self.at = found.end;
        Some(found)
    }
}

displayed!(Debug: Secret, |_| "Secret(…)");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::growth_tests::assert_at_most_linear;

    #[test]
    fn neither_debug_nor_the_header_shows_the_token() {
        let secret = Secret::new(" abc/DEF+123= \n").expect("a token");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(format!("{:?}", secret.authorization()), "Sensitive");
        assert_eq!(secret.authorization().as_bytes(), b"APIToken abc/DEF+123=");
    }

    #[test]
    fn the_token_is_scrubbed_however_json_writes_its_slashes() {
        let secret = Secret::new("abc/DEF+1234567=").expect("a token");
        assert_eq!(
            secret.scrub(r#"x abc/DEF+1234567= "abc\/DEF+1234567=" \"abc\\/DEF+1234567=\""#),
            "x [token] \"[token]\" \\\"[token]\\\""
        );
        assert_eq!(secret.scrub("abc/DEF"), "abc/DEF");
    }

    #[test]
    fn the_token_is_found_in_any_escapes_of_json() {
        let token = "abc/DEF+123\"x\\y==";
        let secret = Secret::new(token).expect("a token");
        let escaped = |character: char| format!("\\u{:04X}", u32::from(character));
        let whole: String = token.chars().map(escaped).collect();
        let mut texts = vec![
            whole.clone(),
            whole.to_lowercase(),
            serde_json::json!(token).to_string().trim_matches('"').to_owned(),
        ];
        for at in 0..token.len() {
            let content = |(place, character): (usize, char)| match character {
                character if place == at => escaped(character),
                '"' | '\\' => format!("\\{character}"),
                character => character.to_string(),
            };
            texts.push(token.chars().enumerate().map(content).collect());
        }
        // JSON inside of JSON, twice.
        for text in texts.clone() {
            let once = serde_json::json!(text).to_string();
            texts.push(serde_json::json!(once).to_string());
            texts.push(once.replace('\\', "\\u005c"));
            texts.push(once);
        }
        for text in texts {
            let body = format!("{{\"a\\n\": \"before {text} after\"}}");
            assert!(secret.appears_in(body.as_bytes()), "{body}");
            assert!(!secret.appears_in(secret.scrub(&body).as_bytes()), "{body}");
        }
        for other in [r"abc\/DEF+123", r"\u0061bc", "", r"\\\\\\"] {
            assert!(!secret.appears_in(other.as_bytes()), "{other}");
        }
        let row = vec![b'\\'; 1 << 20];
        assert!(!secret.appears_in(&row), "in linear time");
    }

    #[test]
    fn many_tokens_are_masked_in_linear_time() {
        let secret = Secret::new("abc/DEF+1234567=").expect("a token");
        let escaped = |count: usize| r"abc\/DEF+1234567= \u0061bc/DEF+1234567= ".repeat(count);
        let mixed = |count: usize| format!("{} abc/DEF+1234567= ", r"abc/DEF+1234567= \u0061bc/DEF+ ".repeat(count));
        assert_at_most_linear("escaped tokens", 2_000, escaped, |text| {
            assert!(!secret.scrub(&text).contains("DEF"));
        });
        assert_at_most_linear("plain tokens", 2_000, mixed, |text| {
            assert!(!secret.scrub(&text).contains("DEF+1"));
        });
    }

    #[test]
    fn a_short_token_is_not_looked_for() {
        let secret = Secret::new("tok").expect("a token");
        assert!(secret.is_short() && !secret.appears_in(b"stock"));
        assert_eq!(secret.scrub("stock"), "stock");
        assert!(Secret::new(&"x".repeat(20_000)).is_err());
    }

    #[test]
    fn what_no_header_carries_is_no_token() {
        assert_eq!(Secret::new("  ").err(), Some(SecretError::Empty));
        assert_eq!(Secret::new("a b").err(), Some(SecretError::NotHeaderText));
        assert_eq!(Secret::new("ä").err(), Some(SecretError::NotHeaderText));
        assert!(!Secret::new("to\nken").expect_err("two lines").to_string().contains("ken\n"));
    }
}

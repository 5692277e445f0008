//! The token, in a type that nothing prints. It is compared and scrubbed here, and leaves only as the
//! value of the Authorization header.

use std::fmt;

use http::HeaderValue;

/// What stands in the place of a token.
const MASK: &str = "[token]";

/// An API token. Debug shows nothing of it, and it has no Display.
#[derive(Clone)]
pub struct Secret {
    token: Box<str>,
    header: HeaderValue,
    pattern: regex::bytes::Regex,
}

/// Why a text is no token. It never shows the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing, or only white space.
    #[error("the token is empty")]
    Empty,
    /// White space or a control character inside, or not ASCII.
    #[error("the token holds a character that no header can carry; is it the right file?")]
    NotHeaderText,
}

impl Secret {
    /// A token; white space around it falls away.
    ///
    /// # Errors
    /// [`SecretError`], which does not show the token.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let token = text.trim();
        if token.is_empty() {
            return Err(SecretError::Empty);
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::NotHeaderText);
        }
        let mut header = HeaderValue::from_str(&format!("APIToken {token}")).map_err(|_| SecretError::NotHeaderText)?;
        header.set_sensitive(true);
        // JSON may write a slash behind any number of backslashes: an event is JSON inside JSON.
        let pattern = regex::escape(token).replace('/', r"\\*/");
        let pattern = regex::bytes::Regex::new(&pattern).map_err(|_| SecretError::NotHeaderText)?;
        Ok(Self { token: token.into(), header, pattern })
    }

    /// The value of the Authorization header (reference section 5).
    #[must_use]
    pub fn authorization(&self) -> HeaderValue {
        self.header.clone()
    }

    /// Whether `text` is the token, in a time that does not tell how much of it was right.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        let (mine, other) = (self.token.as_bytes(), text.as_bytes());
        let differ = mine.iter().zip(other).fold(0, |differ, (mine, other)| differ | (mine ^ other));
        mine.len() == other.len() && differ == 0
    }

    /// `text` with every token in it masked.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        let clean = self.pattern.replace_all(text.as_bytes(), MASK.as_bytes());
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// `body` with every token in it masked; unchanged, and not copied, where there is none.
    #[must_use]
    pub fn scrub_bytes(&self, body: bytes::Bytes) -> bytes::Bytes {
        if self.appears_in(&body) { self.pattern.replace_all(&body, MASK.as_bytes()).into_owned().into() } else { body }
    }

    /// Whether the token stands in `body`.
    #[must_use]
    pub fn appears_in(&self, body: &[u8]) -> bool {
        self.pattern.is_match(body)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_the_header_shows_the_token() {
        let secret = Secret::new(" abc/DEF+123= \n").expect("a token");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(format!("{:?}", secret.authorization()), "Sensitive");
        assert_eq!(secret.authorization().as_bytes(), b"APIToken abc/DEF+123=");
        assert!(secret.is("abc/DEF+123="));
        assert!(!secret.is("abc/DEF+123"));
    }

    #[test]
    fn the_token_is_scrubbed_however_json_writes_its_slashes() {
        let secret = Secret::new("abc/DEF+123=").expect("a token");
        assert_eq!(
            secret.scrub(r#"x abc/DEF+123= "abc\/DEF+123=" \"abc\\/DEF+123=\""#),
            "x [token] \"[token]\" \\\"[token]\\\""
        );
        assert_eq!(secret.scrub("abc/DEF"), "abc/DEF");
    }

    #[test]
    fn what_no_header_carries_is_no_token() {
        assert_eq!(Secret::new("  ").err(), Some(SecretError::Empty));
        assert_eq!(Secret::new("a b").err(), Some(SecretError::NotHeaderText));
        assert_eq!(Secret::new("ä").err(), Some(SecretError::NotHeaderText));
        assert!(!Secret::new("to\nken").expect_err("two lines").to_string().contains("ken\n"));
    }
}

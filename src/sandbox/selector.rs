//! Label selectors as Kubernetes reads them: requirements joined by commas, all of which must match.
//! `=`, `==`, `!=`, `in (…)`, `notin (…)`, a bare key (exists) and `!key` (absent). A requirement
//! that excludes a value also matches where the key is absent.

use std::collections::{BTreeMap, BTreeSet};

/// A selector; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The values that it is about; nothing for any value.
    values: Option<BTreeSet<String>>,
    /// Whether it selects what has neither such a value nor the key.
    excludes: bool,
}

impl Selector {
    /// Reads a selector.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens };
        let mut requirements = Vec::new();
        while !parser.peek().is_empty() || !requirements.is_empty() {
            requirements.push(parser.requirement()?);
            match parser.take() {
                "" => break,
                "," => {}
                other => return Err(found(other, "`,` or the end")),
            }
        }
        Ok(Self(requirements))
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it selects an object with these labels.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let listed = |value| requirement.values.as_ref().is_none_or(|values| values.contains(value));
            labels.get(&requirement.key).is_some_and(listed) != requirement.excludes
        })
    }
}

/// The words and signs of a selector. `==` is the same sign as `=`.
fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '<' | '>' => return Err(format!("`{first}` is not supported")),
            '=' | '!' if rest[1..].starts_with('=') => 2,
            ',' | '(' | ')' | '=' | '!' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || SIGNS.contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(if token == "==" { "=" } else { token });
        rest = after.trim_start();
    }
    Ok(tokens)
}

const SIGNS: &str = "=!(),<>";

fn is_text(token: &str) -> bool {
    !token.is_empty() && !token.starts_with(|c| SIGNS.contains(c))
}

fn found(token: &str, expected: &str) -> String {
    if token.is_empty() {
        return format!("found the end, expected {expected}");
    }
    format!("found `{token}`, expected {expected}")
}

/// The tokens that are left; the empty token is the end.
struct Parser<'a> {
    tokens: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.first().copied().unwrap_or_default()
    }

    fn take(&mut self) -> &'a str {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == "!" {
            self.take();
            return Ok(Requirement { key: self.key()?, values: None, excludes: true });
        }
        let key = self.key()?;
        let operator = self.peek();
        if !matches!(operator, "" | ",") {
            self.take();
        }
        let values = match operator {
            "" | "," => None,
            "=" | "!=" => Some(BTreeSet::from([self.value()?])),
            "in" | "notin" => Some(self.values()?),
            other => return Err(found(other, "one of `=`, `==`, `!=`, `in`, `notin`")),
        };
        Ok(Requirement { key, values, excludes: matches!(operator, "!=" | "notin") })
    }

    fn key(&mut self) -> Result<String, String> {
        let word = self.take();
        if !is_text(word) || word == "in" || word == "notin" {
            return Err(found(word, "a label key"));
        }
        check_key(word)?;
        Ok(word.to_owned())
    }

    /// A value may be empty: `a=` selects a label that is present and empty.
    fn value(&mut self) -> Result<String, String> {
        let word = self.peek();
        if is_text(word) {
            check_value(word)?;
            return Ok(self.take().to_owned());
        }
        if matches!(word, "" | "," | ")") { Ok(String::new()) } else { Err(found(word, "a value")) }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let first = self.take();
        if first != "(" {
            return Err(found(first, "`(`"));
        }
        let mut values = BTreeSet::from([self.value()?]);
        loop {
            match self.take() {
                ")" => return Ok(values),
                "," => drop(values.insert(self.value()?)),
                other => return Err(found(other, "`,` or `)`")),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.is_empty() || !is_word(name) {
        return Err(format!("`{key}` is not a valid label key: its name has 1 to 63 letters, digits, `-`, `_`, `.`"));
    }
    let known = prefix.is_none_or(|prefix| {
        prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(inner)
            })
    });
    if known { Ok(()) } else { Err(format!("`{key}` is not a valid label key: its prefix is not a DNS name")) }
}

fn check_value(value: &str) -> Result<(), String> {
    if is_word(value) {
        return Ok(());
    }
    Err(format!("`{value}` is not a valid label value: at most 63 letters, digits, `-`, `_`, `.`"))
}

/// Letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at both ends.
fn is_word(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

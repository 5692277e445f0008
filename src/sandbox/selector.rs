//! Label selectors as Kubernetes reads them: requirements joined by commas, all of which must hold.
//! `=`, `==`, `!=`, `in (…)`, `notin (…)`, a bare key (exists) and `!key` (absent). A requirement
//! that denies a value also holds where the key is absent.

use std::collections::{BTreeMap, BTreeSet};

/// A selector that has been read; the empty one holds for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    wanted: RequirementTest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequirementTest {
    OneOf(BTreeSet<String>),
    NoneOf(BTreeSet<String>),
    Present,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectorToken<'a> {
    Word(&'a str),
    Comma,
    Open,
    Close,
    Equal,
    NotEqual,
    Not,
    End,
}

impl SelectorToken<'_> {
    fn text(self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Comma => "`,`".into(),
            Self::Open => "`(`".into(),
            Self::Close => "`)`".into(),
            Self::Equal => "`=`".into(),
            Self::NotEqual => "`!=`".into(),
            Self::Not => "`!`".into(),
            Self::End => "the end".into(),
        }
    }
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// What was found where something else was needed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens };
        if parser.peek() == SelectorToken::End {
            return Ok(Self::default());
        }
        let mut requirements = vec![parser.requirement()?];
        loop {
            match parser.take() {
                SelectorToken::End => return Ok(Self(requirements)),
                SelectorToken::Comma => requirements.push(parser.requirement()?),
                other => return Err(format!("found {}, expected `,` or the end", other.text())),
            }
        }
    }

    /// Whether it holds for everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match &requirement.wanted {
                RequirementTest::OneOf(values) => value.is_some_and(|value| values.contains(value)),
                RequirementTest::NoneOf(values) => value.is_none_or(|value| !values.contains(value)),
                RequirementTest::Present => value.is_some(),
                RequirementTest::Absent => value.is_none(),
            }
        })
    }
}

fn tokens(text: &str) -> Result<Vec<SelectorToken<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            ',' => (SelectorToken::Comma, 1),
            '(' => (SelectorToken::Open, 1),
            ')' => (SelectorToken::Close, 1),
            '=' if rest.starts_with("==") => (SelectorToken::Equal, 2),
            '=' => (SelectorToken::Equal, 1),
            '!' if rest.starts_with("!=") => (SelectorToken::NotEqual, 2),
            '!' => (SelectorToken::Not, 1),
            '<' | '>' => return Err(format!("`{first}` is not supported")),
            _ => {
                let end = rest
                    .find(|letter: char| letter.is_whitespace() || "=!(),<>".contains(letter))
                    .unwrap_or(rest.len());
                (SelectorToken::Word(&rest[..end]), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [SelectorToken<'a>],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> SelectorToken<'a> {
        self.tokens.first().copied().unwrap_or(SelectorToken::End)
    }

    fn take(&mut self) -> SelectorToken<'a> {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == SelectorToken::Not {
            self.take();
            return Ok(Requirement { key: self.key()?, wanted: RequirementTest::Absent });
        }
        let key = self.key()?;
        let wanted = match self.peek() {
            SelectorToken::End | SelectorToken::Comma => RequirementTest::Present,
            SelectorToken::Equal => {
                self.take();
                RequirementTest::OneOf(BTreeSet::from([self.value()?]))
            }
            SelectorToken::NotEqual => {
                self.take();
                RequirementTest::NoneOf(BTreeSet::from([self.value()?]))
            }
            SelectorToken::Word("in") => {
                self.take();
                RequirementTest::OneOf(self.values()?)
            }
            SelectorToken::Word("notin") => {
                self.take();
                RequirementTest::NoneOf(self.values()?)
            }
            other => {
                return Err(format!("found {}, expected one of `=`, `==`, `!=`, `in`, `notin`", other.text()));
            }
        };
        Ok(Requirement { key, wanted })
    }

    fn key(&mut self) -> Result<String, String> {
        match self.take() {
            SelectorToken::Word(word) if word != "in" && word != "notin" => {
                check_key(word)?;
                Ok(word.to_owned())
            }
            other => Err(format!("found {}, expected a label key", other.text())),
        }
    }

    /// A value may be empty: `a=` asks for a label that is there and empty.
    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            SelectorToken::Word(word) => {
                self.take();
                check_value(word)?;
                Ok(word.to_owned())
            }
            SelectorToken::End | SelectorToken::Comma | SelectorToken::Close => Ok(String::new()),
            other => Err(format!("found {}, expected a value", other.text())),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.take() {
            SelectorToken::Open => {}
            other => return Err(format!("found {}, expected `(`", other.text())),
        }
        let mut values = BTreeSet::from([self.value()?]);
        loop {
            match self.take() {
                SelectorToken::Close => return Ok(values),
                SelectorToken::Comma => {
                    values.insert(self.value()?);
                }
                other => return Err(format!("found {}, expected `,` or `)`", other.text())),
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
        return Err(format!("`{key}` is no label key: its name has 1 to 63 letters, digits, `-`, `_`, `.`"));
    }
    let known = prefix.is_none_or(|prefix| {
        prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(inner)
            })
    });
    if known { Ok(()) } else { Err(format!("`{key}` is no label key: its prefix is no DNS name")) }
}

fn check_value(value: &str) -> Result<(), String> {
    if is_word(value) {
        return Ok(());
    }
    Err(format!("`{value}` is no label value: at most 63 letters, digits, `-`, `_`, `.`"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_operator_selects_as_kubernetes_does() {
        let web = labels(&[("tier", "web"), ("env", "staging"), ("empty", "")]);
        for (selector, holds) in [
            ("", true),
            ("   ", true),
            ("tier=web", true),
            ("tier==web", true),
            ("tier = web , env=staging", true),
            ("tier=db", false),
            ("tier!=db", true),
            ("tier!=web", false),
            ("absent!=x", true),
            ("env in (staging, testing), tier in (web, db)", true),
            ("env in (prod)", false),
            ("absent in (x)", false),
            ("env notin (prod,testing)", true),
            ("env notin (staging)", false),
            ("absent notin (x)", true),
            ("tier", true),
            ("absent", false),
            ("!absent", true),
            ("! tier", false),
            ("empty=", true),
            ("tier=", false),
            ("empty in ()", true),
            ("empty in (x,)", true),
            ("tier=in", false),
            ("tier in (in, web)", true),
        ] {
            let parsed = Selector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"));
            assert_eq!(parsed.holds(&web), holds, "{selector}");
        }
    }

    #[test]
    fn prefixed_keys_are_keys() {
        let selector = Selector::parse("acme.example/tier=web").unwrap();
        assert!(selector.holds(&labels(&[("acme.example/tier", "web")])));
    }

    #[test]
    fn malformed_selectors_are_refused() {
        for selector in [
            ",",
            "a,",
            ",a",
            "a=b,",
            "a b",
            "a=b=c",
            "a in",
            "a in b",
            "a in (b",
            "a in b)",
            "a in ((b))",
            "!a=b",
            "!",
            "=b",
            "in in (a)",
            "a<3",
            "a>3",
            "a===b",
            "a=b c",
            "-a=b",
            "a=-b",
            "a/b/c=d",
            "/a",
            "a/",
            "Ä=b",
            "a!b",
            "()",
        ] {
            assert!(Selector::parse(selector).is_err(), "{selector} was taken");
        }
        let long = "a".repeat(64);
        assert!(Selector::parse(&long).is_err());
        assert!(Selector::parse(&format!("a={long}")).is_err());
    }

    #[test]
    fn the_message_names_what_was_found() {
        let message = Selector::parse("tier in web").unwrap_err();
        assert_eq!(message, "found `web`, expected `(`");
    }
}

//! The event query language: `{name op "value", …}` with the operators `=`, `!=`, `=~`, `!~`, where a comma means AND
//! and `{}` means every event. Braces may be omitted, and `query=` may come first, as clients of the service write it.
//! Dotted names reach into nested fields. A regular expression has to match the whole value, as in Prometheus, whose
//! syntax this is; public sources do not say whether the vendor anchors. An event that lacks the named field never
//! matches, not even with a negative operator, because a wrong name is known to give zero hits and no error.

use regex::Regex;
use serde_json::Value;

/// The most bytes of a compiled regular expression.
const REGEX_SIZE: usize = 1 << 20;

/// The pattern for a value; a regular expression is anchored at both ends.
#[derive(Clone, Debug)]
enum Pattern {
    Text(String),
    Regex(Regex),
}

/// One `name op "value"`.
#[derive(Clone, Debug)]
struct Matcher {
    name: String,
    pattern: Pattern,
    negated: bool,
}

/// A parsed query; an event has to pass every matcher.
#[derive(Clone, Debug, Default)]
pub struct Query {
    matchers: Vec<Matcher>,
}

/// Why a text is not a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed query at position {position}: {problem}")]
pub struct QueryError {
    /// The position of the error in characters, from 1.
    pub position: usize,
    pub problem: String,
}

impl Query {
    /// Reads a query; the empty text is `{}`, because the field is optional.
    ///
    /// # Errors
    /// `QueryError` with the position of the first error.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let mut reader = Reader { text, at: 0 };
        reader.skip_blanks();
        reader.skip_prefix();
        if reader.rest().is_empty() {
            return Ok(Self::default());
        }
        let matchers = reader.matchers()?;
        reader.skip_blanks();
        if reader.rest().is_empty() {
            Ok(Self { matchers })
        } else {
            Err(reader.fault("nothing may follow the closing `}`"))
        }
    }

    /// The fields that are compared, dotted where nested, in the order written.
    pub fn names(&self) -> Vec<&str> {
        self.matchers.iter().map(|matcher| matcher.name.as_str()).collect()
    }

    /// Whether an event passes.
    pub fn accepts(&self, event: &Value) -> bool {
        self.matchers.iter().all(|matcher| matcher.accepts(event))
    }
}

impl Matcher {
    /// Whether an event passes.
    fn accepts(&self, event: &Value) -> bool {
        let (mut present, mut matched) = (false, false);
        texts(event, &self.name, &mut |text| {
            present = true;
            matched |= match &self.pattern {
                Pattern::Text(wanted) => text == wanted,
                Pattern::Regex(pattern) => pattern.is_match(text),
            };
        });
        present && matched != self.negated
    }
}

/// Calls `look` with every scalar at the dotted `name` of `value`, as text: numbers and booleans as in JSON, each
/// element of an array; nulls and objects are skipped.
pub fn texts(value: &Value, name: &str, look: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| texts(element, name, look)),
        Value::Object(fields) => {
            if let Some(field) = fields.get(name) {
                return scalars(field, look);
            }
            if let Some((first, rest)) = name.split_once('.')
                && let Some(field) = fields.get(first)
            {
                texts(field, rest, look);
            }
        }
        _ => {}
    }
}

/// Calls `look` with every scalar of a field that the name leads to.
fn scalars(field: &Value, look: &mut dyn FnMut(&str)) {
    match field {
        Value::String(text) => look(text),
        Value::Number(number) => look(&number.to_string()),
        Value::Bool(flag) => look(if *flag { "true" } else { "false" }),
        Value::Array(elements) => elements.iter().for_each(|element| scalars(element, look)),
        Value::Null | Value::Object(_) => {}
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn fault(&self, problem: impl Into<String>) -> QueryError {
        self.fault_at(self.at, problem)
    }

    fn fault_at(&self, at: usize, problem: impl Into<String>) -> QueryError {
        QueryError { position: self.text[..at].chars().count() + 1, problem: problem.into() }
    }

    /// Skips `query=`, unless it is a condition on a field of that name.
    fn skip_prefix(&mut self) {
        let after = self.rest().strip_prefix("query=").map(str::trim_start);
        if let Some(after) = after.filter(|after| !after.starts_with(['"', '~'])) {
            self.at = self.text.len() - after.len();
        }
    }

    fn matchers(&mut self) -> Result<Vec<Matcher>, QueryError> {
        let braced = self.take("{");
        let ends = |reader: &mut Self| {
            reader.skip_blanks();
            if braced { reader.take("}") } else { reader.rest().is_empty() }
        };
        let mut matchers = Vec::new();
        // Prometheus allows one comma after the last matcher.
        while !ends(self) {
            matchers.push(self.matcher()?);
            if ends(self) {
                break;
            }
            if !self.take(",") {
                let expected = if braced { "expected `,` or `}` after a value" } else { "expected `,` after a value" };
                return Err(self.fault(expected));
            }
        }
        Ok(matchers)
    }

    fn matcher(&mut self) -> Result<Matcher, QueryError> {
        self.skip_blanks();
        let name = self.name()?;
        self.skip_blanks();
        let operator = self.operator()?;
        self.skip_blanks();
        let at = self.at;
        let value = self.value()?;
        let pattern = if operator.ends_with('~') {
            Pattern::Regex(anchored(&value).map_err(|problem| self.fault_at(at, problem))?)
        } else {
            Pattern::Text(value)
        };
        Ok(Matcher { name, pattern, negated: operator.starts_with('!') })
    }

    fn name(&mut self) -> Result<String, QueryError> {
        let length = self
            .rest()
            .find(|letter: char| !(letter.is_alphanumeric() || "_-@.".contains(letter)))
            .unwrap_or(self.rest().len());
        let name = &self.rest()[..length];
        if name.is_empty() {
            return Err(self.fault("expected a field name"));
        }
        if name.split('.').any(str::is_empty) {
            return Err(self.fault(format!("`{name}` has an empty part between its dots")));
        }
        self.at += length;
        Ok(name.to_owned())
    }

    fn operator(&mut self) -> Result<&'static str, QueryError> {
        ["=~", "!~", "!=", "="]
            .into_iter()
            .find(|operator| self.take(operator))
            .ok_or_else(|| self.fault("expected one of `=`, `!=`, `=~`, `!~`"))
    }

    fn value(&mut self) -> Result<String, QueryError> {
        let start = self.at;
        if !self.take("\"") {
            return Err(self.fault("expected a value in double quotes"));
        }
        let mut value = String::new();
        let mut letters = self.rest().char_indices();
        while let Some((offset, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += offset + 1;
                    return Ok(value);
                }
                '\\' => match letters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, 'r')) => value.push('\r'),
                    // A regular expression such as `\d` is usually written with one backslash.
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                other => value.push(other),
            }
        }
        Err(self.fault_at(start, "the value is not closed with `\"`"))
    }
}

/// Compiles the pattern alone first: `^a|b$` and `a)|(?:b` would escape anchors that are added blindly.
fn anchored(pattern: &str) -> Result<Regex, String> {
    let compile = |pattern: &str| {
        regex::RegexBuilder::new(pattern)
            .size_limit(REGEX_SIZE)
            .build()
            .map_err(|error| format!("bad regular expression: {}", one_line(&error.to_string())))
    };
    compile(pattern)?;
    compile(&format!("^(?:{pattern})$"))
}

/// The last line of the library's message, which names the problem without drawing it.
fn one_line(message: &str) -> &str {
    let last = message.lines().last().unwrap_or(message);
    last.trim().trim_start_matches("error: ")
}

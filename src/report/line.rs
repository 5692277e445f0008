//! Lines made of parts. Only words of this program's source and numbers are trusted; any other text is foreign, and
//! only a renderer, which escapes it, can turn it into output.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::{Key, SourceLocation};
use crate::report::{Role, time};

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<'a> {
    /// Words of this program. What they quote in backticks is code.
    Own(&'static str),
    /// Parts that have a colour.
    Styled(Role, Line<'a>),
    /// What this program made of numbers and of its words: a count, a time, a length of time, capitals.
    Made(String),
    /// Text from the service, a file, a name or an argument.
    Foreign(Cow<'a, str>),
    /// The same, to be read letter by letter: a name, a value, a command.
    Code(Cow<'a, str>),
    /// The same in a sentence, where plain text quotes it.
    Quoted(Cow<'a, str>),
}

/// Parts on one line.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Line<'a>(pub Vec<Part<'a>>);

/// What can be added to a line. Text that is not `'static` has to be marked by [`foreign`] or [`code`].
pub trait Parts<'a> {
    /// Adds it.
    fn add_to(self, line: &mut Line<'a>);
}

/// Text that is not ours.
pub fn foreign<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Foreign(text.into())
}

/// Text that is not ours, and that is read letter by letter.
pub fn code<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Code(text.into())
}

/// Text that is not ours, quoted in a sentence.
pub fn quoted<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Quoted(text.into())
}

/// Parts with the colour of a role.
pub fn styled<'a>(role: Role, parts: impl Parts<'a>) -> Part<'a> {
    Part::Styled(role, Line::default().and(parts))
}

/// A word in capitals, in its colour.
pub fn loud(role: Role, word: &'static str) -> Part<'static> {
    styled(role, Part::Made(word.to_uppercase()))
}

/// An RFC 3339 time up to its minute; any other text is foreign.
pub fn moment(time: &str) -> Part<'_> {
    time.parse().map_or_else(|_| foreign(time), |time| Part::Made(time::minute(time)))
}

/// The same as [`moment`], with its age at `now`.
pub fn moment_with_age(time: &str, now: Option<Timestamp>) -> Part<'_> {
    time.parse().map_or_else(|_| foreign(time), |time| Part::Made(time::with_age(time, now)))
}

/// How long something took.
pub fn took(time: Duration) -> Part<'static> {
    Part::Made(time::seconds(time))
}

/// A place as `file:line`.
pub fn at(place: &SourceLocation) -> Part<'static> {
    code(format!("{}:{}", place.file, place.line))
}

/// The name of an endpoint.
pub fn key(key: &Key) -> Part<'static> {
    code(key.to_string())
}

/// A word at the beginning of a sentence.
pub fn capital(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A number for people, with a comma between thousands.
pub fn digits(number: impl TryInto<u64>) -> String {
    let text = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (text.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A line of parts.
macro_rules! line {
    ($($part:expr),+ $(,)?) => {{
        let mut line = $crate::report::line::Line::default();
        $( $crate::report::line::Parts::add_to($part, &mut line); )+
        line
    }};
}

impl<'a> Line<'a> {
    /// `1 endpoint`, `2 endpoints`.
    pub fn count(number: impl TryInto<u64>, one: &'static str) -> Self {
        let number = number.try_into().unwrap_or(u64::MAX);
        line![number, " ", one, if number == 1 { "" } else { "s" }]
    }

    /// A line that begins with a word in its colour: `failed: why`.
    pub fn labelled(role: Role, word: &'static str, text: impl Parts<'a>) -> Self {
        line![styled(role, word), ": ", text]
    }

    /// The line with `more` at its end.
    pub fn and(mut self, more: impl Parts<'a>) -> Self {
        more.add_to(&mut self);
        self
    }

    /// Lines as one, with `between` them.
    pub fn joined(lines: impl IntoIterator<Item = Line<'a>>, between: &'static str) -> Self {
        let mut all = Line::default();
        for (at, line) in lines.into_iter().enumerate() {
            if at > 0 {
                all.0.push(Part::Own(between));
            }
            all.0.extend(line.0);
        }
        all
    }

    /// A list of names that does not grow without end: `a, b and 3 more`.
    pub fn some_of(names: impl ExactSizeIterator<Item = impl Into<Cow<'a, str>>>, most: usize) -> Self {
        let more = names.len().saturating_sub(most);
        let list = Line::joined(names.take(most).map(|name| line![code(name)]), ", ");
        if more == 0 { list } else { list.and(" and ").and(more).and(" more") }
    }

    /// Its text with foreign parts unescaped: the caller escapes it as a whole.
    pub fn unescaped(&self) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Own(words) => text.push_str(words),
                Part::Styled(_, parts) => text.push_str(&parts.unescaped()),
                Part::Made(words) => text.push_str(words),
                Part::Foreign(words) | Part::Code(words) => text.push_str(words),
                Part::Quoted(words) => text.extend(["`", words, "`"]),
            }
        }
        text
    }

    /// Whether nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Own("")))
    }
}

impl<'a> Parts<'a> for Part<'a> {
    fn add_to(self, line: &mut Line<'a>) {
        line.0.push(self);
    }
}

impl<'a> Parts<'a> for Line<'a> {
    fn add_to(self, line: &mut Line<'a>) {
        line.0.extend(self.0);
    }
}

impl<'a> Parts<'a> for &'static str {
    fn add_to(self, line: &mut Line<'a>) {
        line.0.push(Part::Own(self));
    }
}

impl<'a> Parts<'a> for u64 {
    fn add_to(self, line: &mut Line<'a>) {
        line.0.push(Part::Made(digits(self)));
    }
}

impl<'a> Parts<'a> for usize {
    fn add_to(self, line: &mut Line<'a>) {
        (self as u64).add_to(line);
    }
}

impl<'a, P: Parts<'a>> Parts<'a> for Option<P> {
    fn add_to(self, line: &mut Line<'a>) {
        if let Some(part) = self {
            part.add_to(line);
        }
    }
}

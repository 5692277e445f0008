//! Lines made of parts. Only words of this program's source and numbers are trusted; any other text is foreign, and
//! only a drawer, which escapes it, can turn it into output.

use std::borrow::Cow;

use crate::model::{Key, SourceLocation};
use crate::report::Role;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<'a> {
    /// Words of this program. What they quote in backticks is code.
    Own(&'static str),
    /// A word of this program that has a colour.
    Word(Role, &'static str),
    /// A number.
    Number(usize),
    /// Text from the service, a file, a name or an argument.
    Foreign(Cow<'a, str>),
    /// The same, to be read letter by letter: a name, a value, a command.
    Code(Cow<'a, str>),
    /// The same in a sentence, in which plain text quotes it.
    Quoted(Cow<'a, str>),
}

/// Parts on one line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line<'a>(pub Vec<Part<'a>>);

/// What can be added to a line. A text that is not `'static` is not among it: [`foreign`] and [`code`] say what it is.
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

/// A place as `file:line`.
pub fn at(place: &SourceLocation) -> Part<'static> {
    code(format!("{}:{}", place.file, place.line))
}

/// The name of an endpoint.
pub fn key(key: &Key) -> Part<'static> {
    code(key.to_string())
}

/// A line of parts.
macro_rules! line {
    ($($part:expr),+ $(,)?) => {{
        let mut line = $crate::report::view::Line::default();
        $( $crate::report::view::Parts::add_to($part, &mut line); )+
        line
    }};
}
pub(in crate::report) use line;

impl<'a> Line<'a> {
    /// `1 endpoint`, `2 endpoints`.
    pub fn count(number: usize, one: &'static str) -> Self {
        line![number, " ", one, if number == 1 { "" } else { "s" }]
    }

    /// The same with more at its end.
    #[must_use]
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

    /// Its text as it is, for a format that escapes a text as a whole.
    pub fn plain(&self) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Own(words) | Part::Word(_, words) => text.push_str(words),
                Part::Number(number) => text.push_str(&number.to_string()),
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

impl<'a> Parts<'a> for usize {
    fn add_to(self, line: &mut Line<'a>) {
        line.0.push(Part::Number(self));
    }
}

impl<'a, P: Parts<'a>> Parts<'a> for Option<P> {
    fn add_to(self, line: &mut Line<'a>) {
        if let Some(part) = self {
            part.add_to(line);
        }
    }
}

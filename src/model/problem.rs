//! Problems in one object, by path instead of by place in a file. A reader with spans turns the path into
//! line and column.

use std::borrow::Cow;

/// One step of a path into a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A key of a mapping.
    Key(Cow<'static, str>),
    /// An item of a sequence, from 0.
    Index(usize),
}

impl Segment {
    /// The key; `None` for an item of a sequence.
    pub fn key(&self) -> Option<&str> {
        match self {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }
}

impl From<&'static str> for Segment {
    fn from(key: &'static str) -> Self {
        Segment::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Segment::Index(index)
    }
}

/// A problem in one object, without its place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: a lower-case fragment that names the field in backticks.
    pub message: String,
    /// Where.
    pub path: Vec<Segment>,
    /// Whether it is about the key that ends the path, and not about the value there.
    pub is_of_key: bool,
    /// What is allowed, or what to do; shown beside the caret.
    pub label: String,
}

impl Problem {
    /// A problem of the value at `path`.
    pub fn value(path: Vec<Segment>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), path, is_of_key: false, label: label.into() }
    }

    /// A problem of the key that ends `path`.
    pub fn key(path: Vec<Segment>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { is_of_key: true, ..Self::value(path, message, label) }
    }
}

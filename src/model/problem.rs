//! What is wrong in one endpoint, by its path instead of by its place in a file. A reader with spans
//! turns the path into line and column.

use std::borrow::Cow;
use std::fmt;

/// One step of a path into a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A key of a mapping.
    Key(Cow<'static, str>),
    /// An item of a sequence, from 0.
    Index(usize),
}

impl Segment {
    /// The key; nothing for an item of a sequence.
    pub fn key(&self) -> Option<&str> {
        match self {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Key(key) => f.write_str(key),
            Segment::Index(index) => write!(f, "{index}"),
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

/// A place in a definition, by its path; a reader with spans turns it into line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The key that ends the path.
    Key(Vec<Segment>),
    /// The value at the path.
    Value(Vec<Segment>),
}

impl Location {
    /// The path, whichever end of it is meant.
    pub fn path(&self) -> &[Segment] {
        match self {
            Location::Key(path) | Location::Value(path) => path,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.path().iter().enumerate() {
            match segment {
                Segment::Key(key) if at == 0 => write!(f, "{key}")?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Something wrong in one endpoint, without its place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: a lower-case fragment that names the field in backticks.
    pub message: String,
    /// Where.
    pub location: Location,
    /// What is allowed, or what to do; shown beside the caret.
    pub label: String,
    /// A second place that belongs to it, with its own words.
    pub also: Option<(Location, String)>,
}

impl Problem {
    /// A problem of the value at `path`.
    #[must_use]
    pub fn value(path: Vec<Segment>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), location: Location::Value(path), label: label.into(), also: None }
    }

    /// A problem of the key that ends `path`.
    #[must_use]
    pub fn key(path: Vec<Segment>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), location: Location::Key(path), label: label.into(), also: None }
    }

    /// The same problem with a second place.
    #[must_use]
    pub fn with(mut self, spot: Location, label: impl Into<String>) -> Self {
        self.also = Some((spot, label.into()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (`{}`", self.message, self.location)?;
        if !self.label.is_empty() {
            write!(f, ": {}", self.label)?;
        }
        write!(f, ")")
    }
}

/// A path of segments: `steps!["spec", "where", "site", "ref", 0]`.
macro_rules! steps {
    ($($segment:expr),* $(,)?) => { vec![$($crate::model::Segment::from($segment)),*] };
}
pub(crate) use steps;

//! Problems and their places, for people and for programs. A diagnostic contains the few source lines that it
//! shows, so that files need not stay in memory; its texts are escaped for a terminal.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::text::{Position, SourceText, TextError};
use crate::model::is_unsafe;

/// Bytes of one source line that are kept on each side of a label.
const LONGEST_CONTEXT: usize = 500;
/// Bytes of a text that are shown; texts of trueup itself are shorter.
const LONGEST_TEXT: usize = 5_000;
/// The most lines between two labels that are shown in one piece of source.
const NEAR: usize = 12;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It stops the command before any request is sent.
    Error,
    /// Something was read differently from how it was written.
    Note,
}

/// A marked piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Label {
    /// The file, relative to the stack's directory.
    #[schemars(with = "String")]
    pub file: Box<str>,
    /// The position of its first character.
    pub start: Position,
    /// The position after its last character.
    pub end: Position,
    /// The text beside it; may be empty.
    pub label: String,
    #[serde(skip)]
    pub(super) excerpt: Excerpt,
    #[serde(skip)]
    bytes: Range<usize>,
}

/// The source lines that a label shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The number of the first line.
    pub(super) line: usize,
    /// The lines; empty where the file as a whole is meant.
    pub(super) text: String,
    /// Where in `text` the label is.
    pub(super) range: Range<usize>,
    /// The beginning of the line is not shown.
    pub(super) is_cut: bool,
}

/// One thing that is wrong or worth a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[must_use]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The message: a lower-case fragment.
    pub message: String,
    /// Where it is; the first is its main place. Empty where no file is concerned.
    pub labels: Vec<Label>,
    /// What is allowed, or what to do.
    pub help: Option<String>,
}

impl From<TextError> for Diagnostic {
    fn from(error: TextError) -> Self {
        Self::error(error.message, &error.source, error.range, error.label).of_unparsed(&error.source)
    }
}

/// Returns what was read, or adds the reason why it could not be read to `problems`.
pub(super) fn read_or_noted<T>(read: Result<T, Diagnostic>, problems: &mut Vec<Diagnostic>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

impl Diagnostic {
    /// An error at a place in a text.
    pub fn error(message: impl AsRef<str>, source: &SourceText, range: Range<usize>, label: impl AsRef<str>) -> Self {
        Self::without_place(message, "").also(source, range, label)
    }

    /// An error of a file as a whole.
    pub fn of_file(message: impl AsRef<str>, file: &str, help: impl AsRef<str>) -> Self {
        let mut diagnostic = Self::without_place(message, help);
        let start = Position { line: 1, column: 1 };
        diagnostic.labels.push(Label {
            file: escaped(file).into(),
            start,
            end: start,
            label: String::new(),
            excerpt: Excerpt::default(),
            bytes: 0..0,
        });
        diagnostic
    }

    /// An error without a place in a file.
    pub fn without_place(message: impl AsRef<str>, help: impl AsRef<str>) -> Self {
        let message = escaped(message.as_ref());
        Self { severity: Severity::Error, message, labels: Vec::new(), help: None }.with_help(help)
    }

    /// Whether it reports that something is missing.
    pub(super) fn is_about_absence(&self) -> bool {
        self.message.ends_with(" is missing") || self.message.starts_with("none of `")
    }

    /// The same as a note, which does not stop the command.
    pub(super) fn into_note(mut self) -> Self {
        self.severity = Severity::Note;
        self
    }

    /// The same with one more place.
    pub fn also(mut self, source: &SourceText, range: Range<usize>, label: impl AsRef<str>) -> Self {
        let range = source.floor(range.start)..source.floor(range.end.max(range.start));
        self.labels.push(Label {
            file: escaped(&source.path).into(),
            start: source.position(range.start),
            end: source.position(range.end),
            label: escaped(label.as_ref()),
            excerpt: excerpt(source, &range),
            bytes: range,
        });
        self.join_near(source);
        self
    }

    /// Shows the newest label and the first one in one piece of source if they are near each other.
    fn join_near(&mut self, source: &SourceText) {
        let [first, .., newest] = self.labels.as_mut_slice() else { return };
        if first.file != newest.file || first.start.line.abs_diff(newest.start.line) > NEAR {
            return;
        }
        let (one, other) = (source.line(first.bytes.start), source.line(newest.bytes.start));
        let lines = one.start.min(other.start)..one.end.max(other.end);
        if lines.len() > 8 * LONGEST_CONTEXT {
            return;
        }
        let line = first.start.line.min(newest.start.line);
        for (label, own) in [(first, one), (newest, other)] {
            let end = label.bytes.end.min(own.end);
            label.excerpt = Excerpt {
                line,
                text: printable(&source.as_str()[lines.clone()]),
                range: label.bytes.start - lines.start..end.max(label.bytes.start) - lines.start,
                is_cut: false,
            };
        }
    }

    /// The same without its source line, which must not be shown.
    pub(super) fn without_source(mut self) -> Self {
        self.hide_source();
        self
    }

    /// Removes the source lines, which must not be shown.
    pub(super) fn hide_source(&mut self) {
        for label in &mut self.labels {
            label.excerpt = Excerpt::default();
        }
    }

    /// Whether it marks something in these bytes of a file.
    pub(super) fn is_about(&self, file: &str, place: &Range<usize>) -> bool {
        let file = escaped(file);
        let is_in = |label: &Label| place.start <= label.bytes.start && label.bytes.end <= place.end;
        self.labels.iter().any(|label| *label.file == *file && is_in(label))
    }

    /// Removes these texts from the message, and everything after its first colon.
    pub(super) fn conceal(&mut self, texts: &[String]) {
        for text in texts.iter().filter(|text| !text.is_empty()) {
            self.message = self.message.replace(&format!("`{}`", escaped(text)), "(not shown)");
        }
        self.message.truncate(self.message.find(": ").unwrap_or(self.message.len()));
    }

    /// The same for a text that cannot be parsed: where it may contain a secret, without the source line and quotes
    /// from it. A single quoted character is syntax and stays.
    pub(super) fn of_unparsed(mut self, source: &SourceText) -> Self {
        if !source.names_secret() {
            return self;
        }
        let has_quote = |words: &str| words.split('`').skip(1).step_by(2).any(|quote| quote.chars().count() > 1);
        self.hide_source();
        if has_quote(&self.message) {
            self.message.truncate(self.message.find(": ").unwrap_or_default());
        }
        for label in self.labels.iter_mut().filter(|label| has_quote(&label.label)) {
            label.label.clear();
        }
        self
    }

    /// The same with what is allowed, or what to do.
    pub fn with_help(mut self, help: impl AsRef<str>) -> Self {
        self.help = Some(escaped(help.as_ref())).filter(|help| !help.is_empty());
        self
    }

    /// The file of its first place.
    pub fn file(&self) -> Option<&str> {
        self.labels.first().map(|label| &*label.file)
    }

    /// The line, 1 where it has no place.
    pub fn line(&self) -> usize {
        self.labels.first().map_or(1, |label| label.start.line)
    }

    /// The column, 1 where it has no place.
    pub fn column(&self) -> usize {
        self.labels.first().map_or(1, |label| label.start.column)
    }

    fn order(&self) -> (Option<&str>, usize, usize, Severity, &str) {
        (self.file(), self.line(), self.column(), self.severity, &self.message)
    }
}

/// Source as it is shown. The rendering library escapes only the control characters of ASCII; others that
/// some terminals interpret become a placeholder of as many bytes, so that labels keep their places.
fn printable(source: &str) -> String {
    let mut shown = String::with_capacity(source.len());
    for c in source.chars() {
        match c.len_utf8() {
            2.. if !is_unsafe(c) => shown.push(c),
            // The library escapes control characters of ASCII itself.
            1 => shown.push(c),
            2 => shown.push('\u{b7}'),
            3 => shown.push('\u{fffd}'),
            _ => shown.push_str("\u{b7}\u{b7}"),
        }
    }
    shown
}

fn excerpt(source: &SourceText, range: &Range<usize>) -> Excerpt {
    // Only the first line of a value is shown.
    let line = source.line(range.start);
    let start = source.floor(line.start.max(range.start.saturating_sub(LONGEST_CONTEXT)));
    let end_of_mark = range.end.min(line.end).min(source.floor(range.start + LONGEST_CONTEXT));
    let stop = source.floor(line.end.min(end_of_mark + LONGEST_CONTEXT));
    let text = source.as_str()[start..stop].trim_end_matches('\r');
    Excerpt {
        line: source.position(range.start).line,
        text: printable(text),
        // A label may be in the part that is cut off.
        range: (range.start - start).min(text.len())..(end_of_mark - start).min(text.len()),
        is_cut: start > line.start,
    }
}

/// Every problem that was found, in the order of files, lines and columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", self.summary())]
pub struct Diagnostics {
    /// Every problem.
    pub list: Vec<Diagnostic>,
    /// Files that were read.
    pub files: usize,
    #[serde(skip)]
    pub(super) root: Option<PathBuf>,
    /// The only problem: the definitions use values that only environments set, and no environment is chosen.
    #[serde(skip)]
    pub lacks_environment: bool,
}

impl From<Diagnostic> for Diagnostics {
    /// A problem that is found before any file is read.
    fn from(diagnostic: Diagnostic) -> Self {
        Self::new(vec![diagnostic], 0)
    }
}

impl Diagnostics {
    /// The diagnostics of a number of files, sorted and without duplicates.
    pub fn new(mut list: Vec<Diagnostic>, files: usize) -> Self {
        list.sort_by(|a, b| a.order().cmp(&b.order()));
        list.dedup_by(|a, b| a.order() == b.order());
        Self { list, files, root: None, lacks_environment: false }
    }

    /// The same, of files below this directory.
    #[must_use]
    pub fn below(self, root: PathBuf) -> Self {
        Self { root: Some(root).filter(|root| !root.as_os_str().is_empty()), ..self }
    }

    /// How many are errors.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    /// `3 errors in 3 of 41 files`
    pub fn summary(&self) -> String {
        let errors = self.errors();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let bad = self.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let bad: BTreeSet<&str> = bad.filter_map(Diagnostic::file).collect();
        if bad.is_empty() {
            return format!("{errors} error{}", plural(errors));
        }
        let files = self.files.max(bad.len());
        format!("{errors} error{} in {} of {files} file{}", plural(errors), bad.len(), plural(files))
    }
}

/// `text` with everything escaped that a terminal would interpret; a text that is too long to read is cut.
pub(super) fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(LONGEST_TEXT));
    for c in text.chars() {
        if clean.len() > LONGEST_TEXT {
            clean.push('…');
            break;
        }
        if is_unsafe(c) { clean.extend(c.escape_unicode()) } else { clean.push(c) }
    }
    clean
}

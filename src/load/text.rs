//! The text of one file, checked before any parser reads it: valid UTF-8, without control characters, and
//! with the byte-order mark removed. It provides lines and columns, and whether the careful reader is needed.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;

use super::secret_names;

/// The most bytes between two `---` for the fast reader: the work of its parser grows with the square of the
/// number of nested brackets.
const LONGEST_FAST_DOCUMENT: usize = 64 * 1024;
/// The most opening brackets in one document for the fast reader.
const MOST_FAST_BRACKETS: usize = 2_000;

/// The size, in bytes, of the blocks whose characters are counted to find a column.
const BLOCK: usize = 1024;

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `.yaml`, `.yml`
    Yaml,
    /// `.json`
    Json,
}

impl Language {
    /// The language of the file at this path.
    pub(super) fn of(path: &str) -> Self {
        if path.to_ascii_lowercase().ends_with(".json") { Self::Json } else { Self::Yaml }
    }
}

/// A place in a text; both count from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Why bytes are not the text of a file, and where.
#[derive(Debug)]
pub struct TextError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub label: &'static str,
    /// The text, up to the bytes that are wrong.
    pub source: Box<SourceText>,
    /// The bytes of it that are wrong.
    pub range: Range<usize>,
}

/// Finds line and column without reading the whole line, which may be the whole text.
#[derive(Debug, Clone)]
struct Index {
    /// Where each line begins.
    lines: Vec<usize>,
    /// The characters before each block of the text.
    characters: Vec<usize>,
}

impl Index {
    fn of(text: &[u8]) -> Self {
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1)).collect();
        let mut before = 0;
        let characters = std::iter::once(0).chain(text.chunks(BLOCK).map(|block| {
            before += begun_in(block);
            before
        }));
        Self { lines, characters: characters.collect() }
    }
}

/// The number of characters that begin in these bytes of a text.
fn begun_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// A file's text.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// The file, relative to the stack's directory.
    pub path: Arc<str>,
    text: String,
    /// Bytes of the byte-order mark before the text.
    mark: usize,
    /// Built on the first query for a place.
    index: OnceLock<Index>,
    /// Whether it names a secret, computed for the first diagnostic about a part that cannot be parsed.
    names_secret: OnceLock<bool>,
}

impl SourceText {
    /// The text of these bytes.
    ///
    /// # Errors
    /// They are not UTF-8, or contain a control character; the place is given.
    pub fn new(path: &Arc<str>, bytes: Vec<u8>) -> Result<Self, TextError> {
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
                let source = Self::of(path.clone(), before, 0);
                let label = if utf16 { "the file is UTF-16: save it as UTF-8" } else { "save the file as UTF-8" };
                let end = source.text.len();
                let message = "the file is not valid UTF-8".to_owned();
                return Err(TextError { message, label, source: Box::new(source), range: end..end });
            }
        };
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let text = if mark == 0 { text } else { text[mark..].to_owned() };
        let source = Self::of(path.clone(), text, mark);
        let forbidden = |b: &u8| matches!(b, 0..=8 | 11 | 12 | 14..=31 | 127);
        // Without an early exit, the compiler can vectorize the loop.
        let any = source.text.as_bytes().iter().fold(false, |any, byte| any | forbidden(byte));
        if let Some(at) = any.then(|| source.text.bytes().position(|byte| forbidden(&byte))).flatten() {
            let code = source.text.as_bytes()[at];
            let message = format!("the control character U+{code:04X} is not allowed in a file");
            let label = "remove it, or write an escape in quotes";
            return Err(TextError { message, label, source: Box::new(source), range: at..at + 1 });
        }
        Ok(source)
    }

    /// The edited text of a file; `None` where it could not be read back.
    pub(super) fn edited(path: &Arc<str>, text: &str) -> Option<Self> {
        Self::new(path, text.as_bytes().to_vec()).ok()
    }

    /// A text that is not in a file.
    pub fn inline(name: &str, text: &str) -> Self {
        Self::of(name.into(), text.to_owned(), 0)
    }

    fn of(path: Arc<str>, text: String, mark: usize) -> Self {
        Self { path, text, mark, index: OnceLock::new(), names_secret: OnceLock::new() }
    }

    /// Whether it names a secret; searched once.
    pub(super) fn names_secret(&self) -> bool {
        *self.names_secret.get_or_init(|| secret_names::may_be_in(&self.text))
    }

    /// The text, without a byte-order mark.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The language that it is written in.
    pub fn language(&self) -> Language {
        Language::of(&self.path)
    }

    /// The range in the file's bytes of a range of the text.
    pub fn file_range(&self, range: &Range<usize>) -> Range<usize> {
        range.start + self.mark..range.end + self.mark
    }

    /// Line and column of a byte of the text.
    pub fn position(&self, at: usize) -> Position {
        let at = self.floor(at);
        let line = self.index().lines.partition_point(|start| *start <= at);
        Position { line, column: self.before(at) - self.before(self.index().lines[line - 1]) + 1 }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.text.as_bytes()))
    }

    /// The number of characters before this byte.
    fn before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        self.index().characters[block] + begun_in(&self.text.as_bytes()[block * BLOCK..at])
    }

    /// The nearest boundary of a character at or before `at`.
    pub fn floor(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// The line with this byte, without its line break.
    pub fn line(&self, at: usize) -> Range<usize> {
        let lines = &self.index().lines;
        let next = lines.partition_point(|start| *start <= at);
        lines[next - 1]..lines.get(next).map_or(self.text.len(), |next| next - 1)
    }

    /// Whether it contains anything that the fast reader does not support or reads differently.
    pub fn needs_care(&self) -> bool {
        match self.language() {
            Language::Yaml => yaml_needs_care(self.text.as_bytes()),
            Language::Json => self.text.contains("${") || self.text.contains("\\u"),
        }
    }
}

/// Whether a text has: merge keys, variables or escapes that may produce one; integers that only the fast reader
/// accepts (`0b1`, `+0x1`, `-0o1`); tags, which it drops; comments without a space before them, tabs, and `-` and `?`
/// in brackets, which it reads differently or accepts; quoted texts of several lines, whose indentation it does not
/// check; or a document that is too large for it.
fn yaml_needs_care(text: &[u8]) -> bool {
    let (mut document, mut brackets, mut before) = (0, 0, b'\n');
    // Whether a quote is open at the end of the line, judged by counting quotes.
    let (mut double, mut single) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        let found = match byte {
            b'\n' => double || single || at - document > LONGEST_FAST_DOCUMENT,
            b'"' => {
                double ^= before != b'\\';
                false
            }
            b'\'' => {
                single = !single;
                false
            }
            // The escaped character may be a part of a variable.
            b'x' | b'u' | b'U' if before == b'\\' => true,
            b'<' => before == b'<',
            b'#' => !before.is_ascii_whitespace(),
            b',' | b']' | b'}' => before == b'-',
            b'\t' => true,
            b'b' => before == b'0',
            b'x' | b'o' => before == b'0' && at > 1 && matches!(text[at - 2], b'+' | b'-'),
            b'!' | b'?' => matches!(before, b' ' | b'\t' | b'\n' | b'\r' | b'[' | b'{' | b','),
            b'{' | b'[' => {
                brackets += 1;
                (*byte == b'{' && before == b'$') || brackets > MOST_FAST_BRACKETS
            }
            b'-' if before == b'\n' && text[at..].starts_with(b"---") => {
                (document, brackets) = (at, 0);
                false
            }
            _ => false,
        };
        if found {
            return true;
        }
        before = *byte;
    }
    double || single || text.len() - document > LONGEST_FAST_DOCUMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> SourceText {
        SourceText::new(&"a.yaml".into(), text.as_bytes().to_vec()).expect("a good text")
    }

    #[test]
    fn columns_count_characters_and_lines_count_either_line_break() {
        let text = source("a: 1\r\nü: é x\r\n");
        let x = text.as_str().find('x').expect("x");
        assert_eq!(text.position(x), Position { line: 2, column: 6 });
        assert_eq!(text.position(0), Position { line: 1, column: 1 });
    }

    #[test]
    fn a_place_is_that_of_the_characters_before_it_however_long_the_line_is() {
        let line = "aü€😀".repeat(BLOCK);
        let text = source(&format!("{line}\n\n{line}"));
        let places = text.as_str().char_indices().step_by(97).chain([(text.as_str().len(), ' ')]);
        for (at, _) in places {
            let before: Vec<&str> = text.as_str()[..at].split('\n').collect();
            let own = before.last().expect("a line");
            assert_eq!(text.position(at), Position { line: before.len(), column: own.chars().count() + 1 }, "{at}");
            let begin = at - own.len();
            let end = text.as_str()[at..].find('\n').map_or(text.as_str().len(), |end| at + end);
            assert_eq!(text.line(at), begin..end, "{at}");
        }
    }

    #[test]
    fn a_byte_order_mark_shifts_bytes_and_not_columns() {
        let text = source("\u{feff}a: 1\n");
        assert_eq!(text.position(3), Position { line: 1, column: 4 });
        assert_eq!(text.file_range(&(3..4)), 6..7);
    }

    #[test]
    fn bytes_that_are_not_a_text_are_refused_with_their_place() {
        let refused = |bytes: &[u8]| SourceText::new(&"a.yaml".into(), bytes.to_vec()).expect_err("refused");
        let bad = refused(b"a: 1\nb: \xff\n");
        let place = bad.source.position(bad.range.start);
        assert_eq!((bad.message.as_str(), place), ("the file is not valid UTF-8", Position { line: 2, column: 4 }));
        assert_eq!(refused(b"a: \0\n").message, "the control character U+0000 is not allowed in a file");
        assert_eq!(refused(&[0xff, 0xfe, 0x61, 0]).label, "the file is UTF-16: save it as UTF-8");
    }

    #[test]
    fn what_the_typed_reader_would_misread_goes_to_the_careful_one() {
        for text in [
            "a: {<<: *b}",
            "a: ${b}",
            "port: 0b11",
            "port: +0x1F",
            "port: -0x1F",
            "port: -0o0",
            "a: !!str 5",
            "a: [!x 1]",
            r#"a: "\x24{b}""#,
            "a: >-# b",
            "a: \"b\"#c",
            "a: {b: c}#d",
            "a: {b: c,#d\n  }",
            "a: {b: -}",
            "a: [-, b]",
            "a: {b: c,\n\td: e}",
            "a: {b: c, ?'d': e}",
            "a: {?b: c}",
        ] {
            assert!(source(text).needs_care(), "{text}");
        }
        for text in ["a: b", "e: 'x in (y),z'", "port: 010", "a: 0x1F", "a: {b: c}", "a: b # c", "- a-b?"] {
            assert!(!source(text).needs_care(), "{text}");
        }
        let json = |text: &str| SourceText::inline("a.json", text).needs_care();
        assert!(!json(r#"{"a": ["b"]}"#));
        assert!(json(r#"{"a": "\u0024{b}"}"#));
        assert!(source(&"[".repeat(3000)).needs_care());
        assert!(!source(&"a: b\n---\n".repeat(20_000)).needs_care());
    }
}

//! The cause of a YAML syntax error. The parser reports where it had to stop, which is often a line after the mistake;
//! this module searches backwards for common mistakes and reports the place of the one it finds. It uses the kind of
//! the error, the extent of what the parser had read, and the bytes around.

use std::ops::Range;

use granit_parser::ErrorKind;

use super::splice::{line_end, line_start};
use super::text::SourceText;

/// A mistake and its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) message: String,
    pub(super) range: Range<usize>,
    pub(super) label: String,
}

impl Cause {
    fn new(message: impl Into<String>, range: Range<usize>, label: impl Into<String>) -> Self {
        Self { message: message.into(), range, label: label.into() }
    }
}

/// How far the parser had read a text before an error.
pub(super) struct Finished {
    pub(super) end: usize,
    /// The innermost bracket that is open there.
    pub(super) bracket: Option<usize>,
}

/// The mistake behind an error that the parser reports at `at`; `None` where none of the known mistakes fits.
pub(super) fn cause(source: &SourceText, at: usize, kind: &ErrorKind, finished: &Finished) -> Option<Cause> {
    let text = source.as_str();
    let lines = lines(text, at);
    let (last, before) = lines.split_last()?;
    let above = || before.iter().rev().find(|line| !line.is_empty());
    conflict(text)
        .or_else(|| tab(text, &lines, at, kind))
        .or_else(|| odd_blank(&lines))
        .or_else(|| of_kind(text, last, at, kind, finished))
        .or_else(|| colon_in_value(last, at))
        .or_else(|| above().and_then(|above| missing_blank(above, last)))
        .or_else(|| above().and_then(|above| deeper(above, last)))
        .or_else(|| between_levels(&lines))
        .or_else(|| no_colon(last, at, kind))
}

/// A conflict marker of git, from a merge in which both sides changed the file.
pub(super) fn conflict(text: &str) -> Option<Cause> {
    let at = if text.starts_with("<<<<<<< ") { 0 } else { text.find("\n<<<<<<< ")? + 1 };
    let message = "a conflict of a merge is not resolved";
    Some(Cause::new(message, at..at + Line::of(text, at).end(), "decide which of the two sides stays"))
}

/// The mistake that the kind of the error implies.
fn of_kind(text: &str, line: &Line<'_>, at: usize, kind: &ErrorKind, finished: &Finished) -> Option<Cause> {
    let rest = at..(line.start + line.end()).max(at);
    match kind {
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some(Cause::new("text after a closing quote", rest, "write a single quote in single quotes twice: `''`"))
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            Some(Cause::new("text after a closing quote", rest, "write a double quote in double quotes as `\\\"`"))
        }
        ErrorKind::UnexpectedCharacter { character: first @ ('@' | '`' | '%' | '|' | '>') } => {
            Some(Cause::new(format!("a value cannot begin with `{first}`"), rest, "write it in quotes"))
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => Some(open_quote(text, at)),
        ErrorKind::InvalidQuotedScalarIndent => {
            let mut quotes =
                text.get(finished.end..at)?.match_indices(['"', '\'']).map(|(quote, _)| finished.end + quote);
            let is_comment = |quote: usize| text[line_start(text, quote)..quote].contains(" #");
            quotes.find(|quote| !is_comment(*quote)).map(|quote| open_quote(text, quote))
        }
        ErrorKind::UnclosedFlowCollection { .. } | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            Some(open_bracket(text, at))
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidFlowScalarIndent => {
            // An error on the bracket's own line is nearer to its cause than the bracket.
            let bracket = || finished.bracket.filter(|bracket| *bracket < line.start);
            variable(text, at).or_else(|| bracket().map(|bracket| open_bracket(text, bracket)))
        }
        _ => None,
    }
}

/// One line of the document, without its line break.
#[derive(Debug, Clone, Copy)]
struct Line<'s> {
    start: usize,
    text: &'s str,
}

impl<'s> Line<'s> {
    /// The line with `at`.
    fn of(text: &'s str, at: usize) -> Self {
        let range = line_start(text, at)..line_end(text, at);
        Self { start: range.start, text: text.get(range).unwrap_or_default().trim_end_matches(['\n', '\r']) }
    }

    fn indentation(&self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    fn content(&self) -> &'s str {
        self.text.trim()
    }

    /// Whether the line has only blanks or a comment.
    fn is_empty(&self) -> bool {
        self.content().is_empty() || self.content().starts_with('#')
    }

    /// Where its content begins, after the dashes of list items.
    fn key_start(&self) -> usize {
        let mut at = self.indentation();
        while let Some(rest) = self.text[at..].strip_prefix("- ") {
            at = self.text.len() - rest.trim_start_matches(' ').len();
        }
        at
    }

    /// `KEY: VALUE` as the key's range in the line and where the value begins.
    fn entry(&self) -> Option<(Range<usize>, usize)> {
        let start = self.key_start();
        let colon = start + self.text[start..].find(": ")?;
        let value = colon + 2 + (self.text[colon + 2..].len() - self.text[colon + 2..].trim_start().len());
        let plain =
            self.text[start..colon].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./\"'".contains(&byte));
        (plain && value < self.text.len() && !self.text[value..].starts_with('#')).then_some((start..colon, value))
    }

    /// A range of the line as one of the text.
    fn range(&self, range: Range<usize>) -> Range<usize> {
        self.start + range.start..self.start + range.end
    }

    fn end(&self) -> usize {
        self.text.trim_end().len()
    }
}

/// The lines of the document that contains `at`, up to and with its line.
fn lines(text: &str, at: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for text in text.split_inclusive('\n') {
        if start > at {
            break;
        }
        let line = Line { start, text: text.trim_end_matches(['\n', '\r']) };
        start += text.len();
        // A marker right at the error still belongs to the unfinished document.
        if (line.text == "---" || line.text.starts_with("--- ")) && start <= at {
            lines.clear();
        } else {
            lines.push(line);
        }
    }
    lines
}

/// A tab in the indentation of the last line or the one above it; in a scalar, of a line after its first.
fn tab(text: &str, lines: &[Line<'_>], at: usize, kind: &ErrorKind) -> Option<Cause> {
    let [first, last] = [1, 0].map(|number| lines.iter().rev().filter(|line| !line.is_empty()).nth(number));
    let (last, is_below) = (last?, *kind == ErrorKind::TabInPlainScalar);
    let range = if is_below { at..text.len() } else { first.unwrap_or(last).start..last.start + last.text.len() };
    let in_indentation = |tab: &usize| {
        let line = Line::of(text, *tab);
        !line.is_empty() && text[line.start..*tab].bytes().all(|byte| byte == b' ')
    };
    let tabs = text.get(range.clone())?.match_indices('\t').map(|(tab, _)| range.start + tab);
    let mut tabs = tabs.filter(in_indentation);
    let tab = if is_below { tabs.next() } else { tabs.next_back() }?;
    let count = text[tab..].bytes().take_while(|byte| *byte == b'\t').count();
    Some(Cause::new("a tab in the indentation", tab..tab + count, "indent with spaces"))
}

/// Whether a character looks like a space, or is invisible, but is an ordinary character in YAML.
pub(super) fn is_odd_blank(character: char) -> bool {
    !character.is_ascii() && (character.is_whitespace() || matches!(character, '\u{200b}' | '\u{feff}'))
}

/// Such a character in the indentation or after the colon of the last line or the one above it.
fn odd_blank(lines: &[Line<'_>]) -> Option<Cause> {
    lines.iter().rev().filter(|line| !line.is_empty()).take(2).find_map(|line| {
        // Inside of a text it is an ordinary character.
        let is_key = |text: &str| !text.is_empty() && !text.contains([' ', ':', '"', '\'']);
        let is_in_front = |at: usize| {
            let rest = line.text[at..].trim();
            line.text[..at].trim().is_empty() && (rest.starts_with('-') || rest.ends_with(':') || rest.contains(": "))
        };
        let counts = |at: usize| {
            let key = line.text[..at].trim().strip_suffix(':').map(|key| key.trim_start_matches("- "));
            is_in_front(at) || key.is_some_and(is_key)
        };
        let is_it = |(at, character): &(usize, char)| is_odd_blank(*character) && counts(*at);
        let (at, character) = line.text.char_indices().find(is_it)?;
        let name = if character == '\u{a0}' { "a no-break space" } else { "a blank other than a space" };
        let message = format!("{name} (U+{:04X})", u32::from(character));
        Some(Cause::new(message, line.range(at..at + character.len_utf8()), "write a space"))
    })
}

/// A quote that is not closed where the parser stopped.
fn open_quote(text: &str, quote: usize) -> Cause {
    let line = Line::of(text, quote);
    let key = line.entry().filter(|(_, value)| line.start + value == quote);
    let key = key.map(|(key, _)| format!(" of `{}`", &line.text[key])).unwrap_or_default();
    Cause::new(format!("the quote{key} is not closed"), quote..line.start + line.end(), "a quote opens here")
}

/// A variable without quotes, where its `{` opens a mapping.
fn variable(text: &str, at: usize) -> Option<Cause> {
    let begin = at.checked_sub(1)?;
    let end = begin + text.get(begin..)?.strip_prefix("${")?.find('}')? + "${}".len();
    Some(Cause::new("a variable between brackets has no quotes", begin..end, "write it in quotes"))
}

/// A `[` or `{` that is not closed.
fn open_bracket(text: &str, at: usize) -> Cause {
    let (open, close) = if text[at..].starts_with('[') { ('[', ']') } else { ('{', '}') };
    Cause::new(format!("`{open}` is not closed"), at..at + 1, format!("a `{close}` is missing after this"))
}

/// `key: value: more`
fn colon_in_value(line: &Line<'_>, at: usize) -> Option<Cause> {
    let (key, value) = line.entry()?;
    let text = &line.text[value..];
    if text.starts_with(['"', '\'', '[', '{'])
        || at < line.start + value
        || !(text.contains(": ") || text.ends_with(':'))
    {
        return None;
    }
    let message = format!("the value of `{}` contains `: `", &line.text[key]);
    Some(Cause::new(message, line.range(value..line.end()), "write it in quotes"))
}

/// `key:value` above a line of the same mapping, which the parser reads as one text of two lines.
fn missing_blank(above: &Line<'_>, last: &Line<'_>) -> Option<Cause> {
    if above.key_start() != last.key_start() || above.entry().is_some() {
        return None;
    }
    let start = above.key_start();
    let colon = start + above.text[start..].find(':')?;
    let value = &above.text[colon + 1..above.end()];
    let key = &above.text[start..colon];
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
    (is_key && !value.is_empty()).then(|| {
        let message = format!("a space is missing after `{key}:`");
        Cause::new(message, above.range(start..above.end()), format!("write `{key}: {value}`"))
    })
}

/// A line that is indented deeper than the entry above it, which already has a value.
fn deeper(above: &Line<'_>, last: &Line<'_>) -> Option<Cause> {
    let (key, _) = above.entry()?;
    let (indentation, wanted) = (last.indentation(), above.key_start());
    let own = last.text[last.key_start()..].contains(':');
    (own && indentation > wanted).then(|| {
        let message = format!("the line is indented deeper than `{}` above it, which has a value", &above.text[key]);
        Cause::new(
            message,
            last.range(indentation..last.end()),
            format!("indent it by {wanted} spaces, not {indentation}"),
        )
    })
}

/// A line whose indentation matches none of the levels above it.
fn between_levels(lines: &[Line<'_>]) -> Option<Cause> {
    let (last, before) = lines.split_last()?;
    let indentation = last.indentation();
    let mut levels: Vec<usize> = Vec::new();
    for line in before.iter().filter(|line| !line.is_empty()) {
        levels.retain(|level| *level < line.indentation());
        levels.push(line.indentation());
        if line.key_start() > line.indentation() {
            levels.push(line.key_start());
        }
    }
    if last.is_empty() || levels.contains(&indentation) {
        return None;
    }
    let deeper = levels.iter().find(|level| **level > indentation)?;
    let label = match levels.iter().rev().find(|level| **level < indentation) {
        Some(less) => format!("indent it by {less} or {deeper} spaces, not {indentation}"),
        None => format!("indent it by {deeper} spaces, not {indentation}"),
    };
    Some(Cause::new("the indentation fits no line above", last.range(indentation..last.end()), label))
}

/// A key without its colon, such as `port 80`, or without the space after it, such as `port:80`.
fn no_colon(line: &Line<'_>, at: usize, kind: &ErrorKind) -> Option<Cause> {
    let rest = at..(line.start + line.end()).max(at);
    (*kind == ErrorKind::SimpleKeyExpected)
        .then(|| Cause::new("a key without `: `", rest, "write `KEY: VALUE`, with a space after the colon"))
}

#[cfg(test)]
mod tests {
    use crate::load::text::SourceText;
    use crate::load::tree::Documents;

    #[test]
    fn a_mistake_is_found_where_it_is_and_not_where_the_parser_gave_up() {
        for (text, line, message) in [
            ("a: {b: [x, y], c: z\nd: e\n", 1, "`{` is not closed"),
            ("a: {b: ${c}, d: e}\n", 1, "a variable between brackets has no quotes"),
            ("a: [\n  ${b},\n]\n", 2, "a variable between brackets has no quotes"),
            ("a: {\n  b: x${c}\n}\n", 2, "a variable between brackets has no quotes"),
            ("a: |\n  ['\n---\nb: {c: [x,\n  y}\n", 4, "`[` is not closed"),
            ("a: b # it's\nc: \"d\"\ne: # it's\n  'f\ng: h\n", 4, "the quote is not closed"),
            ("a: 'b'\nc: \"d\n---\ne: f\n", 2, "the quote of `c` is not closed"),
            ("- a: 'b'\n  \"c\": \"d\n", 2, "the quote of `\"c\"` is not closed"),
            ("a:\n  b: c\n  d\n\te: f\n", 4, "a tab in the indentation"),
            ("a: [|, b]\n", 1, "a value cannot begin with `|`"),
            ("a:\n  b: c\n  d e\nf: g\n", 3, "a key without `: `"),
            ("a:\n  b: c\n  d:e\nf: g\n", 3, "a key without `: `"),
            ("a:\n  b: c\n  d:\u{a0}e\nf: g\n", 3, "a no-break space (U+00A0)"),
            ("a:\n  b: c\n \u{a0}d: e\n", 3, "a no-break space (U+00A0)"),
            // In a text it is as good as any other.
            ("a: \"b :\u{a0}c\"\nd: e: f\n", 2, "the value of `d` contains `: `"),
            (
                "a:\n  b: \"c :\u{a0}d\"\n   e: f\n",
                3,
                "the line is indented deeper than `b` above it, which has a value",
            ),
            ("a:\n  b: |\n    \u{3000}c\n   d: e\n", 4, "the indentation fits no line above"),
            ("a:\u{3000}\n  b: c\n", 1, "a blank other than a space (U+3000)"),
        ] {
            let source = SourceText::inline("a.yaml", text);
            let problem = Documents::new(&source).find_map(Result::err).expect("a mistake");
            assert_eq!((problem.line(), problem.message), (line, format!("syntax error: {message}")), "{text}");
        }
    }
}

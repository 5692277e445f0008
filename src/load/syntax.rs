//! The cause of a YAML syntax error. The parser reports where it could not go on, which is often a line after the
//! mistake; this looks back for the mistakes that people make and names the place of the one it finds.

use std::ops::Range;

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

/// The mistake behind an error that the parser reports at `at` with the words `info`; nothing where none of the known
/// mistakes fits.
pub(super) fn cause(source: &SourceText, at: usize, info: &str) -> Option<Cause> {
    let lines = lines(source.as_str(), at);
    let (last, before) = lines.split_last()?;
    let above = || before.iter().rev().find(|line| !line.is_empty());
    tab(source.as_str(), &lines, info)
        .or_else(|| after_quote(last, at, info))
        .or_else(|| bad_start(last, at, info))
        .or_else(|| open_quote(&lines, info))
        .or_else(|| open_bracket(source.as_str(), &lines, at, info))
        .or_else(|| colon_in_value(last, at))
        .or_else(|| above().and_then(|above| missing_blank(above, last)))
        .or_else(|| above().and_then(|above| deeper(above, last)))
        .or_else(|| between_levels(&lines))
}

/// One line of the document, without its comment if it is nothing else.
#[derive(Debug, Clone, Copy)]
struct Line<'s> {
    start: usize,
    text: &'s str,
}

impl<'s> Line<'s> {
    fn indentation(&self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    fn content(&self) -> &'s str {
        self.text.trim()
    }

    /// Nothing but blanks or a comment.
    fn is_empty(&self) -> bool {
        self.content().is_empty() || self.content().starts_with('#')
    }

    /// Where its content begins, behind the dashes of list items.
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
        // The marker at which a document breaks off belongs to what broke off.
        if (line.text == "---" || line.text.starts_with("--- ")) && start <= at {
            lines.clear();
        } else {
            lines.push(line);
        }
    }
    lines
}

/// A tab in the indentation of the last line, of the one above it, or of the one below that the parser looked into.
fn tab(text: &str, lines: &[Line<'_>], info: &str) -> Option<Cause> {
    let last = lines.last()?;
    let below_start = last.start + text[last.start..].find('\n').map_or(text.len() - last.start, |end| end + 1);
    let below = text[below_start..].lines().next().unwrap_or_default();
    let below = Line { start: below_start, text: if info.contains("tab") { below } else { "" } };
    std::iter::once(&below).chain(lines.iter().rev()).filter(|line| !line.is_empty()).take(3).find_map(|line| {
        let blank = line.text.len() - line.text.trim_start().len();
        let tab = line.text[..blank].find('\t')?;
        let tabs = line.text[tab..].bytes().take_while(|byte| *byte == b'\t').count();
        Some(Cause::new("a tab in the indentation", line.range(tab..tab + tabs), "indent with spaces"))
    })
}

/// Text behind a quote that closes a value: the quote was meant as a part of it.
fn after_quote(line: &Line<'_>, at: usize, info: &str) -> Option<Cause> {
    let label = if info.contains("after single-quoted") {
        "write a single quote in single quotes twice: `''`"
    } else if info.contains("after double-quoted") {
        "write a double quote in double quotes as `\\\"`"
    } else {
        return None;
    };
    let range = at..(line.start + line.end()).max(at);
    Some(Cause::new("text after a closing quote", range, label))
}

/// A plain value that begins with a character that YAML keeps for itself.
fn bad_start(line: &Line<'_>, at: usize, info: &str) -> Option<Cause> {
    let first = line.text.get(at.checked_sub(line.start)?..)?.chars().next()?;
    let reserved = info.contains("cannot start any token") || info.contains("unexpected character");
    (reserved && matches!(first, '@' | '`' | '%' | '&' | '*' | '!' | '|' | '>')).then(|| {
        let range = at..line.start + line.end();
        Cause::new(format!("a value cannot begin with `{first}`"), range, "write it in quotes")
    })
}

/// A quote that begins a value and does not end on its line.
fn open_quote(lines: &[Line<'_>], info: &str) -> Option<Cause> {
    if !info.contains("quoted") && !info.contains("quote") {
        return None;
    }
    lines.iter().rev().filter(|line| !line.is_empty()).find_map(|line| {
        let quote = opening_quote(line.text)?;
        let key = line.entry().filter(|(_, value)| *value == quote);
        let key = key.map(|(key, _)| format!(" of `{}`", &line.text[key])).unwrap_or_default();
        Some(Cause::new(format!("the quote{key} is not closed"), line.range(quote..line.end()), "a quote opens here"))
    })
}

/// Where a quote opens that the line does not close.
fn opening_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut open, mut at) = (None, 0);
    while at < bytes.len() {
        match (open, bytes[at]) {
            (None, b'#') if at > 0 && bytes[at - 1] == b' ' => return None,
            (None, b'"' | b'\'') if at == 0 || b" [{,(".contains(&bytes[at - 1]) => open = Some((at, bytes[at])),
            (Some((_, b'"')), b'\\') => at += 1,
            (Some((_, quote)), byte) if quote == byte => open = None,
            _ => {}
        }
        at += 1;
    }
    open.map(|(at, _)| at)
}

/// A `[` or `{` that is not closed where the parser gave up.
fn open_bracket(text: &str, lines: &[Line<'_>], at: usize, info: &str) -> Option<Cause> {
    if !info.contains("flow") && !info.contains("',' or") {
        return None;
    }
    let start = lines.first()?.start;
    let (mut open, mut quote, mut before) = (Vec::new(), None, b' ');
    for (offset, byte) in text[start..at].bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') if b" [{,:".contains(&before) => quote = Some(byte),
            (Some(open), byte) if open == byte && before != b'\\' => quote = None,
            (None, b'[' | b'{') => open.push((start + offset, byte)),
            (None, b']' | b'}') => {
                open.pop();
            }
            _ => {}
        }
        before = byte;
    }
    let (bracket, byte) = open.pop()?;
    let (shown, closing) = if byte == b'[' { ('[', ']') } else { ('{', '}') };
    // An error on the bracket's own line is nearer to its cause than the bracket.
    (lines.last()?.start > bracket).then(|| {
        Cause::new(
            format!("`{shown}` is not closed"),
            bracket..bracket + 1,
            format!("a `{closing}` is missing after this"),
        )
    })
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

/// A line that is deeper than the finished entry above it.
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

/// A line whose indentation is that of no line above it that it could belong to.
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

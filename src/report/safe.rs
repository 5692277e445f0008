//! Escapes untrusted text before it reaches a terminal: what would move the cursor, change the direction of writing or
//! hide is written out, so that a reader sees that it is there.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::model::is_ambiguous;
pub use crate::model::is_unsafe;

/// `text` on one line: control characters, direction marks, invisible characters and what a runner of
/// pipelines takes for a command written out as `\n`, `\t` or `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| (b' '..0x7f).contains(&byte));
    if is_plain || !text.chars().any(is_unsafe) {
        return log(text);
    }
    let clean = rewritten(text, |_, c| is_unsafe(c).then(|| c.escape_default().to_string().into()));
    Cow::Owned(log(&clean).into_owned())
}

/// `text` of any number of lines for the log of a runner of pipelines, with its commands written out:
/// `##[…]`, `##vso[…]` and the like anywhere, `::name …::` at the beginning of a line.
pub fn log(text: &str) -> Cow<'_, str> {
    // Few lines have either character; preparing a search for `##` and `::` costs more than reading a line.
    if memchr::memchr2(b'#', b':', text.as_bytes()).is_none() || commands(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for at in commands(text) {
        clean.push_str(&text[from..at]);
        clean.push_str(if text[at..].starts_with('#') { "\\u{23}" } else { "\\u{3a}" });
        from = at + 1;
    }
    clean.push_str(&text[from..]);
    Cow::Owned(clean)
}

/// The positions of the characters without which a runner would not see a command.
fn commands(text: &str) -> impl Iterator<Item = usize> + '_ {
    let marks = memchr::memmem::find_iter(text.as_bytes(), "##").filter(|at| {
        let rest = text[at + 2..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#');
        rest.starts_with('[')
    });
    let mut marks: Vec<usize> = marks.map(|at| at + 1).collect();
    if memchr::memmem::find(text.as_bytes(), b"::").is_some() {
        let mut start = 0;
        for line in text.split_inclusive(['\n', '\r']) {
            let command = line.trim_start();
            if command.strip_prefix("::").is_some_and(is_command) {
                marks.push(start + line.len() - command.len());
            }
            start += line.len();
        }
        marks.sort_unstable();
    }
    marks.into_iter()
}

/// Whether `name …::` follows; an address such as `::1` is not a command.
fn is_command(rest: &str) -> bool {
    let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(rest.len());
    name > 0 && rest[name..].starts_with([' ', '\t', ':']) && rest[name..].contains("::")
}

/// A word as a shell reads it back, on one line, and never an option of the command.
pub fn shell(word: &str) -> String {
    let word = path(word);
    // At the beginning, zsh expands `=`, and git gives `:` a meaning.
    if !word.starts_with(['=', ':']) && is_plain(&word) {
        return word.into_owned();
    }
    match line(&format!("'{}'", word.replace('\'', r"'\''"))) {
        Cow::Borrowed(quoted) => quoted.to_owned(),
        // An escape of ours would name another file; the shell has its own.
        Cow::Owned(_) => format!("$'{}'", word.bytes().map(shell_byte).collect::<String>()),
    }
}

/// A byte of a word between `$'` and `'`; what a shell or a runner could interpret there is escaped.
fn shell_byte(byte: u8) -> String {
    match byte {
        b' '..=b'~' if !b"'\\`#:".contains(&byte) => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

/// A path that no program takes for an option: `./` is before a `-` at its beginning.
pub fn path(path: &str) -> Cow<'_, str> {
    if path.starts_with('-') { Cow::Owned(format!("./{path}")) } else { Cow::Borrowed(path) }
}

/// Whether no shell interprets a character inside the word.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c))
}

/// `text` on one line, for HTML: between tags or in a quoted attribute.
pub fn html(text: &str) -> String {
    rewritten(&line(text), |_, character| {
        Some(match character {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            '\'' => "&#39;".into(),
            _ => return None,
        })
    })
}

/// A text with some of its characters replaced by what `written` returns for the character before and this one.
pub(super) fn rewritten(text: &str, written: impl Fn(char, char) -> Option<Cow<'static, str>>) -> String {
    let mut clean = String::with_capacity(text.len() + 64);
    let mut before = ' ';
    for character in text.chars() {
        match written(before, character) {
            Some(other) => clean.push_str(&other),
            None => clean.push(character),
        }
        before = character;
    }
    clean
}

/// A JSON document with the same texts, in which unsafe characters and the beginnings of runner commands are `\u`
/// escapes: a parser sees no difference, and a terminal or a log can show it safely. Such characters occur only in the
/// strings of a document, apart from the line breaks and tabs between its parts, which stay.
pub fn json(document: &str) -> Cow<'_, str> {
    let may_need = |byte: u8| !(b' '..0x7f).contains(&byte) && byte != b'\n' && byte != b'\t';
    let marks = memchr::memmem::find(document.as_bytes(), b"##").is_some();
    if !marks && !document.bytes().any(may_need) {
        return Cow::Borrowed(document);
    }
    Cow::Owned(rewritten(document, |before, character| {
        let units = |unit: &mut u16| format!("\\u{unit:04x}");
        let is_written = is_escaped(character) || (before == '#' && character == '#');
        is_written.then(|| character.encode_utf16(&mut [0; 2]).iter_mut().map(units).collect::<String>().into())
    }))
}

/// Values as YAML: in quotes, with escapes, if a reader could take a character for a line break, does not see it, or
/// would act on it. Values that cannot be written are left out.
pub fn yaml(values: &impl Serialize) -> String {
    bare_yaml(values).unwrap_or_else(|| quoted_yaml(values))
}

/// The same, with quotes around each text that some version of YAML reads as something else.
pub fn yaml_of_texts(values: &impl Serialize) -> String {
    let quoted = bare_yaml(values).and_then(|_| {
        let texts = serde_yaml::to_string(&with_quotes(serde_yaml::to_value(values).ok()?)).ok()?;
        // Some have quotes already.
        let texts = texts.replace(&format!("'{QUOTE}"), "'").replace(&format!("{QUOTE}'"), "'");
        Some(texts.replace(QUOTE, "'"))
    });
    quoted.unwrap_or_else(|| quoted_yaml(values))
}

/// Values as YAML; `None` if that has a character to escape.
fn bare_yaml(values: &impl Serialize) -> Option<String> {
    let text = serde_yaml::to_string(values).unwrap_or_default();
    (!text.contains(is_escaped) && log(&text) == text).then_some(text)
}

/// Marks the beginning and the end of a text that gets quotes; bare YAML does not contain it.
const QUOTE: char = '\u{2060}';

/// A value with [`QUOTE`] around each text that some reader takes for something else without quotes.
fn with_quotes(value: serde_yaml::Value) -> serde_yaml::Value {
    use serde_yaml::Value;
    match value {
        Value::String(text) if is_ambiguous(&text) => Value::String(format!("{QUOTE}{text}{QUOTE}")),
        Value::Sequence(items) => Value::Sequence(items.into_iter().map(with_quotes).collect()),
        Value::Mapping(map) => {
            Value::Mapping(map.into_iter().map(|(key, value)| (with_quotes(key), with_quotes(value))).collect())
        }
        value => value,
    }
}

/// Values as JSON, which is YAML as well, with escapes.
fn quoted_yaml(values: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(values).unwrap_or_default();
    let mut text = rewritten(&json, |before, c| match u32::from(c) {
        code @ 0x1_0000.. if is_escaped(c) => Some(format!("\\U{code:08x}").into()),
        // A second `#` can complete a runner command.
        code if is_escaped(c) || matches!(code, 0xfffe | 0xffff) || (c, before) == ('#', '#') => {
            Some(format!("\\u{code:04x}").into())
        }
        _ => None,
    });
    text.push('\n');
    text
}

/// Whether a character acts on a terminal or is not seen in it, or is a line break for some readers of YAML only.
fn is_escaped(character: char) -> bool {
    is_unsafe(character) && !matches!(character, '\n' | '\t')
}

/// Passes a JSON document on as [`json`] writes it, in pieces of whole lines.
pub struct JsonWriter<'o> {
    out: &'o mut dyn Write,
    /// What was not passed on yet.
    piece: Vec<u8>,
}

impl<'o> JsonWriter<'o> {
    /// Bytes that are passed on at a time.
    const PIECE: usize = 64 * 1024;

    /// A writer to `out`. What is written is complete after [`JsonWriter::finish`].
    pub fn new(out: &'o mut dyn Write) -> Self {
        Self { out, piece: Vec::with_capacity(2 * Self::PIECE) }
    }

    /// Passes on what is left.
    ///
    /// # Errors
    /// Those of the writer that it passes to.
    pub fn finish(mut self) -> io::Result<()> {
        self.pass(self.piece.len())
    }

    fn pass(&mut self, length: usize) -> io::Result<()> {
        let text = std::str::from_utf8(&self.piece[..length]).map_err(io::Error::other)?;
        self.out.write_all(json(text).as_bytes())?;
        self.piece.drain(..length);
        Ok(())
    }
}

impl Write for JsonWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        // A line break is never inside a character, a `##` or a string.
        if self.piece.len() >= Self::PIECE
            && let Some(end) = memchr::memrchr(b'\n', &self.piece)
        {
            self.pass(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_with_what_acts_or_hides_is_escaped_and_reads_back() {
        for text in ["##vso[task.setvariable variable=x]y", "\u{202e}", "\u{200b}", "\u{e0041}", "a: b\n::error::c"] {
            let values = std::collections::BTreeMap::from([(text.to_owned(), text.to_owned())]);
            let yaml = yaml(&values);
            assert!(!yaml.contains(is_escaped) && log(&yaml) == yaml, "{yaml}");
            assert_eq!(
                serde_yaml::from_str::<std::collections::BTreeMap<String, String>>(&yaml).expect("YAML"),
                values
            );
        }
        assert_eq!(yaml(&["plain"]), "- plain\n");
    }

    #[test]
    fn yaml_is_read_as_the_same_texts_by_readers_of_any_version() {
        for text in [
            "no",
            "Off",
            "y",
            "N",
            "2026-01-01",
            "1_0",
            "-1_0",
            ".5_0",
            "-.5_0",
            "._5",
            "12:30",
            "12: 30",
            "0x_1",
            "<<",
            "=",
            "on ",
        ] {
            let values = std::collections::BTreeMap::from([(text, [text])]);
            assert_eq!(yaml_of_texts(&values), format!("'{text}':\n- '{text}'\n"));
        }
        for text in ["web", "10.0.0.7", "10.0.0.0/8", "north", "7d0f", "1-a"] {
            assert_eq!(yaml_of_texts(&[text]), format!("- {text}\n"));
        }
    }

    #[test]
    fn escape_sequences_and_direction_marks_are_written_out() {
        assert_eq!(line("a\u{1b}[31mred\u{7}\r\nb"), "a\\u{1b}[31mred\\u{7}\\r\\nb");
        assert_eq!(line("user\u{202e}nimda\u{200b}"), "user\\u{202e}nimda\\u{200b}");
        assert_eq!(line("\u{9b}2J"), "\\u{9b}2J");
    }

    #[test]
    fn ordinary_text_of_any_script_is_not_copied() {
        for text in ["shop/cart", "Straße", "日本語", "π ≈ 3", ""] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn escaped_json_holds_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{9b}2J\u{e0001}\u{1b}", "b": "日本語 ✔\u{fe0f}"});
        for document in [value.to_string(), serde_json::to_string_pretty(&value).expect("JSON")] {
            let clean = json(&document);
            assert!(!clean.chars().any(|character| is_unsafe(character) && character != '\n'), "{clean}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).expect("JSON"), value);
        }
        assert!(matches!(json(r#"{"a": "plain"}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn commands_of_runners_are_written_out_and_addresses_stay() {
        for (text, clean) in [
            ("##vso[task.setvariable variable=x]y", "#\\u{23}vso[task.setvariable variable=x]y"),
            ("a ##[error]b", "a #\\u{23}[error]b"),
            ("###[group]", "#\\u{23}#[group]"),
            ("##teamcity[x]", "#\\u{23}teamcity[x]"),
            ("  ::error file=a::b", "  \\u{3a}:error file=a::b"),
            ("::endgroup::", "\\u{3a}:endgroup::"),
        ] {
            assert_eq!(line(text), clean);
        }
        for text in ["::1", "::ffff:10.0.0.1", "::/0", "a ::error::b", "## Heading", "#1", "a::b"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(log("a\n::stop-commands::x\n"), "a\n\\u{3a}:stop-commands::x\n");
        let value = serde_json::json!({"##vso[a]": "###[b]"});
        let clean = json(&value.to_string()).into_owned();
        assert!(!clean.contains("##"), "{clean}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).expect("JSON"), value);
    }

    #[test]
    fn a_word_of_a_hint_is_one_word_of_a_shell() {
        assert_eq!(shell("shop/cart"), "shop/cart");
        assert_eq!(shell("a b"), "'a b'");
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(shell(""), "''");
        assert_eq!(shell("--base-url=https:/evil"), "./--base-url=https:/evil");
        assert_eq!(shell("-a b"), "'./-a b'");
        assert_eq!(shell("=ls"), "'=ls'");
    }

    #[test]
    fn a_word_with_what_is_escaped_elsewhere_names_what_it_names_in_a_shell() {
        assert_eq!(shell("a\nb"), r"$'a\x0ab'");
        assert_eq!(shell("it's \u{1b}[1m"), r"$'it\x27s \x1b[1m'");
        assert_eq!(shell("-a\u{202e}b"), r"$'./-a\xe2\x80\xaeb'");
        assert_eq!(shell("##[error]x"), r"$'\x23\x23[error]x'");
        assert_eq!(shell("a\\\t`id`\n::error::$(id)"), r"$'a\x5c\x09\x60id\x60\x0a\x3a\x3aerror\x3a\x3a$(id)'");
    }
}

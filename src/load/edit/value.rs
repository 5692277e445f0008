//! Formats values as text of a file: in the style of the old text, in quotes where a reader could
//! misinterpret the text, and lists and mappings on one line where they are short.

use crate::load::text::Language;
use crate::model::{Json, is_ambiguous, is_unsafe};

/// What surrounds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surrounding {
    /// Block style: a line of its own.
    Block,
    /// Brackets of YAML.
    Flow,
    /// JSON.
    Json,
}

impl Surrounding {
    /// The surrounding of a value in a file in `language`, inside or outside of brackets.
    pub(super) fn of(language: Language, in_brackets: bool) -> Self {
        match (language, in_brackets) {
            (Language::Json, _) => Surrounding::Json,
            (Language::Yaml, true) => Surrounding::Flow,
            (Language::Yaml, false) => Surrounding::Block,
        }
    }
}

/// `value` as a new text, on one line.
pub(super) fn fresh(value: &Json, around: Surrounding) -> String {
    let inside = if around == Surrounding::Block { Surrounding::Flow } else { around };
    match value {
        Json::String(text) => text_like(text, "", around),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| fresh(item, inside)).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", key_text(key, inside), fresh(value, inside))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// The longest list or mapping that is written on the line of its key.
const SHORT: usize = 60;

/// `value` as it is written after the colon of a key with this indent: on the same line, or on lines of its own.
pub(super) fn behind_colon(value: &Json, indent: usize, line_break: &str) -> String {
    let beside = fresh(value, Surrounding::Block);
    match value {
        Json::Object(_) | Json::Array(_) if beside.len() > SHORT => {
            let inner = if value.is_object() { indent + 2 } else { indent };
            format!("{line_break}{}{}", " ".repeat(inner), lines(value, inner, line_break))
        }
        _ => format!(" {beside}"),
    }
}

/// `value` on lines of its own, of which all but the first begin in this column.
pub(super) fn lines(value: &Json, column: usize, line_break: &str) -> String {
    let between = format!("{line_break}{}", " ".repeat(column));
    match value {
        Json::Object(map) if !map.is_empty() => {
            let entry = |(key, value): (&String, &Json)| {
                format!("{}:{}", key_text(key, Surrounding::Block), behind_colon(value, column, line_break))
            };
            map.iter().map(entry).collect::<Vec<_>>().join(&between)
        }
        Json::Array(items) if !items.is_empty() => {
            let item = |item: &Json| format!("- {}", lines(item, column + 2, line_break));
            items.iter().map(item).collect::<Vec<_>>().join(&between)
        }
        value => fresh(value, Surrounding::Block),
    }
}

/// A key as it is written before its colon.
pub(super) fn key_text(key: &str, around: Surrounding) -> String {
    text_like(key, "", around)
}

/// A scalar in the style of the `old` text that it replaces.
pub(super) fn like(value: &Json, old: &str, around: Surrounding) -> String {
    match value {
        Json::String(text) => text_like(text, old, around),
        other => fresh(other, around),
    }
}

fn text_like(text: &str, old: &str, around: Surrounding) -> String {
    // In a definition `${` begins a variable.
    let text = text.replace("${", "$${");
    let one_line = !text.chars().any(is_unsafe);
    match old.bytes().next() {
        _ if around == Surrounding::Json => double(&text, around),
        Some(b'\'') if one_line => format!("'{}'", text.replace('\'', "''")),
        Some(b'"') => double(&text, around),
        _ if one_line && is_plain(&text, around) => text,
        _ => double(&text, around),
    }
}

/// Whether every reader takes the unquoted text for just this text. It says no in some cases that would be safe.
fn is_plain(text: &str, around: Surrounding) -> bool {
    let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b >= 0x80);
    let good = |c: char| match c {
        '.' | '_' | '/' | '-' => true,
        ':' | ' ' | '(' | ')' | ',' | '=' | '@' | '+' | '\'' | '"' => around == Surrounding::Block,
        c => c.is_alphanumeric(),
    };
    let trap = text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #");
    first && !trap && text.chars().all(good) && !is_ambiguous(text)
}

/// In double quotes, with escapes for characters that some readers take for a line break or ignore.
fn double(text: &str, around: Surrounding) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if !is_unsafe(c) => quoted.push(c),
            c if around == Surrounding::Json || u32::from(c) <= 0xffff => {
                quoted.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_keeps_the_quotes_of_the_one_before() {
        let like = |old: &str| like(&json!("it's web"), old, Surrounding::Block);
        assert_eq!(like("db"), "it's web");
        assert_eq!(like("'db'"), "'it''s web'");
        assert_eq!(like("\"db\""), "\"it's web\"");
        // Not where a reader takes a character in them for a line break.
        assert_eq!(super::like(&json!("a \u{2028} b"), "'db'", Surrounding::Block), "\"a \\u2028 b\"");
    }

    #[test]
    fn what_could_be_read_as_something_else_is_quoted() {
        for text in
            ["", "true", "No", "1", "1.50", "0x1f", "12:30", "2026-11-21", "~", "- a", "a: b", "a #b", "*a", "1e3"]
        {
            let written = fresh(&json!(text), Surrounding::Block);
            assert!(written.starts_with('"'), "{text:?} became {written}");
        }
        for text in ["web", "10.0.0.7", "10.0.0.0/8", "a.example.net", "db primary", "über"] {
            assert_eq!(fresh(&json!(text), Surrounding::Block), text);
        }
    }

    #[test]
    fn brackets_need_more_quotes_and_json_always() {
        assert_eq!(fresh(&json!("x in (y),z"), Surrounding::Block), "x in (y),z");
        assert_eq!(fresh(&json!({"a": ["x in (y),z", "b"]}), Surrounding::Block), "{a: [\"x in (y),z\", b]}");
        assert_eq!(fresh(&json!({"a": ["b"], "n": 5}), Surrounding::Json), "{\"a\": [\"b\"], \"n\": 5}");
    }

    #[test]
    fn escapes_bring_back_any_text() {
        for text in
            ["a\nb\tc", "\u{1b}[31m", "\u{7f}\u{85}\u{2028}", "\"\\", "üñ😀", "a\u{202e}b\u{200b}\u{fe0f}\u{e0041}"]
        {
            let yaml = double(text, Surrounding::Block);
            let json = double(text, Surrounding::Json);
            assert!(!yaml.chars().chain(json.chars()).any(is_unsafe), "{yaml} {json}");
            assert_eq!(serde_yaml::from_str::<String>(&yaml).expect("a text"), text);
            assert_eq!(serde_json::from_str::<String>(&json).expect("a text"), text);
        }
        assert_eq!(fresh(&json!("a ${b}"), Surrounding::Block), "\"a $${b}\"");
    }
}

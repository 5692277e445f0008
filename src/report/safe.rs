//! Takes the force out of untrusted text before it reaches a terminal: what would move the cursor,
//! change the direction of writing or hide is written out, so that a reader sees that it is there.

use std::borrow::Cow;

/// `text` on one line: control characters, direction marks and invisible characters written out as
/// `\n`, `\t` or `\u{…}`.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_forceful) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_forceful(character) {
            clean.extend(character.escape_default());
        } else {
            clean.push(character);
        }
    }
    Cow::Owned(clean)
}

/// A word as a shell reads it back.
#[must_use]
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `text` on one line, for HTML: between tags or in a quoted attribute.
#[must_use]
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in line(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether a character does something to a terminal or to other characters, or cannot be seen.
#[must_use]
pub fn is_forceful(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A JSON document whose texts hold the same, with forceful characters as `\u` escapes: what reads it
/// sees no difference, and a terminal that shows it comes to no harm. Such characters can stand only in
/// the strings of a document, apart from the line breaks and tabs between its parts, which stay.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    let escaped = |character: char| is_forceful(character) && !matches!(character, '\n' | '\t');
    if !document.chars().any(escaped) {
        return Cow::Borrowed(document);
    }
    let mut clean = String::with_capacity(document.len() + 64);
    for character in document.chars() {
        if escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                clean.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            clean.push(character);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(!clean.chars().any(|character| is_forceful(character) && character != '\n'), "{clean}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).expect("JSON"), value);
        }
        assert!(matches!(json(r#"{"a": "plain"}"#), Cow::Borrowed(_)));
    }
}

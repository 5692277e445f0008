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
}

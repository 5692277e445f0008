//! Text of the service, made fit for a message: one line, no control or direction characters, not
//! endless. Such text can be printed to a terminal.

use crate::model::is_unsafe;

/// `text` on one line with control characters and direction marks taken out, cut to `longest`
/// characters.
#[must_use]
pub fn neutral(text: &str, longest: usize) -> String {
    // Nearly every text is a name, with nothing to take out.
    if text.len() <= longest && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len().min(longest * 4));
    let mut length = 0;
    let mut gap = false;
    for character in text.chars() {
        let blank = character.is_whitespace() || is_unsafe(character);
        if blank {
            gap = !clean.is_empty();
            continue;
        }
        if length + usize::from(gap) >= longest {
            clean.push('…');
            return clean;
        }
        if std::mem::take(&mut gap) {
            clean.push(' ');
            length += 1;
        }
        clean.push(character);
        length += 1;
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_marks_lose_their_force() {
        assert_eq!(neutral("a\u{1b}[31mred\u{7}\r\n b\u{202e}c", 100), "a [31mred b c");
        assert_eq!(neutral("\n\u{2}… CreateResource", 100), "… CreateResource");
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(neutral("äöüß", 3), "äöü…");
        assert_eq!(neutral("abc", 3), "abc");
        assert_eq!(neutral("abc   ", 3), "abc");
        assert_eq!(neutral("ab cd", 3), "ab…");
    }
}

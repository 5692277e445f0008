//! Makes foreign text safe for messages (one line, limited, no control or direction characters), and parses patterns.

use globset::{Error, Glob, GlobBuilder};

/// A pattern for names or for paths with `/`, in which `\` escapes, on Windows too.
///
/// # Errors
/// It is not a valid glob.
pub fn glob(text: &str) -> Result<Glob, Error> {
    GlobBuilder::new(text).backslash_escape(true).build()
}

/// Whether a character affects a terminal or other characters, or is invisible.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a version of YAML reads the unquoted text as a number, a boolean, null, a date, or a merge key.
pub fn is_ambiguous(text: &str) -> bool {
    const WORDS: [&str; 13] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "<<", "="];
    let lower = text.to_lowercase();
    let digits = lower.trim_start_matches(['+', '-', '.', '_']);
    let is_hexadecimal = digits.starts_with("0x");
    let is_digit = |c: char| if is_hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    WORDS.contains(&lower.as_str())
        || (digits.starts_with(|c: char| c.is_ascii_digit())
            && lower.matches('.').count() < 2
            && !digits.contains("::")
            && digits.chars().all(|c| is_digit(c) || "bexo.+-_:tz ".contains(c)))
}

/// `text` on one line, without control characters and direction marks, cut to `longest`
/// characters.
pub fn neutral(text: &str, longest: usize) -> String {
    // Nearly every text is a name without such characters.
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
    fn what_cannot_be_seen_is_unsafe_at_both_ends_of_each_range() {
        let ends =
            ["\u{200b}\u{200f}", "\u{fff0}\u{fffb}", "\u{1bca0}\u{1bca3}", "\u{1d173}\u{1d17a}", "\u{e0000}\u{e0fff}"];
        assert!(ends.iter().flat_map(|pair| pair.chars()).all(is_unsafe));
        assert!(!"\u{1bc9f}\u{1d15e}\u{600}".chars().any(is_unsafe));
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(neutral("äöüß", 3), "äöü…");
        assert_eq!(neutral("abc", 3), "abc");
        assert_eq!(neutral("abc   ", 3), "abc");
        assert_eq!(neutral("ab cd", 3), "ab…");
    }
}

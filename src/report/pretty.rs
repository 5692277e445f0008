//! JSON seeded out for people without reading it into values: the order of the keys and the digits of
//! the numbers stay as they came.

/// `document`, which must be JSON, with a member a line and a line break at its end.
#[must_use]
pub fn json(document: &str) -> String {
    let mut text = String::with_capacity(document.len() + document.len() / 4);
    let mut depth = 0;
    let mut characters = document.chars().filter_significant().peekable();
    while let Some(character) = characters.next() {
        match character {
            Piece::Open(open) => {
                text.push(open);
                if let Some(Piece::Close(close)) = characters.peek() {
                    text.push(*close);
                    characters.next();
                } else {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            Piece::Close(close) => {
                depth = usize::saturating_sub(depth, 1);
                break_line(&mut text, depth);
                text.push(close);
            }
            Piece::Comma => {
                text.push(',');
                break_line(&mut text, depth);
            }
            Piece::Colon => text.push_str(": "),
            Piece::Other(character) => text.push(character),
        }
    }
    text.push('\n');
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// A character of a document by what it does to the layout.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Open(char),
    Close(char),
    Comma,
    Colon,
    Other(char),
}

trait Significant: Iterator<Item = char> + Sized {
    /// The characters without the blanks between values.
    fn filter_significant(self) -> impl Iterator<Item = Piece> {
        let (mut inside, mut escaped) = (false, false);
        self.filter_map(move |character| {
            if inside {
                inside = escaped || character != '"';
                escaped = !escaped && character == '\\';
                return Some(Piece::Other(character));
            }
            match character {
                ' ' | '\t' | '\r' | '\n' => None,
                '{' | '[' => Some(Piece::Open(character)),
                '}' | ']' => Some(Piece::Close(character)),
                ',' => Some(Piece::Comma),
                ':' => Some(Piece::Colon),
                other => {
                    inside = other == '"';
                    Some(Piece::Other(other))
                }
            }
        })
    }
}

impl<T: Iterator<Item = char>> Significant for T {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_digits_stay_as_they_came() {
        insta::assert_snapshot!(json(r#"{ "z":1.50,"a":[ {},[], "x, {\"y\": 1}\\", null ],"b":{"c":1e400}}"#), @r#"
        {
          "z": 1.50,
          "a": [
            {},
            [],
            "x, {\"y\": 1}\\",
            null
          ],
          "b": {
            "c": 1e400
          }
        }
        "#);
    }

    #[test]
    fn the_layout_is_that_of_the_usual_library() {
        let value = serde_json::json!({"a": [1, {"b": "\u{e9}\"\\", "c": {}}], "d": [[], [null]], "e": ""});
        let usual = serde_json::to_string_pretty(&value).expect("JSON") + "\n";
        assert_eq!(json(&value.to_string()), usual);
        assert_eq!(json(&usual), usual);
    }
}

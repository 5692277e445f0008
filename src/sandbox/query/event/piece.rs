//! One value of a generated event, kept apart from its text until somebody looks at it.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use super::language;

/// A group of nested fields that was made once and is shared by many events.
#[derive(Debug)]
pub struct Fragment {
    pub value: Value,
    text: String,
    /// `text` as it stands inside a JSON string.
    escaped: String,
}

/// Where JSON is written: on its own, or as the content of a JSON string, which is how an answer
/// holds its events. Writing the second at once takes half the time of escaping it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Plain,
    InString,
}

impl Place {
    /// What begins and ends a string.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Plain => "\"",
            Self::InString => "\\\"",
        }
    }
}

impl From<Value> for Fragment {
    fn from(value: Value) -> Self {
        let text = value.to_string();
        let mut escaped = String::new();
        escape(&text, &mut escaped);
        Self { text, escaped, value }
    }
}

/// A value, in one of the shapes that the service is known to write.
#[derive(Debug)]
pub enum Piece<'a> {
    Text(&'a str),
    Built(String),
    /// A number in a string, as per-request events have them.
    Digits(u64),
    /// A JSON number, as suspicion events have them.
    Number(u64),
    /// A JSON number in hundredths.
    Score(u64),
    Flag(bool),
    Address([u8; 4]),
    /// A UUID.
    Identity(u64, u64),
    /// 32 hexadecimal digits.
    Digest(u64, u64),
    Moment(Timestamp),
    Nested(&'a Fragment),
}

impl Piece<'_> {
    /// Hands each text at the dotted `rest` below this value to `look`; `buffer` is scratch space.
    pub fn texts(&self, rest: Option<&str>, buffer: &mut String, look: &mut dyn FnMut(&str)) {
        match (self, rest) {
            (Self::Nested(fragment), Some(rest)) => language::texts(&fragment.value, rest, look),
            (Self::Nested(fragment), None) => language::scalars(&fragment.value, look),
            (_, Some(_)) => {}
            (Self::Text(text), None) => look(text),
            (plain, None) => {
                buffer.clear();
                plain.put(buffer);
                look(buffer);
            }
        }
    }

    /// Appends the value as JSON.
    pub fn write(&self, place: Place, out: &mut String) {
        match self {
            Self::Text(text) => string(text, place, out),
            Self::Built(text) => string(text, place, out),
            Self::Nested(fragment) if place == Place::InString => out.push_str(&fragment.escaped),
            Self::Number(_) | Self::Score(_) | Self::Flag(_) | Self::Nested(_) => self.put(out),
            Self::Digits(_) | Self::Address(_) | Self::Identity(..) | Self::Digest(..) | Self::Moment(_) => {
                out.push_str(place.mark());
                self.put(out);
                out.push_str(place.mark());
            }
        }
    }

    fn put(&self, out: &mut String) {
        // Writing into a string cannot fail.
        let _ = match self {
            Self::Text(text) => out.write_str(text),
            Self::Built(text) => out.write_str(text),
            Self::Digits(number) | Self::Number(number) => {
                digits(*number, out);
                Ok(())
            }
            Self::Score(hundredths) => {
                // The shortest form, which is how a JSON reader would write the number again.
                let (whole, rest) = (hundredths / 100, hundredths % 100);
                if rest % 10 == 0 { write!(out, "{whole}.{}", rest / 10) } else { write!(out, "{whole}.{rest:02}") }
            }
            Self::Flag(flag) => out.write_str(if *flag { "true" } else { "false" }),
            Self::Address(parts) => {
                for (place, part) in parts.iter().enumerate() {
                    if place > 0 {
                        out.push('.');
                    }
                    digits(u64::from(*part), out);
                }
                Ok(())
            }
            Self::Identity(high, low) => {
                for (shift, count, value) in [(32, 8, high), (16, 4, high), (0, 4, high), (48, 4, low), (0, 12, low)] {
                    if shift != 32 {
                        out.push('-');
                    }
                    hex(*value >> shift, count, out);
                }
                Ok(())
            }
            Self::Digest(high, low) => {
                hex(*high, 16, out);
                hex(*low, 16, out);
                Ok(())
            }
            Self::Moment(time) => write!(out, "{time:.3}"),
            Self::Nested(fragment) => out.write_str(&fragment.text),
        };
    }
}

/// Appends `text` as a JSON string.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

fn string(text: &str, place: Place, out: &mut String) {
    out.push_str(place.mark());
    if text.bytes().all(plain) {
        out.push_str(text);
    } else if place == Place::Plain {
        escape(text, out);
    } else {
        let mut once = String::new();
        escape(text, &mut once);
        escape(&once, out);
    }
    out.push_str(place.mark());
}

/// Whether a byte stands for itself in a JSON string.
fn plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

fn escape(text: &str, out: &mut String) {
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        if plain(byte) {
            continue;
        }
        out.push_str(&text[done..at]);
        done = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            _ => {
                out.push_str("\\u00");
                hex(u64::from(byte), 2, out);
            }
        }
    }
    out.push_str(&text[done..]);
}

/// Formatting through `fmt` would be half of the time that an event takes.
fn digits(mut number: u64, out: &mut String) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&text[at..]).unwrap_or_default());
}

/// Appends the last `count` hexadecimal digits of `value`, at most 16.
fn hex(value: u64, count: usize, out: &mut String) {
    let mut text = [b'0'; 16];
    for (place, digit) in text[..count].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(value >> (4 * (count - 1 - place)) & 15) as usize];
    }
    out.push_str(std::str::from_utf8(&text[..count]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_reads_back_as_it_was() {
        for text in ["", "plain", "say \"a\\b\"\n\t\u{1}", "São Paulo \u{1f600}"] {
            let mut out = String::new();
            quote(text, &mut out);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn every_shape_is_written_as_json() {
        let fragment = Fragment::from(serde_json::json!({"a": [1]}));
        for (piece, json) in [
            (Piece::Text("a"), r#""a""#),
            (Piece::Text("say \"a\"\n"), r#""say \"a\"\n""#),
            (Piece::Digits(10), r#""10""#),
            (Piece::Number(0), "0"),
            (Piece::Score(87), "0.87"),
            (Piece::Score(250), "2.5"),
            (Piece::Score(300), "3.0"),
            (Piece::Score(7), "0.07"),
            (Piece::Flag(true), "true"),
            (Piece::Address([192, 0, 2, 7]), r#""192.0.2.7""#),
            (Piece::Identity(0x0123_4567_89ab_cdef, 1), r#""01234567-89ab-cdef-0000-000000000001""#),
            (Piece::Digest(1, 2), r#""00000000000000010000000000000002""#),
            (Piece::Moment(Timestamp::UNIX_EPOCH), r#""1970-01-01T00:00:00.000Z""#),
            (Piece::Nested(&fragment), r#"{"a":[1]}"#),
        ] {
            let mut out = String::new();
            piece.write(Place::Plain, &mut out);
            assert_eq!(out, json);
            let mut inside = String::from("\"");
            piece.write(Place::InString, &mut inside);
            inside.push('"');
            assert_eq!(serde_json::from_str::<String>(&inside).unwrap(), json);
        }
    }
}

//! The syntax of label keys and values, which is that of Kubernetes: selectors of other objects can name only such labels.

/// The most characters of a label's name or value.
const LONGEST_NAME: usize = 63;
/// The most characters of a label key's prefix.
const LONGEST_PREFIX: usize = 253;
/// The prefixes of the labels that the service writes on objects of every kind.
pub const PLATFORM_PREFIXES: [&str; 2] = ["ves.io/", "internal.ves.io/"];

/// Where a byte is allowed in a label.
const LETTER_OR_DIGIT: u8 = 1;
const NAME: u8 = 2;
const PREFIX: u8 = 4;

/// Where each byte is allowed: a table is fast, and every label of every definition is checked.
static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        bytes[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => LETTER_OR_DIGIT | NAME | PREFIX,
            b'A'..=b'Z' => LETTER_OR_DIGIT | NAME,
            b'-' => NAME | PREFIX,
            b'_' | b'.' => NAME,
            _ => 0,
        };
        byte += 1;
    }
    bytes
};

/// Where all of these bytes are allowed.
fn common(bytes: &[u8]) -> u8 {
    bytes.iter().fold(u8::MAX, |common, byte| common & BYTES[usize::from(*byte)])
}

fn is_letter_or_digit(byte: u8) -> bool {
    BYTES[usize::from(byte)] & LETTER_OR_DIGIT != 0
}

/// What is wrong with a label's key.
pub fn key_fault(key: &str) -> Option<&'static str> {
    let name = match key.bytes().position(|byte| byte == b'/') {
        Some(slash) if !is_prefix(&key.as_bytes()[..slash]) => {
            return Some("the part before `/` is a lower-case DNS name of at most 253 characters");
        }
        Some(slash) => &key[slash + 1..],
        None => key,
    };
    if name.is_empty() {
        return Some("a name follows the `/`");
    }
    value_fault(name)
}

/// What is wrong with a label's value, or with the name in its key.
pub fn value_fault(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let ([first, .., last] | [first @ last]) = bytes else { return None };
    if common(bytes) & NAME == 0 {
        Some("only letters, digits, `-`, `_` and `.`")
    } else if bytes.len() > LONGEST_NAME {
        Some("at most 63 characters")
    } else if !is_letter_or_digit(*first) || !is_letter_or_digit(*last) {
        Some("a letter or digit at the beginning and at the end")
    } else {
        None
    }
}

fn is_prefix(prefix: &[u8]) -> bool {
    let part = |part: &[u8]| match part {
        [first, .., last] | [first @ last] => common(part) & PREFIX != 0 && *first != b'-' && *last != b'-',
        [] => false,
    };
    prefix.len() <= LONGEST_PREFIX && prefix.split(|byte| *byte == b'.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_those_of_kubernetes() {
        for key in ["tier", "acme.com/tier", "a", "A_b.c-d", "ves.io/app_type", "x1.y/z"] {
            assert_eq!(key_fault(key), None, "{key}");
        }
        let long = "k".repeat(64);
        for key in ["-a", "a-", "a b", "A.com/x", "/x", "x/", "a/b/c", "ü", "a..b/x", "-a/x", "a-/x", long.as_str()] {
            assert!(key_fault(key).is_some(), "{key}");
        }
        for value in ["", "web", "1.2.3", "Team_A", &long[1..]] {
            assert_eq!(value_fault(value), None, "{value}");
        }
        for value in ["a b", "x/y", ".x", "a!", long.as_str()] {
            assert!(value_fault(value).is_some(), "{value}");
        }
    }
}

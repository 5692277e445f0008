//! The syntax of label keys and values, which is that of Kubernetes: selectors of other objects can name only such labels.

/// Characters of a label's name or value.
const LONGEST_NAME: usize = 63;
/// Characters of a label key's prefix.
const LONGEST_PREFIX: usize = 253;
/// The prefix of the labels that the service writes.
pub(super) const PLATFORM_PREFIX: &str = "ves.io/";

/// What is wrong with a label's key.
#[must_use]
pub fn key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| !is_prefix(prefix)) {
        return Some("the part before `/` is a lower-case DNS name of at most 253 characters");
    }
    if name.is_empty() {
        return Some("a name follows the `/`");
    }
    value_fault(name)
}

/// What is wrong with a label's value, or with the name in its key.
#[must_use]
pub fn value_fault(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    if !bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        Some("only letters, digits, `-`, `_` and `.`")
    } else if bytes.len() > LONGEST_NAME {
        Some("at most 63 characters")
    } else if !edge(bytes.first()) || !edge(bytes.last()) {
        Some("a letter or digit at the beginning and at the end")
    } else {
        None
    }
}

fn is_prefix(prefix: &str) -> bool {
    let part = |part: &str| {
        let bytes = part.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        !part.is_empty() && bytes.iter().all(inner) && bytes[0] != b'-' && bytes[bytes.len() - 1] != b'-'
    };
    prefix.len() <= LONGEST_PREFIX && prefix.split('.').all(part)
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
        for key in ["-a", "a-", "a b", "A.com/x", "/x", "x/", "a/b/c", "ü", "a..b/x", long.as_str()] {
            assert!(key_fault(key).is_some(), "{key}");
        }
        for value in ["", "web", "1.2.3", "Team_A"] {
            assert_eq!(value_fault(value), None, "{value}");
        }
        for value in ["a b", "x/y", ".x", "a!", long.as_str()] {
            assert!(value_fault(value).is_some(), "{value}");
        }
    }
}

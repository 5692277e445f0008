//! The rules on single values, as the published specification names them.

use std::str::FromStr;

use crate::kind::{Selector, SelectorError};

/// A DNS-1035 label: a lower-case letter, then lower-case letters, digits and `-`, no `-` at the
/// end, at most 63 (the live message says "less than 64").
pub fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && !text.ends_with('-')
        && text.bytes().all(inner)
}

/// A label selector with the grammar of Kubernetes. Unlike elsewhere it may be empty, which selects everything.
pub fn selector(text: &str) -> Result<Selector, SelectorError> {
    if text.trim().is_empty() { Ok(Selector::default()) } else { Selector::parse(text) }
}

/// A host name: labels of 1 to 63 letters, digits and `-`, no `-` at the ends of a label. Case does not matter and a
/// dot may be at the end; wildcards and underscores are refused (public sources do not say otherwise).
pub fn is_hostname(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(inner)
        })
}

/// An address, a slash, and 0 to `longest`; bits behind the prefix may be set.
pub fn is_prefix<A: FromStr>(text: &str, longest: u8) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let digits = (1..=3).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
    address.parse::<A>().is_ok() && digits && length.parse::<u8>().is_ok_and(|length| length <= longest)
}

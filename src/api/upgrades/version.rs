//! The order of software versions, by their parts.

use std::cmp::Ordering;

/// Compares two versions part by part: digits as numbers, the rest as text. `9.2026.10` is older than `9.2026.17` and
/// newer than `9.2026.9`.
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    parts(one).cmp(parts(other)).then_with(|| one.cmp(other))
}

/// A part of a version: a number, which may be too long for an integer, or a text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart<'a> {
    Text(&'a str),
    /// Digits without leading zeros, by length and then by text.
    Number(usize, &'a str),
}

fn parts(version: &str) -> impl Iterator<Item = VersionPart<'_>> {
    version.split(|c: char| !c.is_alphanumeric()).flat_map(|piece| {
        let mut rest = piece;
        std::iter::from_fn(move || {
            let digit = rest.chars().next()?.is_ascii_digit();
            let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            rest = after;
            Some(if digit {
                let number = part.trim_start_matches('0');
                VersionPart::Number(number.len(), number)
            } else {
                VersionPart::Text(part)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_parts() {
        let mut versions = ["crt-20251002-0027", "crt-20251002-9", "crt-20260201-0179", "crt-20251002"];
        versions.sort_by(|one, other| compare_versions(other, one));
        assert_eq!(versions, ["crt-20260201-0179", "crt-20251002-0027", "crt-20251002-9", "crt-20251002"]);
        let newer = |one, other| assert_eq!(compare_versions(one, other), Ordering::Greater, "{one} {other}");
        newer("9.2026.10", "9.2026.9");
        newer("9.2026.10", "7.2003.20");
        newer("9.2026.99999999999999999999999", "9.2026.9999999999999999999999");
        assert_eq!(compare_versions("9.1", "9.1"), Ordering::Equal);
        assert_ne!(compare_versions("9.01", "9.1"), Ordering::Equal);
    }
}

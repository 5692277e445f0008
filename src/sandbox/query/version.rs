//! Software versions and the order between them, part by part: `crt-20260201-0179` is newer than
//! `crt-20251002-0027`, `9.2026.10` newer than `9.2026.9`.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A software version that sites can be upgraded to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub version: String,
    /// The oldest operating system that it runs on.
    pub os_at_least: Option<String>,
    /// The newest operating system that it runs on.
    pub os_at_most: Option<String>,
    /// The oldest software from which an upgrade can start.
    pub sw_at_least: Option<String>,
}

impl Version {
    /// Whether a site with these versions can be upgraded to this one. An empty text is a version that the caller did
    /// not give, which excludes nothing.
    pub fn follows(&self, os: &str, software: &str) -> bool {
        let within = |given: &str, bound: Option<&String>, beyond: Ordering| {
            given.is_empty() || bound.is_none_or(|bound| compare(given, bound) != beyond)
        };
        (software.is_empty() || compare(&self.version, software) == Ordering::Greater)
            && within(software, self.sw_at_least.as_ref(), Ordering::Less)
            && within(os, self.os_at_least.as_ref(), Ordering::Less)
            && within(os, self.os_at_most.as_ref(), Ordering::Greater)
    }
}

/// Compares runs of digits as numbers and the rest as text.
pub fn compare(one: &str, other: &str) -> Ordering {
    parts(one).cmp(parts(other))
}

/// A number is its digits without leading zeros, compared by length first, so that no number is too large.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Text(&'a str),
    Number(usize, &'a str),
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let digits = first.is_ascii_digit();
        let length = rest.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (part, after) = rest.split_at(length);
        rest = after;
        Some(if digits {
            let number = part.trim_start_matches('0');
            Part::Number(number.len(), number)
        } else {
            Part::Text(part)
        })
    })
}

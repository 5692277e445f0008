//! What every reader of a part of the wire form needs: the problems of groups, words and numbers.

use crate::model::problem::steps;
use crate::model::{Location, Problem, Segment, Word};

/// A text that is not empty; the service writes an absent one as empty.
pub(super) fn given(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

/// The path of `key` below `base`.
pub(super) fn join(base: &[Segment], key: &'static str) -> Vec<Segment> {
    let mut path = base.to_vec();
    path.push(key.into());
    path
}

/// A problem for each option of a group beyond the first that is set.
pub(super) fn exclusive(problems: &mut Vec<Problem>, base: &[Segment], what: &str, set: &[(&'static str, bool)]) {
    let mut chosen = set.iter().filter(|(_, set)| *set).map(|(key, _)| *key);
    if let Some(first) = chosen.next() {
        for second in chosen {
            problems.push(
                Problem::key(
                    join(base, second),
                    format!("`{first}` and `{second}` cannot both be set: {what}"),
                    "one of them",
                )
                .with(Location::Key(join(base, first)), "the other one"),
            );
        }
    }
}

/// The value of a word, if one is given; nothing and a problem where it is unknown.
#[expect(clippy::option_option, reason = "an unknown word is a problem, an absent one the default")]
pub(super) fn word<W: Word>(
    problems: &mut Vec<Problem>,
    path: impl Fn() -> Vec<Segment>,
    text: Option<&String>,
) -> Option<Option<W>> {
    let Some(text) = given(text) else { return Some(None) };
    let found = W::from_text(text);
    if found.is_none() {
        let path = path();
        let key = path.last().map(ToString::to_string).unwrap_or_default();
        let what = format!("unknown value `{text}` for `{key}`");
        problems.push(Problem::value(path, what, one_of(W::WORDS)));
    }
    found.map(Some)
}

/// The words as what is allowed.
pub(super) fn one_of(words: &[&str]) -> String {
    format!("one of {}", words.join(", "))
}

/// A port of the spec, 0 where it is not given or none.
pub(super) fn number(problems: &mut Vec<Problem>, value: Option<i64>, key: &'static str) -> u16 {
    let number = value.unwrap_or_default();
    u16::try_from(number).unwrap_or_else(|_| {
        problems.push(Problem::value(steps!["spec", key], format!("`{key}` is {number}"), "must be 0 to 65535"));
        0
    })
}

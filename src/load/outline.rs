//! Where the keys of a definition are in a file of the plainest kind: one document of block mappings,
//! a key a line, every value on the line of its key. It is found line by line, in a tenth of the time
//! that the careful reader takes. For any other file this reader gives no answer. Where it gives one, the
//! careful reader gives the same: a property test compares the two.

use super::fields::is_free;
use crate::model::shape::snake;

/// The keys of a file that was loaded without a problem.
#[derive(Debug)]
pub(super) struct Outline {
    keys: Vec<KeyLine>,
}

/// A key on its line.
#[derive(Debug)]
pub(super) struct KeyLine {
    /// Which key it is below, by its number.
    above: Option<usize>,
    name: String,
    /// The text behind the colon.
    value: String,
    /// From 1.
    pub(super) line: usize,
    /// From 1.
    pub(super) column: usize,
    /// Neither a value nor anything below.
    pub(super) is_empty: bool,
}

impl Outline {
    /// The keys in `text`; nothing where a line is not of the plainest kind.
    pub(super) fn read(text: &str) -> Option<Self> {
        // What else could end a line.
        if text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
            return None;
        }
        let mut keys: Vec<KeyLine> = Vec::new();
        // The key that a line belongs to is the last one with a smaller column.
        let mut open: Vec<usize> = Vec::new();
        let mut dashes = None;
        for (number, line) in text.lines().enumerate() {
            let content = line.trim_start_matches(' ');
            if content.is_empty() || content.starts_with('#') || (keys.is_empty() && line == "---") {
                continue;
            }
            let column = line.len() - content.len() + 1;
            let item = content.strip_prefix("- ");
            if dashes.is_some_and(|dashes| column > dashes || (column == dashes && item.is_some())) {
                is_plain_item(content).then_some(())?;
                continue;
            }
            // A list may be in the column of its key.
            open.retain(|key| keys[*key].column < column + usize::from(item.is_some()));
            let above = open.last().copied();
            if let Some(above) = above {
                // A value cannot go on below its line.
                keys[above].value.is_empty().then_some(())?;
                keys[above].is_empty = false;
            }
            if item.is_some() {
                above?;
                is_plain_item(content).then_some(())?;
                dashes = Some(column);
                continue;
            }
            dashes = None;
            let (name, value) = key_and_value(content)?;
            open.push(keys.len());
            keys.push(KeyLine {
                above,
                name: name.to_owned(),
                value: value.to_owned(),
                line: number + 1,
                column,
                is_empty: value.is_empty(),
            });
        }
        Some(Self { keys })
    }

    /// The first key.
    pub(super) fn first(&self) -> Option<&KeyLine> {
        self.keys.first()
    }

    /// The key at a path of snake_case keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&KeyLine> {
        let mut above = None;
        let mut found = None;
        for (depth, part) in path.iter().enumerate() {
            let is =
                |name: &str| if is_free(path[..depth].iter().copied()) { name == *part } else { snake(name) == *part };
            let at = self.keys.iter().position(|key| key.above == above && is(&key.name))?;
            (above, found) = (Some(at), self.keys.get(at));
        }
        found
    }

    /// The plain text at a path.
    pub(super) fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path).map(|key| key.value.trim_matches(['"', '\'']))
    }
}

/// A key in plain writing and its value, without a comment.
fn key_and_value(content: &str) -> Option<(&str, &str)> {
    let (name, value) = content.split_once(':')?;
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b));
    let value = value.strip_prefix(' ').or(value.is_empty().then_some(""))?.trim_matches(' ');
    let value = if value.starts_with('#') { "" } else { value };
    (is_plain && is_whole(value)).then_some((name, value))
}

/// Whether a line of a list is an item, or a key of one, and ends where its line ends.
fn is_plain_item(content: &str) -> bool {
    let inner = content.trim_start_matches("- ").trim_start_matches(' ');
    key_and_value(inner).is_some() || (content.starts_with("- ") && !inner.ends_with(':') && is_whole(inner))
}

/// Whether a value is a scalar that ends on its line.
fn is_whole(value: &str) -> bool {
    let is_closed = |quote: char| {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inner.is_some_and(|inner| !inner.contains([quote, '\\']))
    };
    match value.chars().next() {
        None => true,
        Some(_) if matches!(value, "{}" | "[]") => true,
        Some(quote @ ('"' | '\'')) => is_closed(quote),
        Some(first) => !"&*!|>%@`?,[]{}-:\t".contains(first) && !value.contains(": ") && !value.ends_with(':'),
    }
}

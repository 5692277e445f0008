//! One document of a text: where each of its values is written, whether it may be edited, and the splices
//! that were made so far.

use std::ops::Range;

use super::NotEditable;
use super::value::Surrounding;
use crate::kind::KindName;
use crate::load::item::ValueOrigin;
use crate::load::level::Level;
use crate::load::source_map::{ValueStyle, WrittenNode, WrittenValue};
use crate::load::splice::{Splice, line_break, line_end, line_start};
use crate::load::text::Language;

/// One document of a file, and its edits.
pub(super) struct Patch<'a> {
    /// The whole file, a byte-order mark included.
    pub(super) text: &'a str,
    /// The file's path, as places name it.
    file: &'a str,
    root: &'a WrittenNode,
    /// The kind of the object that it describes.
    pub(super) kind: KindName,
    pub(super) splices: Vec<Splice>,
}

pub(super) fn below(path: &[String], key: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(key.to_owned());
    path
}

impl<'a> Patch<'a> {
    pub(super) fn new(text: &'a str, file: &'a str, root: &'a WrittenNode, kind: KindName) -> Self {
        Self { text, file, root, kind, splices: Vec::new() }
    }

    pub(super) fn node(&self, path: &[String]) -> Option<&'a WrittenValue> {
        self.root.at(path).map(|node| &node.value)
    }

    /// The node, where its bytes are used for this value alone.
    pub(super) fn own(&self, node: &'a WrittenValue) -> Result<&'a WrittenValue, NotEditable> {
        match node.origin {
            ValueOrigin::Written if node.place.file == self.file => Ok(node),
            ValueOrigin::Written => Err(NotEditable::Overlay(node.place.file.clone())),
            ValueOrigin::Anchored => Err(NotEditable::Anchor),
            ValueOrigin::Alias => Err(NotEditable::Alias),
            ValueOrigin::Merged => Err(NotEditable::MergeKey),
            ValueOrigin::Variable => Err(NotEditable::Variable),
        }
    }

    /// The node, where that is true of every value in it.
    pub(super) fn all_own(&self, path: &[String]) -> Result<&'a WrittenValue, NotEditable> {
        fn check<'a>(patch: &Patch<'a>, node: &'a WrittenNode) -> Result<(), NotEditable> {
            patch.own(&node.value)?;
            node.below.values().try_for_each(|node| check(patch, node))
        }
        let node = self.root.at(path).ok_or(NotEditable::Shape)?;
        check(self, node)?;
        Ok(&node.value)
    }

    /// The values directly in a mapping or list with their paths, in the order of the file.
    pub(super) fn children(&self, path: &[String]) -> Vec<(Vec<String>, &'a WrittenValue)> {
        let inner = self.root.at(path).into_iter().flat_map(|node| &node.below);
        let mut children: Vec<_> = inner.map(|(key, node)| (below(path, key), &node.value)).collect();
        children.sort_by_key(|(_, node)| self.start(node));
        children
    }

    /// The children, where all of them are in the file itself.
    pub(super) fn own_children(&self, path: &[String]) -> Result<Vec<(Vec<String>, &'a WrittenValue)>, NotEditable> {
        let children = self.children(path);
        children.iter().try_for_each(|(_, node)| self.own(node).map(|_| ()))?;
        Ok(children)
    }

    /// The first and the last child that is in the file itself.
    pub(super) fn own_ends(&self, path: &[String]) -> Option<(&'a WrittenValue, &'a WrittenValue)> {
        let children = self.children(path).into_iter().map(|(_, child)| child);
        let ours: Vec<_> = children.filter(|child| self.own(child).is_ok()).collect();
        Some((*ours.first()?, *ours.last()?))
    }

    /// What the description of the kind says about a path.
    pub(super) fn level(&self, path: &[String]) -> Level {
        Level::at(self.kind, path)
    }

    /// Whether a secret is written at a path or below it: a replacement would not contain it.
    pub(super) fn has_secret(&self, path: &[String]) -> bool {
        fn is_in(node: &WrittenNode, level: Level) -> bool {
            matches!(level, Level::Secret) || node.below.iter().any(|(key, node)| is_in(node, level.below(key)))
        }
        self.root.at(path).is_some_and(|node| is_in(node, self.level(path)))
    }

    /// Where the bytes of a value begin, its key included.
    pub(super) fn start(&self, node: &WrittenValue) -> usize {
        if node.key.is_empty() { node.value.start } else { node.key.start }
    }

    pub(super) fn around(&self, path: &[String]) -> Surrounding {
        let flow = |length| self.node(&path[..length]).is_some_and(|node| node.writing == ValueStyle::Flow);
        Surrounding::of(Language::of(self.file), (0..path.len()).any(flow))
    }

    pub(super) fn slice(&self, range: Range<usize>) -> Result<&'a str, NotEditable> {
        self.text.get(range).ok_or(NotEditable::Shape)
    }

    /// Whether a comment begins in a range: a `#` outside of its keys and texts.
    pub(super) fn has_comment(&self, range: Range<usize>) -> Result<bool, NotEditable> {
        let signs = self.slice(range.clone())?.match_indices('#').map(|(at, _)| range.start + at);
        Ok(signs.into_iter().any(|at| !self.is_text_at(self.root, at)))
    }

    fn is_text_at(&self, node: &WrittenNode, at: usize) -> bool {
        let WrittenValue { place, key, value, writing, .. } = &node.value;
        let text = match writing {
            ValueStyle::Plain | ValueStyle::Quoted => value.clone(),
            ValueStyle::Block => line_end(self.text, value.start)..value.end,
            ValueStyle::Empty | ValueStyle::Collection | ValueStyle::Flow => 0..0,
        };
        let in_below = || node.below.values().any(|below| self.is_text_at(below, at));
        match *place.file == *self.file {
            true if key.contains(&at) || text.contains(&at) => true,
            true => value.contains(&at) && in_below(),
            false => in_below(),
        }
    }

    pub(super) fn splice(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.splices.push(Splice { range, text: text.into() });
    }

    /// The byte behind the colon of an entry.
    pub(super) fn colon(&self, node: &WrittenValue) -> Result<usize, NotEditable> {
        let between = self.slice(node.key.end..node.value.start.max(node.key.end))?;
        let at = if between.is_empty() { None } else { between.find(':') };
        at.map(|colon| node.key.end + colon + 1).ok_or(NotEditable::Shape)
    }

    /// Blanks as wide as the text before `at` on its line.
    pub(super) fn indent(&self, at: usize) -> Result<String, NotEditable> {
        let before = self.slice(line_start(self.text, at)..at)?.trim_start_matches('\u{feff}');
        let blank = before.chars().all(|c| matches!(c, ' ' | '-'));
        if blank { Ok(" ".repeat(before.len())) } else { Err(NotEditable::Shape) }
    }

    /// The line break of the text.
    pub(super) fn line_break(&self) -> &'static str {
        line_break(self.text)
    }

    /// Removes the lines of a value. A comment inside of it is an error; one at the end of a single line is removed.
    pub(super) fn remove_lines(&mut self, node: &WrittenValue) -> Result<(), NotEditable> {
        let text = self.text;
        let lines = line_start(text, self.start(node))..line_end(text, node.value.end);
        let behind_key = if node.key.is_empty() { node.value.start } else { node.key.end };
        let inside = if node.writing == ValueStyle::Collection { lines.clone() } else { behind_key..node.value.end };
        if self.has_comment(inside)? {
            return Err(NotEditable::Comment);
        }
        self.splice(lines, "");
        Ok(())
    }

    /// Adds a text at the `end` of a value in brackets. Fails where a comment follows the value.
    pub(super) fn behind_in_brackets(&mut self, end: usize, text: String) -> Result<(), NotEditable> {
        let rest = self.slice(end..line_end(self.text, end))?.trim_start();
        if rest.strip_prefix(',').unwrap_or(rest).trim_start().starts_with('#') {
            return Err(NotEditable::Comment);
        }
        self.splice(end..end, text);
        Ok(())
    }

    /// Adds a line behind the line with `at`, with its line break.
    pub(super) fn line_behind(&mut self, at: usize, line: &str) {
        let end = line_end(self.text, at);
        let before = self.text.get(..end).unwrap_or_default();
        let text = if before.ends_with("\r\n") {
            format!("{line}\r\n")
        } else if before.ends_with('\n') {
            format!("{line}\n")
        } else {
            format!("{}{line}", line_break(before))
        };
        self.splice(end..end, text);
    }
}

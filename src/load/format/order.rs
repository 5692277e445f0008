//! Edits that bring the mappings of one document into canonical order. An entry moves with the comment lines right
//! above it, the comment on its line, and the more deeply indented comment lines below it; blank lines stay where they
//! are. A mapping whose text leaves any doubt keeps its order.

use std::ops::Range;

use super::meaning;
use crate::kind::{KindName, place_in_file};
use crate::load::level::Level;
use crate::load::splice::{Splice, line_end, line_start, own_comments_above, spliced_part};
use crate::load::tree::{NodeId, NodeShape, Tree};
use crate::model::counted;

/// The edits that bring a document into canonical form.
pub(super) fn edits(tree: &Tree<'_>, text: &str) -> Vec<Splice> {
    let Some(root) = tree.root else { return Vec::new() };
    let kind = match &tree.node(root).shape {
        NodeShape::Map { entries } => entries.iter().find(|(key, _)| meaning::text(tree, *key) == Some("kind")),
        _ => None,
    };
    let kind = kind.map_or(Some(KindName::ENDPOINT), |(_, kind)| KindName::find(meaning::text(tree, *kind)?));
    let edits = |kind| Writer { tree, text, kind }.edits(root, Level::root(Some(kind)), false);
    kind.map(edits).unwrap_or_default()
}

/// An entry of a mapping.
struct Entry {
    key: NodeId,
    value: NodeId,
    /// The key as the service spells it.
    name: String,
}

struct Writer<'a> {
    tree: &'a Tree<'a>,
    text: &'a str,
    kind: KindName,
}

impl Writer<'_> {
    /// The edits of a node, in the order of the text. Reordering a mapping is one edit, which includes those of its
    /// entries. Below an anchor no key is renamed, because an alias elsewhere reads the keys too.
    fn edits(&self, id: NodeId, level: Level, is_below_anchor: bool) -> Vec<Splice> {
        let node = self.tree.node(id);
        let is_anchored = is_below_anchor || node.anchored;
        match &node.shape {
            NodeShape::Map { entries } if !matches!(level, Level::Several(_)) => {
                let entries = entries.iter().map(|(key, value)| Entry {
                    key: *key,
                    value: *value,
                    name: meaning::text(self.tree, *key).map(|key| level.spelled(key).into_owned()).unwrap_or_default(),
                });
                let entries: Vec<Entry> = entries.collect();
                // A key that replaces one that `<<` merges has to keep its spelling.
                let is_merged = entries.iter().any(|entry| entry.name == "<<");
                let mut edits = if is_anchored || is_merged { Vec::new() } else { self.spelled(&entries, level) };
                for entry in &entries {
                    let below = level.below(&entry.name);
                    if !matches!(below, Level::Value | Level::Unknown | Level::Secret) {
                        edits.extend(self.edits(entry.value, below, is_anchored));
                    }
                }
                edits.sort_by_key(|edit| edit.range.start);
                // In other kinds, the author decides the order of fields.
                if matches!(level, Level::Message(_)) && !self.kind.is_endpoint() {
                    return edits;
                }
                let brackets = node.flow.then(|| node.range.clone());
                self.ordered(&entries, brackets, &edits).map_or(edits, |ordered| vec![ordered])
            }
            NodeShape::List { items } => match level.below("") {
                below @ Level::Message(_) => {
                    items.iter().flat_map(|item| self.edits(*item, below, is_anchored)).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Edits that write the known keys of a mapping in snake case.
    fn spelled(&self, entries: &[Entry], level: Level) -> Vec<Splice> {
        let counts = counted(entries.iter().map(|entry| &entry.name));
        let spelled = |entry: &Entry| {
            let written = meaning::text(self.tree, entry.key).filter(|written| *written != entry.name)?;
            let range = self.tree.node(entry.key).range.clone();
            let slice = self.text.get(range.clone()).filter(|slice| slice.contains(written))?;
            let text = slice.replacen(written, &entry.name, 1);
            (counts[&entry.name] == 1 && level.knows(&entry.name)).then_some(Splice { range, text })
        };
        entries.iter().filter_map(spelled).collect()
    }

    /// The mapping in order, with these edits made in it; `None` where it is in order already, or cannot be reordered.
    fn ordered(&self, entries: &[Entry], brackets: Option<Range<usize>>, edits: &[Splice]) -> Option<Splice> {
        let mut sorted: Vec<usize> = (0..entries.len()).collect();
        // Merge keys are read first, so they are written first.
        let place = |at: &usize| match entries[*at].name.as_str() {
            "<<" => (0, 0, ""),
            name => (1, place_in_file(name), name),
        };
        sorted.sort_by_key(place);
        if sorted.is_sorted() {
            return None;
        }
        // An alias must stay behind its anchor.
        let linked =
            sorted.iter().filter(|at| self.is_linked(entries[**at].key) || self.is_linked(entries[**at].value));
        if !linked.is_sorted() {
            return None;
        }
        let edited = |part| spliced_part(self.text, part, edits);
        match brackets {
            Some(brackets) => self.order_in_brackets(brackets, entries, &sorted, &edited),
            None => self.order_lines(entries, &sorted, &edited),
        }
    }

    /// Whether the node contains an anchor or an alias.
    fn is_linked(&self, id: NodeId) -> bool {
        let node = self.tree.node(id);
        node.anchored
            || match &node.shape {
                NodeShape::Scalar { .. } => false,
                NodeShape::Alias { .. } => true,
                NodeShape::List { items } => items.iter().any(|item| self.is_linked(*item)),
                NodeShape::Map { entries } => {
                    entries.iter().any(|(key, value)| self.is_linked(*key) || self.is_linked(*value))
                }
            }
    }

    fn order_in_brackets(
        &self,
        brackets: Range<usize>,
        entries: &[Entry],
        sorted: &[usize],
        edited: &dyn Fn(Range<usize>) -> Option<String>,
    ) -> Option<Splice> {
        let slot = |entry: &Entry| {
            let value = self.tree.node(entry.value);
            (!value.range.is_empty()).then(|| self.tree.node(entry.key).range.start..value.range.end)
        };
        let slots: Vec<Range<usize>> = entries.iter().map(slot).collect::<Option<_>>()?;
        let range = slots.first()?.start..slots.last()?.end;
        // The entry that a comment in brackets belongs to is unknown.
        let has_comment = |part: Range<usize>| self.text.get(part).is_none_or(|part| part.contains('#'));
        if has_comment(brackets.start..range.start) || has_comment(range.end..brackets.end) {
            return None;
        }
        let mut text = String::new();
        for (at, from) in sorted.iter().enumerate() {
            if at > 0 {
                let between = self.text.get(slots[at - 1].end..slots[at].start)?;
                if between.contains('#') || between.matches(',').count() != 1 {
                    return None;
                }
                text.push_str(between);
            }
            text.push_str(&edited(slots[*from].clone())?);
        }
        Some(Splice { range, text })
    }

    fn order_lines(
        &self,
        entries: &[Entry],
        sorted: &[usize],
        edited: &dyn Fn(Range<usize>) -> Option<String>,
    ) -> Option<Splice> {
        let chunks = self.chunks(entries)?;
        let first = chunks.first()?;
        // The comment lines of an entry cannot be moved before a `- `.
        if first.is_item && chunks.iter().any(|chunk| chunk.start < chunk.line) {
            return None;
        }
        let indent = " ".repeat(first.column);
        let mut text = String::new();
        for (at, from) in sorted.iter().enumerate() {
            let (slot, chunk) = (&chunks[at], &chunks[*from]);
            if at > 0 {
                text.push_str(self.text.get(chunks[at - 1].end..slot.start)?);
            }
            if !slot.is_item {
                text.push_str(self.text.get(chunk.start..chunk.line)?);
                text.push_str(&indent);
            }
            text.push_str(&edited(chunk.key..chunk.end)?);
        }
        Some(Splice { range: first.start..chunks.last()?.end, text })
    }

    /// The lines of each entry; `None` where a line contains anything else.
    fn chunks(&self, entries: &[Entry]) -> Option<Vec<Chunk>> {
        let key_of = |at: usize| self.tree.node(entries[at].key).range.start;
        let mut chunks: Vec<Chunk> = Vec::with_capacity(entries.len());
        let column = key_of(0) - line_start(self.text, key_of(0));
        for (at, entry) in entries.iter().enumerate() {
            let (key, line) = (key_of(at), line_start(self.text, key_of(at)));
            let before = self.text.get(line..key)?;
            let is_blank = before.bytes().all(|b| b == b' ');
            let is_item = !is_blank && at == 0 && before.bytes().all(|b| matches!(b, b' ' | b'-'));
            if (!is_blank && !is_item) || key - line != column {
                return None;
            }
            let line = if is_item { key } else { line };
            let content =
                line_end(self.text, self.tree.node(entry.value).range.end.max(self.tree.node(entry.key).range.end));
            let next = entries.get(at + 1).map(|_| line_start(self.text, key_of(at + 1)));
            let end = self.deeper_comments(content, next.unwrap_or(self.text.len()), column);
            let start = match chunks.last() {
                Some(last) => self.comments_above(last.end, line)?,
                // Comments above the first key of a file are about the file.
                None if is_item || column == 0 => line,
                None => own_comments_above(self.text, line, column),
            };
            chunks.push(Chunk { start, line, key, end, column, is_item });
        }
        // A last line without a line break cannot be moved before another.
        chunks.iter().all(|chunk| self.text.get(..chunk.end).is_some_and(|text| text.ends_with('\n'))).then_some(chunks)
    }

    /// The end of the comment lines from `from` on that are indented deeper than `column`, with the blank lines between.
    fn deeper_comments(&self, from: usize, to: usize, column: usize) -> usize {
        let (mut end, mut at) = (from, from);
        while at < to {
            let next = line_end(self.text, at);
            let line = self.text.get(at..next).unwrap_or_default();
            let content = line.trim_start_matches(' ');
            match content.trim_end() {
                "" => {}
                _ if content.starts_with('#') && line.len() - content.len() > column => end = next,
                _ => break,
            }
            at = next;
        }
        end
    }

    /// Where the comment lines above a key begin; `from` is the end of the entry before it.
    fn comments_above(&self, from: usize, line: usize) -> Option<usize> {
        let (mut at, mut start) = (from, None);
        while at < line {
            let next = line_end(self.text, at);
            let content = self.text.get(at..next)?.trim();
            match content {
                "" => {}
                _ if content.starts_with('#') => start = start.or(Some(at)),
                _ => return None,
            }
            at = next;
        }
        Some(start.unwrap_or(line))
    }
}

/// The lines of an entry.
struct Chunk {
    /// Where its comment lines begin, else the same as `line`.
    start: usize,
    /// Where the line of its key begins; where the key itself begins if it follows a `- `.
    line: usize,
    key: usize,
    end: usize,
    column: usize,
    /// Its key follows a `- `.
    is_item: bool,
}

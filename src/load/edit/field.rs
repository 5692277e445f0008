//! Turns a difference of two values into edits of bytes: a scalar is replaced, an option renamed, an entry
//! or item added or removed. Everything else stays unchanged.

use std::ops::Range;

use serde_json::Map;

use super::NotEditable;
use super::patch::{Patch, below};
use super::value::{self, Surrounding};
use crate::kind::{Flag, KindName};
use crate::load::level::Level;
use crate::load::source_map::{ValueStyle, WrittenValue};
use crate::load::splice::{line_break, line_end, line_start};
use crate::model::{Field, Json, is_unsafe};

/// Changes `field` from `current` to `wanted`.
pub(super) fn edit(patch: &mut Patch<'_>, field: &Field, current: &Json, wanted: &Json) -> Result<(), NotEditable> {
    if let Some(path) = field.keys(patch.kind) {
        return patch.value(&path, current, wanted);
    }
    let options = |value: &Json| if value.is_null() { Json::Object(Map::new()) } else { value.clone() };
    patch.options(&["spec".to_owned()], &options(current), &options(wanted))
}

/// Rewrites the whole `field` at the place where a definition has it.
pub(super) fn anew(patch: &mut Patch<'_>, field: &Field, current: &Json, wanted: &Json) -> Result<(), NotEditable> {
    let path = path(patch.kind, field, current);
    let wanted = if field.keys(patch.kind).is_some() { Some(wanted) } else { wanted.get(&path[path.len() - 1]) };
    patch.replace(&path, wanted.filter(|wanted| !wanted.is_null()).ok_or(NotEditable::Withdrawn)?)
}

/// Where a definition writes `field`; for an exclusive group its `current` option.
pub(super) fn path(kind: KindName, field: &Field, current: &Json) -> Vec<String> {
    field.keys(kind).unwrap_or_else(|| {
        let option = current.as_object().and_then(|map| map.keys().next());
        vec!["spec".to_owned(), option.cloned().unwrap_or_default()]
    })
}

impl Patch<'_> {
    pub(super) fn value(&mut self, path: &[String], current: &Json, wanted: &Json) -> Result<(), NotEditable> {
        if current == wanted {
            return Ok(());
        }
        let before = self.splices.len();
        match self.in_place(path, current, wanted) {
            // Where a part cannot be edited, the whole value is rewritten.
            Err(NotEditable::Shape) if !wanted.is_null() => {
                self.splices.truncate(before);
                self.replace(path, wanted)
            }
            done => done,
        }
    }

    fn in_place(&mut self, path: &[String], current: &Json, wanted: &Json) -> Result<(), NotEditable> {
        let Some(node) = self.node(path) else { return self.insert(path, wanted) };
        let node = self.own(node)?;
        match (current, wanted) {
            (_, Json::Null) => self.remove(&[path.to_vec()]),
            _ if node.writing == ValueStyle::Empty => self.replace(path, wanted),
            (Json::Object(_), Json::Object(_)) => self.options(path, current, wanted),
            (Json::Array(old), Json::Array(new)) if old.len() == 1 && new.len() == 1 => {
                self.value(&below(path, "0"), &old[0], &new[0])
            }
            (Json::Array(old), Json::Array(new)) => match self.level(path) {
                Level::Several(field) if field.is(Flag::Set) => self.set(path, new),
                _ => self.sequence(path, old, new),
            },
            _ => self.replace(path, wanted),
        }
    }

    /// Two mappings: a key that replaces another option of its group is renamed; other entries are edited one by one.
    fn options(&mut self, path: &[String], current: &Json, wanted: &Json) -> Result<(), NotEditable> {
        let (Json::Object(old), Json::Object(new)) = (current, wanted) else { return Err(NotEditable::Shape) };
        let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
        let added: Vec<&String> = new.keys().filter(|key| !old.contains_key(*key)).collect();
        // Deeper values first: the last value and this mapping may both get a line at the same place.
        for (key, value) in new {
            if let Some(before) = old.get(key) {
                self.value(&below(path, key), before, value)?;
            }
        }
        let level = self.level(path);
        match (gone.as_slice(), added.as_slice()) {
            ([gone], [added])
                if level.options(gone).contains(&added.as_str()) && self.node(&below(path, gone)).is_some() =>
            {
                self.rename(path, gone, added, &new[*added])?;
            }
            // No written entry stays.
            _ if path.len() > 1 && old.keys().all(|key| !new.contains_key(key)) => return self.replace(path, wanted),
            _ => {
                for key in added {
                    self.insert(&below(path, key), &new[key])?;
                }
                let gone = gone.into_iter().map(|key| below(path, key));
                self.remove(&gone.filter(|path| self.node(path).is_some()).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    fn rename(&mut self, group: &[String], from: &str, to: &str, wanted: &Json) -> Result<(), NotEditable> {
        let path = below(group, from);
        let node = self.own(self.node(&path).ok_or(NotEditable::Shape)?)?;
        let old = self.slice(node.key.clone())?;
        self.splice(node.key.clone(), value::like(&to.into(), old, self.around(&path)));
        self.replace(&path, wanted)
    }

    pub(super) fn replace(&mut self, path: &[String], wanted: &Json) -> Result<(), NotEditable> {
        let node = self.all_own(path)?;
        let around = self.around(path);
        if self.has_secret(path) {
            return Err(NotEditable::Secret);
        }
        let behind_key = || {
            let (colon, indent) = (self.colon(node)?, self.indent(node.key.start)?.len());
            Ok((colon..node.value.end, value::behind_colon(wanted, indent, self.line_break())))
        };
        let is_empty = || self.slice(node.value.clone()).is_ok_and(|old| matches!(old, "{}" | "[]"));
        let (range, text) = match node.writing {
            ValueStyle::Flow if around == Surrounding::Block && !node.key.is_empty() && is_empty() => behind_key()?,
            ValueStyle::Plain | ValueStyle::Quoted | ValueStyle::Flow => {
                let old = self.slice(node.value.clone())?;
                (node.value.clone(), value::like(wanted, old, around))
            }
            ValueStyle::Empty => (node.value.clone(), format!(" {}", value::fresh(wanted, around))),
            ValueStyle::Block => {
                let old = self.slice(node.value.clone())?;
                let fresh = || format!("{}{}", value::fresh(wanted, around), header_comment(old));
                // At the end of a file without a final line break, the text of a block cannot end in one.
                let is_open = node.value.end == self.text.len();
                let block = block(wanted, old)
                    .filter(|_| !(is_open && wanted.as_str().is_some_and(|text| text.ends_with('\n'))));
                (node.value.clone(), block.unwrap_or_else(fresh))
            }
            // An item of a list has no key.
            ValueStyle::Collection if node.key.is_empty() => {
                let column = node.value.start - line_start(self.text, node.value.start);
                (node.value.clone(), value::lines(wanted, column, self.line_break()))
            }
            ValueStyle::Collection => behind_key()?,
        };
        let is_block = node.writing == ValueStyle::Collection && self.slice(range.clone())?.contains('\n');
        // A comment on the last line belongs to its item.
        let end = if is_block { line_end(self.text, range.end) } else { range.end };
        if matches!(node.writing, ValueStyle::Collection | ValueStyle::Flow) && self.has_comment(range.start..end)? {
            return Err(NotEditable::Comment);
        }
        self.splice(range, text);
        Ok(())
    }

    pub(super) fn insert(&mut self, path: &[String], wanted: &Json) -> Result<(), NotEditable> {
        let Some((key, parent)) = path.split_last() else { return Err(NotEditable::Shape) };
        let alone = || Json::from_iter([(key.as_str(), wanted.clone())]);
        let Some(node) = self.node(parent) else { return self.insert(parent, &alone()) };
        let node = self.own(node)?;
        let around = self.around(path);
        match node.writing {
            ValueStyle::Empty => {
                self.splice(node.value.clone(), format!(" {}", value::fresh(&alone(), around)));
                Ok(())
            }
            ValueStyle::Flow => {
                let entry = format!("{}: {}", value::key_text(key, around), value::fresh(wanted, around));
                self.insert_in_brackets(parent, node, &entry)
            }
            ValueStyle::Collection => self.insert_line(parent, key, wanted),
            ValueStyle::Plain | ValueStyle::Quoted | ValueStyle::Block => Err(NotEditable::Shape),
        }
    }

    fn insert_in_brackets(&mut self, parent: &[String], node: &WrittenValue, entry: &str) -> Result<(), NotEditable> {
        match self.own_ends(parent) {
            Some((first, last)) => {
                let opening = self.slice(node.value.start + 1..first.key.start)?;
                // Entries on lines of their own get one more line.
                let between = if opening.contains('\n') && !opening.contains('#') { opening } else { " " };
                self.behind_in_brackets(last.value.end, format!(",{between}{entry}"))?;
            }
            None => self.splice(node.value.start + 1..node.value.start + 1, entry),
        }
        Ok(())
    }

    fn insert_line(&mut self, parent: &[String], key: &str, wanted: &Json) -> Result<(), NotEditable> {
        let (first, last) = self.own_ends(parent).ok_or(NotEditable::Shape)?;
        let indent = self.indent(first.key.start)?;
        let value = value::behind_colon(wanted, indent.len(), self.line_break());
        let key = value::key_text(key, Surrounding::Block);
        self.line_behind(last.value.end, &format!("{indent}{key}:{value}"));
        Ok(())
    }

    /// Removes entries of one mapping.
    pub(super) fn remove(&mut self, paths: &[Vec<String>]) -> Result<(), NotEditable> {
        let Some(first) = paths.first() else { return Ok(()) };
        let parent = &first[..first.len().saturating_sub(1)];
        let holder = self.own(self.node(parent).ok_or(NotEditable::Shape)?)?;
        let nodes = paths.iter().map(|path| self.own(self.node(path).ok_or(NotEditable::Shape)?));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        if paths.iter().any(|path| self.has_secret(path)) {
            return Err(NotEditable::Secret);
        }
        match holder.writing {
            ValueStyle::Flow => {
                let entries = self.own_children(parent)?;
                let gone = |at: usize| paths.contains(&entries[at].0);
                self.remove_in_brackets(&entries, &gone)
            }
            ValueStyle::Collection => {
                for node in nodes {
                    let start = line_start(self.text, node.key.start);
                    if !self.slice(start..node.key.start)?.bytes().all(|b| b == b' ') {
                        return Err(NotEditable::Shape);
                    }
                    self.remove_lines(node)?;
                }
                if self.children(parent).len() == paths.len() {
                    // A mapping without entries would read as null.
                    let colon = self.colon(holder)?;
                    self.splice(colon..colon, " {}");
                }
                Ok(())
            }
            _ => Err(NotEditable::Shape),
        }
    }

    /// Removes entries or items between brackets, each with its comma.
    pub(super) fn remove_in_brackets(
        &mut self,
        all: &[(Vec<String>, &WrittenValue)],
        gone: &dyn Fn(usize) -> bool,
    ) -> Result<(), NotEditable> {
        let (start, end) = (|at: usize| self.start(all[at].1), |at: usize| all[at].1.value.end);
        let kept = (0..all.len()).find(|at| !gone(*at));
        let before = match kept {
            Some(0) => None,
            Some(kept) => Some(start(0)..start(kept)),
            // A comma behind the last one would be left alone.
            None => {
                let end = end(all.len() - 1);
                let comma = self.text[end..].find(|c: char| !c.is_whitespace());
                let comma = comma.filter(|at| self.text[end + at..].starts_with(','));
                Some(start(0)..end + comma.map_or(0, |at| at + 1))
            }
        };
        let mut ranges: Vec<Range<usize>> = before.into_iter().collect();
        let behind = kept.map_or(all.len()..all.len(), |kept| kept + 1..all.len());
        ranges.extend(behind.filter(|at| gone(*at)).map(|at| end(at - 1)..end(at)));
        for range in ranges {
            if self.has_comment(range.clone())? {
                return Err(NotEditable::Comment);
            }
            self.splice(range, "");
        }
        Ok(())
    }
}

/// A text as a block scalar with the indent of the old one; `None` where a block cannot express it.
fn block(wanted: &Json, old: &str) -> Option<String> {
    let text = wanted.as_str()?;
    let content = text.strip_suffix('\n').unwrap_or(text);
    let odd = |line: &str| line.starts_with([' ', '\t']) || line.trim_end() != line || line.chars().any(is_unsafe);
    if content.is_empty() || content.contains("${") || content.split('\n').any(|line| line.is_empty() || odd(line)) {
        return None;
    }
    let line_break = line_break(old);
    let first = old.split('\n').skip(1).find(|line| !line.trim().is_empty())?;
    let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
    let comment = header_comment(old);
    let head = if text.ends_with('\n') { "|" } else { "|-" };
    let lines: String = content.split('\n').map(|line| format!("{line_break}{indent}{line}")).collect();
    Some(format!("{head}{comment}{lines}"))
}

/// The comment beside the header of a block scalar, with the blanks before it.
fn header_comment(old: &str) -> &str {
    let header = old.split(['\r', '\n']).next().unwrap_or_default();
    header.find('#').map_or("", |at| &header[header[..at].trim_end().len()..])
}

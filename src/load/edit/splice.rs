//! From a difference of two values to the bytes that have to change: a scalar is replaced, an option
//! renamed, an entry or item added or removed. Everything between stays as it is.

use std::ops::Range;

use super::NotEditable;
use super::patch::{EditedDocument, Patch, Splice, below};
use super::value::{self, Surrounding};
use crate::load::source_map::{ValueStyle, WrittenValue};
use crate::model::{Field, Json, is_unsafe};

/// The splices that set `field` to `wanted` where it is `current`.
pub(super) fn splices(
    document: EditedDocument<'_>,
    field: &Field,
    current: &Json,
    wanted: &Json,
) -> Result<Vec<Splice>, NotEditable> {
    let mut patch = Patch { document, splices: Vec::new() };
    match field {
        Field::Target => patch.options(&["spec".to_owned()], current, wanted)?,
        field => patch.value(&path(field, current), current, wanted)?,
    }
    Ok(patch.splices)
}

/// Where a definition writes `field`; for the target its `current` option.
pub(super) fn path(field: &Field, current: &Json) -> Vec<String> {
    let option = || current.as_object().and_then(|map| map.keys().next()).map_or("", String::as_str);
    let keys = field.keys().unwrap_or_else(|| vec!["spec", option()]);
    keys.into_iter().map(str::to_owned).collect()
}

impl Patch<'_> {
    fn value(&mut self, path: &[String], current: &Json, wanted: &Json) -> Result<(), NotEditable> {
        if current == wanted {
            return Ok(());
        }
        let Some(node) = self.node(path) else { return self.insert(path, wanted) };
        let node = self.own(node)?;
        match (current, wanted) {
            (_, Json::Null) => self.remove(path),
            _ if node.writing == ValueStyle::Empty => self.replace(path, wanted),
            (Json::Object(_), Json::Object(_)) => self.options(path, current, wanted),
            (Json::Array(old), Json::Array(new)) if old.len() == 1 && new.len() == 1 => {
                self.value(&below(path, "0"), &old[0], &new[0])
            }
            (Json::Array(_), Json::Array(new)) if matches!(node.writing, ValueStyle::Flow | ValueStyle::Collection) => {
                self.set(path, new)
            }
            _ => self.replace(path, wanted),
        }
    }

    /// Two mappings: what one key became another is a renamed option, the rest is taken one by one.
    fn options(&mut self, path: &[String], current: &Json, wanted: &Json) -> Result<(), NotEditable> {
        let (Json::Object(old), Json::Object(new)) = (current, wanted) else { return Err(NotEditable::Shape) };
        let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
        let added: Vec<&String> = new.keys().filter(|key| !old.contains_key(*key)).collect();
        let in_reference = path.last().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
        match (gone.as_slice(), added.as_slice()) {
            ([gone], [added]) if !in_reference && self.node(&below(path, gone)).is_some() => {
                self.rename(path, gone, added, &new[*added])?;
            }
            _ => {
                for key in added {
                    self.insert(&below(path, key), &new[key])?;
                }
                for key in gone {
                    let path = below(path, key);
                    if self.node(&path).is_some() {
                        self.remove(&path)?;
                    }
                }
            }
        }
        for (key, value) in new {
            if let Some(before) = old.get(key) {
                self.value(&below(path, key), before, value)?;
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
        let node = self.own(self.node(path).ok_or(NotEditable::Shape)?)?;
        self.children(path).iter().try_for_each(|(_, node)| self.own(node).map(|_| ()))?;
        let around = self.around(path);
        let (range, text) = match node.writing {
            ValueStyle::Plain | ValueStyle::Quoted | ValueStyle::Flow => {
                let old = self.slice(node.value.clone())?;
                (node.value.clone(), value::like(wanted, old, around))
            }
            ValueStyle::Empty => (node.value.clone(), format!(" {}", value::fresh(wanted, around))),
            ValueStyle::Block => {
                let old = self.slice(node.value.clone())?;
                (node.value.clone(), block(wanted, old).unwrap_or_else(|| value::fresh(wanted, around)))
            }
            ValueStyle::Collection => {
                let colon = self.colon(node)?;
                (colon..self.end(path), format!(" {}", value::fresh(wanted, around)))
            }
        };
        if matches!(node.writing, ValueStyle::Collection | ValueStyle::Flow) && self.slice(range.clone())?.contains('#')
        {
            return Err(NotEditable::Comment);
        }
        self.splice(range, text);
        Ok(())
    }

    pub(super) fn insert(&mut self, path: &[String], wanted: &Json) -> Result<(), NotEditable> {
        let Some((key, parent)) = path.split_last() else { return Err(NotEditable::Shape) };
        let Some(node) = self.node(parent) else {
            let mut map = serde_json::Map::new();
            map.insert(key.clone(), wanted.clone());
            return self.insert(parent, &Json::Object(map));
        };
        let node = self.own(node)?;
        let around = self.around(path);
        let entry = format!("{}: {}", value::key_text(key, around), value::fresh(wanted, around));
        match node.writing {
            ValueStyle::Empty => {
                let inside = if around == Surrounding::Block { Surrounding::Flow } else { around };
                let entry = format!("{}: {}", value::key_text(key, inside), value::fresh(wanted, inside));
                self.splice(node.value.clone(), format!(" {{{entry}}}"));
                Ok(())
            }
            ValueStyle::Flow => self.insert_in_brackets(parent, node, &entry),
            ValueStyle::Collection => self.insert_line(parent, &entry),
            ValueStyle::Plain | ValueStyle::Quoted | ValueStyle::Block => Err(NotEditable::Shape),
        }
    }

    fn insert_in_brackets(&mut self, parent: &[String], node: &WrittenValue, entry: &str) -> Result<(), NotEditable> {
        let children = self.children(parent);
        let ours: Vec<_> = children.iter().filter(|(_, child)| self.own(child).is_ok()).collect();
        match (ours.first(), ours.last()) {
            (Some((_, first)), Some((path, _))) => {
                let opening = self.slice(node.value.start + 1..first.key.start)?;
                // Entries on lines of their own get one more line.
                let between = if opening.contains('\n') && !opening.contains('#') { opening } else { " " };
                let end = self.end(path);
                self.splice(end..end, format!(",{between}{entry}"));
            }
            _ => self.splice(node.value.start + 1..node.value.start + 1, entry),
        }
        Ok(())
    }

    fn insert_line(&mut self, parent: &[String], entry: &str) -> Result<(), NotEditable> {
        let children = self.children(parent);
        let ours: Vec<_> = children.iter().filter(|(_, child)| self.own(child).is_ok()).collect();
        let (Some((_, first)), Some((last, _))) = (ours.first(), ours.last()) else { return Err(NotEditable::Shape) };
        let indent = self.indent(first.key.start)?;
        self.line_behind(self.end(last), &format!("{indent}{entry}"));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &[String]) -> Result<(), NotEditable> {
        let node = self.own(self.node(path).ok_or(NotEditable::Shape)?)?;
        let parent = &path[..path.len().saturating_sub(1)];
        let holder = self.own(self.node(parent).ok_or(NotEditable::Shape)?)?;
        match holder.writing {
            ValueStyle::Flow => {
                let entries: Vec<Range<usize>> =
                    self.own_children(parent)?.iter().map(|(path, node)| node.key.start..self.end(path)).collect();
                let at = entries.iter().position(|entry| entry.start == node.key.start).ok_or(NotEditable::Shape)?;
                let range = match (at, entries.get(at + 1)) {
                    (0, Some(next)) => entries[0].start..next.start,
                    (0, None) => entries[0].clone(),
                    _ => entries[at - 1].end..entries[at].end,
                };
                if self.slice(range.clone())?.contains('#') {
                    return Err(NotEditable::Comment);
                }
                self.splice(range, "");
                Ok(())
            }
            ValueStyle::Collection => {
                let start = self.line_start(node.key.start);
                if !self.slice(start..node.key.start)?.bytes().all(|b| b == b' ') {
                    return Err(NotEditable::Shape);
                }
                let end = self.line_end(self.end(path));
                if self.children(parent).len() == 1 {
                    // A mapping without entries would read as null.
                    let colon = self.colon(holder)?;
                    self.splice(colon..colon, " {}");
                }
                self.splice(start..end, "");
                Ok(())
            }
            _ => Err(NotEditable::Shape),
        }
    }
}

/// A text as a block scalar with the indent of the one before; nothing where a block cannot express it.
fn block(wanted: &Json, old: &str) -> Option<String> {
    let text = wanted.as_str()?;
    let content = text.strip_suffix('\n').unwrap_or(text);
    let odd = |line: &str| line.starts_with([' ', '\t']) || line.trim_end() != line || line.chars().any(is_unsafe);
    if content.is_empty() || content.contains("${") || content.split('\n').any(|line| line.is_empty() || odd(line)) {
        return None;
    }
    let line_break = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let first = old.split('\n').skip(1).find(|line| !line.trim().is_empty())?;
    let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
    let header = old.split(['\r', '\n']).next()?;
    let comment = header.find('#').map_or("", |at| &header[header[..at].trim_end().len()..]);
    let head = if text.ends_with('\n') { "|" } else { "|-" };
    let lines: String = content.split('\n').map(|line| format!("{line_break}{indent}{line}")).collect();
    Some(format!("{head}{comment}{lines}"))
}

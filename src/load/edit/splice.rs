//! From a difference of two values to the bytes that have to change: a scalar is replaced, an option
//! renamed, an entry or item added or removed. Everything between stays as it is.

use std::ops::Range;

use super::NotEditable;
use super::value::{self, Surrounding};
use crate::load::item::ValueOrigin;
use crate::load::source_map::{Nodes, ValueStyle, WrittenValue};
use crate::load::text::Language;
use crate::model::{Field, Json};

/// Bytes that become others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    range: Range<usize>,
    text: String,
}

/// `text` with all splices made; nothing where two of them meet.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for splice in &splices {
        result.push_str(text.get(done..splice.range.start)?);
        result.push_str(&splice.text);
        done = splice.range.end;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}

/// One document of a file, to be edited.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditedDocument<'a> {
    /// The whole file, a byte-order mark included.
    pub(super) text: &'a str,
    /// The file's path, as places name it.
    pub(super) file: &'a str,
    pub(super) language: Language,
    pub(super) nodes: &'a Nodes,
}

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

struct Patch<'a> {
    document: EditedDocument<'a>,
    splices: Vec<Splice>,
}

fn below(path: &[String], key: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(key.to_owned());
    path
}

impl<'a> Patch<'a> {
    fn node(&self, path: &[String]) -> Option<&'a WrittenValue> {
        self.document.nodes.get(path)
    }

    /// The node, where its bytes mean nothing but itself.
    fn own(&self, node: &'a WrittenValue) -> Result<&'a WrittenValue, NotEditable> {
        match node.origin {
            ValueOrigin::Written if node.place.file == self.document.file => Ok(node),
            ValueOrigin::Written => Err(NotEditable::Overlay { file: node.place.file.clone() }),
            ValueOrigin::Anchored => Err(NotEditable::Anchor),
            ValueOrigin::Alias => Err(NotEditable::Alias),
            ValueOrigin::Merged => Err(NotEditable::MergeKey),
            ValueOrigin::Variable => Err(NotEditable::Variable),
        }
    }

    /// The values directly in a mapping or list, in the order of the file.
    fn children(&self, path: &[String]) -> Vec<(&'a Vec<String>, &'a WrittenValue)> {
        let all = self.document.nodes.range(path.to_vec()..).take_while(|(inner, _)| inner.starts_with(path));
        let mut children: Vec<_> = all.filter(|(inner, _)| inner.len() == path.len() + 1).collect();
        let start = |node: &WrittenValue| if node.key.is_empty() { node.value.start } else { node.key.start };
        children.sort_by_key(|(_, node)| start(node));
        children
    }

    /// The children, where all of them are in the file itself.
    fn own_children(&self, path: &[String]) -> Result<Vec<(&'a Vec<String>, &'a WrittenValue)>, NotEditable> {
        let children = self.children(path);
        children.iter().try_for_each(|(_, node)| self.own(node).map(|_| ()))?;
        Ok(children)
    }

    /// The byte behind everything that belongs to the value.
    fn end(&self, path: &[String]) -> usize {
        let Some(node) = self.node(path) else { return 0 };
        let inner = || self.children(path).into_iter().map(|(path, _)| self.end(path)).max();
        match node.writing {
            ValueStyle::Collection => inner().unwrap_or(node.value.end),
            _ => node.value.end,
        }
    }

    fn around(&self, path: &[String]) -> Surrounding {
        let flow = |length| self.node(&path[..length]).is_some_and(|node| node.writing == ValueStyle::Flow);
        Surrounding::of(self.document.language, (0..path.len()).any(flow))
    }

    fn slice(&self, range: Range<usize>) -> Result<&'a str, NotEditable> {
        self.document.text.get(range).ok_or(NotEditable::Shape)
    }

    fn splice(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.splices.push(Splice { range, text: text.into() });
    }

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
            (Json::Array(_), Json::Array(new)) => self.set(path, new),
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

    fn replace(&mut self, path: &[String], wanted: &Json) -> Result<(), NotEditable> {
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

    /// The byte behind the colon of an entry.
    fn colon(&self, node: &WrittenValue) -> Result<usize, NotEditable> {
        let between = self.slice(node.key.end..node.value.start.max(node.key.end))?;
        let at = if between.is_empty() { None } else { between.find(':') };
        at.map(|colon| node.key.end + colon + 1).ok_or(NotEditable::Shape)
    }

    fn insert(&mut self, path: &[String], wanted: &Json) -> Result<(), NotEditable> {
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

    /// Blanks as wide as the text before `at` on its line.
    fn indent(&self, at: usize) -> Result<String, NotEditable> {
        let before = self.slice(self.line_start(at)..at)?.trim_start_matches('\u{feff}');
        let blank = before.chars().all(|c| matches!(c, ' ' | '-'));
        if blank { Ok(" ".repeat(before.len())) } else { Err(NotEditable::Shape) }
    }

    fn line_start(&self, at: usize) -> usize {
        self.document.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1)
    }

    /// The byte behind the line break of the line with `at`.
    fn line_end(&self, at: usize) -> usize {
        let text = self.document.text;
        text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |found| at + found + 1)
    }

    /// Adds a line behind the line with `at`, with its line break.
    fn line_behind(&mut self, at: usize, line: &str) {
        let end = self.line_end(at);
        let before = self.document.text.get(..end).unwrap_or_default();
        let text = if before.ends_with("\r\n") {
            format!("{line}\r\n")
        } else if before.ends_with('\n') {
            format!("{line}\n")
        } else {
            let line_break = if before.contains("\r\n") { "\r\n" } else { "\n" };
            format!("{line_break}{line}")
        };
        self.splice(end..end, text);
    }

    fn remove(&mut self, path: &[String]) -> Result<(), NotEditable> {
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

    /// A list whose order means nothing: items are removed and added, the others stay where they are.
    fn set(&mut self, path: &[String], wanted: &[Json]) -> Result<(), NotEditable> {
        let node = self.own(self.node(path).ok_or(NotEditable::Shape)?)?;
        let mut items = self.own_children(path)?;
        items.sort_by_key(|(_, item)| item.value.start);
        let meaning = |item: &WrittenValue| self.slice(item.value.clone()).map(meaning);
        let present = items.iter().map(|(_, item)| meaning(item)).collect::<Result<Vec<_>, _>>()?;
        let kept: Vec<bool> = present.iter().map(|text| wanted.contains(text)).collect();
        let around = self.around(&below(path, "0"));
        let news: Vec<String> =
            wanted.iter().filter(|item| !present.contains(item)).map(|item| value::fresh(item, around)).collect();
        match node.writing {
            ValueStyle::Flow => self.set_in_brackets(node, &items, &kept, &news),
            ValueStyle::Collection => self.set_of_lines(&items, &kept, &news),
            _ => self.replace(path, &Json::Array(wanted.to_vec())),
        }
    }

    fn set_in_brackets(
        &mut self,
        node: &WrittenValue,
        items: &[(&Vec<String>, &WrittenValue)],
        kept: &[bool],
        news: &[String],
    ) -> Result<(), NotEditable> {
        let (Some((_, first)), Some((_, last))) = (items.first(), items.last()) else {
            self.splice(node.value.start + 1..node.value.start + 1, news.join(", "));
            return Ok(());
        };
        let range = first.value.start..last.value.end;
        if self.slice(range.clone())?.contains('#') {
            return Err(NotEditable::Comment);
        }
        let between = |at: usize| self.slice(items[at - 1].1.value.end..items[at].1.value.start);
        let usual = if items.len() > 1 { between(items.len() - 1)? } else { ", " };
        let mut text = String::new();
        for (at, (_, item)) in items.iter().enumerate().filter(|(at, _)| kept[*at]) {
            if !text.is_empty() {
                text.push_str(between(at)?);
            }
            text.push_str(self.slice(item.value.clone())?);
        }
        for new in news {
            if !text.is_empty() {
                text.push_str(usual);
            }
            text.push_str(new);
        }
        self.splice(range, text);
        Ok(())
    }

    fn set_of_lines(
        &mut self,
        items: &[(&Vec<String>, &WrittenValue)],
        kept: &[bool],
        news: &[String],
    ) -> Result<(), NotEditable> {
        let Some((_, last)) = items.last() else { return Err(NotEditable::Shape) };
        let start = self.line_start(last.value.start);
        let lead = self.slice(start..last.value.start)?.to_owned();
        let is_lead =
            |lead: &str| lead.trim_start_matches(' ').strip_prefix('-').is_some_and(|rest| rest.trim().is_empty());
        if !is_lead(&lead) {
            return Err(NotEditable::Shape);
        }
        let lines: Vec<String> = news.iter().map(|new| format!("{lead}{new}")).collect();
        if !lines.is_empty() {
            let line_break = if self.document.text.contains("\r\n") { "\r\n" } else { "\n" };
            self.line_behind(last.value.end, &lines.join(line_break));
        }
        for ((_, item), _) in items.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let start = self.line_start(item.value.start);
            if !is_lead(self.slice(start..item.value.start)?) {
                return Err(NotEditable::Shape);
            }
            self.splice(start..self.line_end(item.value.end), "");
        }
        Ok(())
    }
}

/// The value of an item of a list, in canonical form.
fn meaning(slice: &str) -> Json {
    let text = serde_yaml::from_str::<String>(slice).unwrap_or_else(|_| slice.to_owned());
    text.parse::<ipnet::IpNet>().map_or(text, |prefix| prefix.trunc().to_string()).into()
}

/// A text as a block scalar with the indent of the one before; nothing where a block cannot express it.
fn block(wanted: &Json, old: &str) -> Option<String> {
    let text = wanted.as_str()?;
    let content = text.strip_suffix('\n').unwrap_or(text);
    let odd =
        |line: &str| line.starts_with([' ', '\t']) || line.trim_end() != line || line.chars().any(char::is_control);
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

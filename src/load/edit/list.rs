//! Edits of a list: items are removed and added, and the others stay where they are. The order of a list of an endpoint
//! means nothing, that of any other does.

use std::ops::Range;

use super::NotEditable;
use super::patch::{Patch, below};
use super::value;
use crate::kind;
use crate::load::source_map::{ValueStyle, WrittenValue};
use crate::load::splice::line_start;
use crate::model::Json;

impl Patch<'_> {
    /// A list whose order means nothing: items are removed and added, the others stay where they are.
    pub(super) fn set(&mut self, path: &[String], wanted: &[Json]) -> Result<(), NotEditable> {
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
            _ => Err(NotEditable::Shape),
        }
    }

    /// A list whose order means something: items that are still there are edited where they are.
    pub(super) fn sequence(&mut self, path: &[String], old: &[Json], new: &[Json]) -> Result<(), NotEditable> {
        let node = self.own(self.node(path).ok_or(NotEditable::Shape)?)?;
        let items = self.own_children(path)?;
        let of = kind::alike(new, old);
        let kept: Vec<usize> = of.iter().flatten().copied().collect();
        if items.len() != old.len() || kept.is_empty() || !kept.is_sorted() {
            return Err(NotEditable::Shape);
        }
        let mut before = None;
        for (item, of) in new.iter().zip(&of) {
            match of {
                Some(at) => {
                    self.value(&below(path, &at.to_string()), &old[*at], item)?;
                    before = Some(*at);
                }
                None => self.add_item(node, &items, before, item)?,
            }
        }
        self.remove_items(node, &items, &|at| !kept.contains(&at))
    }

    /// Adds an item behind another one, or before the first.
    fn add_item(
        &mut self,
        node: &WrittenValue,
        items: &[(&Vec<String>, &WrittenValue)],
        before: Option<usize>,
        item: &Json,
    ) -> Result<(), NotEditable> {
        let first = items.first().ok_or(NotEditable::Shape)?.1.value.start;
        if node.writing == ValueStyle::Flow {
            let opening = self.slice(node.value.start + 1..first)?;
            let between = if opening.contains('\n') && !opening.contains('#') { opening } else { " " };
            let text = value::fresh(item, self.around(items[0].0));
            match before.map(|at| items[at].1.value.end) {
                Some(end) => self.splice(end..end, format!(",{between}{text}")),
                None => self.splice(first..first, format!("{text},{between}")),
            }
            return Ok(());
        }
        let start = line_start(self.document.text, first);
        let lead = self.lead(start..first)?;
        let text = format!("{lead}{}", value::lines(item, lead.len(), self.line_break()));
        match before {
            Some(at) => self.line_behind(items[at].1.value.end, &text),
            None => self.splice(start..start, format!("{text}{}", self.line_break())),
        }
        Ok(())
    }

    fn remove_items(
        &mut self,
        node: &WrittenValue,
        items: &[(&Vec<String>, &WrittenValue)],
        gone: &dyn Fn(usize) -> bool,
    ) -> Result<(), NotEditable> {
        if (0..items.len()).any(|at| gone(at) && self.has_secret(items[at].0)) {
            return Err(NotEditable::Secret);
        }
        if node.writing == ValueStyle::Flow {
            return self.remove_in_brackets(items, gone);
        }
        items.iter().enumerate().filter(|(at, _)| gone(*at)).try_for_each(|(_, (_, item))| self.remove_item(item))
    }

    /// What is before an item on its line: a dash and blanks.
    fn lead(&self, range: Range<usize>) -> Result<&str, NotEditable> {
        let lead = self.slice(range)?;
        let is_lead = lead.trim_start_matches(' ').strip_prefix('-').is_some_and(|rest| rest.trim().is_empty());
        if is_lead { Ok(lead) } else { Err(NotEditable::Shape) }
    }

    /// Removes the lines of an item.
    fn remove_item(&mut self, item: &WrittenValue) -> Result<(), NotEditable> {
        self.lead(line_start(self.document.text, item.value.start)..item.value.start)?;
        self.remove_lines(item)
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
        let start = line_start(self.document.text, last.value.start);
        let lead = self.lead(start..last.value.start)?.to_owned();
        let lines: Vec<String> = news.iter().map(|new| format!("{lead}{new}")).collect();
        if !lines.is_empty() {
            self.line_behind(last.value.end, &lines.join(self.line_break()));
        }
        items.iter().zip(kept).filter(|(_, kept)| !**kept).try_for_each(|((_, item), _)| self.remove_item(item))
    }
}

/// The value of an item of a list, in canonical form.
fn meaning(slice: &str) -> Json {
    let text = serde_yaml::from_str::<String>(slice).unwrap_or_else(|_| slice.to_owned());
    text.parse::<ipnet::IpNet>().map_or(text, |prefix| prefix.trunc().to_string()).into()
}

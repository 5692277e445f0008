//! Edits of a list whose order means nothing: items are removed and added, and the others stay where they are.

use super::NotEditable;
use super::patch::{Patch, below};
use super::value;
use crate::load::source_map::{ValueStyle, WrittenValue};
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

//! Edits of a list: items are removed and added, and the others stay where they are. Order has a meaning
//! in every list but a set.

use std::collections::HashSet;
use std::ops::Range;

use super::NotEditable;
use super::patch::{Patch, below};
use super::value;
use crate::kind;
use crate::load::source_map::{ValueStyle, WrittenValue};
use crate::load::splice::{line_start, own_comments_above};
use crate::model::Json;

impl Patch<'_> {
    /// A list whose order has no meaning: items are removed and added, the others stay where they are.
    pub(super) fn set(&mut self, path: &[String], wanted: &[Json]) -> Result<(), NotEditable> {
        let items = self.own_children(path)?;
        let written = items.iter().map(|(_, item)| self.slice(item.value.clone()));
        let present = written.map(|slice| slice.map(meaning)).collect::<Result<Vec<_>, _>>()?;
        let kept = (0..present.len()).filter(|at| wanted.contains(&present[*at])).map(|at| (&present[at], Some(at)));
        let added = wanted.iter().filter(|item| !present.contains(item)).map(|item| (item, None));
        self.arrange(path, &present, &kept.chain(added).collect::<Vec<_>>())
    }

    /// A list whose order has a meaning: items that are kept are edited where they are.
    pub(super) fn sequence(&mut self, path: &[String], old: &[Json], new: &[Json]) -> Result<(), NotEditable> {
        let of = kind::alike(new, old);
        let kept: Vec<usize> = of.iter().flatten().copied().collect();
        if kept.is_empty() || !kept.is_sorted() {
            return Err(NotEditable::Shape);
        }
        self.arrange(path, old, &new.iter().zip(of).collect::<Vec<_>>())
    }

    /// Turns the list into the items of `new`; those with an index are old items, in their old order.
    fn arrange(&mut self, path: &[String], old: &[Json], new: &[(&Json, Option<usize>)]) -> Result<(), NotEditable> {
        let node = self.own(self.node(path).ok_or(NotEditable::Shape)?)?;
        let items = self.own_children(path)?;
        let kept: HashSet<usize> = new.iter().filter_map(|(_, of)| *of).collect();
        let is_kept = |at: usize| kept.contains(&at);
        if items.len() != old.len() {
            return Err(NotEditable::Shape);
        }
        if node.writing == ValueStyle::Flow && !(0..old.len()).any(is_kept) {
            return self.replace(path, &new.iter().map(|(item, _)| (*item).clone()).collect());
        }
        let mut before = None;
        for (item, of) in new {
            match of {
                Some(at) => {
                    self.value(&below(path, &at.to_string()), &old[*at], item)?;
                    before = Some(*at);
                }
                None => self.add_item(node, &items, (before, is_kept(0)), item)?,
            }
        }
        self.remove_items(node, &items, &|at| !is_kept(at))
    }

    /// Adds an item after the item `before`, else in front of the first one, which may be removed afterwards.
    fn add_item(
        &mut self,
        node: &WrittenValue,
        items: &[(Vec<String>, &WrittenValue)],
        (before, first_stays): (Option<usize>, bool),
        item: &Json,
    ) -> Result<(), NotEditable> {
        let first = items.first().ok_or(NotEditable::Shape)?.1.value.start;
        if node.writing == ValueStyle::Flow {
            // Use the separator of the last two items; of a single one, the text before it if it contains a line break.
            let between = match items {
                [.., (_, one), (_, last)] => self.slice(one.value.end..last.value.start)?.split_once(','),
                _ => Some(("", self.slice(node.value.start + 1..first)?)).filter(|(_, opening)| opening.contains('\n')),
            };
            let between = between.map(|(_, between)| between).filter(|between| !between.contains('#')).unwrap_or(" ");
            let text = value::fresh(item, self.around(&items[0].0));
            match before.map(|at| items[at].1.value.end) {
                Some(end) => self.behind_in_brackets(end, format!(",{between}{text}"))?,
                None => self.splice(first..first, format!("{text},{between}")),
            }
            return Ok(());
        }
        let start = line_start(self.text, first);
        let lead = self.lead(start..first)?;
        let text = format!("{lead}{}", value::lines(item, lead.len(), self.line_break()));
        match before {
            Some(at) => self.line_behind(items[at].1.value.end, &text),
            None => {
                let column = lead.len() - lead.trim_start_matches(' ').len();
                let above = own_comments_above(self.text, start, column);
                let start = if first_stays { above } else { start };
                self.splice(start..start, format!("{text}{}", self.line_break()));
            }
        }
        Ok(())
    }

    fn remove_items(
        &mut self,
        node: &WrittenValue,
        items: &[(Vec<String>, &WrittenValue)],
        gone: &dyn Fn(usize) -> bool,
    ) -> Result<(), NotEditable> {
        if (0..items.len()).any(|at| gone(at) && self.has_secret(&items[at].0)) {
            return Err(NotEditable::Secret);
        }
        if node.writing == ValueStyle::Flow {
            return self.remove_in_brackets(items, gone);
        }
        for (_, (_, item)) in items.iter().enumerate().filter(|(at, _)| gone(*at)) {
            self.lead(line_start(self.text, item.value.start)..item.value.start)?;
            self.remove_lines(item)?;
        }
        Ok(())
    }

    /// The text before an item on its line: a dash and blanks.
    fn lead(&self, range: Range<usize>) -> Result<&str, NotEditable> {
        let lead = self.slice(range)?;
        let is_lead = lead.trim_start_matches(' ').strip_prefix('-').is_some_and(|rest| rest.trim().is_empty());
        if is_lead { Ok(lead) } else { Err(NotEditable::Shape) }
    }
}

/// The value of an item of a list, in canonical form.
fn meaning(slice: &str) -> Json {
    let text = serde_yaml::from_str::<String>(slice).unwrap_or_else(|_| slice.to_owned());
    text.parse::<ipnet::IpNet>().map_or(text, |prefix| prefix.trunc().to_string()).into()
}

//! The drawer of Markdown: the one place that writes foreign text into a comment.

use super::{MarkdownOptions, escape, marker};
use crate::plan::Change;
use crate::report::facts::edits::{self, ValueEdit};
use crate::report::facts::plan::Command;
use crate::report::view::{Alarm, Align, Block, Blocks, Line, Part, Table, code, digits, line};
use crate::report::{html, safe};

/// A line as Markdown: foreign text is code, where neither markup, mentions nor references are looked for.
pub(in crate::report) fn draw(line: &Line<'_>) -> String {
    written(line, escape::code)
}

/// A line in a cell of a table.
pub(in crate::report) fn cell(line: &Line<'_>) -> String {
    written(line, escape::cell)
}

/// A line between the tags of an element.
pub(super) fn element(line: &Line<'_>) -> String {
    html::draw(line)
}

/// A line of a fence.
pub(super) fn fence_line(line: &Line<'_>) -> String {
    written(line, |text| safe::line(text).into_owned())
}

fn written(line: &Line<'_>, foreign: fn(&str) -> String) -> String {
    let mut text = String::new();
    for part in &line.0 {
        match part {
            Part::Own(words) => text.push_str(words),
            Part::Styled(role, parts) => {
                let strong = if role.is_loud() { "**" } else { "" };
                text.extend([strong, &written(parts, foreign), strong]);
            }
            Part::Number(number) => text.push_str(&digits(*number)),
            Part::Made(words) => text.push_str(words),
            Part::Foreign(words) | Part::Code(words) | Part::Quoted(words) => text.push_str(&foreign(words)),
        }
    }
    text
}

/// What a reader must know first, its parts as a list.
pub(super) fn alarm(alarm: &Alarm<'_>) -> String {
    let (_, word) = alarm.kind.word();
    let mut text = format!("**{}:** {}\n\n", capital(word), draw(&alarm.text));
    for item in &alarm.items {
        text.push_str(&format!("- {}\n", draw(item)));
    }
    if !alarm.items.is_empty() {
        text.push('\n');
    }
    text
}

/// A word at the beginning of a sentence.
pub(in crate::report) fn capital(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A table below its title, if it has one.
pub(in crate::report) fn table(table: &Table<'_>) -> String {
    let title = if table.title.is_empty() { String::new() } else { format!("#### {}\n\n", draw(&table.title)) };
    let heads: Vec<String> = table.columns.iter().map(|column| cell(&column.heading)).collect();
    let sides = table.columns.iter().map(|column| if column.align == Align::Right { "--:|" } else { "---|" });
    let rows = table.rows.iter().map(|cells| row(cells)).collect::<String>();
    format!("{title}| {} |\n|{}\n{rows}", heads.join(" | "), sides.collect::<String>())
}

/// A report in blocks, under its title. Where it is longer than the budget, the values of changes are left out, and then
/// the last of the lines that belong to others.
pub(in crate::report) fn blocks(title: &Line<'_>, blocks: &Blocks<'_>, options: &MarkdownOptions) -> String {
    let head = format!("{}### trueup: {}\n\n", marker("report", None), draw(title));
    let drawn: Vec<(bool, bool, String)> = blocks.0.iter().map(block).collect();
    let whole = |(.., text): &(bool, bool, String)| text.len();
    let rest = line!["Not everything is shown. Everything: ", code(&options.rest)];
    let rest = format!("\n{}\n\n", draw(&rest));
    let needed: usize = drawn.iter().filter(|(_, may_go, _)| !may_go).map(whole).sum();
    let is_whole = head.len() + drawn.iter().map(whole).sum::<usize>() <= options.budget;
    let mut room = options.budget.saturating_sub(head.len() + rest.len() + needed);
    let mut left_out = false;
    let mut text = head;
    let mut is_list = false;
    for (is_item, may_go, piece) in drawn {
        if may_go && !is_whole {
            left_out |= !is_item || piece.len() > room;
            if !is_item || piece.len() > room {
                continue;
            }
            room -= piece.len();
        }
        if is_list && !is_item {
            text.push_str(if std::mem::take(&mut left_out) { &rest } else { "\n" });
        }
        is_list = is_item;
        text.push_str(&piece);
    }
    if left_out {
        text.push_str(&rest);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Whether a block belongs to a list, whether it may go under a budget, and its text.
fn block(block: &Block<'_>) -> (bool, bool, String) {
    match block {
        Block::Gap => (false, false, String::new()),
        Block::Line(0, line) => (false, false, format!("{}\n\n", draw(line))),
        Block::Line(_, line) => {
            let text = draw(line);
            // A sign would begin a list in the list.
            let escape = if text.starts_with(['+', '-', '*']) && !text.starts_with("**") { "\\" } else { "" };
            (true, true, format!("- {escape}{text}\n"))
        }
        Block::Alarm(one) => (false, false, alarm(one)),
        Block::Table(one) => (false, false, format!("{}\n", table(one))),
        Block::Values(change) => (false, true, values(change)),
        Block::Commands(all) => (false, false, all.iter().map(|one| format!("{}\n\n", command(one))).collect()),
    }
}

/// The values of a change in a fence; nothing without any.
fn values(change: &Change) -> String {
    let lines: Vec<String> =
        edits::of(change).iter().flat_map(ValueEdit::named_lines).map(|line| fence_line(&line)).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", escape::fenced("diff", &lines)) }
}

/// A command with what it does.
pub(super) fn command(command: &Command) -> String {
    format!("{} {}", capital(command.label), escape::code(&command.command))
}

/// The head of a table.
pub(super) fn heads(heads: &[&'static str]) -> String {
    format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()))
}

/// A row of a table.
pub(super) fn row(cells: &[Line<'_>]) -> String {
    format!("| {} |\n", cells.iter().map(cell).collect::<Vec<_>>().join(" | "))
}

//! The drawer of Markdown: the one place that writes foreign text into a comment.

use super::escape;
use crate::report::facts::plan::Command;
use crate::report::line::{Line, Part, digits};
use crate::report::view::{Alarm, Align, Table};
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

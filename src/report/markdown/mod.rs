//! Reports as Markdown for a pull request, under a budget of bytes. Deletes, guards, what is blocked
//! and what could not be read are never left out; edits follow as far as the budget reaches, whole
//! blocks at a time, so that no fence is ever cut. Every text from the service or a file is in a
//! code span, a fence or escaped HTML, where neither Markdown nor a forge's mentions and references
//! look. A hidden first line lets a bot find its own comment.

mod fleet;
mod report;

pub(super) use fleet::fleet;
pub(super) use report::report;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::report::facts::plan::Command;
use crate::report::prelude::*;

/// The default budget, in bytes: GitHub takes comments of 65,536 characters.
pub const BUDGET: usize = 65_000;

/// The hidden first line: what the report is, and of which stack.
fn marker(kind: &str, stack: Option<&str>) -> String {
    // Whatever could end a comment is percent-encoded.
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');
    let stack = utf8_percent_encode(stack.unwrap_or_default(), KEPT).to_string();
    let stack = stack.replace("--", "-%2D");
    format!("<!-- trueup:{kind} stack={stack} -->\n")
}

/// A line as Markdown: foreign text is code, where neither markup, mentions nor references are looked for.
pub(super) fn draw(line: &Line<'_>) -> String {
    written(line, code_span)
}

/// A line in a cell of a table.
pub(super) fn cell(line: &Line<'_>) -> String {
    written(line, cell_span)
}

/// A line between the tags of an element, where our own words are not markup.
fn element(line: &Line<'_>) -> String {
    written(line, |text| format!("<code>{}</code>", safe::html(text)))
}

/// A line of a fence.
fn fence_line(line: &Line<'_>) -> String {
    written(line, |text| safe::line(text).into_owned()) + "\n"
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
            Part::Made(words) => text.push_str(words),
            Part::Foreign(words) | Part::Code(words) | Part::Quoted(words) => text.push_str(&foreign(words)),
        }
    }
    text
}

/// What a reader must know first, its parts as a list.
fn alarm(alarm: &Alarm<'_>) -> String {
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

/// A table below its title, if it has one.
pub(super) fn table(table: &Table<'_>) -> String {
    let title = if table.title.is_empty() { String::new() } else { format!("#### {}\n\n", draw(&table.title)) };
    let heads: Vec<String> = table.columns.iter().map(|column| cell(&column.heading)).collect();
    let sides = table.columns.iter().map(|column| if column.is_number { "--:|" } else { "---|" });
    let rows = table.rows.iter().map(|cells| row(cells)).collect::<String>();
    format!("{title}| {} |\n|{}\n{rows}", heads.join(" | "), sides.collect::<String>())
}

/// A command with what it does.
fn command(command: &Command) -> String {
    format!("{} {}", capital(&command.label), code_span(&command.command))
}

/// A row of a table.
fn row(cells: &[Line<'_>]) -> String {
    format!("| {} |\n", cells.iter().map(cell).collect::<Vec<_>>().join(" | "))
}

/// A code span: no markup, mention, reference or link is looked for in it.
fn code_span(text: &str) -> String {
    span(&safe::line(text))
}

/// A code span in a cell of a table, where a bar ends the cell even inside of code.
fn cell_span(text: &str) -> String {
    span(&safe::line(text).replace('|', "\\u{7c}"))
}

fn span(text: &str) -> String {
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A fenced block of whole lines. One that begins like the fence cannot end it: the fence is longer.
pub(super) fn fenced(language: &str, lines: &str) -> String {
    let fence = "`".repeat(longest_run(lines).max(2) + 1);
    format!("{fence}{language}\n{lines}{fence}\n")
}

/// As many pieces, from the first on, as fit into `room` bytes, and their number.
fn fitting(pieces: impl IntoIterator<Item = String>, room: usize) -> (String, usize) {
    let (mut text, mut fitted) = (String::new(), 0);
    for piece in pieces {
        if text.len() + piece.len() > room {
            break;
        }
        text.push_str(&piece);
        fitted += 1;
    }
    (text, fitted)
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod drawer_tests {
    use super::*;

    #[test]
    fn a_code_span_is_longer_than_the_backticks_in_it() {
        assert_eq!(code_span("plain"), "`plain`");
        assert_eq!(code_span("a`b``c"), "```a`b``c```");
        assert_eq!(code_span("`"), "`` ` ``");
        assert_eq!(code_span(" "), "(empty)");
        assert_eq!(code_span("a\n@b"), "`a\\n@b`");
    }

    #[test]
    fn a_bar_in_a_table_is_written_out() {
        assert_eq!(cell_span(r"a\|b"), r"`a\\u{7c}b`");
    }
}

#[cfg(test)]
mod tests;

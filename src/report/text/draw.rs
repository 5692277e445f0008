//! The drawer of text: the one place that writes foreign text for a terminal or a log.

use super::{TextView, columns};
use crate::report::facts::plan::Command;
use crate::report::view::{Alarm, AlarmKind, Line, Part, Table};
use crate::report::{Palette, Role, safe};

/// Columns between two cells of a table.
const GAP: usize = 2;

/// A line as text.
pub(in crate::report) fn draw(line: &Line<'_>, palette: Palette) -> String {
    let mut text = String::with_capacity(64);
    draw_into(line, palette, &mut text);
    text
}

/// Adds a line to a text.
pub(in crate::report) fn draw_into(line: &Line<'_>, palette: Palette, text: &mut String) {
    for part in &line.0 {
        match part {
            Part::Own(words) => text.push_str(words),
            Part::Word(role, word) => text.push_str(&palette.paint(*role, word).to_string()),
            Part::Number(number) => text.push_str(&number.to_string()),
            Part::Foreign(words) | Part::Code(words) => text.push_str(&safe::line(words)),
            Part::Quoted(words) => text.extend(["`", &safe::line(words), "`"]),
        }
    }
}

impl TextView {
    /// A line as text, without colour.
    pub(in crate::report) fn plain(&self, line: &Line<'_>) -> String {
        draw(line, Palette::Plain)
    }

    /// A line as text.
    pub(in crate::report) fn line(&self, line: &Line<'_>) -> String {
        draw(line, self.palette)
    }
}

/// An alarm: loud where an apply is refused or was allowed.
pub(super) fn alarm(alarm: &Alarm<'_>, view: &TextView) -> String {
    let (role, word) = alarm.kind.word();
    let mut text = match alarm.kind {
        AlarmKind::Refused | AlarmKind::Allowed => format!("{}  ", view.palette.paint(role, word.to_uppercase())),
        AlarmKind::Incomplete | AlarmKind::Undecided => format!("{}: ", view.palette.paint(role, word)),
    };
    draw_into(&alarm.text, view.palette, &mut text);
    for item in &alarm.items {
        text.push_str("\n  ");
        draw_into(item, view.palette, &mut text);
    }
    text.push('\n');
    text
}

/// Alarms, and an empty line behind them.
pub(super) fn alarms<'a>(all: impl IntoIterator<Item = &'a Alarm<'a>>, view: &TextView) -> String {
    let mut text: String = all.into_iter().map(|one| alarm(one, view)).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A table below its title, and an empty line behind it.
pub(super) fn titled(table: &Table<'_>, view: &TextView) -> String {
    format!("{}\n{}\n", view.palette.paint(Role::Strong, view.plain(&table.title)), rows(&table.rows, 2, view))
}

/// Cells below one another, each row behind `indent` blanks. The last cell takes the room that it needs.
pub(super) fn rows(rows: &[Vec<Line<'_>>], indent: usize, view: &TextView) -> String {
    let drawn: Vec<Vec<(String, usize)>> =
        rows.iter().map(|row| row.iter().map(|cell| (view.line(cell), columns(&view.plain(cell)))).collect()).collect();
    let count = drawn.iter().map(Vec::len).max().unwrap_or_default();
    let width = |at: usize| drawn.iter().filter_map(|row| row.get(at)).map(|(_, width)| *width).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in &drawn {
        let mut line = " ".repeat(indent);
        let last = row.iter().rposition(|(_, width)| *width > 0).unwrap_or_default();
        for (at, (cell, width)) in row.iter().enumerate().take(last + 1) {
            line.push_str(cell);
            if at < last {
                line.extend(std::iter::repeat_n(' ', widths[at] + GAP - width));
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Commands with what they are for, below one another.
pub(super) fn commands(commands: &[Command], view: &TextView) -> String {
    let width = commands.iter().map(|command| command.label.len()).max().unwrap_or_default();
    let line = |command: &Command| {
        let label = format!("{:<width$}", command.label);
        format!("{}  {}\n", view.palette.paint(Role::Quiet, label), safe::line(&command.command))
    };
    commands.iter().map(line).collect()
}

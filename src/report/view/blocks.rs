//! A report as blocks below one another: what every drawer can draw, for the reports that have no shape of their own.

use crate::report::line::Line;

use super::{Alarm, Table};
use crate::plan::Change;
use crate::report::Role;
use crate::report::facts::plan::Command;

/// A piece of a report.
pub enum Block<'a> {
    /// A line, and how far it is from the left as text: what belongs to a line above it is indented.
    Line(usize, Line<'a>),
    /// An empty line.
    Gap,
    /// What a reader must know.
    Alarm(Alarm<'a>),
    /// Rows of cells.
    Table(Table<'a>),
    /// A change of a run with its values, whether it was made, and what became of it.
    Step(&'a Change, bool, Line<'a>),
    /// What can be done next.
    Commands(Vec<Command>),
}

/// A report.
#[derive(Default)]
pub struct Blocks<'a>(pub Vec<Block<'a>>);

impl<'a> Blocks<'a> {
    /// Adds a line.
    pub fn line(&mut self, line: Line<'a>) {
        self.0.push(Block::Line(0, line));
    }

    /// Adds a line that belongs to one above it.
    pub fn item(&mut self, line: Line<'a>) {
        self.0.push(Block::Line(2, line));
    }

    /// Adds a line that begins with a word in its colour.
    pub fn labelled(&mut self, role: Role, word: &'static str, text: Line<'a>) {
        self.line(Line::labelled(role, word, text));
    }

    /// Adds an empty line behind what there is.
    pub fn gap(&mut self) {
        if !self.0.is_empty() {
            self.0.push(Block::Gap);
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table<'a>) {
        self.0.push(Block::Table(table));
    }

    /// Adds everything of another report.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

impl<'a> From<Line<'a>> for Blocks<'a> {
    fn from(line: Line<'a>) -> Self {
        Self(vec![Block::Line(0, line)])
    }
}

impl<'a> From<Table<'a>> for Blocks<'a> {
    fn from(table: Table<'a>) -> Self {
        Self(vec![Block::Table(table)])
    }
}

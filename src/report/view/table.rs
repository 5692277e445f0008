//! Rows of cells below the headings of their columns.

use crate::report::line::{Line, Parts};

/// On which side the text of a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// What is in it.
    pub heading: Line<'a>,
    /// On which side.
    pub align: Align,
    /// Whether its cells may be cut where there is no room: a time, a name or an id is of no use without its end.
    pub is_free: bool,
}

/// Rows of cells.
#[derive(Debug, Clone, Default)]
pub struct Table<'a> {
    /// What it is about, where nothing before it says so.
    pub title: Line<'a>,
    /// Its columns.
    pub columns: Vec<Column<'a>>,
    /// Its rows.
    pub rows: Vec<Vec<Line<'a>>>,
    /// Blanks before each row as text.
    pub indent: usize,
}

impl<'a> Table<'a> {
    /// A table with these headings and no rows.
    pub fn new(headings: impl IntoIterator<Item = impl Parts<'a>>) -> Self {
        let column = |heading| Column { heading: Line::default().and(heading), align: Align::Left, is_free: false };
        Self { columns: headings.into_iter().map(column).collect(), ..Self::default() }
    }

    /// The same with free text in these columns.
    #[must_use]
    pub fn free(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        columns.into_iter().for_each(|at| self.columns[at].is_free = true);
        self
    }

    /// The same with numbers in these columns.
    #[must_use]
    pub fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        columns.into_iter().for_each(|at| self.columns[at].align = Align::Right);
        self
    }

    /// The same below a title, and so many blanks from the left as text.
    #[must_use]
    pub fn titled(self, title: Line<'a>, indent: usize) -> Self {
        Self { title, indent, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Parts<'a>>) {
        self.rows.push(cells.into_iter().map(|cell| Line::default().and(cell)).collect());
    }
}

//! A report before it is drawn. It is built once from its facts: a heading, what was read, counts, alarms, tables,
//! what is listed, notes and commands, each made of lines whose foreign parts only a drawer can write. The drawers are
//! `text`, `markdown` and `html`. A block says whether it may be left out; `markdown::report` does so under its budget.

pub(super) mod outcome;
pub(super) mod plan;
pub(super) mod runs;

use super::Role;
use super::facts::check::Row;
use super::facts::plan::{self as plan_facts, Command, Item};
use super::facts::unread::Unread;
use super::line::{Line, Parts};
use crate::plan::{Change, Plan};

/// A report about one stack.
pub(super) struct View<'a> {
    /// What kind of report it is.
    pub kind: &'static str,
    /// The plan that was made for it.
    pub plan: &'a Plan,
    /// Its heading on a page.
    pub heading: Line<'a>,
    /// What it says in a line.
    pub headline: Line<'a>,
    /// What was read, and how narrowly.
    pub facts: Vec<Line<'a>>,
    /// The digest of a plan.
    pub digest: Option<String>,
    /// How many of what.
    pub counts: Vec<Count>,
    /// What a reader must know first.
    pub alarms: Vec<Alarm<'a>>,
    /// Settings that are others than expected.
    pub settings: Option<Table<'a>>,
    /// What is listed.
    pub content: Content<'a>,
    /// What a reader should know besides.
    pub notes: Vec<Line<'a>>,
    /// What can be done next.
    pub commands: Vec<Command>,
}

/// What a report lists.
pub(super) enum Content<'a> {
    /// What an apply does, by its parts; in each of them what can hurt most last.
    Plan(Vec<(plan_facts::Part, Vec<Item<'a>>)>),
    /// What a check found, and what of it is accepted.
    Check(Vec<Row<'a>>, Vec<Line<'a>>),
}

/// A number with its words.
pub(super) struct Count {
    /// The class of its colour.
    pub class: &'static str,
    /// How many.
    pub number: usize,
    /// Of what.
    pub words: &'static str,
}

/// What a reader must know before anything else.
#[derive(Debug, Clone)]
pub struct Alarm<'a> {
    /// Its kind.
    pub kind: AlarmKind,
    /// What there is to know.
    pub text: Line<'a>,
    /// Its parts.
    pub items: Vec<Line<'a>>,
}

/// The kinds of alarms, the loudest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmKind {
    /// An apply would do nothing.
    Refused,
    /// What a guard refuses is allowed.
    Allowed,
    /// Something could not be read.
    Incomplete,
    /// Something could not be decided.
    Undecided,
}

impl<'a> Alarm<'a> {
    /// An alarm without parts.
    pub fn new(kind: AlarmKind, text: Line<'a>) -> Self {
        Self { kind, text, items: Vec::new() }
    }
}

impl AlarmKind {
    /// Its word, and its colour.
    pub fn word(self) -> (Role, &'static str) {
        match self {
            AlarmKind::Refused => (Role::Wrong, "refused"),
            AlarmKind::Allowed => (Role::Careful, "allowed"),
            AlarmKind::Incomplete => (Role::Wrong, "incomplete"),
            AlarmKind::Undecided => (Role::Careful, "not decided"),
        }
    }
}

/// The alarms about what could not be read, one for each cause.
pub(super) fn unread<'a>(unread: &[Unread<'a>]) -> Vec<Alarm<'a>> {
    let alarm = |one: &Unread<'a>| Alarm {
        kind: AlarmKind::Incomplete,
        text: one.line(),
        items: vec![line!["nothing is concluded about ", one.them(), ": no changes, no verdict"]],
    };
    unread.iter().map(alarm).collect()
}

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

    /// Adds a command that can be copied, with what it does.
    pub fn command(&mut self, label: &'static str, command: String) {
        self.0.push(Block::Commands(vec![Command { label, command }]));
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

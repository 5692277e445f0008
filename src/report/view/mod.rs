//! A report before it is drawn. It is built once from its facts: a heading, what was read, counts, alarms, tables,
//! what is listed, notes and commands, each made of lines whose foreign parts only a drawer can write. The drawers are
//! `text`, `markdown` and `html`. A block says whether it may be left out; `markdown::report` does so under its budget.

mod blocks;
pub(super) mod check;
pub(super) mod outcome;
pub(super) mod plan;
pub(super) mod runs;
mod table;

pub use blocks::{Block, Blocks};
pub use table::{Align, Table};

use super::Role;
use super::facts::check::Row;
use super::facts::plan::{self as plan_facts, Command, Item};
use super::facts::unread::Unread;
use super::line::{Line, line};
use crate::plan::Plan;

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
    /// Somebody allowed what a guard refuses.
    Allowed,
    /// Something could not be read.
    Incomplete,
    /// Something could not be decided.
    Undecided,
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

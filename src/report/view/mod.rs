//! A report before it is rendered. It is built once from its facts, as lines whose foreign parts only a renderer can
//! write: as a sequence of blocks for `text`; for one stack also as a [`View`] for `html`, and for `markdown`, which
//! leaves out what exceeds its budget. The file of each subject defines what its report says.

mod drift;
mod fleet;
pub(super) mod outcome;
mod plan;
pub(super) mod runs;

use super::facts::check::{self, Row};
use super::facts::notes;
use super::facts::plan::{self as facts, Command, Item};
use super::facts::unread::{self, Unread};
use crate::drift::{AcknowledgementStatus, Check, short};
use crate::model::Scope;
use crate::model::policy::{Direction, SettingChange};
use crate::plan::{ActionKind, Change, GuardHit, GuardName, Note};
use crate::report::prelude::*;

/// The maximum number of places that are named for one guard.
const GUARDS: usize = 3;

/// A report about one stack.
pub struct View<'a> {
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
    /// Numbers with their words.
    pub counts: Vec<Count>,
    /// What a reader must know first.
    pub alarms: Vec<Alarm<'a>>,
    /// Settings that differ from those at the base, or that the policy limits.
    pub settings: Option<Table<'a>>,
    /// What is listed.
    pub content: Content<'a>,
    /// What a reader should know besides.
    pub notes: Vec<Line<'a>>,
    /// What can be done next.
    pub commands: Vec<Command>,
}

/// What a report lists.
pub enum Content<'a> {
    /// What an apply does, by its parts; in each of them what can hurt most last.
    Plan(Vec<(facts::Part, Vec<Item<'a>>)>),
    /// What a check found, and what of it is accepted.
    Check(Vec<Row<'a>>, Vec<Line<'a>>),
}

/// A number with its words.
pub struct Count {
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
    /// Its text.
    pub text: Line<'a>,
    /// Its parts.
    pub items: Vec<Line<'a>>,
}

/// The kinds of alarms, the loudest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmKind {
    /// An apply would be refused.
    Refused,
    /// What a guard would refuse is allowed.
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

impl<'a> View<'a> {
    /// The view of a plan.
    pub fn of_plan(plan: &'a Plan, view: &TextView) -> Self {
        let digest = plan.digest();
        let (kind, heading) = match (plan.undone(), plan.handed_over()) {
            (Some(run), _) => ("rollback", line!["Rollback of ", code(run.as_str()), ", ", stack(plan)]),
            (None, Some((from, to))) => ("move", line!["Move from stack ", code(from), " to stack ", code(to)]),
            (None, None) => ("plan", line!["Plan for ", stack(plan)]),
        };
        let mut facts = read(plan);
        let moved = plan.transferred();
        facts.extend(moved.map(|(from, to)| line!["moved from stack ", foreign(from), " to stack ", foreign(to)]));
        facts.extend(plan.source.base.as_deref().map(|base| line!["against ", code(base)]));
        facts.extend(plan.source.commit.as_deref().map(|commit| line!["commit ", code(short(commit))]));
        let mut alarms = consents(plan);
        alarms.extend(unread(plan.unknown()));
        Self {
            kind,
            plan,
            heading,
            headline: Self::headline_of(plan),
            facts,
            digest: Some(digest.short().to_owned()),
            counts: counts(&[plan]),
            alarms,
            settings: settings(plan),
            content: Content::Plan(facts::parts(plan)),
            notes: notes::lines(plan, |_| true),
            commands: facts::commands(plan, &digest, view),
        }
    }

    /// The view of a check; `call` is the words that name its stack in a command.
    pub fn of_check(check: &'a Check, call: &str) -> Self {
        let plan = &check.plan;
        let mut alarms = unread(check.verdicts.unknown.iter().map(|(list, reason)| (list, reason.as_str())));
        let undecided = notes::lines(plan, Note::is_undecided).into_iter();
        alarms.extend(undecided.map(|text| Alarm::new(AlarmKind::Undecided, text)));
        Self {
            kind: "drift",
            plan,
            heading: line!["Drift of ", stack(plan)],
            headline: check::headline(&check.verdicts),
            facts: read(plan),
            digest: None,
            counts: counts_of_checks(&[check]),
            alarms,
            settings: None,
            content: Content::Check(check::rows(check), check::acknowledged(check)),
            notes: notes::lines(plan, |note| !note.is_undecided()),
            commands: check::commands(check, call),
        }
    }

    /// What a plan says in a line.
    pub fn headline_of(plan: &'a Plan) -> Line<'a> {
        let unread = plan.unknown().next().map(|_| match unread::whole(plan) {
            Some(_) => line!["nothing could be read"],
            None => line!["a read is incomplete"],
        });
        let headline = facts::headline(&[plan], unread);
        let headline = if headline.is_empty() { line!["in sync"] } else { headline };
        if plan.is_refused() { line!["refused, ", headline] } else { headline }
    }
}

/// The stack with its environment.
pub(super) fn stack(plan: &Plan) -> Line<'_> {
    let stack = plan.stack.as_deref().map_or_else(|| line!["no stack"], |stack| line!["stack ", foreign(stack)]);
    stack.and(plan.source.environment.as_deref().map(|environment| line![", environment ", foreign(environment)]))
}

/// What was read: the service, the stack, how many namespaces, and how narrowly.
pub(super) fn read(plan: &Plan) -> Vec<Line<'_>> {
    let namespaces = Line::count(plan.read_scope().namespaces, "namespace");
    let mut facts = vec![line![code(&plan.service.base_url)], stack(plan), namespaces];
    facts.extend(plan.source.snapshot.as_ref().map(|_| source(plan)));
    facts.extend(narrowed(plan));
    facts
}

/// What a one-line summary of these plans must mention: snapshots that they are made from, filters, and the base.
pub(super) fn shared<'p>(plans: &[&'p Plan]) -> Vec<Line<'p>> {
    // If only some are made from snapshots, their own reports say so.
    let taken: Option<BTreeSet<&str>> = plans.iter().map(|plan| plan.source.snapshot.as_deref()).collect();
    let taken = taken.unwrap_or_default();
    let words = if taken.len() > 1 { "against snapshots, the oldest of " } else { "against the snapshot of " };
    let snapshot = taken.first().map(|oldest| line![words, moment(oldest)]);
    let base = plans.iter().find_map(|plan| plan.source.base.as_deref()).map(|base| line!["against ", code(base)]);
    snapshot.into_iter().chain(outside(plans)).chain(base).collect()
}

/// What the plan was made from: the service, with the number of requests, or a snapshot, with its time.
pub(super) fn source(plan: &Plan) -> Line<'_> {
    match &plan.source.snapshot {
        None => Line::count(plan.source.requests, "request"),
        Some(taken) => line!["against the snapshot of ", moment(taken)],
    }
}

/// How narrowly a plan was made: by filters, and what could not be read.
pub(super) fn narrowed(plan: &Plan) -> Vec<Line<'_>> {
    let unread = plan.read_scope().unread;
    let unread = (unread > 0).then(|| Line::count(unread, plan.list_noun()).and(" not read"));
    outside(&[plan]).into_iter().chain(unread).collect()
}

/// The filters of the call, and what they leave out of these plans.
fn outside<'p>(plans: &[&'p Plan]) -> Vec<Line<'p>> {
    let filters = plans.iter().map(|plan| &plan.source.filters).find(|filters| !filters.is_empty());
    let filters = filters.map(|filters| line!["filtered by ", code(filters.join(" "))]);
    let number = |of: &dyn Fn(&Plan) -> usize| plans.iter().map(|plan| of(plan)).sum::<usize>();
    let parts = [(number(&|plan| plan.left_out), "change"), (number(&|plan| plan.read_scope().left_out), "namespace")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    filters.into_iter().chain(parts.map(|(number, one)| Line::count(number, one).and(" outside the filter"))).collect()
}

/// The alarms that an apply would be refused and why, and who allowed what.
pub(super) fn consents(plan: &Plan) -> Vec<Alarm<'_>> {
    let refused = plan.refused();
    let mut alarms = Vec::new();
    if !refused.is_empty() {
        let text = line!["an apply of this plan is refused unless it is allowed by name"];
        // One guard over many namespaces is one thing to allow.
        let names: BTreeSet<GuardName> = refused.iter().map(|guard| guard.name).collect();
        let items = names.into_iter().map(|name| {
            let of_name: Vec<&GuardHit> = refused.iter().copied().filter(|guard| guard.name == name).collect();
            let more = of_name.len().saturating_sub(GUARDS);
            let reasons = Line::joined(of_name.into_iter().take(GUARDS).map(facts::guard), "; ");
            let more = (more > 0).then(|| line!["; and in ", more, " more"]);
            line![code(format!("--allow {name}")), ": ", reasons, more]
        });
        alarms.push(Alarm { kind: AlarmKind::Refused, text, items: items.collect() });
    } else if plan.is_refused() {
        let text = line!["an apply of this plan does nothing: everything in it is blocked"];
        alarms.push(Alarm::new(AlarmKind::Refused, text));
    }
    for allowed in &plan.allowed {
        let by = allowed.by.as_deref().map(|by| line![" by ", code(by)]);
        let guards = plan.guards.iter().filter(|guard| guard.name.as_str() == allowed.name);
        let (text, items) = (line![code(&allowed.name), by], guards.map(facts::guard).collect());
        alarms.push(Alarm { kind: AlarmKind::Allowed, text, items });
    }
    alarms
}

/// The settings that differ from those at the base, or that the policy limits, with the values in force.
pub(super) fn settings<'a>(plan: &'a Plan) -> Option<Table<'a>> {
    let changes = &plan.setting_changes;
    let has_base = changes.iter().any(|change| change.base.is_some());
    let is_own = changes.iter().any(|change| change.base.is_some() && change.direction != Direction::BehindBase);
    let title = match &plan.source.base {
        Some(base) if is_own => line!["This change alters settings of ", code(base), ":"],
        Some(base) if has_base => line!["This branch is behind ", code(base), ", which has other settings:"],
        _ => line!["The policy limits settings:"],
    };
    let values = if has_base { "base -> here" } else { "here" };
    let row = |change: &'a SettingChange| {
        let role = match change.direction {
            Direction::Loosened => Role::Wrong,
            Direction::Changed | Direction::Limited => Role::Careful,
            Direction::Tightened | Direction::BehindBase => Role::Quiet,
        };
        let direction = styled(role, change.direction.as_str());
        [direction, code(&change.setting), code(change.values()), foreign(change.force())]
    };
    let table = || Table::new(["", "setting", values, ""]).titled(title, 2).rows(changes.iter().map(row));
    (!changes.is_empty()).then(table)
}

/// The numbers of what these plans change, and of whose changes they are.
pub(super) fn counts(plans: &[&Plan]) -> Vec<Count> {
    let count = |class, words, of: &dyn Fn(&Plan) -> usize| Count {
        class,
        number: plans.iter().map(|plan| of(plan)).sum(),
        words,
    };
    let mut counts = vec![
        count("create", "to create", &|plan| plan.count(ActionKind::Create)),
        count("replace", "to replace", &|plan| plan.count(ActionKind::Replace)),
        count("delete", "to recreate", &|plan| plan.count(ActionKind::Recreate)),
        count("delete", "to delete", &|plan| plan.count(ActionKind::Delete)),
    ];
    counts.extend(facts::whose(plans).into_iter().map(|(number, words)| Count { class: "mark", number, words }));
    let annotates = if plans.iter().all(|plan| plan.transferred().is_none()) { "annotations only" } else { "to move" };
    counts.extend([
        count("blocked", "blocked", &|plan| plan.blocked.len()),
        count("annotate", annotates, &|plan| plan.count(ActionKind::Annotate)),
        count("sync", "in sync", &Plan::in_sync),
    ]);
    counts
}

/// The numbers of endpoints of these checks by state.
pub(super) fn counts_of_checks(checks: &[&Check]) -> Vec<Count> {
    let count = |class, number, words| Count { class, number, words };
    let (drifted, pending) = check::numbers(checks.iter().map(|check| &check.verdicts));
    let accepted = checks.iter().flat_map(|check| &check.acknowledged);
    let accepted = accepted.filter(|entry| entry.status == AcknowledgementStatus::Silences).count();
    vec![
        count("delete", drifted, "changed outside"),
        count("replace", pending, "not applied yet"),
        count("blocked", checks.iter().map(|check| check.verdicts.unknown.len()).sum(), "not read"),
        count("mark", accepted, "accepted"),
        count("sync", checks.iter().map(|check| check.verdicts.in_sync).sum(), "in sync"),
    ]
}

/// The alarms about lists that could not be read, one for each cause.
pub(super) fn unread<'a>(unknown: impl Iterator<Item = (&'a Scope, &'a str)>) -> Vec<Alarm<'a>> {
    let alarm = |one: Unread<'a>| Alarm {
        kind: AlarmKind::Incomplete,
        text: one.line(),
        items: vec![line!["nothing is concluded about ", one.them(), ": no changes, no verdict"]],
    };
    unread::by_reason(unknown).into_iter().map(alarm).collect()
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
    /// What a plan lists.
    Item(Item<'a>),
    /// A change of a run with its values, whether it was made, and what became of it.
    Step(&'a Change, bool, Line<'a>),
    /// The objects of a wave, by its number.
    Wave(usize, Vec<&'a Key>),
    /// What can be done next.
    Commands(Vec<Command>),
}

/// A report.
#[derive(Default)]
#[must_use]
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

    /// Adds an empty line, if there is something before it.
    pub fn gap(&mut self) {
        if !self.0.is_empty() {
            self.0.push(Block::Gap);
        }
    }

    /// Adds a command that can be copied, with what it does.
    pub fn command(&mut self, label: &'static str, command: String) {
        self.0.push(Block::Commands(vec![Command { label: label.into(), command }]));
    }

    /// Adds more blocks.
    pub fn append(&mut self, more: impl Into<Self>) {
        self.0.append(&mut more.into().0);
    }

    /// The blocks with more after them.
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.append(more);
        self
    }

    /// Adds more blocks after an empty line, if there are any.
    pub fn section(&mut self, more: impl Into<Self>) {
        let more = more.into();
        if !more.0.is_empty() {
            self.gap();
            self.append(more);
        }
    }

    /// The blocks with more after an empty line, if there are any.
    pub fn then(mut self, more: impl Into<Self>) -> Self {
        self.section(more);
        self
    }

    /// Notes, a line each.
    pub fn notes(notes: Vec<Line<'a>>) -> Self {
        let line = |note| Block::Line(2, line![styled(Role::Quiet, "note"), "  ", note]);
        Self(notes.into_iter().map(line).collect())
    }
}

impl<'a> From<Block<'a>> for Blocks<'a> {
    fn from(block: Block<'a>) -> Self {
        Self(vec![block])
    }
}

impl<'a> From<Line<'a>> for Blocks<'a> {
    fn from(line: Line<'a>) -> Self {
        Block::Line(0, line).into()
    }
}

impl<'a> From<Table<'a>> for Blocks<'a> {
    fn from(table: Table<'a>) -> Self {
        Block::Table(table).into()
    }
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// What is in it.
    pub heading: Line<'a>,
    /// Whether its cells are numbers, which are on the right.
    pub is_number: bool,
    /// Whether its cells may be cut if there is no room: a time, a name or an id is useless without its end.
    pub is_free: bool,
}

/// Rows of cells.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Table<'a> {
    /// What it is about, if nothing before it says so.
    pub title: Line<'a>,
    /// Its columns.
    pub columns: Vec<Column<'a>>,
    /// Its rows; in text, cells beyond the columns are below the row, each on a line of its own.
    pub rows: Vec<Vec<Line<'a>>>,
    /// Blanks before each row as text.
    pub indent: usize,
}

impl<'a> Table<'a> {
    /// A table with these headings and no rows.
    pub fn new(headings: impl IntoIterator<Item = impl Parts<'a>>) -> Self {
        let column = |heading| Column { heading: Line::default().and(heading), is_number: false, is_free: false };
        Self { columns: headings.into_iter().map(column).collect(), ..Self::default() }
    }

    /// The same with free text in these columns.
    pub fn free(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        columns.into_iter().for_each(|at| self.columns[at].is_free = true);
        self
    }

    /// The same with numbers in these columns.
    pub fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        columns.into_iter().for_each(|at| self.columns[at].is_number = true);
        self
    }

    /// The same below a title, and so many blanks from the left as text.
    pub fn titled(self, title: Line<'a>, indent: usize) -> Self {
        Self { title, indent, ..self }
    }

    /// The same with these rows.
    pub fn rows(mut self, rows: impl IntoIterator<Item = impl IntoIterator<Item = impl Parts<'a>>>) -> Self {
        rows.into_iter().for_each(|cells| self.row(cells));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Parts<'a>>) {
        self.rows.push(cells.into_iter().map(|cell| Line::default().and(cell)).collect());
    }
}

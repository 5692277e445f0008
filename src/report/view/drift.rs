//! The view of a check as text: what is defined and what is live of each endpoint that is not in sync, what is accepted, and
//! what to do next.

use std::borrow::Cow;

use super::outcome::incomplete;
use super::plan::behind_semicolons;
use super::source;
use crate::drift::{Check, Verdict};
use crate::plan::Note;
use crate::report::annotation::{self, Annotation};
use crate::report::facts::check::{self as facts, Row, State, Value};
use crate::report::facts::edits::Sign;
use crate::report::facts::notes;
use crate::report::json::StackDocument;
use crate::report::prelude::*;
use crate::report::{acknowledgements, junit, prometheus};

/// Values with more characters are shown below their row.
const LONG: usize = 60;
/// The same for the differences in a list or a text of several lines.
const LONG_LIST: usize = 100;
/// The maximum number of pending endpoints for which each value is shown.
const VALUES: usize = 12;

/// The verdict over a stack.
impl Report for Check {
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let mut blocks = Blocks::from(headline(self, view));
        if self.plan.source.snapshot.is_some() {
            blocks.line(source(&self.plan).and(", not the service"));
        }
        let (rows, accepted) = (facts::rows(self), facts::acknowledged(self));
        let (outside, rest): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| row.state.is_outside());
        let headings = [self.plan.noun(), "field", "defined", "live", ""];
        let changed = outside.iter().flat_map(|row| cells(row, true));
        blocks.section(table("changed outside", &headings, changed));
        let has_values = |row: &&Row<'_>| row.state == State::Pending || !row.values.is_empty();
        let pending: Vec<&Row<'_>> = rest.into_iter().filter(has_values).collect();
        let mixed = outside.iter().flat_map(|row| cells(row, false));
        let (shown, named) = pending.split_at(pending.len().min(VALUES));
        let to_apply = mixed.chain(shown.iter().flat_map(|row| cells(row, false)));
        blocks.section(table("not applied yet", &headings, to_apply));
        if !named.is_empty() {
            let names = Line::some_of(named.iter().map(|row| row.key.to_string()), VALUES);
            let all = (named.len() > VALUES).then(|| line!["; all of them: ", code(view.plan_command())]);
            blocks.append(Block::Line(4, line!["and ", names, all]));
        }
        // For a whole object, the table above says it.
        let is_above = |row: &Row<'_>| row.state.is_outside() && row.values.is_empty();
        let blocked = rows.iter().filter(|row| row.blocked.is_some() && !is_above(row));
        let blocked = blocked.map(|row| vec![line![key(row.key)], row.why.clone()]);
        blocks.section(table("blocked", &["", ""], blocked));
        if !accepted.is_empty() {
            blocks.section(Block::Line(2, line!["acknowledged"]));
            blocks.0.extend(accepted.into_iter().map(|line| Block::Line(4, line)));
        }
        if !self.verdicts.unknown.is_empty() {
            blocks.section(incomplete(&self.plan));
        }
        let mut notes = notes::lines(&self.plan, Note::is_undecided);
        notes.extend(notes::lines(&self.plan, |note| !note.is_undecided()));
        blocks.section(Blocks::notes(notes));
        let commands = facts::commands(self, view.call());
        if !commands.is_empty() {
            blocks.section(Block::Commands(commands));
        }
        blocks
    }

    // Each endpoint and the whole, after what is accepted; each value that drifted with its digest, as an acknowledgement
    // names it, and since when it is known.
    written_as!("drift", StackDocument::of_check);

    fn view<'a>(&'a self, view: &TextView) -> Option<View<'a>> {
        Some(View::of_check(self, view.call()))
    }

    fn draw(&self, format: Format, _: &TextView) -> Option<String> {
        match format {
            Format::Junit => Some(junit::report(self)),
            Format::Prometheus => Some(prometheus::report(self)),
            Format::Acknowledgements => Some(acknowledgements(self)),
            _ => None,
        }
    }

    fn annotations(&self) -> Vec<Annotation> {
        annotation::of_check(self)
    }

    fn directory(&self) -> Option<&str> {
        self.plan.directory()
    }
}

fn headline<'a>(check: &'a Check, view: &TextView) -> Line<'a> {
    let (plan, verdicts) = (&check.plan, &check.verdicts);
    let looked = plan.read_scope();
    let environment = plan.source.environment.as_deref().map(|name| line![", environment ", code(name)]);
    let outside = line![environment, behind_semicolons(plan)];
    let (drifted, pending) = facts::numbers(std::iter::once(verdicts));
    // An object without a definition counts among all, too.
    let undefined = facts::undefined(check, verdicts);
    let of = line![" of ", Line::count(looked.endpoints + undefined, plan.noun())];
    let were = if drifted == 1 { " was" } else { " were" };
    let have = if pending == 1 { " has" } else { " have" };
    let is_pending = |key| verdicts.objects.get(key).is_some_and(|object| object.verdict.is_pending());
    let blocked = plan.blocked.iter().filter(|held| is_pending(&held.key)).count();
    let blocked = (blocked > 0).then(|| line![", ", blocked, " of them blocked"]);
    let (role, word, text) = match verdicts.whole() {
        Verdict::InSync => {
            let elapsed = view.elapsed.map(|time| line![", ", took(time)]);
            let accepted = check.found.objects.len() - verdicts.objects.len();
            let defined = accepted.saturating_sub(facts::undefined(check, &check.found));
            let endpoints = Line::count(looked.endpoints.saturating_sub(defined), plan.noun());
            let accepted = (accepted > 0).then(|| line![", ", accepted, " accepted"]);
            let namespaces = Line::count(looked.namespaces, "namespace");
            let text = line![endpoints, " in ", namespaces, accepted, elapsed, outside];
            return Line::labelled(Role::Right, "In sync", text);
        }
        Verdict::Pending => (Role::Replace, "PENDING", line![pending, of, have, " changes to apply", blocked]),
        Verdict::Drift => (Role::Wrong, "DRIFT", line![drifted, of, were, " changed outside"]),
        Verdict::Both => (
            Role::Wrong,
            "DRIFT AND PENDING",
            line![drifted, of, were, " changed outside, ", pending, have, " changes to apply", blocked],
        ),
        Verdict::Unknown => (Role::Wrong, "UNKNOWN", line!["no verdict over everything"]),
    };
    line![styled(role, word), "  ", text, outside]
}

/// A table below its title; empty without rows.
fn table<'a>(title: &'static str, headings: &[&'static str], rows: impl Iterator<Item = Vec<Line<'a>>>) -> Blocks<'a> {
    let table = Table::new(headings.iter().copied()).titled(line![title], 4).rows(rows);
    if table.rows.is_empty() { Blocks::default() } else { table.into() }
}

/// Key, field, the defined and the live value, and what else is known: for what was changed outside, or for the rest.
fn cells<'a>(row: &Row<'a>, is_outside: bool) -> Vec<Vec<Line<'a>>> {
    if row.values.is_empty() {
        if row.state.is_outside() != is_outside {
            return Vec::new();
        }
        let [defined, live] = row.whole();
        let place = row.change.and_then(|change| change.place.as_ref()).filter(|_| !is_outside);
        let defined = line![defined];
        let why = if row.blocked.is_some() { row.because() } else { row.why.clone() };
        let known = [why, row.since.clone(), line![place.map(at)]].into_iter();
        let known = known.filter(|line| !line.is_empty() && *line != defined);
        let known = Line::joined(known.collect::<Vec<_>>(), ", ");
        return vec![vec![line![key(row.key)], Line::default(), defined, line![live], known]];
    }
    let values = row.values.iter().filter(|value| value.is_outside == is_outside);
    let cells = |value: &Value<'a>| {
        let ([defined, live], below) = sides(value);
        let place = value.edit.place.as_ref().filter(|_| !is_outside);
        let blocked = row.blocked.filter(|_| !is_outside).map(|_| "blocked");
        let known = [line![value.since.clone(), place.map(at)], line![blocked]];
        let known = Line::joined(known.into_iter().filter(|line| !line.is_empty()), ", ");
        let cells = [line![key(row.key)], line![code(value.edit.name.clone())], defined, live, known];
        cells.into_iter().chain(below).collect()
    };
    values.map(cells).collect()
}

/// The defined and the live value as cells, and those too long for a cell, with their names; for lists only
/// differences.
fn sides(value: &Value<'_>) -> ([Line<'static>; 2], Vec<Line<'static>>) {
    let edit = &value.edit;
    let lines = |which: Sign| {
        let lines = edit.lines().into_iter().filter(|(sign, _)| *sign == which).map(|(_, line)| line);
        lines.collect::<Vec<_>>().join(", ")
    };
    let (sides, longest) = match edit.has_lines() {
        true => ([lines(Sign::Added), lines(Sign::Removed)], LONG_LIST),
        false => ([edit.wanted(), edit.live()].map(Cow::into_owned), LONG),
    };
    let is_long = |text: &String| text.chars().count() > longest;
    let named = ["defined  ", "live     "].into_iter().zip(&sides).filter(|(_, text)| is_long(text));
    let below = named.map(|(name, text)| line![name, code(text.clone())]).collect();
    (sides.map(|text| if is_long(&text) { line!["(below)"] } else { line![code(text)] }), below)
}

//! The verdict of a check as text: what is defined and what is live of each endpoint that is not in sync, what is
//! accepted, and what to do next.

use super::plan::narrowed;
use super::{draw, notes};
use crate::drift::{Check, Verdict};
use crate::plan::Note;
use crate::report::Role;
use crate::report::TextView;
use crate::report::facts::check::{self as facts, Row, State, Value};
use crate::report::facts::edits::Sign;
use crate::report::facts::notes as note_facts;
use crate::report::line::{Line, at, code, key, took};
use crate::report::view::{self as view_of, Table, outcome};

/// Longer differences, in characters, are not part of the table.
const LONG: usize = 100;
/// Endpoints that are not applied yet of which each value is shown.
const VALUES: usize = 12;

/// The verdict over a tenant: what was changed outside, what is pending, and what to do about it.
pub fn drift(check: &Check, view: &TextView) -> String {
    let mut text = headline(check, view);
    if check.plan.source.snapshot.is_some() {
        text.push_str(&format!("{}, not the service\n", view.plain(&view_of::source(&check.plan))));
    }
    let (rows, accepted) = (facts::rows(check), facts::acknowledged(check));
    let (outside, rest): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| row.state.is_outside());
    let headings = [check.plan.noun(), "field", "defined", "live", ""];
    let changed = outside.iter().flat_map(|row| cells(row, true));
    text.push_str(&table("changed outside", headings, changed, view));
    // Of a whole object the table above says it.
    let blocked = rows.iter().filter(|row| row.blocked.is_some() && !(row.state.is_outside() && row.values.is_empty()));
    let has_values = |row: &&Row<'_>| row.state == State::Pending || !row.values.is_empty();
    let pending: Vec<&Row<'_>> = rest.into_iter().filter(has_values).collect();
    let mixed = outside.iter().flat_map(|row| cells(row, false));
    let (shown, named) = pending.split_at(pending.len().min(VALUES));
    let to_apply = mixed.chain(shown.iter().flat_map(|row| cells(row, false)));
    text.push_str(&table("not applied yet", headings, to_apply, view));
    if !named.is_empty() {
        let names = Line::some_of(named.iter().map(|row| row.key.to_string()), VALUES);
        let all = || line!["; all of them: ", code(view.plan_command())];
        let all = (named.len() > VALUES).then(all);
        text.push_str(&format!("    and {}\n", view.plain(&names.and(all))));
    }
    let blocked = blocked.map(|row| vec![line![key(row.key)], row.why.clone()]);
    text.push_str(&table("blocked", ["", ""], blocked, view));
    if !accepted.is_empty() {
        text.push_str("\n  acknowledged\n");
        text.extend(accepted.iter().map(|line| format!("    {}\n", view.line(line))));
    }
    if !check.verdicts.unknown.is_empty() {
        text.push_str(&format!("\n{}", draw::blocks(&outcome::incomplete(&check.plan), view)));
    }
    let mut lines = note_facts::lines_of(&check.plan, Note::is_undecided);
    lines.extend(note_facts::lines_of(&check.plan, |note| !note.is_undecided()));
    let notes = notes(&lines, view);
    if !notes.is_empty() {
        text.push_str(&format!("\n{notes}"));
    }
    let next = draw::commands(&facts::commands(check, view.call()), view);
    if next.is_empty() { text } else { format!("{text}\n{next}") }
}

fn headline(check: &Check, view: &TextView) -> String {
    let (plan, verdicts) = (&check.plan, &check.verdicts);
    let looked = plan.read_scope();
    let environment = plan.source.environment.as_deref().map(|name| line![", environment ", code(name)]);
    let outside = format!("{}{}", view.plain(&line![environment]), narrowed(plan, view));
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
            let text = line![endpoints, " in ", Line::count(looked.namespaces, "namespace"), accepted, elapsed];
            return format!("{}{outside}\n", view.line(&Line::labelled(Role::Right, "In sync", text)));
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
    format!("{}  {}{outside}\n", view.palette.paint(role, word), view.plain(&text))
}

/// A table below its title, an empty line before it; nothing without rows.
fn table<'a, const N: usize>(
    title: &'static str,
    headings: [&'static str; N],
    rows: impl Iterator<Item = Vec<Line<'a>>>,
    view: &TextView,
) -> String {
    let table = Table { rows: rows.collect(), ..Table::new(headings).titled(line![title], 4) };
    if table.rows.is_empty() { String::new() } else { format!("\n{}", draw::table(&table, view)) }
}

/// Key, field, the defined and the live value, and what else is known: of what was changed outside, or of the rest.
fn cells<'a>(row: &'a Row<'_>, is_outside: bool) -> Vec<Vec<Line<'a>>> {
    if row.values.is_empty() {
        if row.state.is_outside() != is_outside {
            return Vec::new();
        }
        let [defined, live] = row.whole();
        let place = row.change.and_then(|change| change.place.as_ref()).filter(|_| !is_outside);
        let defined = line![defined];
        let why = if row.blocked.is_some() { row.because() } else { row.why.clone() };
        let known: Vec<Line<'_>> = [why, row.since.clone(), line![place.map(at)]]
            .into_iter()
            .filter(|line| !line.is_empty() && *line != defined)
            .collect();
        return vec![vec![line![key(row.key)], Line::default(), defined, line![live], Line::joined(known, ", ")]];
    }
    let values = row.values.iter().filter(|value| value.is_outside == is_outside);
    values
        .map(|value| {
            let [defined, live] = sides(value);
            let place = value.edit.place.as_ref().filter(|_| !is_outside);
            let blocked = row.blocked.filter(|_| !is_outside).map(|_| "blocked");
            let known = [line![value.since.clone(), place.map(at)], line![blocked]];
            let known = Line::joined(known.into_iter().filter(|line| !line.is_empty()), ", ");
            vec![line![key(row.key)], line![code(&value.edit.name)], defined, live, known]
        })
        .collect()
}

/// The defined and the live value; of long ones only what differs.
fn sides<'v>(value: &'v Value<'_>) -> [Line<'v>; 2] {
    let edit = &value.edit;
    if !edit.has_lines() {
        if edit.is_long() {
            return [line!["(long)"], line!["differs"]];
        }
        return [line![code(edit.wanted())], line![code(edit.live())]];
    }
    let side = |which: Sign| {
        let lines = edit.lines().into_iter().filter(|(sign, _)| *sign == which).map(|(_, line)| line);
        let text = lines.collect::<Vec<_>>().join(", ");
        if text.chars().count() > LONG { line!["(long)"] } else { line![code(text)] }
    };
    [side(Sign::Added), side(Sign::Removed)]
}

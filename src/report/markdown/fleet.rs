//! The results of several stacks: a table, then each stack that has something to show, in turn.

use std::cmp::Reverse;

use super::report::{needed, report, too_long};
use super::{code_span, draw, marker, row, table};
use crate::drift::Verdict;
use crate::model::counted;
use crate::report::facts::check as check_facts;
use crate::report::fleet::{Fleet, FleetPart, NAMES, NoResult, StackReport, StackState};
use crate::report::prelude::*;

/// The fewest bytes with which a section is useful.
const LEAST: usize = 1_000;
/// The rows of stacks that need not be shown take at most this part of the budget.
const ROWS: usize = 3;

/// The results of several stacks, under the budget of one report.
pub(in crate::report) fn fleet(fleet: &Fleet<'_>, options: &TextView) -> String {
    let mut text = marker("fleet", None);
    let word = fleet.command.as_str();
    text.push_str(&format!("### trueup {word}: {}\n\n", draw(&fleet.headline())));
    let shared = Line::joined(fleet.shared(|_| true), ", ");
    if !shared.is_empty() {
        text.push_str(&format!("{}.\n\n", capital(&draw(&shared))));
    }
    let column = if fleet.checks().next().is_some() { "verdict" } else { "result" };
    let loud = |word, reason| Line::labelled(Role::Wrong, word, reason);
    let problems =
        fleet.problems.iter().map(|one| [line![code(&one.place)], loud("incomplete", foreign(&one.message))]);
    let others = fleet.without_result().into_iter().map(|((state, reason), names)| {
        [Line::some_of(names.into_iter(), NAMES), loud(state.words(fleet.command), foreign(reason))]
    });
    text.push_str(&table(&Table::new(["stack", column]).rows(problems.chain(others))));
    text.push_str(&rows(fleet, options));
    if let Some(merged) = fleet.merged {
        text.push_str(&format!("\n{}.\n", draw(&merged.line("From "))));
    }
    // The stacks that have more to show than a row of the table.
    let is_shown = |part: &&FleetPart<'_>| part.reason().is_none() && part.outcome.is_ok() && !part.is_quiet();
    let mut shown: Vec<&FleetPart<'_>> = fleet.parts.iter().filter(is_shown).collect();
    // Mere notes take only the room that is left.
    shown.sort_by_key(|part| has_only_notes(part));
    let loud = shown.iter().filter(|part| !has_only_notes(part)).count();
    let commands = fleet.apply_commands();
    let end = |short: usize, over: bool| {
        let short = (short > 0).then(|| {
            let stacks = line![short, " of ", Line::count(loud, "stack"), " shortened or left out for "];
            draw(&stacks.and(line![options.budget(), " bytes. Everything: ", code(&options.command)]))
        });
        let over = over.then(|| too_long(options.budget()));
        let apply = commands.iter().map(super::command);
        short.into_iter().chain(over).chain(apply).map(|line| format!("\n{line}\n")).collect::<String>()
    };
    let left = options.budget().saturating_sub(text.len() + end(loud, false).len());
    let share = (left / loud.max(1)).max(LEAST);
    let least: Vec<String> =
        shown.iter().map(|part| if has_only_notes(part) { String::new() } else { least(part, options) }).collect();
    let mut reserved = least.iter().map(String::len).sum::<usize>() + end(loud, false).len();
    let mut short = 0;
    for (part, least) in shown.into_iter().zip(least) {
        let heading = code_span(&part.name());
        let budget = Some(share.saturating_sub(1 + heading.len()));
        let under = TextView { budget, ..part.text_view(options) };
        let Some(one) = part.view(options).map(|view| report(&view, &under)) else { continue };
        // The report has one marker for all stacks, and each is headed by its name.
        let one = one.split_once('\n').map_or("", |(_, rest)| rest);
        let one = one.replacen(&format!("### trueup {word}: "), &format!("\n### {heading}: "), 1);
        reserved -= least.len();
        let fits = text.len() + one.len() + reserved < options.budget();
        short += usize::from(!fits && !has_only_notes(part));
        text.push_str(if fits { &one } else { &least });
    }
    let over = text.len() + end(short, false).len() > options.budget();
    text + &end(short, over)
}

/// The rows of the stacks that have a result. Those that need not be shown share a part of the budget, those that can
/// hurt most first, and the rest are counted.
fn rows(fleet: &Fleet<'_>, options: &TextView) -> String {
    let mut parts: Vec<(usize, &FleetPart<'_>)> =
        fleet.parts.iter().filter(|part| part.reason().is_none()).enumerate().collect();
    parts.sort_by_key(|(_, part)| Reverse(part.state()));
    let (mut room, mut rows, mut others) = (options.budget() / ROWS, BTreeMap::new(), Vec::new());
    for (at, part) in parts {
        let result = match &part.outcome {
            _ if fleet.folds_quiet() && part.is_quiet() => None,
            Ok(StackReport::Checked(check)) => Some(check_facts::headline(&check.verdicts)),
            Ok(StackReport::Planned(made)) => Some(View::headline_of(made)),
            Err(NoResult::Skipped(reason)) => Some(line!["skipped: ", foreign(reason)]),
            Ok(StackReport::Validated(_) | StackReport::Applied(..)) | Err(_) => None,
        };
        let row = result.map(|result| row(&[line![code(part.name())], result]));
        match row.filter(|row| row.len() <= room || !least(part, options).is_empty()) {
            Some(row) => {
                room = room.saturating_sub(row.len());
                rows.insert(at, row);
            }
            None => others.push(part.state()),
        }
    }
    let others = counted(others).into_iter();
    let others = others.map(|(state, number)| row(&[line![number, " more"], line![state.words(fleet.command)]]));
    rows.into_values().chain(others).collect()
}

/// What is never left out of the plan of a stack; empty if everything may be.
fn least(part: &FleetPart<'_>, options: &TextView) -> String {
    let view = part.view(options).filter(|_| matches!(part.outcome, Ok(StackReport::Planned(_))));
    let text = view.and_then(|view| needed(&view, &code_span(&part.name()), options.now));
    text.map(|text| format!("\n{}\n", text.trim_end())).unwrap_or_default()
}

/// Whether it is in sync, and its settings did not change.
fn has_only_notes(part: &FleetPart<'_>) -> bool {
    let has_changed_settings =
        matches!(&part.outcome, Ok(StackReport::Planned(plan)) if !plan.setting_changes.is_empty());
    part.state() == StackState::Compared(Verdict::InSync) && !has_changed_settings
}

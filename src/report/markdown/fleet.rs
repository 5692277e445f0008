//! The results of several stacks: a table, then each stack that has something to show, in turn.

use super::draw::{draw, heads, row};
use super::report::report;
use super::{escape, marker};
use crate::report::facts::check as check_facts;
use crate::report::facts::stack::{self, State};
use crate::report::fleet::{Fleet, FleetPart, NAMES, NoResult, SharedReason, StackReport};
use crate::report::line::{Line, code, foreign, line, styled};
use crate::report::view::View;
use crate::report::{ReportOptions, Role, TextView};

/// The results of several stacks, under the budget of one report.
pub fn fleet(fleet: &Fleet<'_>, options: &ReportOptions<'_>) -> String {
    let view = options.view;
    let mut text = marker("fleet", None);
    let (word, undone) = (fleet.command.as_str(), fleet.command.undone());
    text.push_str(&format!("### trueup {word}: {}\n\n", draw(&headline(fleet))));
    let column = if fleet.checks().next().is_some() { "verdict" } else { "result" };
    text.push_str(&heads(&["stack", column]));
    let word_of = |word: &'static str| line![styled(Role::Wrong, word), ": "];
    for problem in &fleet.problems {
        text.push_str(&row(&[line![code(&problem.place)], word_of("incomplete").and(foreign(&problem.message))]));
    }
    for SharedReason { reason, is_failed, names } in fleet.without_result() {
        let word = if is_failed { undone } else { "unknown" };
        text.push_str(&row(&[Line::some_of(names.into_iter(), NAMES), word_of(word).and(foreign(reason))]));
    }
    let folds = fleet.folds_quiet();
    for part in fleet.parts.iter().filter(|part| part.reason().is_none() && !(folds && part.is_quiet())) {
        let result = match &part.outcome {
            Ok(StackReport::Checked(check)) => check_facts::headline(&check.verdicts),
            Ok(StackReport::Planned(made)) => View::headline_of(made),
            Err(NoResult::Skipped(reason)) => line!["skipped: ", foreign(reason)],
            Ok(StackReport::Validated(_) | StackReport::Applied(..)) | Err(_) => continue,
        };
        text.push_str(&row(&[line![code(part.name())], result]));
    }
    let quiet = if folds { fleet.parts.iter().filter(|part| part.is_quiet()).count() } else { 0 };
    for (number, words) in [(quiet, "in sync"), (fleet.elsewhere(), State::Elsewhere.words(fleet))] {
        if number > 0 {
            text.push_str(&row(&[line![number, " more"], line![words]]));
        }
    }
    if let Some(merged) = fleet.merged {
        let from = line!["From ", Line::count(merged.files, "file"), merged.period(), "."];
        text.push_str(&format!("\n{}\n", draw(&from)));
    }
    let mut shown: Vec<&FleetPart<'_>> = fleet.parts.iter().filter(|part| is_shown(part)).collect();
    // Mere notes take only the room that is left.
    shown.sort_by_key(|part| has_only_notes(part));
    let end = match &fleet.plans {
        Some((digest, call)) if fleet.can_apply() => {
            format!("\nApply exactly these: {}\n", escape::code(&format!("trueup apply {call} --digest {digest}")))
        }
        _ => String::new(),
    };
    let loud = shown.iter().filter(|part| !has_only_notes(part)).count();
    let share = options.budget.saturating_sub(text.len() + end.len()) / loud.max(1);
    for part in shown {
        let command = format!("trueup {word} {}", part.call);
        let heading = escape::code(&part.name());
        let under = ReportOptions { budget: share.saturating_sub(1 + heading.len()), command, ..*options };
        let view = TextView { call: part.call.clone(), flags: part.flags.clone(), ..view.clone() };
        let (one, is_needed) = match &part.outcome {
            Ok(StackReport::Checked(check)) => (report(&View::of_check(check, &part.call), &under), false),
            // What is left of a plan under any budget is never left out.
            Ok(StackReport::Planned(made)) => {
                (report(&View::of_plan(made, &made.digest(), None, &view), &under), !has_only_notes(part))
            }
            _ => continue,
        };
        // One report has one marker, and of several each is headed by the name of its stack.
        let one = one.split_once('\n').map_or("", |(_, rest)| rest);
        let one = one.replacen(&format!("### trueup {word}: "), &format!("### {heading}: "), 1);
        if is_needed || text.len() + one.len() + end.len() < options.budget {
            text.push_str(&format!("\n{one}"));
        }
    }
    text + &end
}

/// How many stacks are as defined, and how many are not.
fn headline(fleet: &Fleet<'_>) -> Line<'static> {
    let number = |states: &[State]| {
        let sum = stack::sum(fleet).into_iter();
        sum.filter(|(_, state)| states.contains(state)).map(|(number, _)| number).sum::<usize>()
    };
    let differ = number(&[
        State::Changes,
        State::Pending,
        State::Drift,
        State::Both,
        State::Unknown,
        State::Partly,
        State::Unchanged,
    ]);
    // What is not whole can have differences, and what is not there has none.
    let unknown = fleet.without_result().into_iter().filter(|none| !none.is_failed);
    let unknown = unknown.map(|none| none.names.len()).sum::<usize>();
    let (differ, in_sync) = (differ - unknown, number(&[State::InSync]));
    let others = [
        (unknown, "unknown"),
        (number(&[State::Failed]), fleet.command.undone()),
        (number(&[State::Skipped]), "skipped"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    let others: Vec<Line<'_>> = others.map(|(number, words)| line![number, " ", words]).collect();
    let mut parts = Vec::new();
    if differ > 0 {
        parts.push(Line::count(differ, "stack").and(" not in sync"));
    } else if in_sync > 0 || others.is_empty() {
        let words = if fleet.problems.is_empty() { " in sync" } else { " without a difference" };
        parts.push(Line::count(in_sync, "stack").and(words));
    }
    parts.extend(others);
    let incomplete = if fleet.problems.is_empty() { "" } else { "incomplete, " };
    let found = stack::differing(fleet).map(|found| line!["; ", found]);
    line![incomplete, Line::joined(parts, ", "), found]
}

/// Whether a stack has more to show than its line of the table.
fn is_shown(part: &FleetPart<'_>) -> bool {
    part.reason().is_none() && part.outcome.is_ok() && !part.is_quiet()
}

/// Whether it is in sync, and nothing that decides about it was changed.
fn has_only_notes(part: &FleetPart<'_>) -> bool {
    let has_changed_settings =
        matches!(&part.outcome, Ok(StackReport::Planned(plan)) if !plan.setting_changes.is_empty());
    State::of(part) == State::InSync && !has_changed_settings
}

//! The results of several stacks as one page: the rows of all of them, each under the name of its stack.

use super::{Page, draw};
use crate::drift::Check;
use crate::report::fleet::{Fleet, FleetCommand, NAMES, NoResult, StackState};
use crate::report::prelude::*;
use crate::report::view;

/// The results of several stacks as one page.
pub(in crate::report) fn fleet(fleet: &Fleet<'_>, options: &TextView) -> String {
    let stacks = fleet.parts.len();
    let (heading, content) = match fleet.command {
        FleetCommand::Drift => (line!["Drift of ", stacks, " stacks"], Content::Check(Vec::new(), Vec::new())),
        _ => (line!["Plans for ", stacks, " stacks"], Content::Plan(Vec::new())),
    };
    let mut page = Page::new(heading, &content, &options.command);
    let commands = fleet.apply_commands();
    incomplete(fleet, &mut page);
    for part in fleet.shown() {
        let name = part.name();
        if let Err(NoResult::Skipped(reason)) = &part.outcome {
            page.facts.push(draw(&line![code(&*name), ": skipped, ", foreign(reason)]));
        }
        let Some(report) = part.view(options) else { continue };
        if let Some(digest) = &report.digest {
            page.facts.push(draw(&line![code(&*name), ": digest ", code(digest)]));
        }
        page.add(&report, Some(&name), options.now);
        if commands.is_empty() {
            page.commands.extend(report.commands.iter().map(super::command));
        }
    }
    page.facts.extend(fleet.shared(|_| true).iter().chain(&facts(fleet)).map(draw));
    if let Some(merged) = fleet.merged {
        page.facts.push(draw(&merged.line("from ")));
    }
    page.cards(&counts(fleet));
    page.commands.extend(commands.iter().map(super::command));
    page.render()
}

/// The state of each stack, or how many stacks have which, if that is shorter.
fn facts(fleet: &Fleet<'_>) -> Vec<Line<'static>> {
    let fact = |what: Line<'static>, state: StackState| line![what, ": ", state.words(fleet.command)];
    let number = |(number, state)| fact(Line::count(number, "stack"), state);
    if fleet.parts.len() > NAMES {
        return fleet.states().map(number).collect();
    }
    let checks = fleet.checks().map(|(part, _)| fact(line![code(part.name().into_owned())], part.state()));
    let elsewhere = fleet.states().find(|(_, state)| *state == StackState::Elsewhere);
    checks.chain(elsewhere.map(number)).collect()
}

/// What is missing or wrong in the files of a merged report, and the stacks without a known result.
fn incomplete(fleet: &Fleet<'_>, page: &mut Page) {
    for problem in &fleet.problems {
        let text = line![code(&problem.place), ": ", foreign(&problem.message), "."];
        page.alarm(&Alarm::new(AlarmKind::Incomplete, text));
    }
    for ((state, reason), names) in fleet.without_result() {
        let text = line![Line::some_of(names.into_iter(), NAMES), ": ", foreign(reason), "."];
        page.banner(Role::Wrong, if state == StackState::Failed { "Failed:" } else { "Unknown:" }, &draw(&text));
    }
}

fn counts(fleet: &Fleet<'_>) -> Vec<Count> {
    let plans: Vec<&Plan> = fleet.plans().collect();
    let checks: Vec<&Check> = fleet.checks().map(|(_, check)| check).collect();
    let mut counts = match fleet.command {
        FleetCommand::Drift => view::counts_of_checks(&checks),
        _ => view::counts(&plans),
    };
    let unknown = fleet.without_result().into_iter().filter(|((state, _), _)| *state != StackState::Failed);
    let unknown: usize = unknown.map(|(_, names)| names.len()).sum();
    let unknown_words = if unknown == 1 { "stack unknown" } else { "stacks unknown" };
    counts.extend([(fleet.failed(), fleet.command.undone()), (unknown, unknown_words)].map(|(number, words)| Count {
        class: "blocked",
        number,
        words,
    }));
    counts
}

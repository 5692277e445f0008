//! The results of several stacks: a table, then each stack that has something to show, in turn.

use super::super::fleet::{Fleet, FleetPart, NAMES, PartOutcome};
use super::{MarkdownOptions, count, digits, drift, escape, marker, plan};
use crate::drift::Verdict;

/// The results of several stacks, under the budget of one report.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>, options: &MarkdownOptions) -> String {
    let mut text = marker("fleet", None);
    let trouble = fleet.parts.iter().filter(|part| is_shown(part)).count();
    let made = fleet.parts.len() - fleet.failed() - fleet.elsewhere();
    let (word, undone) = (fleet.command.as_str(), fleet.command.undone());
    let folds = fleet.folds_quiet();
    let headline = match (fleet.failed(), trouble) {
        (0, 0) if fleet.problems.is_empty() => format!("{} in sync", count(made, "stack")),
        (0, 0) => format!("no difference in {}", count(made, "stack")),
        (0, more) => format!("{} not in sync", count(more, "stack")),
        (failed, more) => format!("{} not in sync, {} {undone}", count(more, "stack"), digits(failed)),
    };
    let incomplete = if fleet.problems.is_empty() { "" } else { "incomplete, " };
    text.push_str(&format!("### trueup {word}: {incomplete}{headline}\n\n"));
    text.push_str(&format!("| stack | {} |\n|---|---|\n", column(fleet)));
    for problem in &fleet.problems {
        let (place, message) = (escape::cell(&problem.place), escape::cell(&problem.message));
        text.push_str(&format!("| {place} | **incomplete:** {message} |\n"));
    }
    for (reason, names) in fleet.unknown() {
        let cells: Vec<_> = names.iter().take(NAMES).map(|name| escape::cell(name)).collect();
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {} more", digits(more)),
        };
        text.push_str(&format!("| {}{more} | **unknown:** {} |\n", cells.join(", "), escape::cell(reason)));
    }
    for part in fleet.parts.iter().filter(|part| !folds || !part.is_quiet()) {
        let message = match &part.outcome {
            PartOutcome::Checked(check) => drift::headline(&check.verdicts),
            PartOutcome::Planned(made) => plan::headline(made, options.detail),
            PartOutcome::Failed(reason) => format!("**{undone}:** {}", escape::cell(reason)),
            PartOutcome::Skipped(reason) => format!("skipped: {}", escape::cell(reason)),
            PartOutcome::Elsewhere
            | PartOutcome::Unknown(_)
            | PartOutcome::Validated(_)
            | PartOutcome::Applied(..)
            | PartOutcome::NotBegun => continue,
        };
        text.push_str(&format!("| {} | {message} |\n", escape::cell(&part.name())));
    }
    if folds {
        let quiet = fleet.parts.iter().filter(|part| part.is_quiet()).count();
        text.push_str(&format!("| {} more | in sync |\n", digits(quiet)));
    }
    if fleet.elsewhere() > 0 {
        text.push_str(&format!("| {} more | other checkers' |\n", digits(fleet.elsewhere())));
    }
    if let Some(merged) = fleet.merged {
        text.push_str(&format!("\nFrom {}{}.\n", count(merged.files, "file"), merged.period()));
    }
    let end = match &fleet.plans {
        Some((digest, call)) if trouble > 0 => {
            let command = escape::code(&format!("trueup apply {call} --digest {digest}"));
            format!("\nApply exactly these: {command}\n")
        }
        _ => String::new(),
    };
    let share = options.budget.saturating_sub(text.len() + end.len()) / trouble.max(1);
    for part in fleet.parts.iter().filter(|part| is_shown(part)) {
        let rest = format!("trueup {word} {}", part.call);
        let under = MarkdownOptions { budget: share.saturating_sub(1), rest, ..options.clone() };
        let (one, is_needed) = match &part.outcome {
            PartOutcome::Checked(check) => (drift::drift(check, &under), false),
            // What is left of a plan under any budget is never left out.
            PartOutcome::Planned(made) => (plan::plan(made, &under), true),
            _ => continue,
        };
        // One report has one marker.
        let one = one.split_once('\n').map_or("", |(_, rest)| rest);
        if is_needed || text.len() + one.len() + end.len() < options.budget {
            text.push_str(&format!("\n{one}"));
        }
    }
    text + &end
}

fn column(fleet: &Fleet<'_>) -> &'static str {
    if fleet.checks().next().is_some() { "verdict" } else { "result" }
}

/// Whether a stack has more to show than its line of the table.
fn is_shown(part: &FleetPart<'_>) -> bool {
    match &part.outcome {
        PartOutcome::Checked(check) => check.verdicts.whole() != Verdict::InSync,
        PartOutcome::Planned(plan) => {
            !plan.changes.is_empty() || !plan.blocked.is_empty() || plan.unknown().next().is_some()
        }
        PartOutcome::Unknown(_) => true,
        _ => false,
    }
}

//! What was found or done in several stacks as text: each under its directory, and the sum.

use super::{TextView, drift, outcome, plan, seconds, valid};
use crate::drift::Verdict;
use crate::plan::{ActionKind, Plan};
use crate::report::counted::{count, some_of};
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NAMES, NOT_BEGUN, NOTHING_EARLIER, PartOutcome};
use crate::report::{Role, safe};
use crate::run::ChangeResult;

/// Each stack under its directory, and the sum.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>, view: &TextView) -> String {
    let mut text = String::new();
    let folds = fleet.folds_quiet();
    for part in fleet.parts.iter().filter(|part| !folds || !part.is_quiet()) {
        let view = TextView { call: part.call.clone(), flags: part.flags.clone(), elapsed: None, ..view.clone() };
        let (url, content) = match &part.outcome {
            PartOutcome::Elsewhere | PartOutcome::Unknown(_) => continue,
            PartOutcome::Failed(reason) => (None, line(Role::Wrong, fleet.command.undone(), reason, &view)),
            PartOutcome::Skipped(reason) => (None, line(Role::Careful, "skipped", reason, &view)),
            PartOutcome::NotBegun => (None, line(Role::Careful, "skipped", NOT_BEGUN, &view)),
            PartOutcome::Validated(checked) => match checked.contents {
                Some(size) => (None, valid(size, &view)),
                None => {
                    let errors = count(checked.diagnostics.len(), "error");
                    (None, line(Role::Wrong, fleet.command.undone(), &errors, &view))
                }
            },
            PartOutcome::Planned(made) => (Some(&made.service.base_url), plan(made, None, &view)),
            PartOutcome::Applied(made, of) => (Some(&of.service.base_url), outcome(made, of, &NOTHING_EARLIER, &view)),
            PartOutcome::Checked(check) => (Some(&check.plan.service.base_url), drift(check, &view)),
        };
        let url = url.map(|url| format!("  ({})", safe::line(url))).unwrap_or_default();
        text.push_str(&section(&part.name(), &format!("{url}\n{content}"), &view));
    }
    if folds {
        text.push_str(&quiet(fleet, view));
    }
    for (reason, names) in fleet.unknown() {
        let heading = if names.len() == 1 { names[0].clone() } else { count(names.len(), "stack") };
        let list = if names.len() == 1 { String::new() } else { format!("  {}\n", some_of(&names, NAMES)) };
        text.push_str(&section(&heading, &format!("\n{}{list}", line(Role::Wrong, "unknown", reason, view)), view));
    }
    for problem in &fleet.problems {
        let content = line(Role::Wrong, "incomplete", &problem.message, view);
        text.push_str(&section(&problem.place, &format!("\n{content}"), view));
    }
    text.push_str(&sum(fleet, view));
    text.push_str(&next(fleet, view));
    text
}

fn section(heading: &str, content: &str, view: &TextView) -> String {
    format!("== {}{content}\n", view.palette.paint(Role::Strong, safe::line(heading)))
}

/// The stacks with nothing to report, in one section.
fn quiet(fleet: &Fleet<'_>, view: &TextView) -> String {
    let names: Vec<String> =
        fleet.parts.iter().filter(|part| part.is_quiet()).map(|part| part.name().into_owned()).collect();
    let word = if fleet.command == FleetCommand::Validate { "Valid" } else { "In sync" };
    let content = format!("\n{}: {}\n", view.palette.paint(Role::Right, word), some_of(&names, NAMES));
    section(&count(names.len(), "stack"), &content, view)
}

fn line(role: Role, word: &str, reason: &str, view: &TextView) -> String {
    format!("{}  {}\n", view.palette.paint(role, word.to_uppercase()), safe::line(reason))
}

/// How many stacks have which result.
fn sum(fleet: &Fleet<'_>, view: &TextView) -> String {
    let number = |is: &dyn Fn(&FleetPart<'_>) -> bool| fleet.parts.iter().filter(|part| is(part)).count();
    let changes = |plan: &Plan| plan.changes.iter().any(|change| change.action.kind() != ActionKind::Annotate);
    let planned =
        |is: &dyn Fn(&Plan) -> bool| number(&|part| matches!(&part.outcome, PartOutcome::Planned(plan) if is(plan)));
    let unread = |plan: &Plan| plan.unknown().next().is_some();
    let verdict = |verdict| fleet.checks().filter(|(_, check)| check.verdicts.whole() == verdict).count();
    let valid = number(&|part| matches!(&part.outcome, PartOutcome::Validated(checked) if checked.contents.is_some()));
    let invalid =
        number(&|part| matches!(&part.outcome, PartOutcome::Validated(checked) if checked.contents.is_none()));
    // How many of the changes are done, or may be, and how many there are.
    let done = |part: &FleetPart<'_>| match &part.outcome {
        PartOutcome::Applied(outcome, _) => {
            let results = || outcome.steps.iter().map(|step| &step.result);
            let may_be_done = results().filter(|result| result.is_done() || result.may_have_taken_effect()).count();
            Some((results().all(ChangeResult::is_done), may_be_done))
        }
        _ => None,
    };
    let no_report = number(&|part| matches!(part.outcome, PartOutcome::Unknown(_)));
    let in_sync = |plan: &Plan| !changes(plan) && plan.blocked.is_empty() && !unread(plan);
    let numbers = [
        (valid, "valid"),
        (number(&|part| matches!(done(part), Some((true, _)))), "applied"),
        (number(&|part| matches!(done(part), Some((false, 1..)))), "applied in part"),
        (number(&|part| matches!(done(part), Some((false, 0)))), "with no change made"),
        (verdict(Verdict::InSync) + planned(&in_sync), "in sync"),
        (planned(&|plan| !unread(plan) && !in_sync(plan)), "with changes"),
        (verdict(Verdict::Pending), "pending"),
        (verdict(Verdict::Drift), "changed outside"),
        (verdict(Verdict::Both), "changed outside and pending"),
        (verdict(Verdict::Unknown) + planned(&unread) + no_report, "unknown"),
        (fleet.failed() + invalid, fleet.command.undone()),
        (number(&|part| matches!(part.outcome, PartOutcome::Skipped(_) | PartOutcome::NotBegun)), "skipped"),
        (number(&|part| matches!(part.outcome, PartOutcome::Elsewhere)), "other checkers'"),
    ];
    let parts: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
    let elapsed = view.elapsed.map(|time| format!("   {}", seconds(time))).unwrap_or_default();
    let colon = if parts.is_empty() { "" } else { ": " };
    let number = count(fleet.parts.len(), "stack");
    let sum = format!("{number}{colon}{}{}{elapsed}\n", parts.join(", "), endpoints(fleet));
    sum + &sources(fleet)
}

/// What a merged report is made of.
fn sources(fleet: &Fleet<'_>) -> String {
    let Some(merged) = fleet.merged else { return String::new() };
    let problems = match fleet.problems.len() {
        0 => String::new(),
        number => format!("; {}", count(number, "problem")),
    };
    format!("from {}{}{problems}\n", count(merged.files, "file"), merged.period())
}

/// The changes of all plans.
fn endpoints(fleet: &Fleet<'_>) -> String {
    if fleet.command != FleetCommand::Plan {
        return String::new();
    }
    let of = |kind| fleet.plans().map(|(_, plan)| plan.count(kind)).sum::<usize>();
    let kinds = [ActionKind::Create, ActionKind::Replace, ActionKind::Delete, ActionKind::Annotate];
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|kind| (of(kind), kind))
        .filter(|(number, _)| *number > 0)
        .map(|(number, kind)| format!("{number} to {kind}"))
        .collect();
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

/// The command that applies exactly these plans.
fn next(fleet: &Fleet<'_>, view: &TextView) -> String {
    let has_changes = fleet.plans().any(|(_, plan)| !plan.changes.is_empty());
    match &fleet.plans {
        Some((digest, call)) if has_changes && fleet.command == FleetCommand::Plan => {
            let label = view.palette.paint(Role::Quiet, "Apply exactly these:");
            format!("{label}  trueup apply {call} --digest {digest}\n")
        }
        Some((_, call)) if fleet.parts.iter().any(|part| matches!(part.outcome, PartOutcome::NotBegun)) => {
            let label = view.palette.paint(Role::Quiet, "Apply the rest:");
            format!("{label}  trueup apply {call}\n")
        }
        _ => String::new(),
    }
}

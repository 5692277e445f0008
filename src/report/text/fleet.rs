//! What was found or done in several stacks as text: each under its directory, and the sum.

use super::{TextView, drift, outcome, plan, seconds, valid};
use crate::plan::ActionKind;
use crate::report::counted::{count, some_of};
use crate::report::facts::stack;
use crate::report::fleet::{Fleet, FleetCommand, NAMES, NOT_BEGUN, NOTHING_EARLIER, NoResult, PartOutcome};
use crate::report::view::{Line, line};
use crate::report::{Role, safe};

/// Each stack under its directory, and the sum.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>, view: &TextView) -> String {
    let mut text = String::new();
    let folds = fleet.folds_quiet();
    for part in fleet.parts.iter().filter(|part| part.reason().is_none() && !(folds && part.is_quiet())) {
        let view = TextView { call: part.call.clone(), flags: part.flags.clone(), elapsed: None, ..view.clone() };
        let (url, content) = match &part.outcome {
            PartOutcome::Elsewhere | PartOutcome::Unknown(_) | PartOutcome::Failed(_) => continue,
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
    for NoResult { reason, is_failed, names } in fleet.without_result() {
        let heading = if names.len() == 1 { names[0].clone() } else { count(names.len(), "stack") };
        let list = if names.len() == 1 { String::new() } else { format!("  {}\n", some_of(&names, NAMES)) };
        let word = if is_failed { fleet.command.undone() } else { "unknown" };
        text.push_str(&section(&heading, &format!("\n{}{list}", line(Role::Wrong, word, &reason, view)), view));
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
    let parts = stack::sum(fleet).into_iter().map(|(number, state)| line![number, " ", state.words(fleet)]);
    let parts = Line::joined(parts, ", ");
    let parts = (!parts.is_empty()).then(|| line![": ", parts]);
    let elapsed = view.elapsed.map(|time| format!("   {}", seconds(time))).unwrap_or_default();
    let sum = view.plain(&line![Line::count(fleet.parts.len(), "stack"), parts, endpoints(fleet)]);
    format!("{sum}{elapsed}\n{}", sources(fleet, view))
}

/// What a merged report is made of.
fn sources(fleet: &Fleet<'_>, view: &TextView) -> String {
    let Some(merged) = fleet.merged else { return String::new() };
    let problems = fleet.problems.len();
    let problems = (problems > 0).then(|| line!["; ", Line::count(problems, "problem")]);
    let text = line!["from ", Line::count(merged.files, "file"), merged.period(), problems];
    format!("{}\n", view.plain(&text))
}

/// The changes of all plans.
fn endpoints(fleet: &Fleet<'_>) -> Line<'static> {
    let of = |kind| fleet.plans().map(|(_, plan)| plan.count(kind)).sum::<usize>();
    let kinds = ActionKind::ALL.into_iter().map(|kind| (of(kind), kind)).filter(|(number, _)| *number > 0);
    let parts: Vec<Line<'_>> = kinds.map(|(number, kind)| line![number, " to ", kind.as_str()]).collect();
    if fleet.command != FleetCommand::Plan || parts.is_empty() {
        return Line::default();
    }
    line!["; ", Line::joined(parts, ", ")]
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

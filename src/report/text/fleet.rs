//! What was found or done in several stacks as text: each under its directory, and the sum.

use super::draw;
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NAMES, SharedReason, StackReport};
use crate::report::line::{Line, code, foreign, styled, took};
use crate::report::{Role, TextView};

/// Each stack under its directory, and the sum.
pub fn fleet(fleet: &Fleet<'_>, view: &TextView) -> String {
    let mut text = String::new();
    for part in fleet.shown() {
        let view = part.text_view(view);
        let content = match &part.outcome {
            Err(none) => match none.skipped() {
                Some(reason) => loud(Role::Careful, "skipped", &line![foreign(reason)], &view),
                None => continue,
            },
            Ok(StackReport::Validated(checked)) if checked.contents.is_none() => {
                let errors = Line::count(checked.diagnostics.len(), "error");
                loud(Role::Wrong, fleet.command.undone(), &errors, &view)
            }
            Ok(report) => report.report().text(&view),
        };
        let plan = part.outcome.as_ref().ok().and_then(StackReport::plan);
        let url = plan.map(|plan| line!["  (", code(&plan.service.base_url), ")"]);
        text.push_str(&section(line![code(part.name().into_owned())], line![url], &content, &view));
    }
    if fleet.folds_quiet() {
        text.push_str(&quiet(fleet, view));
    }
    for SharedReason { state, reason, names } in fleet.without_result() {
        let content = loud(Role::Wrong, state.words(fleet.command), &line![foreign(reason)], view);
        let (heading, list) = match names.as_slice() {
            [name] => (line![code(name)], String::new()),
            names => {
                (Line::count(names.len(), "stack"), format!("  {}\n", view.plain(&Line::some_of(names.iter(), NAMES))))
            }
        };
        text.push_str(&section(heading, Line::default(), &format!("{content}{list}"), view));
    }
    for problem in &fleet.problems {
        let content = loud(Role::Wrong, "incomplete", &line![foreign(&problem.message)], view);
        text.push_str(&section(line![code(&problem.place)], Line::default(), &content, view));
    }
    text.push_str(&sum(fleet, view));
    text.push_str(&draw::commands(&fleet.apply_commands(), view));
    text
}

fn section(heading: Line<'_>, more: Line<'_>, content: &str, view: &TextView) -> String {
    let heading = view.line(&line!["== ", styled(Role::Strong, heading), more]);
    format!("{heading}\n{content}\n")
}

/// The stacks with nothing to report, in one section.
fn quiet(fleet: &Fleet<'_>, view: &TextView) -> String {
    let names: Vec<String> =
        fleet.parts.iter().filter(|part| part.is_quiet()).map(|part| part.name().into_owned()).collect();
    let word = if fleet.command == FleetCommand::Validate { "Valid" } else { "In sync" };
    let shared = fleet.shared(FleetPart::is_quiet).into_iter().map(|fact| line!["; ", fact]);
    let content = line![Line::some_of(names.iter(), NAMES), Line::joined(shared, "")];
    let content = Line::labelled(Role::Right, word, content);
    section(Line::count(names.len(), "stack"), Line::default(), &format!("{}\n", view.line(&content)), view)
}

fn loud(role: Role, word: &'static str, reason: &Line<'_>, view: &TextView) -> String {
    format!("{}  {}\n", view.palette.paint(role, word.to_uppercase()), view.line(reason))
}

/// How many stacks have which result, and what a merged report is made of.
fn sum(fleet: &Fleet<'_>, view: &TextView) -> String {
    let elapsed = view.elapsed.map(|time| line!["   ", took(time)]);
    let mut text = format!("{}\n", view.plain(&line![fleet.headline(), elapsed]));
    if let Some(merged) = fleet.merged {
        let problems = fleet.problems.len();
        let problems = (problems > 0).then(|| line!["; ", Line::count(problems, "problem")]);
        text.push_str(&format!("{}\n", view.plain(&line![merged.line("from "), problems])));
    }
    text
}

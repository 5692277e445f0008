//! The view of several stacks as text: what was found or done in each under its directory, and the sum.

use crate::report::annotation::Annotation;
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NAMES, StackReport};
use crate::report::prelude::*;
use crate::report::{html, json, junit, markdown, prometheus};

/// The results of several stacks.
impl Report for Fleet<'_> {
    fn blocks<'a>(&'a self, view: &TextView) -> Blocks<'a> {
        let mut blocks = Blocks::default();
        for part in self.shown() {
            let content = match &part.outcome {
                Err(none) => match none.skipped() {
                    Some(reason) => word(Role::Careful, "skipped", foreign(reason)).into(),
                    None => continue,
                },
                Ok(StackReport::Validated(checked)) if checked.contents.is_none() => {
                    let errors = Line::count(checked.diagnostics.len(), "error");
                    word(Role::Wrong, self.command.undone(), errors).into()
                }
                Ok(report) => report.report().blocks(&part.text_view(view)),
            };
            let plan = part.outcome.as_ref().ok().and_then(StackReport::plan);
            let url = plan.map(|plan| line!["  (", code(&plan.service.base_url), ")"]);
            blocks.append(section(line![code(part.name())], url, content));
        }
        if self.folds_quiet() {
            blocks.append(quiet(self));
        }
        for ((state, reason), names) in self.without_result() {
            let number = Line::count(names.len(), "stack");
            let is_one = names.len() == 1;
            let names = Line::some_of(names.into_iter(), NAMES);
            let mut content = Blocks::from(word(Role::Wrong, state.words(self.command), foreign(reason)));
            if !is_one {
                content.item(names.clone());
            }
            blocks.append(section(if is_one { names } else { number }, None, content));
        }
        for problem in &self.problems {
            let content = word(Role::Wrong, "incomplete", foreign(&problem.message));
            blocks.append(section(line![code(&problem.place)], None, content.into()));
        }
        blocks.and(sum(self, view)).and(Block::Commands(self.apply_commands()))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write_fleet(self, out)
    }

    fn draw(&self, format: Format, view: &TextView) -> Option<String> {
        match format {
            Format::Markdown => Some(markdown::fleet(self, view)),
            Format::Html => Some(html::fleet(self, view)),
            Format::Junit => Some(junit::fleet(self)),
            Format::Prometheus => Some(prometheus::fleet(self)),
            _ => None,
        }
    }

    fn annotations(&self) -> Vec<Annotation> {
        self.remarks()
    }
}

/// A stack, or what several have in common, below its heading.
fn section<'a>(heading: Line<'a>, more: Option<Line<'a>>, content: Blocks<'a>) -> Blocks<'a> {
    Blocks::from(line!["== ", styled(Role::Strong, heading), more]).and(content).and(Block::Gap)
}

/// The stacks with nothing to report, in one section.
fn quiet<'a>(fleet: &'a Fleet<'_>) -> Blocks<'a> {
    let names: Vec<_> = fleet.parts.iter().filter(|part| part.is_quiet()).map(FleetPart::name).collect();
    let number = Line::count(names.len(), "stack");
    let word = if fleet.command == FleetCommand::Validate { "Valid" } else { "In sync" };
    let shared = fleet.shared(FleetPart::is_quiet).into_iter().map(|fact| line!["; ", fact]);
    let content = line![Line::some_of(names.into_iter(), NAMES), Line::joined(shared, "")];
    section(number, None, Line::labelled(Role::Right, word, content).into())
}

fn word<'a>(role: Role, word: &'static str, reason: impl Parts<'a>) -> Line<'a> {
    line![loud(role, word), "  ", reason]
}

/// How many stacks have which result, and what a merged report is made of.
fn sum<'a>(fleet: &'a Fleet<'_>, view: &TextView) -> Blocks<'a> {
    let elapsed = view.elapsed.map(|time| line!["   ", took(time)]);
    let mut blocks = Blocks::from(fleet.headline().and(elapsed));
    if let Some(merged) = fleet.merged {
        let problems = fleet.problems.len();
        let problems = (problems > 0).then(|| line!["; ", Line::count(problems, "problem")]);
        blocks.line(line![merged.line("from "), problems]);
    }
    blocks
}

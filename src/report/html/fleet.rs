//! The results of several stacks as one page: the rows of all of them, each under the name of its stack.

use std::collections::BTreeMap;

use super::{Page, PageContent, drift, plan};
use crate::drift::{Check, Verdict};
use crate::plan::{ActionKind, Plan};
use crate::report::counted::count;
use crate::report::fleet::{Fleet, FleetCommand, NAMES, PartOutcome};
use crate::report::markdown::digits;
use crate::report::{ReportOptions, plan_notes, safe};

/// The results of several stacks as one page.
#[must_use]
pub fn fleet(fleet: &Fleet<'_>, options: &ReportOptions<'_>) -> String {
    let stacks = fleet.parts.len();
    let mut page = match fleet.command {
        FleetCommand::Drift => drift::page(&format!("Drift of {stacks} stacks"), &options.command),
        _ => Page {
            content: PageContent { sides: ["live", "wanted"], ..PageContent::default() },
            ..drift::page(&format!("Plans for {stacks} stacks"), &options.command)
        },
    };
    incomplete(fleet, &mut page);
    let folds = fleet.folds_quiet();
    let mut verdicts: Vec<(String, &str)> = Vec::new();
    for part in fleet.parts.iter().filter(|part| !folds || !part.is_quiet()) {
        let (name, call) = (part.name(), part.call.as_str());
        let code = format!("<code>{}</code>", safe::html(&name));
        match &part.outcome {
            PartOutcome::Checked(check) => {
                let verdict = check.verdicts.whole();
                verdicts.push((code, drift::word(verdict)));
                drift::add(check, &name, &mut page);
                if matches!(verdict, Verdict::Drift | Verdict::Both) {
                    drift::commands(verdict, call, &mut page);
                }
            }
            PartOutcome::Planned(made) => add_plan(made, &name, options, &mut page),
            PartOutcome::Failed(reason) => {
                page.alarm(&format!("{code} was {}:", fleet.command.undone()), &safe::html(reason));
            }
            PartOutcome::Skipped(reason) => page.facts.push(format!("{code}: skipped, {}", safe::html(reason))),
            PartOutcome::Elsewhere
            | PartOutcome::Unknown(_)
            | PartOutcome::Validated(_)
            | PartOutcome::Applied(..)
            | PartOutcome::NotBegun => {}
        }
    }
    page.facts.extend(facts(&verdicts));
    if folds {
        let quiet = fleet.parts.iter().filter(|part| part.is_quiet()).count();
        page.facts.push(format!("{} more stacks: in sync", digits(quiet)));
    }
    if fleet.elsewhere() > 0 {
        page.facts.push(format!("{}: other checkers'", count(fleet.elsewhere(), "stack")));
    }
    if let Some(merged) = fleet.merged {
        page.facts.push(safe::html(&format!("from {}{}", count(merged.files, "file"), merged.period())));
    }
    if fleet.command == FleetCommand::Drift {
        let checks: Vec<&Check<'_>> = fleet.checks().map(|(_, check)| check).collect();
        drift::cards(&checks, fleet.failed(), &mut page);
        let unknown: usize = fleet.unknown().iter().map(|(_, names)| names.len()).sum();
        page.card("blocked", unknown, if unknown == 1 { "stack unknown" } else { "stacks unknown" });
    } else {
        cards(fleet, &mut page);
    }
    if let Some((digest, call)) = &fleet.plans
        && fleet.plans().any(|(_, plan)| !plan.changes.is_empty())
    {
        page.commands.push(("Apply exactly these plans", format!("trueup apply {call} --digest {digest}")));
    }
    page.render()
}

/// The verdict on each stack, or how many stacks have which, if that is shorter.
fn facts(verdicts: &[(String, &str)]) -> Vec<String> {
    if verdicts.len() <= NAMES {
        return verdicts.iter().map(|(name, word)| format!("{name}: {word}")).collect();
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    verdicts.iter().for_each(|(_, word)| *numbers.entry(word).or_default() += 1);
    numbers.into_iter().map(|(word, number)| format!("{}: {word}", count(number, "stack"))).collect()
}

/// What is missing or wrong in the files of a merged report, and the stacks of which nothing is known.
fn incomplete(fleet: &Fleet<'_>, page: &mut Page) {
    for problem in &fleet.problems {
        let text = format!("<code>{}</code>: {}.", safe::html(&problem.place), safe::html(&problem.message));
        page.alarm("Incomplete.", &text);
    }
    for (reason, names) in fleet.unknown() {
        let listed: Vec<String> =
            names.iter().take(NAMES).map(|name| format!("<code>{}</code>", safe::html(name))).collect();
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {} more", digits(more)),
        };
        page.alarm("Unknown.", &format!("{}{more}: {}.", listed.join(", "), safe::html(reason)));
    }
}

fn add_plan(made: &Plan, name: &str, options: &ReportOptions<'_>, page: &mut Page) {
    let code = format!("<code>{}</code>", safe::html(name));
    page.facts.push(format!("{code}: digest <code>{}</code>", made.digest().short()));
    plan::alarms(made, &format!("{code}: "), page);
    page.plain.extend(plan::plain(made).into_iter().map(|line| format!("{}: {line}", safe::html(name))));
    page.notes.extend(plan_notes::lines(made).iter().map(|line| safe::html(&format!("{name}: {line}"))));
    let first = page.content.edits.len();
    let content = plan::content(made, options.view.detail, options.now);
    page.content.edits.extend(content.edits);
    page.content.changes.extend(content.changes.into_iter().map(|mut row| {
        row.e += first;
        row.k = format!("{}: {}", safe::line(name), row.k);
        row.n = format!("{}: {}", safe::line(name), row.n);
        row
    }));
}

fn cards(fleet: &Fleet<'_>, page: &mut Page) {
    let sum = |number: &dyn Fn(&Plan) -> usize| fleet.plans().map(|(_, plan)| number(plan)).sum::<usize>();
    for (kind, words) in
        [(ActionKind::Create, "to create"), (ActionKind::Replace, "to replace"), (ActionKind::Delete, "to delete")]
    {
        page.card(kind.as_str(), sum(&|plan| plan.count(kind)), words);
    }
    page.card("blocked", fleet.failed(), fleet.command.undone());
    page.card("blocked", sum(&|plan| plan.blocked.len()), "blocked");
    page.card("annotate", sum(&|plan| plan.count(ActionKind::Annotate)), "annotations only");
    page.card("sync", sum(&Plan::in_sync), "in sync");
}

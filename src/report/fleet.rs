//! What a command found or did in several stacks: one report with a part for each. A stack that failed is a part like
//! any other, and does not hide the others.

use std::borrow::Cow;

use serde::Deserialize;

use super::annotation::{Annotation, Finding};
use super::facts::plan::{self as facts, Command};
use super::facts::{check, unread};
use super::{Applied, Validation, sarif, view};
use crate::drift::{Check, Shard, Verdict};
use crate::model::{SourceLocation, counted, grouped, words};
use crate::plan::{Digest, ONLY_THIS_CHANGE};
use crate::report::prelude::*;

/// The maximum number of names that a list of stacks shows.
pub(super) const NAMES: usize = 12;
/// The maximum number of stacks with nothing to report that have a section each; more share one.
const QUIET_SECTIONS: usize = 10;

/// What was done with each stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetCommand {
    /// Its definitions were checked.
    Validate,
    /// It was planned.
    Plan,
    /// Its plan was applied.
    Apply,
    /// It was checked for drift.
    Drift,
}

words!(FleetCommand { Validate = "validate", Plan = "plan", Apply = "apply", Drift = "drift" });

impl FleetCommand {
    /// The words for a stack that failed.
    pub fn undone(self) -> &'static str {
        match self {
            FleetCommand::Validate => "not valid",
            FleetCommand::Plan => "not planned",
            FleetCommand::Apply => "not applied",
            FleetCommand::Drift => "not checked",
        }
    }
}

/// Several stacks, in the order of the call.
pub struct Fleet<'a> {
    /// What was done with each.
    pub command: FleetCommand,
    /// Each stack with its result.
    pub parts: Vec<FleetPart<'a>>,
    /// The digest over the plans of all stacks, and the words of a command that names all of them.
    pub plans: Option<(Digest, String)>,
    /// Which of how many shards this is.
    pub shard: Option<Shard>,
    /// The environment that the call names for each stack.
    pub environment: Option<String>,
    /// What is missing or wrong in the files that a merged report is made of; with any, the whole is not in sync.
    pub problems: Vec<InputProblem>,
    /// The files that a merged report is made of.
    pub merged: Option<MergedFrom>,
}

/// What is missing or wrong in the files of a merged report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputProblem {
    /// The file, the shard or the stack that it is about.
    pub place: String,
    /// What is missing or wrong.
    pub message: String,
}

/// The files that a merged report is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergedFrom {
    /// Files that could be read.
    pub files: usize,
    /// When the oldest and the newest check in them were made.
    pub checked: Option<(Timestamp, Timestamp)>,
}

/// One stack.
pub struct FleetPart<'a> {
    /// Its directory, as it was typed.
    pub directory: String,
    /// Its environment, if the call is about several.
    pub environment: Option<String>,
    /// What distinguishes it from another stack of its directory in a merged report, and the shard of a single stack.
    pub apart: Option<String>,
    /// What identifies it, whatever a call names it: a digest of its service, its name and its environment.
    pub id: String,
    /// How a report about it alone is rendered; only the words of its commands are used.
    pub own: TextView,
    /// The result, or why there is none.
    pub outcome: Result<StackReport<'a>, NoResult>,
}

/// What a command found or did in a stack.
pub enum StackReport<'a> {
    /// Its definitions are valid, or are not.
    Validated(&'a Validation),
    /// Its plan.
    Planned(&'a Plan),
    /// The outcome of its plan.
    Applied(Applied<'a>),
    /// The check for drift.
    Checked(&'a Check),
}

impl<'a> StackReport<'a> {
    /// The report of a command about this stack alone.
    pub(super) fn report(&self) -> &dyn Report {
        match self {
            StackReport::Validated(checked) => *checked,
            StackReport::Planned(plan) => *plan,
            StackReport::Applied(applied) => applied,
            StackReport::Checked(check) => *check,
        }
    }

    /// The plan that was made for it, if one was.
    pub(super) fn plan(&self) -> Option<&'a Plan> {
        match self {
            StackReport::Validated(_) => None,
            StackReport::Planned(plan) | StackReport::Applied(Applied { plan, .. }) => Some(plan),
            StackReport::Checked(check) => Some(&check.plan),
        }
    }
}

/// Why a stack has no result.
#[derive(Debug, Clone)]
pub enum NoResult<E = String> {
    /// It failed; why.
    Failed(E),
    /// Whether there is a result is not known, because the files of a merged report do not say; why.
    Unknown(String),
    /// It belongs to another shard.
    Elsewhere,
    /// It was left out; why.
    Skipped(String),
    /// It would have been applied, and did not begin, because another one failed.
    AnotherFailed,
    /// It would have been applied, and did not begin, because the apply was interrupted.
    Interrupted,
}

impl<E> NoResult<E> {
    /// The same with what `failed` makes of the error.
    pub fn map(&self, failed: impl FnOnce(&E) -> NoResult) -> NoResult {
        match self {
            NoResult::Failed(error) => failed(error),
            NoResult::Unknown(reason) => NoResult::Unknown(reason.clone()),
            NoResult::Elsewhere => NoResult::Elsewhere,
            NoResult::Skipped(reason) => NoResult::Skipped(reason.clone()),
            NoResult::AnotherFailed => NoResult::AnotherFailed,
            NoResult::Interrupted => NoResult::Interrupted,
        }
    }

    /// Why it was left out or did not begin, if that is so.
    pub fn skipped(&self) -> Option<&str> {
        match self {
            NoResult::Skipped(reason) => Some(reason),
            NoResult::AnotherFailed => Some("another stack failed"),
            NoResult::Interrupted => Some("the apply was interrupted"),
            NoResult::Failed(_) | NoResult::Unknown(_) | NoResult::Elsewhere => None,
        }
    }
}

/// The result of a stack, in the order of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StackState {
    /// Its definitions are valid.
    Valid,
    /// Everything was applied.
    Applied,
    /// Not everything was applied.
    Partly,
    /// Nothing was applied, for certain.
    Unchanged,
    /// What was concluded of its plan or its check.
    Compared(Verdict),
    /// It has no result.
    Failed,
    /// It was left out.
    Skipped,
    /// It belongs to another shard.
    Elsewhere,
}

impl StackState {
    /// Its words in a report of this command.
    pub fn words(self, command: FleetCommand) -> &'static str {
        match self {
            StackState::Valid => "valid",
            StackState::Applied => "applied",
            StackState::Partly => "applied in part",
            StackState::Unchanged => "with no change made",
            StackState::Compared(Verdict::InSync) => "in sync",
            StackState::Compared(Verdict::Pending) if command == FleetCommand::Drift => "pending",
            // Whatever was not blocked has been changed.
            StackState::Compared(Verdict::Pending) if command == FleetCommand::Apply => "blocked",
            StackState::Compared(Verdict::Pending) => "with changes",
            StackState::Compared(Verdict::Drift) => "changed outside",
            StackState::Compared(Verdict::Both) => "changed outside and pending",
            StackState::Compared(Verdict::Unknown) => "unknown",
            StackState::Failed => command.undone(),
            StackState::Skipped => "skipped",
            StackState::Elsewhere => "other checkers'",
        }
    }
}

/// The state of a stack that has nothing but a reason, and the reason.
type SharedReason<'a> = (StackState, Cow<'a, str>);

impl FleetPart<'_> {
    /// The directory, with the environment if the call is about several, and what else distinguishes it.
    pub fn name(&self) -> Cow<'_, str> {
        let details: Vec<&str> = self.environment.iter().chain(&self.apart).map(String::as_str).collect();
        name(&self.directory, &details)
    }

    /// How its own report is rendered: as `view`, with the commands that name it alone.
    pub(super) fn text_view(&self, view: &TextView) -> TextView {
        let TextView { call, flags, command, .. } = self.own.clone();
        TextView { call, flags, command, elapsed: None, saved: None, ..view.clone() }
    }

    /// The view of its plan or check, if it has one.
    pub(super) fn view(&self, view: &TextView) -> Option<View<'_>> {
        self.outcome.as_ref().ok()?.report().view(&self.text_view(view))
    }

    /// Why nothing else is reported of it: it failed, its result is unknown, or nothing could be read.
    pub fn reason(&self) -> Option<Cow<'_, str>> {
        let unread = |plan: &Plan| Some(unread::whole(plan)?.of_service(&plan.service.base_url).into());
        match &self.outcome {
            Err(NoResult::Failed(reason) | NoResult::Unknown(reason)) => Some(reason.into()),
            Ok(report) => report.plan().and_then(unread),
            Err(_) => None,
        }
    }

    /// What became of it.
    pub fn state(&self) -> StackState {
        match &self.outcome {
            Ok(StackReport::Validated(checked)) if checked.contents.is_some() => StackState::Valid,
            Ok(StackReport::Validated(_)) | Err(NoResult::Failed(_)) => StackState::Failed,
            Ok(StackReport::Planned(plan)) => StackState::Compared(match plan.unknown().next() {
                Some(_) => Verdict::Unknown,
                // An apply also writes annotations.
                None if plan.changes.is_empty() && plan.blocked.is_empty() => Verdict::InSync,
                None => Verdict::Pending,
            }),
            Ok(StackReport::Applied(Applied { outcome, plan, .. })) => match outcome.has_effect() {
                _ if plan.blocked.is_empty() && outcome.is_done() => StackState::Applied,
                true => StackState::Partly,
                false => StackState::Unchanged,
            },
            Ok(StackReport::Checked(check)) => StackState::Compared(check.verdicts.whole()),
            Err(NoResult::Unknown(_)) => StackState::Compared(Verdict::Unknown),
            Err(NoResult::Elsewhere) => StackState::Elsewhere,
            Err(NoResult::Skipped(_) | NoResult::AnotherFailed | NoResult::Interrupted) => StackState::Skipped,
        }
    }

    /// Whether all that can be reported is that it is valid or in sync.
    pub fn is_quiet(&self) -> bool {
        let has_notes = |plan: &Plan| plan.shown_notes().next().is_some();
        let says_more = match &self.outcome {
            Ok(StackReport::Checked(check)) => !check.acknowledged.is_empty() || has_notes(&check.plan),
            Ok(StackReport::Planned(plan)) => {
                !plan.guards.is_empty() || !plan.setting_changes.is_empty() || has_notes(plan)
            }
            Ok(StackReport::Validated(checked)) => !checked.diagnostics.is_empty(),
            Ok(StackReport::Applied(..)) | Err(_) => true,
        };
        !says_more && matches!(self.state(), StackState::Valid | StackState::Compared(Verdict::InSync))
    }
}

/// The name of one of several stacks: its directory, with what else distinguishes it from others.
pub fn name<'d>(directory: &'d str, details: &[&str]) -> Cow<'d, str> {
    match details {
        [] => Cow::Borrowed(directory),
        details => Cow::Owned(format!("{directory} ({})", details.join(", "))),
    }
}

impl MergedFrom {
    /// What it is made of and when its checks were made, after `from`.
    pub(super) fn line(&self, from: &'static str) -> Line<'static> {
        let checked = self.checked.map(|(first, last)| {
            let [first, last] = [first, last].map(time::minute);
            let last = (first != last).then(|| line![" to ", Part::Made(last)]);
            line![", checked ", Part::Made(first), last]
        });
        line![from, Line::count(self.files, "file"), checked]
    }
}

impl<'a> Fleet<'a> {
    /// A report over these parts.
    pub fn new(command: FleetCommand, parts: Vec<FleetPart<'a>>) -> Self {
        Self { command, parts, plans: None, shard: None, environment: None, problems: Vec::new(), merged: None }
    }

    /// The checks that were made, with their stacks.
    pub fn checks(&self) -> impl Iterator<Item = (&FleetPart<'a>, &'a Check)> + Clone {
        self.parts.iter().filter_map(|part| match &part.outcome {
            Ok(StackReport::Checked(check)) => Some((part, *check)),
            _ => None,
        })
    }

    /// The plans that were made or applied.
    pub fn plans(&self) -> impl Iterator<Item = &'a Plan> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            Ok(StackReport::Planned(plan) | StackReport::Applied(Applied { plan, .. })) => Some(*plan),
            _ => None,
        })
    }

    /// What a one-line summary of these stacks must mention.
    pub(super) fn shared(&self, of: impl Fn(&FleetPart<'a>) -> bool) -> Vec<Line<'a>> {
        let parts = self.parts.iter().filter(|part| of(part));
        let plans: Vec<&Plan> = parts.filter_map(|part| part.outcome.as_ref().ok()?.plan()).collect();
        view::shared(&plans)
    }

    /// How many stacks have which state, without those that none has.
    pub(super) fn states(&self) -> impl Iterator<Item = (usize, StackState)> {
        counted(self.parts.iter().map(FleetPart::state)).into_iter().map(|(state, number)| (number, state))
    }

    /// How many stacks have which state, and the changes of all plans or what all checks found.
    pub(super) fn headline(&self) -> Line<'a> {
        let states = self.states().map(|(number, state)| line![number, " ", state.words(self.command)]);
        let states = Line::joined(states, ", ");
        let states = (!states.is_empty()).then(|| line![": ", states]);
        let blocked: Vec<&Key> = self.plans().flat_map(|plan| &plan.blocked).map(|blocked| &blocked.key).collect();
        let is_blocked = !blocked.is_empty();
        let found = match self.command {
            FleetCommand::Plan => facts::headline(&self.plans().collect::<Vec<_>>(), None),
            FleetCommand::Apply if is_blocked => {
                Line::count(blocked.len(), Key::noun(blocked.iter().copied())).and(" blocked")
            }
            FleetCommand::Drift => {
                Line::joined(check::differing(self.checks().map(|(_, check)| &check.verdicts)), ", ")
            }
            FleetCommand::Apply | FleetCommand::Validate => Line::default(),
        };
        let found = (!found.is_empty()).then(|| line!["; ", found]);
        let incomplete = (!self.problems.is_empty()).then_some("incomplete, ");
        line![incomplete, Line::count(self.parts.len(), "stack"), states, found]
    }

    /// The commands that apply these plans, if that changes something and is not refused because a list could not be
    /// read, or because merged work would be reverted; after an apply, the command that applies the rest.
    pub(super) fn apply_commands(&self) -> Vec<Command> {
        let Some((_, call)) = &self.plans else { return Vec::new() };
        if self.command == FleetCommand::Apply {
            let is_left = |part: &FleetPart<'_>| match &part.outcome {
                Ok(StackReport::Applied(Applied { outcome, .. })) => outcome.interrupted && !outcome.is_done(),
                result => matches!(result, Err(NoResult::AnotherFailed | NoResult::Interrupted)),
            };
            let rest = || Command { label: "Apply the rest:".into(), command: format!("trueup apply {call}") };
            return self.parts.iter().any(is_left).then(rest).into_iter().collect();
        }
        let plans: Vec<&Plan> = self.plans().collect();
        let labels = ["Apply exactly these:", "Apply exactly these, once it is allowed:"];
        facts::applying(&plans, facts::alone(&plans), labels, |alone| match alone {
            Some(alone) => format!("trueup apply {call} {ONLY_THIS_CHANGE} --digest {}", to_apply(alone.iter())),
            None => format!("trueup apply {call} --digest {}", to_apply(plans.iter().copied())),
        })
    }

    /// The stacks that a report for people shows with more than a reason or a number.
    pub(super) fn shown(&self) -> impl Iterator<Item = &FleetPart<'a>> {
        let folds = self.folds_quiet();
        self.parts.iter().filter(move |part| part.reason().is_none() && !(folds && part.is_quiet()))
    }

    /// The stacks that have no result, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&FleetPart<'a>, &str)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            Err(NoResult::Failed(reason) | NoResult::Unknown(reason)) => Some((part, reason.as_str())),
            _ => None,
        })
    }

    /// How many stacks failed.
    pub fn failed(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part.outcome, Err(NoResult::Failed(_)))).count()
    }

    /// The names of the stacks that have nothing but a reason, by state and reason: they failed or are unknown.
    pub fn without_result(&self) -> Vec<(SharedReason<'_>, Vec<String>)> {
        let parts = self.parts.iter();
        grouped(parts.filter_map(|part| Some(((part.state(), part.reason()?), part.name().into_owned()))))
    }

    /// Whether the stacks with nothing to report are so many that a report for people only counts them.
    pub fn folds_quiet(&self) -> bool {
        self.parts.iter().filter(|part| part.is_quiet()).nth(QUIET_SECTIONS).is_some()
    }

    /// The verdict over all that were checked; unknown if the files of a merged report are incomplete.
    pub fn whole(&self) -> Verdict {
        let is_incomplete = !self.problems.is_empty()
            || self.parts.iter().any(|part| matches!(part.outcome, Err(NoResult::Unknown(_))));
        let begin = if is_incomplete { Verdict::Unknown } else { Verdict::InSync };
        self.checks().fold(begin, |whole, (_, check)| whole.and(check.verdicts.whole()))
    }

    /// The remarks on all of them, each with the name of its stack, those that matter most first.
    pub fn remarks(&self) -> Vec<Annotation> {
        let undone = self.command.undone();
        let remark = |title, reason: &str| Annotation::new(Finding::Unchecked, title, reason.to_owned());
        let problems = self.problems.iter().map(|one| remark(format!("incomplete: {}", one.place), &one.message));
        let failed =
            self.failures().map(|(part, reason)| (part, vec![remark(format!("{undone}: {}", part.name()), reason)]));
        let others = self.parts.iter().map(|part| {
            let remarks = part.outcome.as_ref().map(|report| report.report().annotations()).unwrap_or_default();
            let name =
                |remark: Annotation| Annotation { title: format!("{}: {}", part.name(), remark.title), ..remark };
            (part, remarks.into_iter().map(name).collect())
        });
        let others = failed.chain(others).flat_map(|(part, remarks)| {
            let settings = || SourceLocation { file: sarif::settings_in(&part.directory), line: 1, column: 1 };
            remarks.into_iter().map(move |one| Annotation { place: Some(one.place.unwrap_or_else(settings)), ..one })
        });
        let mut all: Vec<Annotation> = problems.chain(others).collect();
        all.sort_by_key(|remark| remark.level);
        all
    }
}

/// The digest by which an apply names these plans: if a consent is missing, it will give others than they record.
fn to_apply<'p>(plans: impl Iterator<Item = &'p Plan> + Clone) -> Digest {
    let is_refused = plans.clone().any(|plan| !plan.refused().is_empty());
    let (whole, without_consents) = Digest::of_all(plans);
    if is_refused { without_consents } else { whole }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::RunId;
    use crate::plan::Change;
    use crate::report::sample_tests;
    use crate::run::{ChangeResult, ChangeStep, Outcome, Verification};

    #[test]
    fn what_an_interrupt_left_of_a_stack_is_applied_by_the_same_command() {
        let plan = sample_tests::plan(3, false);
        let commands = |interrupted: bool, result: ChangeResult| {
            let step = |change: &Change| ChangeStep::new(change.key.clone(), change.action.kind(), result.clone());
            let outcome = Outcome {
                run: RunId::new("run-1").expect("an id"),
                steps: plan.changes.iter().map(step).collect(),
                verification: Verification::NotNeeded,
                interrupted,
                unhealthy: Vec::new(),
                requests: 0,
                milliseconds: 0,
                verify_milliseconds: 0,
                unrecorded: false,
            };
            let part = FleetPart {
                directory: "a".to_owned(),
                environment: None,
                apart: None,
                id: String::new(),
                own: TextView { call: "a".to_owned(), ..TextView::default() },
                outcome: Ok(StackReport::Applied(Applied { outcome: &outcome, plan: &plan, earlier: BTreeSet::new() })),
            };
            let plans = Some((Digest::of_all([&plan]).0, "a b".to_owned()));
            let fleet = Fleet { plans, ..Fleet::new(FleetCommand::Apply, vec![part]) };
            fleet.apply_commands().into_iter().map(|command| command.command).collect::<Vec<_>>()
        };
        let untried = || ChangeResult::Skipped { reason: "the run was interrupted".to_owned() };
        assert_eq!(commands(true, untried()), ["trueup apply a b"]);
        assert!(commands(true, ChangeResult::AlreadyDone).is_empty());
        assert!(commands(false, untried()).is_empty());
    }
}

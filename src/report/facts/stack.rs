//! The facts of one of several stacks: its state, by which every format counts.

use std::collections::BTreeMap;

use crate::drift::Verdict;
use crate::model::Key;
use crate::plan::{ActionKind, Plan};
use crate::report::Applied;
use crate::report::facts::check;
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NoResult, StackReport};
use crate::report::line::Line;

/// What became of a stack, in the order of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
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

impl State {
    /// The state of a stack.
    #[must_use]
    pub fn of(part: &FleetPart<'_>) -> Self {
        match &part.outcome {
            Ok(StackReport::Validated(checked)) if checked.contents.is_some() => State::Valid,
            Ok(StackReport::Validated(_)) | Err(NoResult::Failed(_)) => State::Failed,
            Ok(StackReport::Planned(plan)) => State::Compared(of_plan(plan)),
            Ok(StackReport::Applied(Applied { outcome, plan, .. })) => match outcome.has_effect() {
                _ if plan.blocked.is_empty() && outcome.is_done() => State::Applied,
                true => State::Partly,
                false => State::Unchanged,
            },
            Ok(StackReport::Checked(check)) => State::Compared(check.verdicts.whole()),
            Err(NoResult::Unknown(_)) => State::Compared(Verdict::Unknown),
            Err(NoResult::Elsewhere) => State::Elsewhere,
            Err(NoResult::Skipped(_) | NoResult::AnotherFailed | NoResult::Interrupted) => State::Skipped,
        }
    }

    /// Its words in a report about `fleet`.
    pub fn words(self, fleet: &Fleet<'_>) -> &'static str {
        match self {
            State::Valid => "valid",
            State::Applied => "applied",
            State::Partly => "applied in part",
            State::Unchanged => "with no change made",
            State::Compared(Verdict::InSync) => "in sync",
            State::Compared(Verdict::Pending) if fleet.command == FleetCommand::Drift => "pending",
            // What could be changed was.
            State::Compared(Verdict::Pending) if fleet.command == FleetCommand::Apply => "blocked",
            State::Compared(Verdict::Pending) => "with changes",
            State::Compared(Verdict::Drift) => "changed outside",
            State::Compared(Verdict::Both) => "changed outside and pending",
            State::Compared(Verdict::Unknown) => "unknown",
            State::Failed => fleet.command.undone(),
            State::Skipped => "skipped",
            State::Elsewhere => "other checkers'",
        }
    }
}

/// Its plan changes something, or something in it is blocked: both are pending.
fn of_plan(plan: &Plan) -> Verdict {
    let changes = plan.changes.iter().any(|change| change.action.kind() != ActionKind::Annotate);
    match plan.unknown().next() {
        Some(_) => Verdict::Unknown,
        None if changes || !plan.blocked.is_empty() => Verdict::Pending,
        None => Verdict::InSync,
    }
}

/// How many stacks have which state, without those that none has.
pub fn sum(fleet: &Fleet<'_>) -> Vec<(usize, State)> {
    let mut numbers: BTreeMap<State, usize> = BTreeMap::new();
    fleet.parts.iter().for_each(|part| *numbers.entry(State::of(part)).or_default() += 1);
    numbers.into_iter().map(|(state, number)| (number, state)).collect()
}

/// What the checks of several stacks found, in a line; nothing where everything is in sync.
fn differing(fleet: &Fleet<'_>) -> Option<Line<'static>> {
    let (drifted, pending) = check::numbers(fleet.checks().map(|(_, check)| &check.verdicts));
    let parts = [(drifted, " changed outside"), (pending, " not applied yet")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let noun = Key::noun(fleet.checks().flat_map(|(_, check)| check.verdicts.objects.keys()));
    let line = Line::joined(parts.map(|(number, words)| Line::count(number, noun).and(words)), ", ");
    (!line.is_empty()).then_some(line)
}

/// How many stacks have which state, and the changes of all plans or what all checks found.
pub fn headline(fleet: &Fleet<'_>) -> Line<'static> {
    let states = sum(fleet).into_iter().map(|(number, state)| line![number, " ", state.words(fleet)]);
    let states = Line::joined(states, ", ");
    let states = (!states.is_empty()).then(|| line![": ", states]);
    let of = |kind| fleet.plans().map(|(_, plan)| plan.count(kind)).sum::<usize>();
    let kinds = ActionKind::ALL.into_iter().map(|kind| (of(kind), kind)).filter(|(number, _)| *number > 0);
    let changes = kinds.map(|(number, kind)| line![number, " to ", kind.as_str()]);
    let blocked: Vec<&Key> = fleet.plans().flat_map(|(_, plan)| &plan.blocked).map(|blocked| &blocked.key).collect();
    let is_blocked = !blocked.is_empty();
    let found = match fleet.command {
        FleetCommand::Plan => {
            let all = Line::joined(changes.chain(is_blocked.then(|| line![blocked.len(), " blocked"])), ", ");
            Some(all).filter(|all| !all.is_empty())
        }
        FleetCommand::Apply => {
            is_blocked.then(|| Line::count(blocked.len(), Key::noun(blocked.iter().copied())).and(" blocked"))
        }
        FleetCommand::Drift => differing(fleet),
        FleetCommand::Validate => None,
    };
    line![Line::count(fleet.parts.len(), "stack"), states, found.map(|found| line!["; ", found])]
}

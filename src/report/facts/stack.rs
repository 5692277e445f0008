//! The facts of several stacks: how many have which state, and what was found in all of them.

use std::collections::BTreeMap;

use crate::model::Key;
use crate::plan::ActionKind;
use crate::report::facts::check;
use crate::report::fleet::{Fleet, FleetCommand, StackState};
use crate::report::line::Line;

/// How many stacks have which state, without those that none has.
pub fn sum(fleet: &Fleet<'_>) -> Vec<(usize, StackState)> {
    let mut numbers: BTreeMap<StackState, usize> = BTreeMap::new();
    fleet.parts.iter().for_each(|part| *numbers.entry(part.state()).or_default() += 1);
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
    let states = sum(fleet).into_iter().map(|(number, state)| line![number, " ", state.words(fleet.command)]);
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

//! The outcome of an apply as text: what was not made and why, conflicts as a table of three values, the sum,
//! the verification, and how to undo or resume the run.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{TextView, draw, refusal, seconds};
use crate::model::{Json, Key};
use crate::plan::{ActionKind, Conflict, Plan, ThreeWay};
use crate::report::facts::words;
use crate::report::view::{Line, Part, code, foreign, key, line};
use crate::report::{Role, safe};
use crate::run::{ChangeResult, ChangeStep, Confirmation, Outcome, Verification};

/// The outcome of a run: what was not made and why, the sum, the verification, and how to undo it. `earlier` are
/// the changes that the run which this one resumes had made.
#[must_use]
pub fn outcome(outcome: &Outcome, plan: &Plan, earlier: &BTreeSet<Key>, view: &TextView) -> String {
    let mut text = undone(outcome, plan, view);
    for (endpoint, words) in &outcome.unhealthy {
        let words = line![key(endpoint), " is applied, and the service reports: ", foreign(words)];
        text.push_str(&labelled(Role::Careful, "unhealthy", words, view));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.insert_str(0, &super::settings(plan, view));
    text.push_str(&sum(outcome, earlier, view));
    let except = NotAsDefined {
        blocked: plan.blocked.len(),
        in_doubt: outcome.steps.iter().filter(|step| step.result.is_in_doubt()).count(),
        not_done: outcome.steps.iter().filter(|step| !step.result.is_done()).count(),
    };
    text.push_str(&verification(&outcome.verification, except, view));
    text.push_str(&next(outcome, view));
    text
}

/// What was not made, and why.
pub(super) fn undone(outcome: &Outcome, plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    for step in &outcome.steps {
        text.push_str(&result(step, outcome, view));
    }
    text.push_str(&not_tried(outcome, view));
    text.push_str(&refusal::blocked(plan, view));
    text
}

/// A line that begins with a word in its colour.
fn labelled(role: Role, word: &'static str, text: Line<'_>, view: &TextView) -> String {
    format!("{}\n", view.line(&line![Part::Word(role, word), ": ", text]))
}

fn result(step: &ChangeStep, outcome: &Outcome, view: &TextView) -> String {
    let describe = |word: &'static str, reason: Line<'_>| {
        labelled(Role::Wrong, word, line![step.action.as_str(), " ", key(&step.key), ": ", reason], view)
    };
    // By it the service's log knows the last request of a change.
    let request = || step.requests.last().map(|id| line![" (request ", code(id), ")"]);
    match &step.result {
        // Changes that were not tried are listed together, by reason.
        ChangeResult::Done { .. } | ChangeResult::AlreadyDone | ChangeResult::Skipped { .. } => String::new(),
        ChangeResult::Conflict(conflict) => self::conflict(&step.key, conflict, outcome, view),
        ChangeResult::Referred { by } => {
            let by = Line::some_of(by.iter().map(ToString::to_string), 4);
            let allow = code(format!("--allow {}", safe::shell(&format!("referred={}", step.key))));
            describe("blocked", line![by, " refers to it; to allow it: ", allow])
        }
        ChangeResult::Failed { reason } => describe("failed", line![foreign(reason), request()]),
        ChangeResult::InDoubt { reason } => describe("in_doubt", line![foreign(reason), request()]),
    }
}

fn not_tried(outcome: &Outcome, view: &TextView) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for step in &outcome.steps {
        let ChangeResult::Skipped { reason } = &step.result else { continue };
        let message = format!("{} {}", step.action, step.key);
        match reasons.iter_mut().find(|(other, _)| other == reason) {
            Some((_, steps)) => steps.push(message),
            None => reasons.push((reason, vec![message])),
        }
    }
    let message = reasons.into_iter().map(|(reason, steps)| {
        let these = (steps.len() > 1).then(|| line![steps.len(), " changes: "]);
        let steps = Line::some_of(steps.into_iter(), 4);
        labelled(Role::Wrong, "not tried", line![these, steps, ": ", foreign(reason)], view)
    });
    message.collect()
}

fn conflict(endpoint: &Key, conflict: &Conflict, outcome: &Outcome, view: &TextView) -> String {
    let mut text = labelled(Role::Wrong, "conflict", line![key(endpoint), " ", foreign(&conflict.reason)], view);
    if conflict.ours_may_be_lost {
        text.push_str("  our own write may have been made and then overwritten\n");
    }
    if !conflict.fields.is_empty() {
        text.push_str(&format!("\n{}\n", three_way(&conflict.fields, view)));
    }
    let others = outcome.steps.iter().filter(|step| step.result.is_done()).count();
    let others = match others {
        0 => line!["no other change was applied"],
        1 => line!["1 other change was applied"],
        more => line![more, " other changes were applied"],
    };
    let again = format!("{} --only {}", view.plan_command(), safe::shell(&endpoint.to_string()));
    text.push_str(&format!("  {}\n", view.plain(&line![others, ".  Plan again:  ", code(again)])));
    text
}

fn three_way(fields: &[ThreeWay], view: &TextView) -> String {
    let value = |field: &ThreeWay, value: &Json| {
        words(&field.field, value).map_or_else(|| line!["(none)"], |text| line![code(text)])
    };
    let heads = ["field", "when planned", "now", "wanted"].map(|head| line![head]);
    let rows = fields.iter().map(|field| {
        let values = [&field.planned, &field.now, &field.wanted].map(|one| value(field, one));
        [line![code(field.field.to_string())]].into_iter().chain(values).chain([line![whose(field)]]).collect()
    });
    let rows: Vec<Vec<Line<'_>>> = [heads.to_vec()].into_iter().chain(rows).collect();
    draw::rows(&rows, 2, view)
}

fn whose(field: &ThreeWay) -> &'static str {
    let (theirs, ours) = (field.planned != field.now, field.planned != field.wanted);
    match (theirs, ours) {
        (true, true) if field.now == field.wanted => "both made the same change",
        (true, true) => "changed on both sides: decide",
        (true, false) => "changed live only: a new plan reverts it; `pull --drift` keeps it",
        (false, true) => "ours only",
        (false, false) => "unchanged",
    }
}

fn sum(outcome: &Outcome, earlier: &BTreeSet<Key>, view: &TextView) -> String {
    // A resume counts its own work.
    let steps: Vec<&ChangeStep> = outcome.steps.iter().filter(|step| !earlier.contains(&step.key)).collect();
    let done = steps.iter().filter(|step| step.result.is_done()).count();
    let made = Line::count(earlier.len(), "change").and(" made before the resume");
    let text = match (steps.len(), earlier.len()) {
        (0, 0) => line!["Nothing to apply"],
        (0, _) => line!["Nothing was left to apply: ", made],
        (total, _) => {
            let role = if done == total { Role::Right } else { Role::Wrong };
            let word = if outcome.interrupted { "Interrupted: applied" } else { "Applied" };
            let kinds: Vec<Line<'_>> = ActionKind::ALL.into_iter().filter_map(|kind| kind_sum(&steps, kind)).collect();
            let kinds = (!kinds.is_empty()).then(|| line![": ", Line::joined(kinds, ", ")]);
            let already = steps.iter().filter(|step| matches!(step.result, ChangeResult::AlreadyDone)).count();
            let already = (already > 0).then(|| line![", ", already, " already as wanted"]);
            let made = (!earlier.is_empty()).then(|| line!["; ", made]);
            let took = foreign(seconds(Duration::from_millis(outcome.milliseconds)));
            line![Part::Word(role, word), " ", done, " of ", total, " in ", took, kinds, already, made]
        }
    };
    format!("{}\n", view.line(&line![text, "."]))
}

fn kind_sum(steps: &[&ChangeStep], kind: ActionKind) -> Option<Line<'static>> {
    let number = |is: &dyn Fn(Confirmation, bool) -> bool| {
        let made = |step: &&&ChangeStep| match step.result {
            ChangeResult::Done { confirmation, adopted, .. } => step.action == kind && is(confirmation, adopted),
            _ => false,
        };
        steps.iter().filter(made).count()
    };
    let all = number(&|_, _| true);
    if all == 0 {
        return None;
    }
    let adopted = number(&|_, adopted| adopted);
    let verb = match kind {
        ActionKind::Create if adopted == all => return Some(line![adopted, " adopted"]),
        ActionKind::Create if adopted > 0 => return Some(line![all - adopted, " created, ", adopted, " adopted"]),
        ActionKind::Create => return Some(line![all, " created"]),
        ActionKind::Delete => return Some(line![all, " deleted (unguarded)"]),
        ActionKind::Replace => " replaced (",
        ActionKind::Annotate => " annotated (",
    };
    let safety = [
        (Confirmation::Guarded, "guarded"),
        (Confirmation::Versioned, "versioned"),
        (Confirmation::Unguarded, "unguarded"),
    ]
    .into_iter()
    .filter_map(|(which, word)| match number(&|confirmation, _| confirmation == which) {
        0 => None,
        some if some == all => Some(line![word]),
        some => Some(line![some, " ", word]),
    });
    Some(line![all, verb, Line::joined(safety, ", "), ")"])
}

fn verification(verification: &Verification, except: NotAsDefined, view: &TextView) -> String {
    match verification {
        Verification::Verified { reads } => {
            let after =
                (*reads != 1).then(|| line![", after ", usize::try_from(*reads).unwrap_or(usize::MAX), " reads"]);
            format!("{}{}.\n", verified(except, view), view.plain(&line![after]))
        }
        Verification::Differs { left } => {
            let differ = if left.len() == 1 { " still differs" } else { " still differ" };
            let words =
                line!["after the apply ", Line::count(left.len(), "endpoint"), differ, " from what was asked for:"];
            let mut text = labelled(Role::Wrong, "Not verified", words, view);
            for (endpoint, fields) in left {
                let fields = Line::some_of(fields.iter().map(ToString::to_string), 8);
                let what = if fields.is_empty() { line!["missing, or still there"] } else { fields };
                text.push_str(&format!("  {}\n", view.plain(&line![key(endpoint), ": ", what])));
            }
            text
        }
        Verification::Unknown { reason } => {
            labelled(Role::Careful, "Verification not proven", line![foreign(reason)], view)
        }
        Verification::NotNeeded => String::new(),
    }
}

/// What a verification does not look at, because the run did not prove that it made it.
#[derive(Clone, Copy)]
pub(super) struct NotAsDefined {
    /// Changes that the plan blocked.
    pub(super) blocked: usize,
    /// Changes whose write may have taken effect.
    pub(super) in_doubt: usize,
    /// All changes that are not known to be made, those in doubt among them.
    pub(super) not_done: usize,
}

/// That live is as defined, except for what is blocked, in doubt or not made.
pub(super) fn verified(except: NotAsDefined, view: &TextView) -> String {
    let NotAsDefined { blocked, in_doubt, not_done } = except;
    let parts = [(blocked, " blocked"), (in_doubt, " in doubt"), (not_done - in_doubt, " not made")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let except = Line::joined(parts.map(|(count, what)| line![count, what]), ", ");
    match except.is_empty() {
        true => view.line(&line![Part::Word(Role::Right, "Verified"), ": live matches the definitions"]),
        false => {
            let word = view.palette.paint(Role::Careful, view.plain(&line!["Verified, except ", except]));
            format!("{word}: live matches the other definitions")
        }
    }
}

fn next(outcome: &Outcome, view: &TextView) -> String {
    if !outcome.steps.iter().any(|step| step.result.may_have_taken_effect()) {
        return "nothing was changed\n".to_owned();
    }
    let run = outcome.run.as_str();
    let undo = view.plain(&line!["undo with: trueup rollback ", code(run), code(&view.flags)]);
    let in_doubt = outcome.steps.iter().any(|step| matches!(step.result, ChangeResult::InDoubt { .. }));
    let resume = match outcome.interrupted || in_doubt {
        true => view.plain(&line!["resume with: trueup apply --resume ", code(run), code(&view.flags), "\n"]),
        false => String::new(),
    };
    let undo = view.palette.paint(Role::Quiet, undo);
    format!("{} {} {undo}\n{resume}", view.plain(&line!["run ", code(run)]), view.charset.separator())
}

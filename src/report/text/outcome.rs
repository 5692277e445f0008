//! The outcome of an apply as text: what was not made and why, conflicts as a table of three values, the sum,
//! the verification, and how to undo or resume the run.

use crate::report::counted::{count, some_of};
use std::collections::BTreeSet;
use std::time::Duration;

use super::{TextView, columns, refusal, seconds};
use crate::model::{Json, Key};
use crate::plan::{ActionKind, Conflict, Plan, ThreeWay};
use crate::report::{Role, safe, values};
use crate::run::{ChangeResult, ChangeStep, Confirmation, Outcome, Verification};

/// The outcome of a run: what was not made and why, the sum, the verification, and how to undo it. `earlier` are
/// the changes that the run which this one resumes had made.
#[must_use]
pub fn outcome(outcome: &Outcome, plan: &Plan, earlier: &BTreeSet<Key>, view: &TextView) -> String {
    let mut text = undone(outcome, plan, view);
    for (key, words) in &outcome.unhealthy {
        let key = key.to_string();
        let message = format!("{} is applied, and the service reports: {}", safe::line(&key), safe::line(words));
        text.push_str(&format!("{}: {message}\n", view.palette.paint(Role::Careful, "unhealthy")));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.insert_str(0, &super::setting_changes(plan, view));
    text.push_str(&sum(outcome, earlier, view));
    let unmade = outcome.steps.iter().filter(|step| !step.result.is_done()).count();
    text.push_str(&verification(&outcome.verification, plan.blocked.len(), unmade, view));
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

fn result(step: &ChangeStep, outcome: &Outcome, view: &TextView) -> String {
    let ChangeStep { key, action, result, .. } = step;
    let key_text = key.to_string();
    let key_text = safe::line(&key_text);
    let describe = |word: &str, reason: &str| {
        format!("{}: {action} {key_text}: {}\n", view.palette.paint(Role::Wrong, word), safe::line(reason))
    };
    match result {
        // Changes that were not tried are listed together, by reason.
        ChangeResult::Done { .. } | ChangeResult::AlreadyDone | ChangeResult::Skipped { .. } => String::new(),
        ChangeResult::Conflict(conflict) => self::conflict(&key_text, conflict, outcome, view),
        ChangeResult::Referred { by } => {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            let reason = format!("{} refers to it; to allow it: --allow referred={key}", some_of(&by, 4));
            describe("blocked", &reason)
        }
        ChangeResult::Failed { reason } => describe("failed", &(reason.clone() + &requested(step))),
        ChangeResult::InDoubt { reason } => describe("in_doubt", &(reason.clone() + &requested(step))),
    }
}

/// ` (request ID)`: by which the service's log knows the last request of a change.
fn requested(step: &ChangeStep) -> String {
    step.requests.last().map(|id| format!(" (request {id})")).unwrap_or_default()
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
        let these = if steps.len() > 1 { format!("{} changes: ", steps.len()) } else { String::new() };
        let word = view.palette.paint(Role::Wrong, "not tried");
        format!("{word}: {these}{}: {}\n", some_of(&steps, 4), safe::line(reason))
    });
    message.collect()
}

fn conflict(key: &str, conflict: &Conflict, outcome: &Outcome, view: &TextView) -> String {
    let reason = safe::line(&conflict.reason);
    let mut text = format!("{}: {key} {reason}\n", view.palette.paint(Role::Wrong, "conflict"));
    if conflict.ours_may_be_lost {
        text.push_str("  our own write may have been made and then overwritten\n");
    }
    if !conflict.fields.is_empty() {
        text.push('\n');
        text.push_str(&three_way(&conflict.fields));
        text.push('\n');
    }
    let others = outcome.steps.iter().filter(|step| step.result.is_done()).count();
    let others = match others {
        0 => "no other change was applied".to_owned(),
        1 => "1 other change was applied".to_owned(),
        more => format!("{more} other changes were applied"),
    };
    text.push_str(&format!("  {others}.  Plan again:  {} --only {}\n", view.plan_command(), safe::shell(key)));
    text
}

fn three_way(fields: &[ThreeWay]) -> String {
    let value = |field: &ThreeWay, value: &Json| {
        values::words(&field.field, value).map_or_else(|| "(none)".to_owned(), |text| safe::line(&text).into_owned())
    };
    let table: Vec<[String; 5]> = fields
        .iter()
        .map(|field| {
            let name = field.field.to_string();
            [
                safe::line(&name).into_owned(),
                value(field, &field.planned),
                value(field, &field.now),
                value(field, &field.wanted),
                whose(field).to_owned(),
            ]
        })
        .collect();
    let heads = ["field", "when planned", "now", "wanted", ""].map(str::to_owned);
    let width = |at: usize| table.iter().chain([&heads]).map(|row| columns(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut text = String::new();
    for row in [&heads].into_iter().chain(&table) {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width + 4 - columns(cell)));
        }
        line.push_str(&row[4]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn whose(field: &ThreeWay) -> &'static str {
    let (theirs, ours) = (field.planned != field.now, field.planned != field.wanted);
    match (theirs, ours) {
        (true, true) if field.now == field.wanted => "both made the same change",
        (true, true) => "both changed it: decide",
        (true, false) => "theirs only: an apply restores it; accept it with `pull --drift`",
        (false, true) => "ours only",
        (false, false) => "unchanged",
    }
}

fn sum(outcome: &Outcome, earlier: &BTreeSet<Key>, view: &TextView) -> String {
    // A resume counts its own work.
    let steps: Vec<&ChangeStep> = outcome.steps.iter().filter(|step| !earlier.contains(&step.key)).collect();
    let done = steps.iter().filter(|step| step.result.is_done()).count();
    let total = steps.len();
    if total == 0 {
        return match earlier.len() {
            0 => "Nothing to apply.\n".to_owned(),
            made => format!("Nothing was left to apply: {} made before the resume.\n", count(made, "change")),
        };
    }
    let role = if done == total { Role::Right } else { Role::Wrong };
    let parts: Vec<String> = ActionKind::ALL.into_iter().filter_map(|kind| kind_sum(&steps, kind)).collect();
    let already = steps.iter().filter(|step| matches!(step.result, ChangeResult::AlreadyDone)).count();
    let mut text = format!(
        "{} {done} of {total} in {}",
        view.palette.paint(role, if outcome.interrupted { "Interrupted: applied" } else { "Applied" }),
        seconds(Duration::from_millis(outcome.milliseconds))
    );
    if !parts.is_empty() {
        text.push_str(&format!(": {}", parts.join(", ")));
    }
    if already > 0 {
        text.push_str(&format!(", {already} already as wanted"));
    }
    if !earlier.is_empty() {
        text.push_str(&format!("; {} made before the resume", count(earlier.len(), "change")));
    }
    text.push_str(".\n");
    text
}

fn kind_sum(steps: &[&ChangeStep], kind: ActionKind) -> Option<String> {
    let number = |which: Option<Confirmation>| {
        steps
            .iter()
            .filter(|step| step.action == kind)
            .filter(
                |step| matches!(&step.result, ChangeResult::Done { confirmation, .. } if which.is_none_or(|which| which == *confirmation)),
            )
            .count()
    };
    let all = number(None);
    if all == 0 {
        return None;
    }
    let verb = match kind {
        ActionKind::Create => {
            let adopted = |step: &&&ChangeStep| matches!(step.result, ChangeResult::Done { adopted: true, .. });
            let message = match steps.iter().filter(adopted).count() {
                0 => format!("{all} created"),
                adopted if adopted == all => format!("{adopted} adopted"),
                adopted => format!("{} created, {adopted} adopted", all - adopted),
            };
            return Some(message);
        }
        ActionKind::Delete => return Some(format!("{all} deleted (unguarded)")),
        ActionKind::Replace => "replaced",
        ActionKind::Annotate => "annotated",
    };
    let safety: Vec<String> = [
        (Confirmation::Guarded, "guarded"),
        (Confirmation::Versioned, "versioned"),
        (Confirmation::Unguarded, "unguarded"),
    ]
    .into_iter()
    .filter_map(|(which, word)| match number(Some(which)) {
        0 => None,
        some if some == all => Some(word.to_owned()),
        some => Some(format!("{some} {word}")),
    })
    .collect();
    Some(format!("{all} {verb} ({})", safety.join(", ")))
}

fn verification(verification: &Verification, blocked: usize, unmade: usize, view: &TextView) -> String {
    match verification {
        Verification::Verified { reads } => {
            let after = if *reads == 1 { String::new() } else { format!(", after {reads} reads") };
            format!("{}{after}.\n", verified(blocked, unmade, view))
        }
        Verification::Differs { left } => {
            let mut text = format!(
                "{}: after the apply {} still {} from what was asked for:\n",
                view.palette.paint(Role::Wrong, "Not verified"),
                count(left.len(), "endpoint"),
                if left.len() == 1 { "differs" } else { "differ" },
            );
            for (key, fields) in left {
                let key = key.to_string();
                let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
                let what = if fields.is_empty() { "missing, or still there".to_owned() } else { some_of(&fields, 8) };
                text.push_str(&format!("  {}: {what}\n", safe::line(&key)));
            }
            text
        }
        Verification::Unknown { reason } => {
            format!("{}: {}\n", view.palette.paint(Role::Careful, "Verification not proven"), safe::line(reason))
        }
        Verification::NotNeeded => String::new(),
    }
}

/// That live is as defined, except for what is blocked and what was not made.
pub(super) fn verified(blocked: usize, unmade: usize, view: &TextView) -> String {
    let parts = [(blocked, "blocked"), (unmade, "not made")].into_iter().filter(|(count, _)| *count > 0);
    let except = parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(" and ");
    match except.is_empty() {
        true => format!("{}: live matches the definitions", view.palette.paint(Role::Right, "Verified")),
        false => {
            let word = view.palette.paint(Role::Careful, format!("Verified, except {except}"));
            format!("{word}: live matches the other definitions")
        }
    }
}

fn next(outcome: &Outcome, view: &TextView) -> String {
    let sent = outcome.steps.iter().any(|step| step.result.may_have_taken_effect());
    if !sent {
        return "nothing was changed\n".to_owned();
    }
    let run = &outcome.run;
    let undo = view.palette.paint(Role::Quiet, format!("undo with: trueup rollback {run}{}", safe::line(&view.flags)));
    let in_doubt = outcome.steps.iter().any(|step| matches!(step.result, ChangeResult::InDoubt { .. }));
    let on = match outcome.interrupted || in_doubt {
        true => format!("resume with: trueup apply --resume {run}{}\n", safe::line(&view.flags)),
        false => String::new(),
    };
    format!("run {run} {} {undo}\n{on}", view.charset.separator())
}

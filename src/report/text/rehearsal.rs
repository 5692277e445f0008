//! The result of a rehearsal as text.

use super::{TextView, outcome, plan, seconds};
use crate::report::counted::{count, some_of};
use crate::report::{Role, safe, time};
use crate::run::{ChangeResult, Rehearsal, Verification};

/// Names that are shown of what is left.
const NAMES: usize = 12;

/// A rehearsal: what was not made and why, whether a second plan is empty, and what that proves.
#[must_use]
pub fn rehearsal(rehearsal: &Rehearsal, view: &TextView) -> String {
    let Rehearsal { plan, outcome, .. } = rehearsal;
    let paint = |role, text: &str| view.palette.paint(role, text).to_string();
    let url = safe::line(&plan.service.base_url).into_owned();
    if plan.changes.is_empty() && plan.blocked.is_empty() {
        return format!("Nothing to rehearse: {} in sync with {url}\n", count(plan.in_sync(), "endpoint"));
    }
    let mut text = super::settings(plan, view);
    text.push_str(&outcome::undone(outcome, plan, view));
    text.push_str(&left(rehearsal, view));
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&plan::guards(plan, view));
    let verdict = match (rehearsal.is_verified(), outcome.interrupted) {
        (true, _) => paint(Role::Right, "verified"),
        (false, true) => paint(Role::Careful, "interrupted"),
        (false, false) => paint(Role::Wrong, "not verified"),
    };
    let requests = count(usize::try_from(outcome.requests).unwrap_or(usize::MAX), "request");
    let except = match plan.blocked.len() {
        0 => String::new(),
        blocked => format!(" except {blocked} blocked"),
    };
    text.push_str(&format!("{} of {} applied, {verdict}{except}, {requests}", rehearsal.done(), outcome.steps.len()));
    if rehearsal.faults.chosen != "none" {
        let name = safe::line(&rehearsal.faults.chosen).into_owned();
        text.push_str(&format!(", {} met (faults {name})", count(rehearsal.faults.met, "fault")));
    }
    let elapsed = view.elapsed.map(|time| format!(", {}", seconds(time))).unwrap_or_default();
    text.push_str(&format!("{elapsed}.   digest {}\n", plan.digest().short()));
    let source = match &plan.source.snapshot {
        Some(taken) => format!("the snapshot of {} of {url}", safe::line(&time::minute(taken))),
        None => format!("a copy of {url}"),
    };
    text.push_str(&format!(
        "Rehearsed in the sandbox on {source}; nothing was changed there.\n\
         The sandbox is a model of the service: what the service itself would refuse shows only there.\n"
    ));
    if rehearsal.is_verified() && plan.blocked.is_empty() && plan.guards.is_empty() {
        text.push_str(&format!("Apply:  {}\n", view.apply_command()));
    }
    text
}

/// What still differs after it, by the verification and by the second plan.
fn left(rehearsal: &Rehearsal, view: &TextView) -> String {
    let mut text = String::new();
    if rehearsal.outcome.steps.iter().map(|step| &step.result).all(ChangeResult::is_done) {
        if let Verification::Unknown { reason } = &rehearsal.outcome.verification {
            let word = view.palette.paint(Role::Careful, "not proven");
            text.push_str(&format!("{word}: {}\n", safe::line(reason)));
        }
        let left: Vec<String> = rehearsal.left().into_iter().map(ToString::to_string).collect();
        if !left.is_empty() {
            let word = view.palette.paint(Role::Wrong, "left over");
            let endpoints = count(left.len(), "endpoint");
            text.push_str(&format!("{word}: a second plan would change {endpoints}: {}\n", some_of(&left, NAMES)));
        }
    }
    text
}

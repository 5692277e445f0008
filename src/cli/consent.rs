//! How a person says yes to a plan: at a prompt that shows it, by `--yes`, or by its digest. Guards
//! are looked at before anyone is asked.

use std::io::{BufRead as _, Write as _};

use super::Context;
use super::args::{ApplyFormat, Decision};
use super::ending::{Ending, Error};
use crate::plan::{Allow, Approved, Consent, Limits, Plan, Refusal};
use crate::report::text::View;
use crate::report::{json, text};

/// What came of asking.
pub enum Answer<'a> {
    /// The plan may be applied.
    Given(Approved<'a>),
    /// The command is at its end: nothing to do, or refused.
    Ended(Ending),
}

/// A plan that somebody is asked about.
pub struct Question<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What was allowed by name.
    pub allow: &'a Allow,
    /// What bounds the guards.
    pub limits: &'a Limits,
    /// How it is drawn.
    pub view: &'a View,
}

/// Asks for consent to a plan.
///
/// # Errors
/// Nobody can be asked and nothing was said beforehand.
pub fn ask<'a>(decision: &Decision, context: &Context, question: Question<'a>) -> Result<Answer<'a>, Error> {
    let Question { plan, allow, limits, view } = question;
    let consent = consent(decision);
    if plan.changes.is_empty() && plan.unknown().next().is_none() && decision.digest.is_none() {
        return Ok(Answer::Ended(nothing_to_do(decision, context, plan, view)));
    }
    let beforehand = decision.yes || decision.digest.is_some();
    let show = || {
        let view = View { palette: context.output.message_view().palette, ..view.clone() };
        context.output.tell(&text::plan(plan, None, &view));
    };
    let approved = match plan.approve_within(consent, allow, limits) {
        Ok(approved) => approved,
        Err(refusal) => {
            // Whoever said nothing beforehand looks for the first time.
            if !beforehand {
                show();
            }
            return Ok(Answer::Ended(refused(context, &refusal, view)));
        }
    };
    if plan.changes.is_empty() {
        return Ok(Answer::Ended(nothing_to_do(decision, context, plan, view)));
    }
    if beforehand {
        return Ok(Answer::Given(approved));
    }
    show();
    if !context.surroundings.can_ask {
        let digest = plan.digest();
        return Err(Error::words(Ending::Refused, "confirmation required, but stdin is not a terminal")
            .hint(format!("give --yes, or --digest {} for exactly this plan", digest.short()))
            .hint("nothing was sent"));
    }
    let changes = plan.changes.len();
    let these = if changes == 1 { "this change".to_owned() } else { format!("these {changes} changes") };
    Ok(if yes(&format!("apply {these}")) { Answer::Given(approved) } else { Answer::Ended(declined(context)) })
}

/// What the call says beforehand, or will be asked.
fn consent(decision: &Decision) -> Consent<'_> {
    match &decision.digest {
        Some(digest) => Consent::Digest(digest),
        None if decision.yes => Consent::Given,
        None => Consent::Asked,
    }
}

fn refused(context: &Context, refusal: &Refusal, view: &View) -> Ending {
    let view = View { palette: context.output.message_view().palette, ..view.clone() };
    context.output.tell(&text::refusal(refusal, &view));
    Ending::of_refusal(refusal)
}

fn nothing_to_do(decision: &Decision, context: &Context, plan: &Plan, view: &View) -> Ending {
    context.output.answer(&match decision.format {
        ApplyFormat::Text => text::plan(plan, None, view),
        ApplyFormat::Json => json::plan(plan),
    });
    if plan.held.is_empty() { Ending::Done } else { Ending::Refused }
}

/// Asks whether a run is gone on with.
///
/// # Errors
/// Nobody can be asked and nothing was said beforehand.
pub fn ask_to_resume(
    decision: &Decision,
    context: &Context,
    question: Question<'_>,
    left: usize,
) -> Result<Option<Ending>, Error> {
    let Question { plan, allow, limits, view } = question;
    // The guards speak of the whole plan, and the consents of whoever began the run are a file's.
    if let Err(refusal) = plan.approve_within(consent(decision), allow, limits) {
        return Ok(Some(refused(context, &refusal, view)));
    }
    if decision.digest.is_some() || decision.yes {
        return Ok(None);
    }
    let guards = text::consents(plan, &View { palette: context.output.message_view().palette, ..view.clone() });
    if !guards.is_empty() {
        context.output.tell(&guards);
    }
    if !context.surroundings.can_ask {
        return Err(Error::words(Ending::Refused, "confirmation required, but stdin is not a terminal")
            .hint("give --yes")
            .hint("nothing was sent"));
    }
    let these = if left == 1 { "1 change".to_owned() } else { format!("{left} changes") };
    Ok(if yes(&format!("resume {these} that are left")) { None } else { Some(declined(context)) })
}

fn declined(context: &Context) -> Ending {
    context.output.tell("declined: nothing was sent");
    Ending::Refused
}

/// Asks on stderr, so that stdout carries the answer alone.
fn yes(action: &str) -> bool {
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
    let mut line = String::new();
    asked.is_ok() && std::io::stdin().lock().read_line(&mut line).is_ok() && line.trim() == "yes"
}

//! How a person says yes to a plan: at a prompt that shows it, by `--yes`, or by its digest. Guards
//! are looked at before anyone is asked.

use std::io::{BufRead as _, Write as _};

use super::Context;
use super::args::{ApplyFormat, ApprovalArgs};
use super::exit_status::{CommandError, ExitStatus};
use crate::plan::{Allowances, Approval, ApprovalError, ApprovedPlan, GuardLimits, Plan};
use crate::report::text::TextView;
use crate::report::{json, text};

/// What came of asking.
pub enum PromptResult<'a> {
    /// The plan may be applied.
    Given(ApprovedPlan<'a>),
    /// The command is at its end: nothing to do, or refused.
    Ended(ExitStatus),
}

/// A plan that somebody is asked about.
pub struct PlanPrompt<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What was allowed by name.
    pub allow: &'a Allowances,
    /// What bounds the guards.
    pub limits: &'a GuardLimits,
    /// How it is drawn.
    pub view: &'a TextView,
}

/// Asks for consent to a plan.
///
/// # Errors
/// Nobody can be asked and nothing was said beforehand.
pub fn ask<'a>(
    decision: &ApprovalArgs,
    context: &Context,
    question: PlanPrompt<'a>,
) -> Result<PromptResult<'a>, CommandError> {
    let PlanPrompt { plan, allow, limits, view } = question;
    let consent = consent(decision);
    if plan.changes.is_empty() && plan.unknown().next().is_none() && decision.digest.is_none() {
        return Ok(PromptResult::Ended(nothing_to_do(decision, context, plan, view)));
    }
    let beforehand = decision.yes || decision.digest.is_some();
    let show = || {
        let view = TextView { palette: context.output.message_view().palette, ..view.clone() };
        context.output.notice(&text::plan(plan, None, &view));
    };
    let approved = match plan.approve_within(consent, allow, limits) {
        Ok(approved) => approved,
        Err(refusal) => {
            // Whoever said nothing beforehand looks for the first time.
            if !beforehand {
                show();
            }
            return Ok(PromptResult::Ended(refused(context, &refusal, view)));
        }
    };
    if plan.changes.is_empty() {
        return Ok(PromptResult::Ended(nothing_to_do(decision, context, plan, view)));
    }
    if beforehand {
        return Ok(PromptResult::Given(approved));
    }
    show();
    if !context.environment.can_ask {
        let digest = plan.digest();
        return Err(CommandError::words(ExitStatus::Refused, "confirmation required, but stdin is not a terminal")
            .hint(format!("give --yes, or --digest {} for exactly this plan", digest.short()))
            .hint("nothing was sent"));
    }
    let changes = plan.changes.len();
    let these = if changes == 1 { "this change".to_owned() } else { format!("these {changes} changes") };
    Ok(if yes(&format!("apply {these}")) {
        PromptResult::Given(approved)
    } else {
        PromptResult::Ended(declined(context))
    })
}

/// What the call says beforehand, or will be asked.
fn consent(decision: &ApprovalArgs) -> Approval<'_> {
    match &decision.digest {
        Some(digest) => Approval::Digest(digest),
        None if decision.yes => Approval::Given,
        None => Approval::Asked,
    }
}

fn refused(context: &Context, refusal: &ApprovalError, view: &TextView) -> ExitStatus {
    let view = TextView { palette: context.output.message_view().palette, ..view.clone() };
    context.output.notice(&text::refusal(refusal, &view));
    ExitStatus::of_refusal(refusal)
}

fn nothing_to_do(decision: &ApprovalArgs, context: &Context, plan: &Plan, view: &TextView) -> ExitStatus {
    context.output.answer(&match decision.format {
        ApplyFormat::Text => text::plan(plan, None, view),
        ApplyFormat::Json => json::plan(plan),
    });
    if plan.blocked.is_empty() { ExitStatus::Done } else { ExitStatus::Refused }
}

/// Asks whether a run is gone on with.
///
/// # Errors
/// Nobody can be asked and nothing was said beforehand.
pub fn ask_to_resume(
    decision: &ApprovalArgs,
    context: &Context,
    question: PlanPrompt<'_>,
    left: usize,
) -> Result<Option<ExitStatus>, CommandError> {
    let PlanPrompt { plan, allow, limits, view } = question;
    // The guards speak of the whole plan, and the consents of whoever began the run are a file's.
    if let Err(refusal) = plan.approve_within(consent(decision), allow, limits) {
        return Ok(Some(refused(context, &refusal, view)));
    }
    if decision.digest.is_some() || decision.yes {
        return Ok(None);
    }
    let guards = text::consents(plan, &TextView { palette: context.output.message_view().palette, ..view.clone() });
    if !guards.is_empty() {
        context.output.notice(&guards);
    }
    if !context.environment.can_ask {
        return Err(CommandError::words(ExitStatus::Refused, "confirmation required, but stdin is not a terminal")
            .hint("give --yes")
            .hint("nothing was sent"));
    }
    let these = if left == 1 { "1 change".to_owned() } else { format!("{left} changes") };
    Ok(if yes(&format!("resume {these} that are left")) { None } else { Some(declined(context)) })
}

fn declined(context: &Context) -> ExitStatus {
    context.output.notice("declined: nothing was sent");
    ExitStatus::Refused
}

/// Asks on stderr, so that stdout carries the answer alone.
fn yes(action: &str) -> bool {
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
    let mut line = String::new();
    asked.is_ok() && std::io::stdin().lock().read_line(&mut line).is_ok() && line.trim() == "yes"
}

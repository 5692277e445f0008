//! How a person approves a plan: at a prompt that shows it, by `--yes`, or by its digest. Guards are checked
//! before anyone is asked.

use std::ops::ControlFlow;

use crate::cli::args::ApprovalArgs;
use crate::cli::run::PendingRun;
use crate::cli::{CommandError, Context, ExitStatus, Result, plan_errors, policy};
use crate::plan::{Approval, ApprovalError, ApprovedPlan};
use crate::report::error::Refusal;
use crate::report::{self, Format, Report as _, TextView, text};

/// Asks for approval of a plan. The command ends if there is nothing to do, or the plan is refused.
///
/// # Errors
/// The answer is no, or stdin is not a terminal and no flag approves the plan.
pub async fn ask<'w>(work: &'w PendingRun<'_>) -> Result<ControlFlow<ExitStatus, ApprovedPlan<'w>>> {
    let PendingRun { context, decision, plan, allow, view, .. } = work;
    let consent = consent(decision);
    if plan.changes.is_empty() && plan.unknown().next().is_none() && decision.digest.is_none() {
        return Ok(ControlFlow::Break(nothing_to_do(work)));
    }
    let shown = |is_applied: bool| plan.text(&TextView { is_applied, ..context.output.as_message(view) });
    let approved = match plan.approve_within(consent, allow, &work.trust) {
        Ok(approved) => approved,
        Err(refusal) => {
            if let Some(error) = plan_errors::unread(plan) {
                let refusal = Refusal::of(&refusal, plan.digest().full());
                return Err(error.hint("nothing was sent").refusal(refusal));
            }
            // Without a flag the plan was not shown before.
            if !decision.is_given() {
                context.output.rendered_notice(&shown(false));
            }
            return Ok(ControlFlow::Break(refused(work, &refusal)));
        }
    };
    if plan.changes.is_empty() {
        return Ok(ControlFlow::Break(nothing_to_do(work)));
    }
    if !show(context, decision, || shown(true)) {
        return Ok(ControlFlow::Continue(approved));
    }
    let changes = plan.changes.len();
    let these = if changes == 1 { "this change".to_owned() } else { format!("these {changes} changes") };
    let hint = format!("give --yes, or --digest {} for exactly this plan", plan.digest().short());
    context.confirm(&format!("apply {these}"), &hint).await?;
    Ok(ControlFlow::Continue(approved))
}

/// The approval that the flags give, if they do.
fn consent(decision: &ApprovalArgs) -> Approval<'_> {
    match &decision.digest {
        Some(digest) => Approval::Digest(digest),
        None if decision.yes => Approval::Given,
        None => Approval::Asked,
    }
}

/// Shows what an apply does, one plan or all of several; returns whether a person has to approve it.
pub fn show(context: &Context, decision: &ApprovalArgs, shown: impl FnOnce() -> String) -> bool {
    match consent(decision) {
        // The digest approves a plan that was shown before.
        Approval::Digest(_) => {}
        // `--yes` approves any plan, so the log needs to contain it.
        Approval::Given => context.output.rendered_message(&shown()),
        Approval::Asked => context.output.rendered_notice(&shown()),
    }
    !decision.is_given()
}

/// Shows why a plan is refused. If the policy forbids the consents, they are not proposed, and the reason is returned.
pub fn show_refusal(work: &PendingRun<'_>, refusal: &ApprovalError) -> Option<String> {
    let output = &work.context.output;
    let forbidden = policy::permits_names(work.context, &refusal.consents()).err();
    let forbidden = forbidden.map(|error| error.to_string());
    let view = TextView { forbidden, ..output.as_message(&work.view) };
    output.rendered_notice(&view.message(report::refusal(refusal, &view)));
    view.forbidden
}

fn refused(work: &PendingRun<'_>, refusal: &ApprovalError) -> ExitStatus {
    let PendingRun { context, plan, .. } = work;
    let forbidden = show_refusal(work, refusal);
    let status = ExitStatus::of_refusal(refusal);
    let reasons = Refusal::of(refusal, plan.digest().full());
    let error = CommandError::new(status, anyhow::anyhow!("{refusal}"));
    let allow = reasons.allow.iter().map(|name| format!("to allow it: --allow {name}"));
    let error = error.hint_each(allow.filter(|_| forbidden.is_none())).hint_each(forbidden);
    context.output.answer_error(&error.hint("nothing was sent").refusal(reasons));
    status
}

fn nothing_to_do(work: &PendingRun<'_>) -> ExitStatus {
    let PendingRun { context, plan, view, decision, .. } = work;
    context.output.report_with(plan, decision.format, view);
    context.output.answer_in_files(|out| report::write(plan, Format::Json, view, out));
    work.status(None)
}

/// Asks for approval to resume a run; returns a status if its plan is refused.
///
/// # Errors
/// The answer is no, or stdin is not a terminal and no flag approves the plan.
pub async fn ask_to_resume(work: &PendingRun<'_>, left: usize) -> Result<Option<ExitStatus>> {
    let PendingRun { context, decision, plan, allow, view, .. } = work;
    // The guards cover the whole plan, and consents that the record names come from a file.
    if let Err(refusal) = plan.approve_within(consent(decision), allow, &work.trust) {
        return Ok(Some(refused(work, &refusal)));
    }
    if decision.is_given() {
        return Ok(None);
    }
    let guards = context.output.as_message(view).message(report::consented(plan));
    if !guards.is_empty() {
        context.output.rendered_notice(&guards);
    }
    context.confirm(&format!("resume {} that are left", text::count(left, "change")), "give --yes").await?;
    Ok(None)
}

//! An apply of several stacks: the plans of all, one approval, then one stack or one wave after the other. A stack that fails stops
//! those that have not begun; the same command again goes on, because what is applied is in sync.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Instant;

use futures_util::StreamExt as _;
use tokio::sync::watch;

use crate::cli::args::{ApplyArgs, ApprovalArgs};
use crate::cli::output::prompt;
use crate::cli::run::interrupt;
use crate::cli::run::proposal::Proposal;
use crate::cli::run::{self, RunControl};
use crate::cli::stacks::fleet::{self, FleetNeeds, Member, NoResult};
use crate::cli::stacks::targets::{self, Target};
use crate::cli::stacks::waves::{Wave, Waves};
use crate::cli::{CommandError, Context, ExitStatus, Result, planning};
use crate::model::StringMap;
use crate::plan::{Approval, Digest};
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NotBegun, PartOutcome};
use crate::report::{Report, ReportOptions, TextView, render, safe, text};
use crate::run::{Outcome, Verification};

/// Stacks of a wave that are named before it is approved.
const NAMED: usize = 20;

/// What became of a stack.
enum StackResult {
    /// Nothing was to be done.
    Unchanged,
    /// Its plan was applied.
    Applied(Outcome),
    /// It failed before anything was sent.
    Failed(CommandError),
    /// It did not begin.
    NotBegun(NotBegun),
}

/// Plans every stack, asks once, and applies the plans in order.
///
/// # Errors
/// The digest is of other plans, or nobody approves them: nothing was sent.
pub async fn run(arguments: &ApplyArgs, context: &Context, targets: Vec<Target>) -> Result<ExitStatus> {
    let begun = Instant::now();
    if targets.iter().any(|target| target.environment().is_some()) {
        return Err(error!(Usage, "`--env all` is for commands that change nothing")
            .hint("apply one environment at a time: --env NAME"));
    }
    let members = fleet::open(context, targets, FleetNeeds::Service, None).await?;
    // What names no stack is an error before anything is read.
    waves(arguments, &members, |_| true)?;
    let mut planned = fleet::each(&members, async |member| plan(arguments, member).await).await;
    fleet::refuse_shared(&members, &mut planned);
    fleet::check_filters(&members, &arguments.scope.filter, &planned)?;
    fleet::print_errors(context, &members, &planned);
    let waves = waves(arguments, &members, |at| !matches!(planned[at], Err(NoResult::Skipped(_))))?;
    let digest = Digest::of_all(planned.iter().flatten().map(|stack| &stack.plan));
    approve(arguments, context, (&members, &mut planned), &digest)?;
    let failed = planned.iter().filter(|stack| matches!(stack, Err(NoResult::Failed(_)))).count();
    let changes: usize = planned.iter().flatten().map(|stack| stack.plan.changes.len()).sum();
    let is_refused = failed > 0 && !arguments.keep_going;
    if !is_refused && changes > 0 {
        ask(arguments, context, (&members, &waves), &planned, &digest)?;
    }
    let results = match is_refused {
        true => not_begun(planned.iter()),
        false => apply(context, arguments, (&members, &waves), &planned).await,
    };
    let mut status = ExitStatus::Done;
    let mut parts = Vec::new();
    for ((member, stack), result) in members.iter().zip(&planned).zip(&results) {
        status = status.worse(self::status(stack, result));
        parts.push(part(member, stack, result));
    }
    let was_applied =
        results.iter().any(|result| matches!(result, StackResult::Applied(outcome) if has_effect(outcome)));
    if was_applied {
        context.output.note_change();
        // Something was done, and not everything.
        if !matches!(status, ExitStatus::Done | ExitStatus::Interrupted | ExitStatus::Bug) {
            status = ExitStatus::Partly;
        }
    }
    let mut report = Fleet::new(FleetCommand::Apply, parts);
    report.plans = Some((digest, targets::call_of_plans(context)));
    let view = TextView { elapsed: Some(begun.elapsed()), ..context.output.view() };
    context.output.answer(&render(&Report::Fleet(&report), arguments.decision.format, &ReportOptions::new(&view)));
    if !was_applied && status != ExitStatus::Done {
        let has_begun = results.iter().any(|result| matches!(result, StackResult::Applied(_)));
        context.output.notice(if has_begun { "nothing was changed" } else { "nothing was sent" });
    }
    Ok(status)
}

/// The waves of the call; without any, one stack is applied after the other.
fn waves(arguments: &ApplyArgs, members: &[Member], takes_part: impl Fn(usize) -> bool) -> Result<Vec<Wave>> {
    let Some(waves) = &arguments.waves else { return Ok(Waves::one_by_one(members.len())) };
    let none = StringMap::new();
    let labels: Vec<&StringMap> =
        members.iter().map(|member| member.config.as_ref().map_or(&none, |config| &config.labels)).collect();
    waves.of(&labels, takes_part).map_err(|error| {
        let there: BTreeSet<String> =
            labels.iter().flat_map(|labels| labels.iter().map(|(key, value)| format!("{key}={value}"))).collect();
        let hint = match there.is_empty() {
            true => "no stack has `labels:` in its trueup.yaml".to_owned(),
            false => format!("the stacks have: {}", there.into_iter().collect::<Vec<_>>().join(", ")),
        };
        CommandError::new(ExitStatus::Usage, error).hint(hint).hint("nothing was sent")
    })
}

/// `wave 2 of 3, ring=early: 12 stacks`
fn wave_title(waves: &[Wave], at: usize) -> String {
    let name = waves[at].name.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    format!("wave {} of {}{name}: {}", at + 1, waves.len(), count(waves[at].stacks.len(), "stack"))
}

/// Plans one stack and looks at its gates.
async fn plan(arguments: &ApplyArgs, member: &Member) -> Result<Proposal> {
    let scope = member.scope(&arguments.scope.filter);
    let proposal = Proposal::of(arguments, &member.context, &scope).await?;
    run::check(&member.context, &proposal.plan, &proposal.pending()).await?;
    Ok(proposal)
}

/// Checks guards, reads and the digest of all plans; a plan that is refused becomes an error of its stack.
fn approve(
    arguments: &ApplyArgs,
    context: &Context,
    (members, planned): (&[Member], &mut [Result<Proposal, NoResult>]),
    digest: &Digest,
) -> Result<()> {
    for (member, stack) in members.iter().zip(planned.iter_mut()) {
        let Ok(made) = stack else { continue };
        let refusal = made.plan.approve(Approval::Given, &made.allow).err().map(|refusal| {
            if let Some(unread) = planning::unread(&made.plan) {
                return unread;
            }
            let view = TextView { palette: context.output.message_view().palette, ..made.view.clone() };
            member.context.output.notice(&text::refusal(&refusal, &view));
            CommandError::new(ExitStatus::of_refusal(&refusal), refusal)
        });
        if let Some(refusal) = refusal {
            *stack = Err(NoResult::Failed(refusal));
        }
    }
    let Some(given) = &arguments.decision.digest else { return Ok(()) };
    match digest.is_named(given) {
        Some(true) => Ok(()),
        Some(false) => Err(error!(Refused, "the digest of these plans is not {given}: the files, the services, the stacks or their order are not those of the review")
        .hint(format!("to see the plans: trueup plan {}", targets::call_of_plans(context)))
        .hint("nothing was sent")),
        None => Err(error!(Usage, "`{given}` is not a valid digest: give at least {} hex digits, as the plan shows them", Digest::LEAST)),
    }
}

/// Shows all plans and asks once, unless a flag approves them.
fn ask(
    arguments: &ApplyArgs,
    context: &Context,
    (members, waves): (&[Member], &[Wave]),
    planned: &[Result<Proposal, NoResult>],
    digest: &Digest,
) -> Result<()> {
    if arguments.decision.yes || arguments.decision.digest.is_some() {
        return Ok(());
    }
    let parts = members.iter().zip(planned).map(|(member, stack)| match stack {
        Ok(stack) => member.part(&stack.view.call, PartOutcome::Planned(&stack.plan)),
        Err(no_result) => member.part("", no_result.outcome()),
    });
    let report = Fleet::new(FleetCommand::Plan, parts.collect());
    let view = context.output.message_view();
    context.output.notice(&text::fleet(&report, &view));
    if arguments.waves.is_some() {
        for (at, wave) in waves.iter().enumerate() {
            let names: Vec<String> = wave.stacks.iter().take(NAMED).map(|stack| members[*stack].name()).collect();
            let more = wave.stacks.len().checked_sub(NAMED).filter(|more| *more > 0);
            let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
            context.output.notice(&format!("{} ({}{more})", wave_title(waves, at), safe::line(&names.join(", "))));
        }
    }
    let (mut stacks, mut changes) = (0, 0);
    for plan in planned.iter().flatten().map(|stack| &stack.plan).filter(|plan| !plan.changes.is_empty()) {
        stacks += 1;
        changes += plan.changes.len();
    }
    let what = format!("apply {} of {}", count(changes, "change"), count(stacks, "stack"));
    prompt::confirm(context, &what, &format!("give --yes, or --digest {digest} for exactly these plans"))
}

/// Applies the plans in order, one after the other or in waves, until one fails.
async fn apply(
    context: &Context,
    arguments: &ApplyArgs,
    (members, waves): (&[Member], &[Wave]),
    planned: &[Result<Proposal, NoResult>],
) -> Vec<StackResult> {
    let left = "the same command again goes on; `trueup history` lists the runs";
    let stop = interrupt::watch(context.output.clone(), left.to_owned());
    let has_failed = Cell::new(false);
    let mut results: Vec<(usize, StackResult)> = Vec::with_capacity(members.len());
    for (number, wave) in waves.iter().enumerate() {
        if arguments.waves.is_some() && !has_failed.get() && !*stop.borrow() {
            context.output.message(&wave_title(waves, number));
        }
        let works = wave.stacks.iter().map(async |at| {
            let result = match &planned[*at] {
                Ok(stack) if stack.plan.changes.is_empty() => StackResult::Unchanged,
                Ok(_) if *stop.borrow() => StackResult::NotBegun(NotBegun::Interrupted),
                Ok(_) if has_failed.get() => StackResult::NotBegun(NotBegun::AnotherFailed),
                Ok(stack) => {
                    let result = apply_one(&arguments.decision, &members[*at], stack, &stop).await;
                    has_failed.set(has_failed.get() || (is_failure(&result) && !arguments.keep_going));
                    result
                }
                Err(_) => StackResult::NotBegun(NotBegun::AnotherFailed),
            };
            (*at, result)
        });
        results.extend(futures_util::stream::iter(works).buffered(fleet::AT_ONCE).collect::<Vec<_>>().await);
    }
    // What is skipped is in no wave.
    let done: BTreeSet<usize> = results.iter().map(|(at, _)| *at).collect();
    results.extend(
        (0..planned.len())
            .filter(|at| !done.contains(at))
            .map(|at| (at, StackResult::NotBegun(NotBegun::AnotherFailed))),
    );
    // A report has the stacks in the order of the call.
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

async fn apply_one(
    decision: &ApprovalArgs,
    member: &Member,
    stack: &Proposal,
    stop: &watch::Receiver<bool>,
) -> StackResult {
    // The guards were checked for all before anybody was asked.
    let approved = match stack.plan.approve(Approval::Given, &stack.allow) {
        Ok(approved) => approved,
        Err(refusal) => return StackResult::Failed(CommandError::new(ExitStatus::of_refusal(&refusal), refusal)),
    };
    let control = RunControl { decision, stop: Some(stop.clone()) };
    match run::carry_out(&member.context, control, approved, &stack.pending()).await {
        Ok(outcome) => {
            let done = outcome.steps.iter().filter(|step| step.result.is_done()).count();
            member.context.output.message(&format!("applied {done} of {}", stack.plan.changes.len()));
            StackResult::Applied(outcome)
        }
        Err(error) => {
            member.context.output.error(&error);
            StackResult::Failed(error)
        }
    }
}

/// Whether the stacks that have not begun should not begin: what a plan blocked was known before.
fn is_failure(result: &StackResult) -> bool {
    match result {
        StackResult::Unchanged => false,
        StackResult::Failed(_) | StackResult::NotBegun(_) => true,
        StackResult::Applied(outcome) => {
            let is_verified = matches!(outcome.verification, Verification::Verified { .. } | Verification::NotNeeded);
            outcome.interrupted || !is_verified || !outcome.steps.iter().all(|step| step.result.is_done())
        }
    }
}

fn has_effect(outcome: &Outcome) -> bool {
    outcome.steps.iter().any(|step| step.result.is_done() || step.result.may_have_taken_effect())
}

fn part<'a>(member: &Member, stack: &'a Result<Proposal, NoResult>, result: &'a StackResult) -> FleetPart<'a> {
    let stack = match stack {
        Ok(stack) => stack,
        Err(no_result) => return member.part("", no_result.outcome()),
    };
    let outcome = match result {
        StackResult::Unchanged => PartOutcome::Planned(&stack.plan),
        StackResult::Applied(outcome) => PartOutcome::Applied(outcome, &stack.plan),
        StackResult::Failed(error) => PartOutcome::Failed(error.to_string()),
        StackResult::NotBegun(why) => PartOutcome::NotBegun(*why),
    };
    FleetPart { flags: stack.view.flags.clone(), ..member.part(&stack.view.call, outcome) }
}

fn status(stack: &Result<Proposal, NoResult>, result: &StackResult) -> ExitStatus {
    match (stack, result) {
        (Err(NoResult::Failed(error)), _) => error.ending(),
        (Err(NoResult::Skipped(_) | NoResult::Elsewhere), _) => ExitStatus::Done,
        (Ok(stack), StackResult::Unchanged) if stack.plan.blocked.is_empty() => ExitStatus::Done,
        (Ok(_), StackResult::NotBegun(NotBegun::Interrupted)) => ExitStatus::Interrupted,
        (Ok(_), StackResult::Unchanged | StackResult::NotBegun(_)) => ExitStatus::Refused,
        (Ok(stack), StackResult::Applied(outcome)) => ExitStatus::of_outcome(outcome, &stack.plan),
        (Ok(_), StackResult::Failed(error)) => error.ending(),
    }
}

fn not_begun<'p>(planned: impl Iterator<Item = &'p Result<Proposal, NoResult>>) -> Vec<StackResult> {
    let unchanged = |stack: &Result<Proposal, NoResult>| matches!(stack, Ok(stack) if stack.plan.changes.is_empty());
    planned
        .map(
            |stack| {
                if unchanged(stack) { StackResult::Unchanged } else { StackResult::NotBegun(NotBegun::AnotherFailed) }
            },
        )
        .collect()
}

fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

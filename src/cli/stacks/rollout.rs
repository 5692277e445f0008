//! An apply of several stacks: the plans of all, one approval, then one stack or one wave after the other. A failed
//! stack stops those that have not begun; the same command again continues, because applied stacks are in sync.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, stream};
use tokio::sync::{Mutex, watch};

use crate::cli::args::ApplyArgs;
use crate::cli::run::{self, PendingRun, approval, interrupt};
use crate::cli::stacks::fleet::{self, FleetNeeds, Member, StackResult};
use crate::cli::stacks::targets::{self, Target};
use crate::cli::stacks::waves::{Wave, Waves};
use crate::cli::{CommandError, Context, ExitStatus, Result, plan_errors};
use crate::model::StringMap;
use crate::plan::{Approval, Digest, Plan};
use crate::report::fleet::{FleetCommand, NoResult, StackReport};
use crate::report::{Applied, Report as _, TextView, text};
use crate::run::Outcome;

/// The maximum number of stacks of a wave that are named before it is approved.
const NAMED: usize = 20;

/// The result of planning each stack.
type Planned<'a> = [StackResult<PendingRun<'a>>];
/// The result of applying each stack; `None` for one without changes.
type Outcomes = Vec<StackResult<Option<Outcome>>>;

/// Plans every stack, asks once, and applies the plans in order.
///
/// # Errors
/// The digest is of other plans, or they are not approved: nothing was sent.
pub async fn run(arguments: &ApplyArgs, context: &Context, targets: Vec<Target>) -> Result<ExitStatus> {
    if targets.iter().any(|target| target.environment.is_some()) {
        return Err(error!(Usage, "`--env all` is for commands that change nothing")
            .hint("apply one environment at a time: --env NAME"));
    }
    context.output.leave_files();
    if let Some(file) = arguments.decision.write.iter().find(|written| written.path.is_file()) {
        let path = file.path.display();
        return Err(error!(Usage, "`{path}` is a file, and the documents of several stacks are in a directory")
            .hint("name a directory with --write"));
    }
    let members = fleet::open(context, targets, FleetNeeds::Service).await?;
    // A wave that selects no stack is an error before anything is read.
    waves(arguments, &members, |_| true)?;
    let work = async |member| plan(arguments, member).await;
    let mut planned = fleet::all(&members, &arguments.scope.filter, work).await?;
    fleet::print_errors(context, &members, &planned);
    let waves = waves(arguments, &members, |at| !matches!(planned[at], Err(NoResult::Skipped(_))))?;
    let (digest, unallowed) = Digest::of_all(planned.iter().flatten().map(|stack| &stack.plan));
    approve(arguments, context, &mut planned, [&digest, &unallowed])?;
    let failed = planned.iter().filter(|stack| matches!(stack, Err(NoResult::Failed(_)))).count();
    let changes: usize = planned.iter().flatten().map(|stack| stack.plan.changes.len()).sum();
    let is_refused = failed > 0 && !arguments.keep_going;
    if !is_refused && changes > 0 {
        ask(arguments, context, (&members, &waves), &planned, &digest).await?;
    }
    let results = match is_refused {
        true => not_begun(&planned),
        false => apply(context, arguments, &waves, &planned).await,
    };
    // The same command would not get past a wave that proves nothing.
    let is_stuck = arguments.waves.is_some()
        && failed > 0
        && (arguments.keep_going || waves.first().is_some_and(|wave| is_unplanned(wave, &planned)));
    let was_applied = results.iter().flatten().flatten().any(Outcome::has_effect);
    let has_begun = results.iter().flatten().flatten().next().is_some();
    let done: Vec<_> = planned.into_iter().zip(results).map(|(stack, outcome)| Ok((stack?, outcome?))).collect();
    let (mut report, mut status) = fleet::report(FleetCommand::Apply, &members, &done, |(stack, outcome)| {
        let (plan, earlier) = (&stack.plan, BTreeSet::new());
        let report = match outcome {
            None => StackReport::Planned(plan),
            Some(outcome) => StackReport::Applied(Applied { outcome, plan, earlier }),
        };
        (report, Some(&stack.view), stack.status(outcome.as_ref()))
    });
    if was_applied {
        let list = format!("trueup history{}", context.call.flags("state"));
        context.output.note_change(format!("{}; to see the runs: {list}", run::made(status)));
        // Something was done, but not everything.
        if !matches!(status, ExitStatus::Done | ExitStatus::Interrupted | ExitStatus::Bug) {
            status = ExitStatus::Partly;
        }
    }
    // Without `--keep-going`, a stack that cannot be planned stops all others.
    let keep_going = if is_refused { " --keep-going" } else { "" };
    let call = targets::call_of_plans(context) + &context.call.flags("waves keep_going") + keep_going;
    report.plans = Some((digest, call)).filter(|_| !is_stuck);
    context.output.report_with(&report, arguments.decision.format, &context.timed_view());
    if !was_applied && status != ExitStatus::Done {
        context.output.notice(if has_begun { "nothing was changed" } else { "nothing was sent" });
    }
    Ok(status)
}

/// Whether a wave proves nothing for the next ones: one of its stacks cannot be planned, and none has changes.
fn is_unplanned(wave: &Wave, planned: &Planned<'_>) -> bool {
    let is_failed = |at: &usize| matches!(planned[*at], Err(NoResult::Failed(_)));
    let has_changes = |at: &usize| planned[*at].as_ref().is_ok_and(|stack| !stack.plan.changes.is_empty());
    wave.stacks.iter().any(is_failed) && !wave.stacks.iter().any(has_changes)
}

/// The waves of the call; without any, one stack is applied after the other.
fn waves(arguments: &ApplyArgs, members: &[Member], takes_part: impl Fn(usize) -> bool) -> Result<Vec<Wave>> {
    let Some(waves) = &arguments.waves else { return Ok(Waves::one_by_one(members.len())) };
    let none = StringMap::new();
    let labels: Vec<&StringMap> =
        members.iter().map(|member| member.config().map_or(&none, |config| &config.labels)).collect();
    waves.of(&labels, takes_part).map_err(|error| {
        let there: BTreeSet<String> =
            labels.iter().flat_map(|labels| labels.iter().map(|(key, value)| format!("{key}={value}"))).collect();
        let hint = match there.is_empty() {
            true => "no stack has `labels:` in its trueup.yaml".to_owned(),
            false => format!("the stacks have: {}", there.into_iter().collect::<Vec<_>>().join(", ")),
        };
        error!(Usage, "{error}").hint(hint).hint("nothing was sent")
    })
}

/// `wave 2 of 3, ring=early: 12 stacks`
fn wave_title(waves: &[Wave], at: usize) -> String {
    let name = waves[at].name.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    format!("wave {} of {}{name}: {}", at + 1, waves.len(), text::count(waves[at].stacks.len(), "stack"))
}

/// Plans one stack and checks its gates.
async fn plan<'a>(arguments: &'a ApplyArgs, member: &'a Member) -> Result<PendingRun<'a>> {
    let scope = member.scope(&arguments.scope.filter);
    let pending = PendingRun::of_definitions(arguments, &member.context, &scope).await?;
    pending.check().await?;
    Ok(pending)
}

/// Checks guards, reads and the digest of all plans; a plan that is refused becomes an error of its stack.
fn approve(arguments: &ApplyArgs, context: &Context, planned: &mut Planned<'_>, digests: [&Digest; 2]) -> Result<()> {
    for stack in planned {
        let Ok(made) = stack else { continue };
        let Err(refusal) = made.plan.approve(Approval::Given, &made.allow) else { continue };
        let error = plan_errors::unread(&made.plan).unwrap_or_else(|| {
            approval::show_refusal(made, &refusal);
            CommandError::new(ExitStatus::of_refusal(&refusal), refusal)
        });
        *stack = Err(NoResult::Failed(error));
    }
    let Some(given) = &arguments.decision.digest else { return Ok(()) };
    // The digest may be that of plans before anything was allowed: the apply itself says what it allows.
    match digests.map(|digest| digest.is_named(given)) {
        [Some(true), _] | [_, Some(true)] => Ok(()),
        [Some(false), _] => Err(error!(Refused, "the digest of these plans is not {given}: the files, the live objects, the services, the stacks, their order or what was allowed have changed since the review")
        .hint(format!("to see the plans: trueup plan {}", targets::call_of_plans(context)))
        .hint("nothing was sent")),
        [None, _] => Err(error!(Usage, "`{given}` is not a valid digest: give at least {} hex digits, as the plan shows them", Digest::LEAST)),
    }
}

/// Shows all plans and asks once, unless a flag approves them.
async fn ask(
    arguments: &ApplyArgs,
    context: &Context,
    (members, waves): (&[Member], &[Wave]),
    planned: &Planned<'_>,
    digest: &Digest,
) -> Result<()> {
    let shown = || {
        let (report, _) = fleet::report(FleetCommand::Plan, members, planned, |stack| {
            (StackReport::Planned(&stack.plan), Some(&stack.view), ExitStatus::Done)
        });
        report.text(&TextView { is_applied: true, ..context.output.messages.clone() })
    };
    if !approval::show(context, &arguments.decision, shown) {
        return Ok(());
    }
    if arguments.waves.is_some() {
        for (at, wave) in waves.iter().enumerate() {
            let names: Vec<String> = wave.stacks.iter().take(NAMED).map(|stack| members[*stack].name()).collect();
            let more = wave.stacks.len().checked_sub(NAMED).filter(|more| *more > 0);
            let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
            context.output.notice(&format!("{} ({}{more})", wave_title(waves, at), names.join(", ")));
        }
    }
    let (mut stacks, mut changes) = (0, 0);
    for plan in planned.iter().flatten().map(|stack| &stack.plan).filter(|plan| !plan.changes.is_empty()) {
        stacks += 1;
        changes += plan.changes.len();
    }
    let what = format!("apply {} of {}", text::count(changes, "change"), text::count(stacks, "stack"));
    context.confirm(&what, &format!("give --yes, or --digest {digest} for exactly these plans")).await
}

/// Applies the plans in order, one after the other or in waves, until one fails.
async fn apply(context: &Context, arguments: &ApplyArgs, waves: &[Wave], planned: &Planned<'_>) -> Outcomes {
    let list = format!("trueup history{}", context.call.flags("state"));
    let left = format!("the same command again goes on; `{list}` lists the runs");
    let stop = interrupt::watch(context.output.clone(), left).await;
    let (has_failed, has_ended) = (Cell::new(false), Cell::new(false));
    // Directories of one stack share its lock, so their runs wait for each other.
    let plans = planned.iter().flatten().map(|stack| &stack.plan);
    let locks: BTreeMap<_, Mutex<()>> = plans.map(|plan| (locked(plan), Mutex::default())).collect();
    let mut results = not_begun(planned);
    for (number, wave) in waves.iter().enumerate() {
        // `--keep-going` continues only within a wave: the next one relies on the success of this one.
        let is_stopped = arguments.waves.is_some() && has_failed.get();
        if arguments.waves.is_some() && !is_stopped && !*stop.borrow() {
            context.output.message(&wave_title(waves, number));
        }
        has_failed.set(has_failed.get() || is_unplanned(wave, planned));
        let planned = wave.stacks.iter().filter_map(|at| Some((*at, planned[*at].as_ref().ok()?)));
        let works = planned.filter(|(_, stack)| !stack.plan.changes.is_empty()).map(async |(at, stack)| {
            let _held = locks[&locked(&stack.plan)].lock().await;
            if *stop.borrow() {
                return (at, Err(NoResult::Interrupted));
            }
            if is_stopped || has_failed.get() && !arguments.keep_going {
                return (at, Err(NoResult::AnotherFailed));
            }
            let is_later = has_ended.get() || !arguments.decision.is_given();
            let result = apply_one(stack, is_later, &stop).await;
            has_ended.set(true);
            // Changes that the plan blocked were known before, so they are not a failure.
            let is_whole =
                |outcome: &Outcome| !outcome.interrupted && outcome.is_done() && outcome.verification.is_proven();
            has_failed.set(has_failed.get() || !result.as_ref().is_ok_and(is_whole));
            (at, result.map(Some))
        });
        for (at, result) in stream::iter(works).buffer_unordered(fleet::AT_ONCE).collect::<Vec<_>>().await {
            results[at] = result;
        }
    }
    results
}

/// What the lock of a run is for.
fn locked(plan: &Plan) -> (&str, Option<&str>) {
    (&plan.service.base_url, plan.stack.as_deref())
}

async fn apply_one(stack: &PendingRun<'_>, is_later: bool, stop: &watch::Receiver<bool>) -> StackResult<Outcome> {
    // The guards of all plans were checked before the prompt.
    let approved = match stack.plan.approve(Approval::Given, &stack.allow) {
        Ok(approved) => approved,
        Err(refusal) => return Err(NoResult::Failed(CommandError::new(ExitStatus::of_refusal(&refusal), refusal))),
    };
    match stack.carry_out(approved, is_later, Some(stop.clone())).await {
        Ok(outcome) => {
            let done = outcome.steps.iter().filter(|step| step.result.is_done()).count();
            stack.context.output.message(&format!("applied {done} of {}", stack.plan.changes.len()));
            Ok(outcome)
        }
        Err(error) if error.status == ExitStatus::Interrupted => Err(NoResult::Interrupted),
        Err(error) => {
            stack.context.output.error(&error);
            Err(NoResult::Failed(error))
        }
    }
}

/// The results before any run has begun: a stack without changes needs none.
fn not_begun(planned: &Planned<'_>) -> Outcomes {
    let of = |stack: &StackResult<PendingRun<'_>>| match stack {
        Ok(stack) if stack.plan.changes.is_empty() => Ok(None),
        Ok(_) | Err(_) => Err(NoResult::AnotherFailed),
    };
    planned.iter().map(of).collect()
}

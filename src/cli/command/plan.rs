//! `plan`: shows what an apply would change, and saves that plan for a review.

use crate::cli::command::prelude::*;
use crate::cli::stacks::fleet::{self, FleetNeeds, Member, StackResult};
use crate::cli::stacks::targets::{Target, Targets};
use crate::plan::Digest;
use crate::report::facts::plan::prune_flags;
use crate::report::fleet::{FleetCommand, StackReport};
use crate::report::left_out;

/// Shows what would change.
///
/// A plan names every change with its fields and their places in the files. `-o` saves it to a file
/// that `apply` runs exactly.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup plan endpoints\n  trueup plan endpoints -o plan.json --detailed-exitcode\n  trueup plan endpoints --only 'shop/*' --format json\n  trueup plan endpoints --live live.json\n  trueup plan --recursive stacks\n  trueup plan endpoints --env all"
)]
pub struct PlanArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    #[command(flatten)]
    pub change: ChangeArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Save the plan to a file for `trueup apply FILE`; of several stacks, each to a file in this directory
    #[arg(long, short, value_name = "FILE", value_parser = output_file(Format::OF_PLAN))]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_PLAN))]
    pub format: Format,
    /// The most bytes of a Markdown report; deletes, guards and what is blocked are never left out
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = crate::report::markdown::BUDGET)]
    pub budget: usize,
    /// Show the waves of an apply: what waits for what, by the references between objects
    #[arg(long)]
    pub order: bool,
    /// Exit with 2 when changes are pending, with 6 when an apply would be refused; gates are not checked
    #[arg(long)]
    pub detailed_exitcode: bool,
}

impl Execute for PlanArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        if self.order && !matches!(self.format, Format::Text | Format::Json) {
            return Err(error!(Usage, "`--order` is for a plan as text, and the JSON of one always has its waves"));
        }
        let targets = targets::of(context, &self.scope.paths, self.stacks)?;
        if let Targets::Several(targets) = targets {
            return several(self, context, targets).await;
        }
        let options = SessionOptions { live: self.live.live.as_deref(), change: Some(&self.change), shard: None };
        let (session, plan) = Session::planned(context, &self.scope, options).await?;
        if let Some(path) = &self.output {
            file::write_private(path, |out| plan.write(out))?;
        }
        if self.format == Format::Text
            && let Some(error) = plan_errors::unread(&plan)
        {
            return Err(error);
        }
        answer(self, context, &plan, TextView { waves: self.order, ..session.view() });
        let status = status(&plan, self.detailed_exitcode);
        // The program ends here; freeing ten thousand endpoints first would take a twentieth of its time.
        std::mem::forget((session.stack.loaded, plan));
        Ok(status)
    }
}

fn answer(arguments: &PlanArgs, context: &Context, report: &dyn Report, view: TextView) {
    let view = TextView {
        saved: arguments.output.clone(),
        budget: Some(arguments.budget),
        now: Some(context.environment.now()),
        ..whole(context, view)
    };
    context.output.report_with(report, arguments.format, &view);
    if let Some(words) = left_out(report, arguments.format) {
        context.output.message(&words);
    }
}

/// The view with the command that shows all of the report.
fn whole(context: &Context, view: TextView) -> TextView {
    let flags = context.call.flags("base only_this_change allow live");
    TextView { command: format!("trueup plan {}{flags}", view.call), ..view }
}

/// Plans every stack, even if others fail.
async fn several(arguments: &PlanArgs, context: &Context, targets: Vec<Target>) -> Result<ExitStatus> {
    let output = directory(arguments.output.as_deref())?;
    let is_one_environment = targets.iter().all(|target| target.environment.is_none());
    let live = fleet::snapshots(arguments.live.live.as_deref())?;
    let members = fleet::open(context, targets, FleetNeeds::of(live)).await?;
    if live.is_some() || output.is_some() {
        fleet::have_own_files(&members)?;
    }
    let done = fleet::all(&members, &arguments.scope.filter, async |member| {
        let (scope, live) = (member.scope(&arguments.scope.filter), member.snapshot_in(live)?);
        let options = SessionOptions { live: live.as_deref(), change: Some(&arguments.change), shard: None };
        let (session, plan) = Session::planned(&member.context, &scope, options).await?;
        Ok((whole(&member.context, session.view()), plan))
    })
    .await?;
    if let Some(output) = output {
        members.iter().zip(&done).try_for_each(|(member, made)| save(member, output, made))?;
    }
    fleet::print_errors(context, &members, &done);
    let (mut report, status) = fleet::report(FleetCommand::Plan, &members, &done, |(view, plan)| {
        (StackReport::Planned(plan), Some(view), self::status(plan, arguments.detailed_exitcode))
    });
    let call = targets::call(context) + &context.call.flags("adopt prune_namespace");
    if report.failed() == 0 && is_one_environment && live.is_none() {
        let (digest, _) = Digest::of_all(report.plans());
        report.plans = Some((digest, targets::call_of_plans(context)));
    }
    answer(arguments, context, &report, TextView { call, waves: arguments.order, ..context.timed_view() });
    Ok(status)
}

/// Saves the plan of one of several stacks. If there is none, removes that of an earlier call, so that it is not
/// applied.
fn save(member: &Member, directory: &Path, made: &StackResult<(TextView, Plan)>) -> Result<()> {
    let path = member.plan_in(directory);
    let Ok((view, plan)) = made else { return file::remove(&path) };
    file::write_private(&path, |out| plan.write(out))?;
    let flags = view.flags.clone() + &prune_flags(&plan.settings.prune_namespaces);
    let apply = format!("trueup apply {}{flags} --digest {}", safe::shell(&path.display().to_string()), plan.digest());
    let is_dead = !plan.can_be_allowed() || (plan.changes.is_empty() && !plan.blocked.is_empty());
    let apply = match plan.refused().is_empty() {
        _ if is_dead => String::new(),
        true => format!("; to apply it: {apply}"),
        false => format!("; to apply it, once it is allowed: {apply}"),
    };
    member.context.output.message(&format!("saved{apply}"));
    Ok(())
}

/// The directory in which the plans of several stacks are saved: each is a file of its own, because an apply uses the
/// settings of its stack.
fn directory(output: Option<&Path>) -> Result<Option<&Path>> {
    let is_file = |path: &&Path| !path.is_dir() && (path.exists() || path.extension().is_some_and(|end| end == "json"));
    let Some(path) = output.filter(is_file) else { return Ok(output) };
    Err(error!(Usage, "`--output {}` is not a directory, and the call names several stacks", path.display())
        .hint("name a directory: each plan is saved in a file of its own, which `trueup apply FILE` applies")
        .hint("to apply all of them by one digest: give `apply` the same paths, and the --digest that `plan` prints"))
}

fn status(plan: &Plan, detailed: bool) -> ExitStatus {
    if plan.unknown().next().is_some() {
        ExitStatus::Unknown
    } else if detailed && plan.is_refused() {
        ExitStatus::Refused
    } else if detailed && plan.is_pending() {
        ExitStatus::Pending
    } else {
        ExitStatus::Done
    }
}

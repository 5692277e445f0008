//! `plan`: shows what an apply would change, and saves that plan for a review.

use crate::cli::args::PlanArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::session::{Session, SessionOptions};
use crate::cli::{file, planning};
use crate::plan::Plan;
use crate::report::{AttributionDetail, Report, ReportOptions, render, safe};

/// Shows what would change.
pub async fn run(arguments: &PlanArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let (live, base) = (arguments.live.live.as_deref(), arguments.base.base.as_deref());
    let options = SessionOptions { live, base, shard: None };
    let session = Session::open(context, &arguments.scope, options).await?;
    let mut plan = session.plan(&arguments.permission).await?;
    session.locate(&mut plan);
    session.attribute(&mut plan)?;
    planning::consent(context, &mut plan, &arguments.permission.allow)?;
    if let Some(path) = &arguments.output {
        session.stamp(&mut plan);
        file::write_private(path, &plan.to_file())?;
    }
    let detail = if arguments.all { AttributionDetail::All } else { AttributionDetail::ThisChange };
    let view = session.view(detail);
    let base = base.map(|base| format!(" --base {} --all", safe::shell(base))).unwrap_or_default();
    let options = ReportOptions {
        saved: arguments.output.as_deref(),
        budget: arguments.budget,
        command: format!("trueup plan {}{base}", view.directory),
        view: &view,
    };
    context.output.answer(&render(&Report::Plan(&plan), arguments.format, &options));
    let status = status(&plan, arguments.detailed_exitcode);
    // The program ends here: to free ten thousand endpoints first is a twentieth of its time.
    std::mem::forget((session.stack.loaded, plan));
    Ok(status)
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

//! `plan`: shows what an apply would change, and saves that plan for a review.

use std::path::{Path, PathBuf};

use crate::cli::args::PlanArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::session::{Session, SessionOptions};
use crate::cli::watch::WatchedFiles;
use crate::cli::{configuration, file, planning};
use crate::plan::Plan;
use crate::report::{AttributionDetail, Report, ReportOptions, render, safe};

/// Shows what would change.
pub async fn run(arguments: &PlanArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    if arguments.watch {
        return watch(arguments, context).await;
    }
    let (session, plan) = show(arguments, context).await?;
    let status = status(&plan, arguments.detailed_exitcode);
    // The program ends here: to free ten thousand endpoints first is a twentieth of its time.
    std::mem::forget((session.stack.loaded, plan));
    Ok(status)
}

/// Shows the plan again and again, whenever a file has changed. What is wrong meanwhile is shown, too.
async fn watch(arguments: &PlanArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    /// Clears the screen, and goes to its top.
    const CLEAR: &str = "\u{1b}[2J\u{1b}[H";
    if !context.environment.stdout_is_terminal {
        return Err(CommandError::words(ExitStatus::Usage, "`--watch` needs a terminal")
            .hint("leave it out, or run `drift` on a schedule"));
    }
    let path = arguments.scope.paths.first().map_or(Path::new("."), PathBuf::as_path);
    let root = configuration::root(context, path)?;
    let mut files = WatchedFiles::new(&root, arguments.live.live.as_deref());
    loop {
        context.output.answer(CLEAR);
        if let Err(error) = show(arguments, context).await {
            context.output.error(&error);
        }
        // An embedded service keeps its file for itself.
        context.close().await;
        context.output.answer(&format!("\nWatching {}. Ctrl-C ends.\n", safe::line(&root.display().to_string())));
        tokio::select! {
            () = files.changed() => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitStatus::Done),
        }
    }
}

/// Plans once, and shows or saves it.
async fn show<'c>(arguments: &'c PlanArgs, context: &'c Context) -> Result<(Session<'c>, Plan), CommandError> {
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
    let view = session.view(detail, &arguments.permission);
    let base = base.map(|base| format!(" --base {} --all", safe::shell(base))).unwrap_or_default();
    let options = ReportOptions {
        saved: arguments.output.as_deref(),
        budget: arguments.budget,
        command: format!("trueup plan {}{base}", view.call),
        now: Some(context.environment.now()),
        view: &view,
    };
    context.output.answer(&render(&Report::Plan(&plan), arguments.format, &options));
    Ok((session, plan))
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

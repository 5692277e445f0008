use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cli::approval;
use crate::cli::args::ApplyArgs;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::live_source::{self, LiveSource};
use crate::cli::run::{self, PendingRun, RunLimits, RunOrigin};
use crate::cli::stack::{self, Stack};
use crate::cli::{Context, applied_commits, base, base_settings, file, hint, planning, settings};
use crate::file::limit;
use crate::journal;
use crate::plan::Plan;
use crate::report::text::{self, TextView};
use crate::report::{AttributionDetail, safe};
use crate::run::{RunStatus, RunSummary};

/// Makes the changes of a directory or of a saved plan.
pub async fn run(arguments: &ApplyArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    if let Some(name) = &arguments.resume {
        return resume(name, arguments, context).await;
    }
    match saved(arguments)? {
        Some((path, plan)) => apply_file(arguments, context, &path, plan).await,
        None => apply_directory(arguments, context).await,
    }
}

async fn apply_directory(arguments: &ApplyArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    let (mut stack, connection, lists) = live_source::connect(context, &arguments.scope, None).await?;
    base_settings::settle(context, &mut stack, arguments.base.base.as_deref())?;
    let live_source = LiveSource::with(&connection, lists);
    let mut plan = planning::plan(context, &stack, &live_source, &arguments.permission).await?;
    let decision = &arguments.decision;
    let is_asked_for = !decision.yes && decision.digest.is_none();
    if is_asked_for || plan.changes.is_empty() {
        planning::locate(context, &mut plan, &stack.loaded);
    }
    base::attribute(context, &stack, &mut plan, arguments.base.base.as_deref())?;
    applied_commits::stamp(&stack, &mut plan);
    let flags = hint::elsewhere(context, &stack.loaded);
    let Stack { call, repository, .. } = stack;
    // An apply can take long, and nothing asks git any more.
    drop(repository);
    let view = TextView {
        detail: AttributionDetail::All,
        elapsed: Some(begun.elapsed()),
        directory: call,
        flags,
        ..context.output.view()
    };
    let ended = async {
        let allow = planning::consent(context, &mut plan, &arguments.permission.allow)?;
        let (origin, trust) = (RunOrigin::Definitions, RunLimits::whole(&plan));
        let work = PendingRun { connection: &connection, allow: &allow, view: &view, origin, trust };
        run::approve_and_apply(&arguments.decision, context, plan, work).await
    };
    let ended = ended.await;
    connection.close().await;
    ended
}

async fn apply_file(
    arguments: &ApplyArgs,
    context: &Context,
    path: &Path,
    plan: Plan,
) -> Result<ExitStatus, CommandError> {
    let config = stack::configuration_of(context, &plan)?;
    let connection = stack::connect(context, &config).await?;
    let flags = hint::settings(&context.global);
    let view = TextView {
        detail: AttributionDetail::All,
        directory: path.display().to_string(),
        flags,
        ..context.output.view()
    };
    let ended = async {
        connection.is_for(&plan)?;
        let allow = settings::allow(&arguments.permission.allow)?;
        let origin = plan.undone().map_or(RunOrigin::Definitions, RunOrigin::Undone);
        let trust = RunLimits::of_file(&arguments.decision, context, (&connection, &config), &plan).await?;
        let work = PendingRun { connection: &connection, allow: &allow, view: &view, origin, trust };
        run::approve_and_apply(&arguments.decision, context, plan, work).await
    };
    let ended = ended.await;
    connection.close().await;
    ended
}

/// Goes on with a run that was killed or interrupted, or that did not make everything.
async fn resume(name: &str, arguments: &ApplyArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let state = settings::state_directory(&context.global, &context.environment)?;
    let whose = planning::run_owner(context)?;
    let record =
        journal::find_newest(&state, name, &whose).map_err(|error| CommandError::new(ExitStatus::Invalid, error))?;
    let plan = &record.header.plan;
    let left = record.left();
    // A run that ended between its last change and its end lacks the second look.
    if left == 0 && record.ending() == RunStatus::Finished {
        context.output.message(&format!("run {} is finished: nothing to resume", record.run()));
        return Ok(ExitStatus::Done);
    }
    context.output.message(&text::resuming(&RunSummary::of(&record)));
    let config = stack::configuration_of(context, plan)?;
    let connection = stack::connect(context, &config).await?;
    let ended = async {
        connection.is_for(plan)?;
        plan.check().map_err(|reason| {
            let message = format!("the plan of run {} contradicts itself, so it was altered: {reason}", record.run());
            CommandError::words(ExitStatus::Refused, message).hint("nothing was sent")
        })?;
        let directory = safe::shell(&plan.source.directory);
        let view = TextView { directory, flags: hint::settings(&context.global), ..context.output.view() };
        let origin = RunOrigin::Resumed(record.run().clone());
        let allow = settings::allow(&arguments.permission.allow)?;
        let trust = match left {
            // Nothing is sent any more.
            0 => RunLimits::of_record(&config, plan),
            _ => RunLimits::of_file(&arguments.decision, context, (&connection, &config), plan).await?,
        };
        let work = PendingRun { connection: &connection, allow: &allow, view: &view, origin, trust };
        if left > 0
            && let Some(declined) = approval::ask_to_resume(&arguments.decision, context, work.question(plan), left)?
        {
            return Ok(declined);
        }
        run::resume(&arguments.decision, context, &record, work).await
    };
    let ended = ended.await;
    connection.close().await;
    ended
}

/// The saved plan that the call names: a file is a plan when it says so.
fn saved(arguments: &ApplyArgs) -> Result<Option<(PathBuf, Plan)>, CommandError> {
    let [path] = arguments.scope.paths.as_slice() else { return Ok(None) };
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = file::read(path, limit::SAVED)?;
    if !Plan::is_file(&bytes) {
        return Ok(None);
    }
    let plan = Plan::from_file(&bytes).map_err(|error| {
        let failure = anyhow::Error::from(error).context(format!("`{}` is not applied", path.display()));
        CommandError::new(ExitStatus::Refused, failure).hint("nothing was sent")
    })?;
    Ok(Some((path.clone(), plan)))
}

use std::cell::Cell;
use std::time::Instant;

use crate::api::snapshot::{self, ReferrerReads};
use crate::api::{Reader, Timing};
use crate::apply::{self, ApplyOptions, Clock, PollPolicy};
use crate::cli::args::{RehearseArgs, RehearseFormat};
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::live_source::{LiveSource, Session};
use crate::cli::planning::PlanRequest;
use crate::cli::progress::RunProgress;
use crate::cli::rehearsal::{self, NoRecorder};
use crate::cli::service::{self, Connection};
use crate::cli::stack::{self, Stack};
use crate::cli::{Context, base, base_settings, dropped_namespaces, interrupt, planning, settings};
use crate::drift::DriftState;
use crate::model::Snapshot;
use crate::plan::{Approval, GuardName, Ignore, Plan};
use crate::report::text::TextView;
use crate::report::{AttributionDetail, json, text};
use crate::run::{InjectedFaults, Outcome, Rehearsal};
use crate::sandbox::Scenario;

/// Applies the plan of a directory to a copy of live, with faults, and plans again.
pub async fn run(arguments: &RehearseArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    let mut stack = stack::open(context, &arguments.scope)?;
    base_settings::settle(context, &mut stack, arguments.base.base.as_deref())?;
    let scenario = arguments.faults.scenario()?;
    let opened = Session::of(context, &stack, arguments.live.live.as_deref()).await?;
    let copied = copy(arguments, context, &stack, &opened).await;
    opened.close().await;
    let (snapshot, mut plan) = copied?;
    base::attribute(context, &stack, &mut plan, arguments.base.base.as_deref())?;
    if let Some((namespace, reason)) = plan.unknown().next() {
        let message = format!("the list of `{namespace}` cannot be trusted: {reason}");
        return Err(CommandError::words(ExitStatus::Unknown, message).hint("nothing was rehearsed"));
    }
    let connection = service::rehearse(context, plan.service.layout, &stack.loaded.config, scenario).await?;
    let rehearsed = rehearse(arguments, context, &stack, &connection, &snapshot, plan).await;
    connection.close().await;
    let rehearsal = rehearsed?;
    let view = TextView {
        detail: AttributionDetail::All,
        elapsed: Some(begun.elapsed()),
        directory: stack.call,
        ..context.output.view()
    };
    context.output.answer(&match arguments.format {
        RehearseFormat::Text => text::rehearsal(&rehearsal, &view),
        RehearseFormat::Json => json::rehearsal(&rehearsal),
    });
    Ok(ending(&rehearsal))
}

/// What is rehearsed on, and the plan that it leads to. The service is only read.
async fn copy(
    arguments: &RehearseArgs,
    context: &Context,
    stack: &Stack,
    opened: &Session,
) -> Result<(Snapshot, Plan), CommandError> {
    let namespaces = dropped_namespaces::namespaces(context, stack, &arguments.permission)?;
    let reader: Option<Reader>;
    let snapshot = match opened {
        Session::Snapshot(snapshot) => {
            reader = None;
            snapshot.clone()
        }
        Session::Service(connection, _) => {
            let reading = connection.reader()?;
            let now = context.environment.now();
            let taken = snapshot::take(&reading, &namespaces, ReferrerReads::Left, now).await;
            reader = Some(reading);
            taken.map_err(|error| CommandError::new(ExitStatus::Unknown, error).hint("nothing was rehearsed"))?
        }
    };
    let live_source = match reader {
        Some(reader) => LiveSource::Copied(&snapshot, reader),
        None => LiveSource::Snapshot(&snapshot),
    };
    let purpose = PlanRequest {
        permission: &arguments.permission,
        namespaces,
        memory: &DriftState::default(),
        is_check: false,
        shard: None,
    };
    let plan = planning::plan_for(context, stack, &live_source, &purpose).await?;
    Ok((snapshot, plan))
}

/// Fills the copy, applies the plan there, and plans again once the faults are over.
async fn rehearse(
    arguments: &RehearseArgs,
    context: &Context,
    stack: &Stack,
    connection: &Connection,
    snapshot: &Snapshot,
    plan: Plan,
) -> Result<Rehearsal, CommandError> {
    let running =
        connection.running().ok_or_else(|| CommandError::words(ExitStatus::Bug, "a rehearsal needs a sandbox"))?;
    let filled = running.seed(rehearsal::seeds(snapshot, &plan)).await;
    filled.map_err(|error| CommandError::new(ExitStatus::Failed, error))?;
    let service = plan.service.clone();
    let outcome = apply(context, &arguments.permission.allow, connection, plan.clone()).await?;
    let met = running.log().iter().filter(|entry| entry.fault.is_some()).count();
    running.set_scenario(Scenario::default());
    let live_source = LiveSource::Service(service, connection.reader()?, Cell::default());
    let purpose = PlanRequest {
        permission: &arguments.permission,
        namespaces: dropped_namespaces::namespaces(context, stack, &arguments.permission)?,
        memory: &DriftState::default(),
        is_check: false,
        shard: None,
    };
    let second = planning::plan_for(context, stack, &live_source, &purpose).await?;
    let faults = InjectedFaults { chosen: arguments.faults.name(), met };
    Ok(Rehearsal { plan, outcome, second, faults })
}

async fn apply(
    context: &Context,
    names: &[String],
    connection: &Connection,
    plan: Plan,
) -> Result<Outcome, CommandError> {
    let run = settings::run_id(&context.environment, context.environment.now(), plan.stack.as_deref());
    // Guards are for the service; they are told, and the copy may take everything.
    let mut allow = settings::allow(names)?;
    for guard in GuardName::ALL {
        allow.add(guard.as_str()).map_err(|error| CommandError::new(ExitStatus::Bug, error))?;
    }
    let approved =
        plan.approve(Approval::Given, &allow).map_err(|error| CommandError::new(ExitStatus::Refused, error))?;
    let progress = RunProgress::rehearsing(context);
    let options = ApplyOptions {
        run,
        concurrency: connection.concurrency(),
        stop: interrupt::watch(progress.teller(), "it was only a copy".to_owned()),
        version_checked: plan.settings.version_checked,
        ignore: Ignore::new(&plan.settings.ignore).map_err(|error| CommandError::new(ExitStatus::Invalid, error))?,
        poll_policy: PollPolicy::default(),
        clock: Clock::new(jiff::Timestamp::now),
        pace: Timing::noted(|_| {}),
    };
    let writer = connection.writer()?;
    Ok(apply::run(approved, &writer, &NoRecorder, &progress, options).await)
}

fn ending(rehearsal: &Rehearsal) -> ExitStatus {
    match ExitStatus::of_outcome(&rehearsal.outcome, &rehearsal.plan) {
        ExitStatus::Done if rehearsal.converges() => ExitStatus::Done,
        ExitStatus::Done => ExitStatus::Partly,
        ending => ending,
    }
}

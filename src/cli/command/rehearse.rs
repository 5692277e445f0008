use std::cell::Cell;
use std::time::Instant;

use crate::api::snapshot::{self, Referring};
use crate::api::{Pace, Reader};
use crate::apply::{self, Clock, Options, Patience};
use crate::cli::args::{Rehearse, RehearseFormat};
use crate::cli::ending::{Ending, Error};
use crate::cli::flow::Purpose;
use crate::cli::progress::Progress;
use crate::cli::rehearsal::{self, Forgetting};
use crate::cli::service::{self, Connection};
use crate::cli::sight::{Opened, Sight};
use crate::cli::stack::{self, Stack};
use crate::cli::{Context, base, base_settings, flow, interrupt, outside, settings};
use crate::model::Snapshot;
use crate::plan::{Consent, Faults, GuardName, Ignore, Memory, Outcome, Plan, Rehearsal};
use crate::report::text::View;
use crate::report::{Sides, json, text};
use crate::sandbox::Scenario;

/// Applies the plan of a directory to a copy of live, with faults, and plans again.
pub async fn run(arguments: &Rehearse, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let mut stack = stack::open(context, &arguments.scope)?;
    base_settings::settle(context, &mut stack, arguments.base.base.as_deref())?;
    let scenario = arguments.faults.scenario()?;
    let opened = Opened::of(context, &stack, arguments.live.live.as_deref()).await?;
    let copied = copy(arguments, context, &stack, &opened).await;
    opened.close().await;
    let (snapshot, mut plan) = copied?;
    base::attribute(context, &stack, &mut plan, arguments.base.base.as_deref())?;
    if let Some((namespace, reason)) = plan.unknown().next() {
        let told = format!("the list of `{namespace}` cannot be trusted: {reason}");
        return Err(Error::words(Ending::Unknown, told).hint("nothing was rehearsed"));
    }
    let connection = service::rehearse(context, plan.service.layout, &stack.loaded.config, scenario).await?;
    let rehearsed = rehearse(arguments, context, &stack, &connection, &snapshot, plan).await;
    connection.close().await;
    let rehearsal = rehearsed?;
    let view =
        View { sides: Sides::All, elapsed: Some(begun.elapsed()), directory: stack.call, ..context.output.view() };
    context.output.answer(&match arguments.format {
        RehearseFormat::Text => text::rehearsal(&rehearsal, &view),
        RehearseFormat::Json => json::rehearsal(&rehearsal),
    });
    Ok(ending(&rehearsal))
}

/// What is rehearsed on, and the plan that it leads to. The service is only read.
async fn copy(
    arguments: &Rehearse,
    context: &Context,
    stack: &Stack,
    opened: &Opened,
) -> Result<(Snapshot, Plan), Error> {
    let namespaces = outside::namespaces(context, stack, &arguments.permission)?;
    let reader: Option<Reader>;
    let snapshot = match opened {
        Opened::Snapshot(snapshot) => {
            reader = None;
            snapshot.clone()
        }
        Opened::Service(connection, _) => {
            let reading = connection.reader()?;
            let now = context.surroundings.now();
            let taken = snapshot::take(&reading, &namespaces, Referring::Left, now).await;
            reader = Some(reading);
            taken.map_err(|error| Error::new(Ending::Unknown, error).hint("nothing was rehearsed"))?
        }
    };
    let sight = match reader {
        Some(reader) => Sight::Copied(&snapshot, reader),
        None => Sight::Snapshot(&snapshot),
    };
    let purpose = Purpose {
        permission: &arguments.permission,
        namespaces,
        memory: &Memory::default(),
        is_check: false,
        shard: None,
    };
    let plan = flow::look(context, stack, &sight, &purpose).await?;
    Ok((snapshot, plan))
}

/// Fills the copy, applies the plan there, and plans again once the faults are over.
async fn rehearse(
    arguments: &Rehearse,
    context: &Context,
    stack: &Stack,
    connection: &Connection,
    snapshot: &Snapshot,
    plan: Plan,
) -> Result<Rehearsal, Error> {
    let running = connection.running().ok_or_else(|| Error::words(Ending::Bug, "a rehearsal needs a sandbox"))?;
    let filled = running.seed(rehearsal::seeds(snapshot, &plan)).await;
    filled.map_err(|error| Error::new(Ending::Failed, error))?;
    let service = plan.service.clone();
    let outcome = apply(context, &arguments.permission.allow, connection, plan.clone()).await?;
    let met = running.log().iter().filter(|entry| entry.fault.is_some()).count();
    running.set_scenario(Scenario::default());
    let sight = Sight::Service(service, connection.reader()?, Cell::default());
    let purpose = Purpose {
        permission: &arguments.permission,
        namespaces: outside::namespaces(context, stack, &arguments.permission)?,
        memory: &Memory::default(),
        is_check: false,
        shard: None,
    };
    let second = flow::look(context, stack, &sight, &purpose).await?;
    let faults = Faults { chosen: arguments.faults.name(), met };
    Ok(Rehearsal { plan, outcome, second, faults })
}

async fn apply(context: &Context, names: &[String], connection: &Connection, plan: Plan) -> Result<Outcome, Error> {
    let run = settings::run_id(&context.surroundings, context.surroundings.now(), plan.stack.as_deref());
    // Guards are for the service; they are told, and the copy may take everything.
    let mut allow = settings::allow(names)?;
    for guard in GuardName::ALL {
        allow.add(guard.as_str()).map_err(|error| Error::new(Ending::Bug, error))?;
    }
    let approved = plan.approve(Consent::Given, &allow).map_err(|error| Error::new(Ending::Refused, error))?;
    let progress = Progress::rehearsing(context);
    let options = Options {
        run,
        concurrency: connection.concurrency(),
        stop: interrupt::watch(progress.teller(), "it was only a copy".to_owned()),
        version_checked: plan.settings.version_checked,
        ignore: Ignore::new(&plan.settings.ignore).map_err(|error| Error::new(Ending::Invalid, error))?,
        patience: Patience::default(),
        clock: Clock::new(jiff::Timestamp::now),
        pace: Pace::noted(|_| {}),
    };
    let writer = connection.writer()?;
    Ok(apply::run(approved, &writer, &Forgetting, &progress, options).await)
}

fn ending(rehearsal: &Rehearsal) -> Ending {
    match Ending::of_outcome(&rehearsal.outcome, &rehearsal.plan) {
        Ending::Done if rehearsal.converges() => Ending::Done,
        Ending::Done => Ending::Partly,
        ending => ending,
    }
}

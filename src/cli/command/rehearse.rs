//! `rehearse`: applies the plan to a copy of live in an embedded service, while faults are injected, and then
//! plans again: the second plan must be empty.

use std::cell::Cell;

use crate::api::Timing;
use crate::api::snapshot::{self, ReferrerReads};
use crate::apply::{self, ApplyOptions, PollPolicy};
use crate::cli::command::prelude::*;
use crate::cli::output::progress::RunProgress;
use crate::cli::run::rehearsal::{self, NoRecorder};
use crate::journal;
use crate::model::Clock;
use crate::plan::{Allowances, Approval, GuardName, Ignore};
use crate::run::{InjectedFaults, Outcome, Rehearsal};
use crate::sandbox::Scenario;

/// Applies the plan to a copy of live, with faults, and verifies the result.
///
/// The content of the service is read, or taken from a snapshot, and copied into an embedded service in
/// memory. The real applier runs there while answers are lost and requests fail, and a second plan must
/// be empty. The copy is a model of the service: it cannot show what the service itself would refuse.
/// Guards are reported and do not stop a rehearsal. Nothing that changes the service is ever sent to it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup rehearse endpoints\n  trueup rehearse endpoints --faults rough\n  trueup rehearse endpoints --live live.json --faults faults.yaml"
)]
pub struct RehearseArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub change: ChangeArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    /// What goes wrong: none, rough (lost answers, overload, rate limiting), or a scenario's file
    #[arg(long, value_name = "FAULTS", default_value = "none")]
    pub faults: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

impl Execute for RehearseArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let stack = stack::open(context, &self.scope)?;
        let scenario = rehearsal::scenario(&self.faults)?;
        let options = SessionOptions { live: self.live.live.as_deref(), change: Some(&self.change), shard: None };
        let mut session = Session::compare(stack, options).await?;
        copy(context, &mut session).await?;
        let mut plan = session.plan().await?;
        session.attribute(&mut plan)?;
        session.consent(&mut plan);
        plan_errors::require_complete(&plan, "nothing was rehearsed")?;
        let config = &session.stack.loaded.config;
        let (connection, running) = service::rehearse(context, plan.service.layout, config, scenario).await?;
        let LiveSource::Snapshot(copy, _) = &session.source else { return Err(error!(Bug, "there is no copy")) };
        let filled = running.seed(rehearsal::seeds(copy, &plan)).await;
        filled.with_status(ExitStatus::Failed)?;
        let outcome = apply(context, session.allow.clone(), &connection, plan.clone()).await?;
        let met = running.log().iter().filter(|entry| entry.fault.is_some()).count();
        // The faults are over: the second plan must be empty.
        running.set_scenario(Scenario::default());
        let applied = LiveSource::Service(plan.service.clone(), connection.reader()?, Cell::default());
        let copy = std::mem::replace(&mut session.source, applied);
        let mut second = session.plan().await?;
        session.source = copy;
        session.attribute(&mut second)?;
        let faults = InjectedFaults { chosen: self.faults.clone(), met };
        let rehearsal = Rehearsal { plan, outcome, second, faults };
        context.output.report_with(&rehearsal, self.format, &session.view());
        running.stop().await;
        Ok(status(&rehearsal))
    }
}

/// Compares with a copy of what is live, which is taken now unless the call names one. The service is only read.
async fn copy(context: &Context, session: &mut Session<'_>) -> Result<()> {
    let LiveSource::Service(_, reader, _) = &session.source else { return Ok(()) };
    let (namespaces, kinds) = (session.namespaces(), session.stack.loaded.kinds());
    let taken = snapshot::take(reader, &namespaces, &kinds, ReferrerReads::Left, context.environment.now()).await;
    let taken = taken.with_status(ExitStatus::Unknown).hint("nothing was rehearsed")?;
    session.source = LiveSource::Snapshot(taken, Some(reader.clone()));
    Ok(())
}

async fn apply(context: &Context, mut allow: Allowances, connection: &Connection, plan: Plan) -> Result<Outcome> {
    let run = journal::run_name(context.environment.now(), plan.stack.as_deref(), context.environment.chance());
    // Guards protect the service; here they are only reported.
    for guard in GuardName::ALL {
        allow.add(guard.as_str()).with_status(ExitStatus::Bug)?;
    }
    let approved = plan.approve(Approval::Given, &allow).with_status(ExitStatus::Refused)?;
    let progress = RunProgress::rehearsing(context, &plan);
    let options = ApplyOptions {
        run,
        concurrency: connection.concurrency(),
        stop: interrupt::watch(context.output.clone(), "it was only a copy".to_owned()).await,
        version_checked: plan.settings.safeguards.version_checked,
        sealed: plan.sealed.clone(),
        ignore: Ignore::new(&plan.settings.safeguards.ignore).with_status(ExitStatus::Invalid)?,
        poll_policy: PollPolicy::default(),
        clock: Clock::new(jiff::Timestamp::now),
        pace: Timing::noted(|_| {}),
    };
    let writer = connection.writer()?;
    Ok(apply::run(approved, &writer, &NoRecorder, &progress, options).await)
}

fn status(rehearsal: &Rehearsal) -> ExitStatus {
    match ExitStatus::of_outcome(&rehearsal.outcome, &rehearsal.plan) {
        ExitStatus::Done if rehearsal.is_verified() => ExitStatus::Done,
        ExitStatus::Done => ExitStatus::Partly,
        status => status,
    }
}

//! The way from a plan to its outcome, which apply and rollback share: gates, consent, journal, the
//! run, and what is told of it. A run that was not finished is gone on with in the same way.

use super::Context;
use super::args::{ApplyFormat, Decision, Permission};
use super::consent::{self, Answer, Question};
use super::ending::{Ending, Error};
use super::progress::Progress;
use super::service::Connection;
use super::{flow, gates, interrupt, policy, settings};
use crate::api::Pace;
use crate::apply::{self, Clock, Options, Patience};
use crate::journal::{self, Journal};
use crate::load::Config;
use crate::model::policy::Safeguards;
use crate::plan::{Allow, Header, Ignore, Limits, Outcome, Plan, RunId, RunRecord};
use crate::report::text::View;
use crate::report::{json, text};

/// A plan on its way to an outcome.
pub struct Work<'a> {
    /// The service.
    pub connection: &'a Connection,
    /// What was allowed by name.
    pub allow: &'a Allow,
    /// How it is drawn.
    pub view: &'a View,
    /// Where the plan comes from.
    pub origin: Origin,
    /// What is trusted of what the plan says of itself.
    pub trust: Trust,
}

/// What decides beside the changes whether they are made.
pub struct Trust {
    /// The settings in force.
    pub safeguards: Safeguards,
    /// What bounds the guards.
    pub limits: Limits,
}

impl Trust {
    /// A plan that this call made, or that its digest vouches for, is taken as it is.
    pub fn whole(plan: &Plan) -> Self {
        Self { safeguards: plan.settings.safeguards(), limits: Limits::default() }
    }

    /// A plan from a file or a journal: its settings are no looser than those of this call. Where no
    /// digest proves what it says, its counts are no larger than what is there.
    ///
    /// # Errors
    /// A consent that the policy forbids, or a namespace whose endpoints would have to be counted and
    /// could not be read.
    pub async fn of_file(
        decision: &Decision,
        context: &Context,
        (connection, config): (&Connection, &Config),
        plan: &Plan,
    ) -> Result<Self, Error> {
        policy::permits_names(context, plan.allowed.iter().map(|allowed| &allowed.name))?;
        let mut trust = Self::of_record(config, plan);
        if decision.digest.is_none() {
            trust.limits.counts = flow::counts(connection, plan).await?;
        }
        Ok(trust)
    }

    /// A plan that this call made from the record of a run: the settings are the record's, so they are
    /// no looser than those of this call.
    pub fn of_record(config: &Config, plan: &Plan) -> Self {
        let call = settings::of_plan(config, &Permission::default()).safeguards();
        let safeguards = plan.settings.safeguards().stricter(&call);
        let limits = Limits { guards: Some(safeguards.guards), ..Limits::default() };
        Self { safeguards, limits }
    }
}

/// Where a run comes from.
pub enum Origin {
    /// Definitions.
    Definitions,
    /// The record of this run, which is undone.
    Undone(RunId),
    /// The record of this run, which is gone on with.
    Resumed(RunId),
}

impl Work<'_> {
    /// The question whether `plan` may be applied.
    pub fn question<'q>(&'q self, plan: &'q Plan) -> Question<'q> {
        Question { plan, allow: self.allow, limits: &self.trust.limits, view: self.view }
    }
}

/// Asks for consent to a plan, makes its changes and tells the outcome.
///
/// # Errors
/// A gate that blocks, nobody who consents, a journal that cannot be begun.
pub async fn approve_and_apply(
    decision: &Decision,
    context: &Context,
    plan: Plan,
    work: Work<'_>,
) -> Result<Ending, Error> {
    if matches!(work.origin, Origin::Definitions) {
        tell_open(context, &plan, work.view)?;
    }
    gates::look(context, work.connection, &plan, &work.trust.safeguards.gates).await?;
    let approved = match consent::ask(decision, context, work.question(&plan))? {
        Answer::Given(approved) => approved,
        Answer::Ended(ending) => return Ok(ending),
    };
    let progress = Progress::new(context);
    let (journal, options) = begin(context, &work, &plan, &progress)?;
    let writer = work.connection.writer()?;
    let outcome = apply::run(approved, &writer, &journal, &progress, options).await;
    drop(progress);
    Ok(tell(decision, context, work.view, &outcome, &plan))
}

/// Goes on with an earlier run and tells the outcome.
///
/// # Errors
/// A gate that blocks, a journal that cannot be begun.
pub async fn resume(
    decision: &Decision,
    context: &Context,
    record: &RunRecord,
    work: Work<'_>,
) -> Result<Ending, Error> {
    let plan = &record.header.plan;
    // The configuration decides, as for an apply: the record is a file like any other.
    gates::look(context, work.connection, &record.rest(), &work.trust.safeguards.gates).await?;
    let progress = Progress::new(context);
    let (journal, options) = begin(context, &work, plan, &progress)?;
    let writer = work.connection.writer()?;
    let outcome = apply::resume(record, &writer, &journal, &progress, options).await;
    drop(progress);
    Ok(tell(decision, context, work.view, &outcome, plan))
}

fn begin(context: &Context, work: &Work<'_>, plan: &Plan, progress: &Progress) -> Result<(Journal, Options), Error> {
    let surroundings = &context.surroundings;
    let state = settings::state_directory(&context.global, surroundings)?;
    let time = journal::naming_time(&state, surroundings.now()).map_err(|error| Error::new(Ending::Failed, error))?;
    let run = settings::run_id(surroundings, time, plan.stack.as_deref());
    let (resumes, rolls_back) = match &work.origin {
        Origin::Definitions => (None, None),
        Origin::Undone(run) => (None, Some(run.clone())),
        Origin::Resumed(run) => (Some(run.clone()), None),
    };
    let header = Header {
        run: run.clone(),
        started: surroundings.now().to_string(),
        user: surroundings.user(),
        resumes,
        rolls_back,
        plan: plan.clone(),
    };
    let options = Options {
        stop: interrupt::watch(
            progress.teller(),
            format!("go on with `trueup apply --resume {run}{}`", work.view.flags),
        ),
        run,
        concurrency: work.connection.concurrency(),
        version_checked: work.trust.safeguards.version_checked,
        ignore: Ignore::new(&work.trust.safeguards.ignore).map_err(|error| Error::new(Ending::Refused, error))?,
        patience: Patience::default(),
        clock: Clock::new(jiff::Timestamp::now),
        pace: Pace::real(surroundings.chance()),
    };
    let journal = Journal::begin(&state, &header).map_err(|error| Error::new(Ending::Refused, error))?;
    Ok((journal, options))
}

fn tell(decision: &Decision, context: &Context, view: &View, outcome: &Outcome, plan: &Plan) -> Ending {
    if outcome.steps.iter().any(|step| step.fate.is_done() || step.fate.may_have_taken_effect()) {
        context.output.note_change();
    }
    context.output.answer(&match decision.format {
        ApplyFormat::Text => text::outcome(outcome, plan, view),
        ApplyFormat::Json => json::outcome(outcome, plan),
    });
    Ending::of_outcome(outcome, plan)
}

/// Says that the newest run of a stack was not finished, before another is begun.
///
/// # Errors
/// The state directory cannot be read.
fn tell_open(context: &Context, plan: &Plan, view: &View) -> Result<(), Error> {
    let state = settings::state_directory(&context.global, &context.surroundings)?;
    let open = journal::open_run(&state, plan.stack.as_deref(), &plan.service.base_url);
    if let Some(open) = open.map_err(|error| Error::new(Ending::Failed, error))? {
        let view = View { flags: view.flags.clone(), ..context.output.message_view() };
        context.output.message(&text::open_run(&open, &view));
    }
    Ok(())
}

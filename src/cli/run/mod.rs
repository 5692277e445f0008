//! From a plan to its outcome, for apply and rollback: gates, approval, journal, the run, and its report. A
//! run that was not finished is resumed in the same way.

pub mod approval;
pub mod document;
pub mod interrupt;
pub mod rehearsal;
pub mod trigger;

use std::ops::ControlFlow;

use tokio::sync::watch::Receiver;

use crate::api::Timing;
use crate::apply::{self, ApplyOptions, PollPolicy};
use crate::cli::args::{ApplyArgs, ApprovalArgs, ScopeArgs};
use crate::cli::commits::secrets;
use crate::cli::output::progress::RunProgress;
use crate::cli::prelude::*;
use crate::cli::{
    CommandResult as _, Connection, Context, ExitStatus, LiveSource, Result, Session, SessionOptions, aside, file,
    output, plan_errors, policy, settings,
};
use crate::gate;
use crate::journal::{self, Journal};
use crate::model::policy::{GateMode, Gates, SettingChange};
use crate::model::{Clock, Live, RunId, Scope};
use crate::plan::{Allowances, ApprovedPlan, Counts, Ignore, RunLimits, WrittenReference};
use crate::report::facts::plan::resume_of;
use crate::report::{self, Applied, Format};
use crate::run::{Outcome, RunHeader, RunRecord};

/// A plan on its way to an outcome.
pub struct PendingRun<'a> {
    /// The context of its command.
    pub context: &'a Context,
    /// How the call approves it, and how its outcome is reported.
    pub decision: &'a ApprovalArgs,
    /// The plan.
    pub plan: Plan,
    /// The service.
    pub connection: Connection,
    /// What was allowed by name.
    pub allow: Allowances,
    /// How it is rendered.
    pub view: TextView,
    /// Which statements of the plan are trusted.
    pub trust: RunLimits,
}

impl RunLimits {
    /// A plan from a file or a journal: its settings are at least as strict as those of this call. If no
    /// digest proves its content, its counts are limited to what exists.
    ///
    /// # Errors
    /// A consent that the policy forbids, or a namespace whose endpoints would have to be counted and
    /// could not be read.
    pub async fn of_file(
        decision: &ApprovalArgs,
        context: &Context,
        (connection, config): (&Connection, &Config),
        plan: &Plan,
    ) -> Result<Self> {
        policy::permits_names(context, plan.allowed.iter().map(|allowed| &allowed.name))?;
        let limits = Self::of_record(config, plan);
        match decision.digest {
            Some(_) => Ok(limits),
            None => Ok(Self { counts: counts(connection, plan).await?, ..limits }),
        }
    }

    /// A plan that this call made from the record of a run: the settings are the record's, made at
    /// least as strict as those of this call.
    pub fn of_record(config: &Config, plan: &Plan) -> Self {
        Self { safeguards: plan.settings.safeguards.stricter(&config.safeguards), ..Self::whole(plan) }
    }
}

impl<'a> PendingRun<'a> {
    /// The run of an apply of the definitions that `scope` names: made in the same way for one stack and for several.
    ///
    /// # Errors
    /// Those of a session and of its plan.
    pub async fn of_definitions(arguments: &'a ApplyArgs, context: &'a Context, scope: &ScopeArgs) -> Result<Self> {
        let ApplyArgs { change, decision, .. } = arguments;
        let options = SessionOptions { change: Some(change), ..SessionOptions::default() };
        let (session, plan) = Session::planned(context, scope, options).await?;
        let (view, allow, trust) = (session.view(), session.allow.clone(), RunLimits::whole(&plan));
        let connection = session.into_connection()?;
        Ok(Self { context, decision, plan, connection, allow, view, trust })
    }

    /// Asks for approval of the plan, makes its changes and reports the outcome.
    ///
    /// # Errors
    /// A gate that blocks, a plan that is not approved, a journal that cannot be begun.
    pub async fn approve_and_apply(&self) -> Result<ExitStatus> {
        output::check_files(None, &self.decision.write)?;
        self.check().await?;
        let approved = match approval::ask(self).await? {
            ControlFlow::Continue(approved) => approved,
            ControlFlow::Break(ending) => return Ok(ending),
        };
        let outcome = self.carry_out(approved, !self.decision.is_given(), None).await?;
        Ok(self.report(&outcome, BTreeSet::new()))
    }

    /// Approves and applies the plan; or, if the call names an output, saves it there for `apply FILE` and shows it.
    ///
    /// # Errors
    /// Those of an apply; the file cannot be written.
    pub async fn save_or_apply(&self, output: Option<&Path>) -> Result<ExitStatus> {
        let Some(path) = output else { return self.approve_and_apply().await };
        let Self { context, decision, plan, view, .. } = self;
        file::write_private(path, |out| plan.write(out))?;
        if decision.format == Format::Text
            && let Some(error) = plan_errors::unread(plan)
        {
            return Err(error);
        }
        let view = TextView { saved: Some(path.to_owned()), ..view.clone() };
        context.output.report_with(plan, decision.format, &view);
        Ok(if plan.unknown().next().is_some() { ExitStatus::Unknown } else { ExitStatus::Done })
    }

    /// Reports an unfinished run of the stack, and checks the gates.
    ///
    /// # Errors
    /// A gate that blocks, or a state directory that cannot be read.
    pub async fn check(&self) -> Result<()> {
        if self.plan.undone().is_none() {
            self.report_unfinished().await?;
        }
        self.check_gates(&self.plan, &self.trust.safeguards.gates).await
    }

    /// Checks gates for this plan: one that warns is reported, one that blocks refuses the run.
    async fn check_gates(&self, plan: &Plan, gates: &Gates) -> Result<()> {
        let context = self.context;
        let findings = gate::check(&self.connection.reader()?, plan, gates, context.environment.now()).await;
        let (blocking, others): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|finding| finding.mode == GateMode::Block);
        for finding in others {
            context.output.rendered_message(&context.output.warning(&finding.to_string()));
        }
        if blocking.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = blocking.iter().map(ToString::to_string).collect();
        let gates: BTreeSet<&str> = blocking.iter().map(|finding| finding.gate).collect();
        let (fixed, set): (Vec<&str>, Vec<&str>) = gates.into_iter().partition(|gate| policy::blocks(context, gate));
        let set = set.into_iter().map(|gate| {
            let setting = format!("gates.{gate}");
            // If the base blocks as well, the setting is not among the changes.
            let is_own = |change: &SettingChange| {
                change.setting == setting && change.base.as_ref().is_some_and(|base| !base.starts_with("block"))
            };
            let has_base = plan.source.base.is_some() && !plan.setting_changes.iter().any(is_own);
            format!("set `{setting}: warn`{}", if has_base { ", at the base first" } else { "" })
        });
        // Each gate that blocks is enough to refuse it.
        let set = set.collect::<Vec<_>>().join(" and ");
        let anyway = fixed.is_empty().then(|| format!("to apply anyway: {set}, and plan again"));
        let fixed = fixed.iter().map(|gate| format!("the policy says `gates.{gate}: block`, which no setting loosens"));
        Err(error!(Refused, "{}", texts.join("; ")).hint("nothing was sent").hint_each(fixed.chain(anyway)))
    }

    /// Makes the changes of the approved plan. If it `is_later`, because a prompt or the applies of other stacks came
    /// since the plan was made, the gates that block and the references are checked again. `stop` becomes true when a
    /// command about several stacks is interrupted; without it, the run watches for interrupts itself.
    ///
    /// # Errors
    /// A gate that blocks, a reference to an object that is gone by now, a journal that cannot be begun.
    pub async fn carry_out(
        &self,
        approved: ApprovedPlan<'_>,
        is_later: bool,
        stop: Option<Receiver<bool>>,
    ) -> Result<Outcome> {
        if is_later {
            self.check_gates(&self.plan, &self.trust.safeguards.gates.blocking()).await?;
            refuse_lost_references(self.context, &self.connection, (&self.plan, &self.plan)).await?;
        }
        let progress = RunProgress::new(self.context, &self.plan);
        let (journal, header, options) = self.begin(stop, None).await?;
        let writer = self.connection.writer()?;
        let mut outcome = apply::run(approved, &writer, &journal, &progress, options).await;
        self.keep(&journal, header, &mut outcome);
        Ok(outcome)
    }

    /// Resumes an earlier run and reports the outcome.
    ///
    /// # Errors
    /// A gate that blocks, a journal that cannot be begun.
    pub async fn resume(&self, record: &RunRecord) -> Result<ExitStatus> {
        // The configuration decides about gates, as for an apply, because the record is only a file.
        self.check_gates(&record.rest(), &self.trust.safeguards.gates).await?;
        let progress = RunProgress::new(self.context, &self.plan);
        let (journal, header, options) = self.begin(None, Some(record.run().clone())).await?;
        let writer = self.connection.writer()?;
        let mut outcome = apply::resume(record, &writer, &journal, &progress, options).await;
        drop(progress);
        self.keep(&journal, header, &mut outcome);
        Ok(self.report(&outcome, record.made()))
    }

    /// Begins a run, before anything is sent; it continues the run that it `resumes`. The header is returned without its
    /// plan, which can be large.
    async fn begin(
        &self,
        stop: Option<Receiver<bool>>,
        resumes: Option<RunId>,
    ) -> Result<(Journal, RunHeader, ApplyOptions)> {
        let (context, plan) = (self.context, &self.plan);
        let environment = &context.environment;
        let (store, now) = (settings::state_store(context)?.clone(), environment.now());
        let time = settings::ask_state(context, move |store| journal::naming_time(store, now)).await?;
        let time = time.map_err(|error| settings::store_failed(context, error).hint("nothing was sent"))?;
        let run = journal::run_name(time, plan.stack.as_deref(), environment.chance());
        let header = RunHeader {
            run: run.clone(),
            started: environment.now().to_string(),
            user: environment.user(),
            trigger: trigger::of(self.decision, environment),
            resumes,
            rolls_back: plan.undone().cloned(),
            sandbox: settings::sandbox_of_runs(context),
            in_force: Some(document::in_force(context, &self.trust.safeguards)),
            plan: plan.clone(),
        };
        // This comes before the run watches for interrupts: until here one ends the command, which may wait for a lock.
        let messages = context.output.clone();
        let waiting = move |text: &str| messages.notice(text);
        let host = environment.host().map(str::to_owned);
        // While this waits for a lock, other stacks continue.
        let begin = aside(move || {
            let begun = Journal::begin(&store, &header, host.as_deref(), &waiting);
            begun.map(|journal| (journal, RunHeader { plan: Plan::default(), ..header }))
        });
        let mut stopped = stop.clone();
        let interrupted = async {
            match &mut stopped {
                Some(stop) => drop(stop.wait_for(|stop| *stop).await),
                None => std::future::pending().await,
            }
        };
        let begun = tokio::select! {
            begun = begin => begun,
            () = interrupted => {
                return Err(error!(Interrupted, "interrupted before the first change").hint("nothing was sent"));
            }
        };
        let refused = |error| settings::store_error(context, ExitStatus::Refused, error).hint("nothing was sent");
        let (journal, header) = begun.map_err(refused)?;
        let stop = match stop {
            Some(stop) => stop,
            None => {
                let resume = format!("resume with `{}{}`", resume_of(&run, plan), self.view.flags);
                interrupt::watch(context.output.clone(), resume).await
            }
        };
        let options = ApplyOptions {
            stop,
            run,
            concurrency: self.connection.concurrency(),
            version_checked: self.trust.safeguards.version_checked,
            sealed: match plan.sealed.is_empty() && plan.changes.iter().any(|change| !change.sealed().is_empty()) {
                true => secrets::of_plan(context, plan),
                false => plan.sealed.clone(),
            },
            ignore: Ignore::new(&self.trust.safeguards.ignore).with_status(ExitStatus::Refused)?,
            poll_policy: PollPolicy::default(),
            clock: Clock::new(jiff::Timestamp::now),
            pace: Timing::real(environment.chance()),
        };
        Ok((journal, header, options))
    }

    /// Writes the documents of a run that ended. An incomplete journal is an error at the end of the command; the
    /// documents contain what it lacks.
    fn keep(&self, journal: &Journal, header: RunHeader, outcome: &mut Outcome) {
        let Self { context, decision, plan, .. } = self;
        outcome.unrecorded = journal.is_removed();
        let known = journal.failure().map(|error| {
            context.output.note_unwritten(error!(Failed, "the record of the run is not complete: {error}"));
            let header = RunHeader { plan: plan.clone(), ..header };
            RunRecord::of_outcome(header, outcome, context.environment.now())
        });
        document::write(context, &decision.write, &outcome.run, known);
    }

    /// The status of an apply of the plan; without an outcome it had no changes.
    pub fn status(&self, outcome: Option<&Outcome>) -> ExitStatus {
        match outcome {
            Some(outcome) => ExitStatus::of_outcome(outcome, &self.plan),
            None if self.plan.blocked.is_empty() => ExitStatus::Done,
            None => ExitStatus::Refused,
        }
    }

    /// Reports the outcome of the plan. `earlier` are the changes that a resumed run had made.
    fn report(&self, outcome: &Outcome, earlier: BTreeSet<&Key>) -> ExitStatus {
        let status = self.status(Some(outcome));
        if outcome.has_effect() {
            let show = format!("; to see each result: trueup show {}{}", outcome.run, self.view.flags);
            let show = if outcome.unrecorded { "" } else { &show };
            self.context.output.note_change(format!("{}{show}", made(status)));
        }
        let applied = Applied { outcome, plan: &self.plan, earlier };
        self.context.output.report_with(&applied, self.decision.format, &self.view);
        status
    }

    /// Reports that the newest run of a stack was not finished, before another is begun.
    async fn report_unfinished(&self) -> Result<()> {
        let (context, plan) = (self.context, &self.plan);
        let owner = settings::run_owner(context, plan.stack.clone(), plan.service.base_url.clone());
        let open = settings::ask_state(context, move |store| journal::open_run(store, &owner)).await?;
        if let Some(open) = open.map_err(|error| settings::store_failed(context, error).hint("nothing was sent"))? {
            let view = TextView { flags: self.view.flags.clone(), ..context.output.messages.clone() };
            context.output.rendered_message(&view.message(report::open_run(&open, &view)));
        }
        Ok(())
    }
}

/// What a run with an effect has made, for an error if its answer or record cannot be written.
pub fn made(status: ExitStatus) -> &'static str {
    match status {
        ExitStatus::Done => "the changes were made",
        _ => "some changes may not have been made",
    }
}

/// The most that the guards of a plan from a file or a journal may count, by a fresh read. A namespace that cannot be
/// read counts as empty if nothing is replaced or deleted in it.
///
/// # Errors
/// A list of a namespace in which something would be replaced or deleted could not be read.
async fn counts(connection: &Connection, plan: &Plan) -> Result<BTreeMap<Scope, Counts>> {
    let is_needed = |list: &Scope| plan.replaced_or_deleted().any(|key| key.namespace == list.namespace);
    let lists = plan.counted().into_iter();
    Ok(plan.counts(&read_again(connection, lists, is_needed, "to count its objects").await?))
}

/// Rejects a plan that was made earlier, or the rest of a run, if it would write a reference to an object that is gone
/// by now. Only lists count that the `whole` plan has read, or the run which it undoes.
///
/// # Errors
/// There is such a reference, or its list could not be read.
pub async fn refuse_lost_references(
    context: &Context,
    connection: &Connection,
    (whole, rest): (&Plan, &Plan),
) -> Result<()> {
    let undone = policy::undone_run(context, whole).await?;
    let read = undone.as_ref().map_or(whole, |record| &record.header.plan);
    // The plan does not depend on lists that it never read.
    let is_needed = |list: &Scope| read.scope.contains_key(list);
    let lists = rest.referred_lists(read).into_iter();
    let live = read_again(connection, lists, is_needed, "to find what the plan refers to").await?;
    let Some(WrittenReference { by, target, .. }) = rest.lost_reference(whole, &live) else { return Ok(()) };
    Err(error!(Refused, "`{by}` would refer to `{target}`, which is gone by now")
        .hint("plan again: the new plan says what to do about it")
        .hint("nothing was sent"))
}

/// Reads again what an earlier call has read; a list that `is_needed` must be readable.
async fn read_again(
    connection: &Connection,
    lists: impl Iterator<Item = Scope>,
    is_needed: impl Fn(&Scope) -> bool,
    purpose: &str,
) -> Result<Live> {
    let source = LiveSource::of(connection)?;
    let live = source.live(lists).await;
    if let Some((scope, reason)) = live.unknown().find(|(scope, _)| is_needed(scope)) {
        let error = error!(Unknown, "could not read `{scope}` {purpose}: {reason}");
        return Err(error.hint("nothing was sent"));
    }
    Ok(live)
}

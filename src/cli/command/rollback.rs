//! `rollback`: plans the restoration of what a run changed, and saves or applies that plan.

use clap::builder::NonEmptyStringValueParser;

use crate::cli::command::prelude::*;
use crate::cli::commits::secrets;
use crate::cli::run::PendingRun;
use crate::cli::stacks::defined_elsewhere;
use crate::journal;
use crate::plan::{self, MatchedFilters, RollbackInput, RunLimits, Selection, UnmatchedFilter};
use crate::run::RunRecord;

/// Restores what a run changed.
///
/// A rollback is an ordinary plan: shown, guarded, approved, checked against what the service contains
/// now, and recorded as a run of its own. A field that was changed since is blocked.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup rollback last\n  trueup rollback 2026-11-21T10-04 --only 'shop/*' -o back.json\n  trueup apply back.json"
)]
pub struct RollbackArgs {
    /// The run: its name, a prefix of it, or `last`
    #[arg(value_name = "RUN", value_parser = NonEmptyStringValueParser::new(), add = ArgValueCompleter::new(completer::runs))]
    pub run: String,
    /// Only objects whose key, such as shop/cart or origin_pool:shop/cart, matches; repeatable
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Save the plan to a file for `trueup apply FILE`, and change nothing
    #[arg(long, short, value_name = "FILE", value_parser = output_file(Format::OF_APPLY), conflicts_with_all = ["yes", "digest", "approved_by", "write"])]
    pub output: Option<PathBuf>,
    /// Allow what a guard blocks: mass-change, empty-namespace, foreign-stack=KEY, protected=KEY, recreate=KEY, referred=KEY; repeatable
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completer::allowances))]
    pub allow: Vec<String>,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

impl Execute for RollbackArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let record = session::run_to_change(context, &self.run, journal::find_whole).await?;
        let record = if record.closing.is_some() { record } else { over(context, record).await? };
        let selection = stack::selection(&FilterArgs { only: self.only.clone(), ..FilterArgs::default() })?;
        let allow = settings::allow(&self.allow)?;
        let (config, connection) = session::of_plan(context, &record.header.plan).await?;
        let ignore = settings::ignore(&config)?;
        if let Some(unmatched) = unmatched(&selection, &record) {
            return Err(stack::unmatched(unmatched).hint("nothing was sent"));
        }
        let source = LiveSource::of(&connection)?;
        if record.writes().is_empty() {
            let flags = context.call.settings();
            let text = format!("run `{}` changed nothing; for the runs before it: trueup history{flags}", record.run());
            context.output.notice(&text);
        }
        let undone = record.undone();
        let (namespaces, kinds): (BTreeSet<_>, _) =
            undone.lists().into_iter().map(|list| (list.namespace, list.kind)).unzip();
        let live = source.live(Scope::each(&namespaces, &kinds)).await;
        let mut plan = plan::rollback(RollbackInput {
            undone: &undone,
            live: &live,
            definitions: &secrets::before_run(context, &record),
            only: &|key| selection.selects(key, None, None),
            ignore: &ignore,
            allow: &allow,
        });
        plan.source.requests = live.requests;
        let referrers = defined_elsewhere::block_here(context, &config, &mut plan)?;
        session::refer(&source, &mut plan, &allow, &referrers).await;
        plan.source.environment = match &record.header.in_force {
            Some(_) => record.header.plan.source.environment.clone(),
            // A run of an earlier version does not record its environment.
            None => context.global.env.clone(),
        };
        policy::permits_changes(context, &config, &plan, &[]).await?;
        // The plan, not only its apply, reports what the settings of this call forbid.
        plan.settings.safeguards = plan.settings.safeguards.stricter(&config.safeguards);
        plan.guard();
        plan.consent(&allow, context.environment.person().as_deref());
        plan.source.planned_by = context.environment.person();
        plan.source.filters = context.call.words("only");
        let view = settings::view(context, &plan);
        let view = TextView { make: view.again.clone(), ..view };
        let trust = RunLimits::whole(&plan);
        let decision = &self.decision;
        let work = PendingRun { context, decision, plan, connection, allow, view, trust };
        work.save_or_apply(self.output.as_deref()).await
    }
}

/// Reads an open run again once it is certain that it is not in progress: else its later changes would not be undone.
async fn over(context: &Context, record: RunRecord) -> Result<RunRecord> {
    let (output, host) = (context.output.clone(), context.environment.host().map(str::to_owned));
    let read = settings::ask_state(context, move |store| {
        journal::ensure_over(store, &record.header, host.as_deref(), &|text| output.notice(text))?;
        journal::load(store, record.run())
    });
    let refused = |error| settings::store_error(context, ExitStatus::Refused, error).hint("nothing was sent");
    read.await?.map_err(refused)
}

/// A filter that matches nothing that the run wrote.
fn unmatched(selection: &Selection, record: &RunRecord) -> Option<UnmatchedFilter> {
    let mut matched = MatchedFilters::default();
    for write in record.writes() {
        matched.add_namespaces([&write.key.namespace]);
        selection.note(&mut matched, &write.key, (None, None));
    }
    selection.unmatched(&matched)
}

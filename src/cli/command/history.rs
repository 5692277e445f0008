//! `history`: lists the recorded runs, removes old ones, or releases the lock of a dead one.

use crate::cli::command::prelude::*;
use crate::journal::{self, Retention};
use crate::model::RunId;
use crate::report;
use crate::report::json::HistoryReport;
use crate::run::{RunRecord, RunSummary};
use crate::state::StateStore;

/// Lists the recorded runs; `trueup show RUN` shows one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup history\n  trueup history --keep 90d")]
pub struct HistoryArgs {
    /// Remove all but the newest N runs, or those older than so many days (`90d`); open runs stay
    #[arg(long, value_name = "N|DAYSd", value_parser = kept)]
    pub keep: Option<PruneRuns>,
    /// Release the lock that this run left in a bucket; only if that run has ended
    #[arg(long, value_name = "RUN", conflicts_with = "keep")]
    pub unlock: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Which runs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneRuns {
    /// The newest, so many.
    Newest(usize),
    /// Those of the last so many days.
    Days(u32),
}

fn kept(text: &str) -> Result<PruneRuns, &'static str> {
    let kept = match text.strip_suffix('d') {
        Some(days) => days.parse().map(PruneRuns::Days).ok(),
        None => text.parse().map(PruneRuns::Newest).ok(),
    };
    // An empty or wrong shell variable must not remove the runs that rollbacks need.
    let kept = kept.filter(|kept| !matches!(kept, PruneRuns::Newest(0) | PruneRuns::Days(0)));
    kept.ok_or("give a number of runs, such as 100, or of days, such as 90d: at least 1")
}

impl Execute for HistoryArgs {
    const GLOBALS: GlobalOptions = Some(&["state"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let store = settings::state_store(context)?;
        let failed = |error| settings::store_failed(context, error);
        if let Some(run) = &self.unlock {
            unlock(run, context, store)?;
        }
        if let Some(keep) = self.keep {
            let gone = journal::prune(store, since(keep, context)).map_err(failed)?;
            context.output.rendered_message(&context.output.messages.message(report::pruned(&gone)));
        }
        let mut history = journal::history(store).map_err(failed)?;
        history.runs.reverse();
        let unreadable: Vec<String> = history.unreadable.iter().map(|(_, error)| error.to_string()).collect();
        // The commands below the table are about the open runs, else about the newest.
        let mut proposed: Vec<&RunSummary> = history.runs.iter().filter(|run| run.is_open()).collect();
        if proposed.is_empty() {
            proposed.extend(history.runs.first());
        }
        let flags = |run: &RunSummary| match journal::load_present(store, &run.run) {
            Ok((RunRecord { header, .. }, _)) => {
                settings::of_recorded(context, &header.plan, header.sandbox.as_deref())
            }
            Err(_) => context.call.settings(),
        };
        let proposed: Vec<_> = proposed.into_iter().map(|run| (run, flags(run))).collect();
        let report = HistoryReport { runs: &history.runs, unreadable: &unreadable, proposed: &proposed };
        context.output.report(&report, self.format);
        if history.runs.is_empty() && self.format == Format::Text {
            // A mistyped location contains no runs either, so name it.
            context.output.message(&format!("Runs are looked for in {}.", store.place().display()));
        }
        Ok(ExitStatus::Done)
    }
}

/// Releases the lock that a dead run left.
fn unlock(run: &str, context: &Context, store: &StateStore) -> Result<()> {
    let run = RunId::new(run).ok_or_else(|| error!(Usage, "`{}` is not a valid run", run.escape_debug()))?;
    match journal::unlock(store, &run).map_err(|error| settings::store_failed(context, error))? {
        Some(holder) => {
            context.output.message(&format!("released the lock of {}, held by {holder}", holder.what));
            Ok(())
        }
        None => Err(error!(Invalid, "no lock in `{}` is held by run `{run}`", store.place().display())
            .hint("a lock in a directory ends with its process; one in a bucket ends by itself soon after")),
    }
}

fn since(keep: PruneRuns, context: &Context) -> Retention {
    match keep {
        PruneRuns::Newest(count) => Retention::Newest(count),
        PruneRuns::Days(days) => {
            let span = jiff::SignedDuration::from_hours(i64::from(days) * 24);
            let now = context.environment.now();
            // A span that reaches before the earliest representable time removes no run.
            Retention::Since { time: now.checked_sub(span).unwrap_or(jiff::Timestamp::MIN), now }
        }
    }
}

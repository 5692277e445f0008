use std::time::Instant;

use crate::cli::args::{ApplyFormat, FilterArgs, RollbackArgs};
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::run::{self, PendingRun, RunLimits, RunOrigin};
use crate::cli::{Context, file, hint, planning, settings, stack};
use crate::journal;
use crate::plan::{MatchedFilters, Selection, UnmatchedFilter};
use crate::report::text::TextView;
use crate::report::{json, text};
use crate::run::RunRecord;

/// Plans the way back from a run, and keeps or applies that plan.
pub async fn run(arguments: &RollbackArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let begun = Instant::now();
    let state = settings::state_directory(&context.global, &context.environment)?;
    let whose = planning::run_owner(context)?;
    let record = journal::find_of(&state, &arguments.run, &whose)
        .map_err(|error| CommandError::new(ExitStatus::Invalid, error))?;
    let filter = FilterArgs { only: arguments.only.clone(), ..FilterArgs::default() };
    let selection = stack::selection(&filter)?;
    let allow = settings::allow(&arguments.allow)?;
    let config = stack::configuration_of(context, &record.header.plan)?;
    let connection = stack::connect(context, &config).await?;
    let ended = async {
        connection.is_for(&record.header.plan)?;
        let ignore = settings::ignore(&config)?;
        if let Some(unmatched) = unmatched(&selection, &record) {
            return Err(stack::unmatched(unmatched));
        }
        let only = |key: &_| selection.selects(key, None, None);
        let back = planning::RollbackRequest { record: &record, only: &only, ignore: &ignore, allow: &allow };
        let mut plan = planning::rollback(&connection, back).await?;
        planning::consent(context, &mut plan, &arguments.allow)?;
        let (elapsed, flags) = (Some(begun.elapsed()), hint::settings(&context.global));
        let view = TextView { elapsed, directory: plan.source.directory.clone(), flags, ..context.output.view() };
        match &arguments.output {
            Some(path) => {
                file::write_private(path, &plan.to_file())?;
                context.output.answer(&match arguments.decision.format {
                    ApplyFormat::Text => text::plan(&plan, Some(path), &view),
                    ApplyFormat::Json => json::plan(&plan),
                });
                Ok(if plan.unknown().next().is_some() { ExitStatus::Unknown } else { ExitStatus::Done })
            }
            None => {
                let origin = RunOrigin::Undone(record.run().clone());
                let trust = RunLimits::of_record(&config, &plan);
                let work = PendingRun { connection: &connection, allow: &allow, view: &view, origin, trust };
                run::approve_and_apply(&arguments.decision, context, plan, work).await
            }
        }
    };
    let ended = ended.await;
    connection.close().await;
    ended
}

/// A filter that matches nothing of what the run wrote.
fn unmatched(selection: &Selection, record: &RunRecord) -> Option<UnmatchedFilter> {
    let mut matched = MatchedFilters::default();
    for write in record.writes() {
        selection.note(&mut matched, &write.key, None, None);
    }
    selection.unmatched(&matched)
}

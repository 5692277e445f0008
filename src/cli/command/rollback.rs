use std::time::Instant;

use crate::cli::args::{ApplyFormat, Filter, Rollback};
use crate::cli::ending::{Ending, Error};
use crate::cli::run::{self, Origin, Trust, Work};
use crate::cli::{Context, file, flow, hint, settings, stack};
use crate::journal;
use crate::plan::{Matched, RunRecord, Selection, Unmatched};
use crate::report::text::View;
use crate::report::{json, text};

/// Plans the way back from a run, and keeps or applies that plan.
pub async fn run(arguments: &Rollback, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let state = settings::state_directory(&context.global, &context.surroundings)?;
    let whose = flow::whose(context)?;
    let record =
        journal::find_of(&state, &arguments.run, &whose).map_err(|error| Error::new(Ending::Invalid, error))?;
    let filter = Filter { only: arguments.only.clone(), ..Filter::default() };
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
        let back = flow::Back { record: &record, only: &only, ignore: &ignore, allow: &allow };
        let mut plan = flow::rollback(&connection, back).await?;
        flow::consent(context, &mut plan, &arguments.allow)?;
        let (elapsed, flags) = (Some(begun.elapsed()), hint::settings(&context.global));
        let view = View { elapsed, directory: plan.source.directory.clone(), flags, ..context.output.view() };
        match &arguments.output {
            Some(path) => {
                file::write_private(path, &plan.to_file())?;
                context.output.answer(&match arguments.decision.format {
                    ApplyFormat::Text => text::plan(&plan, Some(path), &view),
                    ApplyFormat::Json => json::plan(&plan),
                });
                Ok(if plan.unknown().next().is_some() { Ending::Unknown } else { Ending::Done })
            }
            None => {
                let origin = Origin::Undone(record.run().clone());
                let trust = Trust::of_record(&config, &plan);
                let work = Work { connection: &connection, allow: &allow, view: &view, origin, trust };
                run::approve_and_apply(&arguments.decision, context, plan, work).await
            }
        }
    };
    let ended = ended.await;
    connection.close().await;
    ended
}

/// A filter that matches nothing of what the run wrote.
fn unmatched(selection: &Selection, record: &RunRecord) -> Option<Unmatched> {
    let mut matched = Matched::default();
    for write in record.writes() {
        selection.note(&mut matched, &write.key, None, None);
    }
    selection.unmatched(&matched)
}

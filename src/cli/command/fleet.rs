//! `fleet report`: merges the checks of several files, such as those of the shards of a fleet, into one report. It
//! reads only files, and reports what is wrong with one of them.

use std::time::Duration;

use jiff::SignedDuration;

use crate::cli::args::time;
use crate::cli::call;
use crate::cli::command::prelude::*;
use crate::file::{MOST_ENTRIES, Walk, WalkError, is_hidden_entry, real_path_or_given, slashed};
use crate::report::merge;

/// Merges the checks of a fleet.
#[derive(Debug, Subcommand)]
#[command(
    hide = true,
    after_help = "Examples:\n  trueup fleet report checks\n  trueup fleet report checks --format markdown"
)]
pub enum FleetSubcommand {
    Report(ReportArgs),
}

/// Merges the checks of several files into one report.
///
/// Reads what `drift --format json` wrote: a file of each shard of a fleet, or of each stack. A shard that is missing, a
/// file that is cut off, a check that is too old and a stack in two files are reported, and the exit code is then 5: what
/// the files do not cover is not called in sync. Otherwise it is that of the worst stack, as `drift` of all of them gives
/// it. Nothing is read but the files: no token, no network.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup fleet report checks\n  trueup fleet report checks --max-age 1h --format markdown\n  trueup fleet report checks --write html=fleet.html --write prometheus=fleet.prom\n  trueup fleet report 1.json 2.json 3.json --format json"
)]
pub struct ReportArgs {
    /// Files of checks, and directories with them: every *.json file below
    #[arg(value_name = "DIR|FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// How old a check may be, such as 90s, 1h or 2d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = max_age)]
    pub max_age: Duration,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_MERGED))]
    pub format: Format,
    #[command(flatten)]
    pub files: ReportFileArgs,
}

fn max_age(text: &str) -> Result<Duration, &'static str> {
    time::duration(text).map(SignedDuration::unsigned_abs).ok_or("write 90s, 15m, 1h, 2d or 1w")
}

impl Execute for FleetSubcommand {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let Self::Report(arguments) = self;
        output::check_files(arguments.files.output.as_deref(), &arguments.files.write)?;
        let mut seen = BTreeSet::new();
        let found = arguments.paths.iter().flat_map(|path| files(path));
        // A file that is named twice is one file.
        let found: Vec<_> = found.filter(|(path, _)| seen.insert(real_path_or_given(path))).collect();
        let directories: Vec<_> =
            arguments.paths.iter().filter(|path| path.is_dir()).map(|path| real_path_or_given(path)).collect();
        let is_read = |path: &&Path| {
            let (is_json, path) = (path.extension().is_some_and(|end| end == "json"), real_path_or_given(path));
            seen.contains(&path) || (is_json && directories.iter().any(|directory| path.starts_with(directory)))
        };
        if let Some(path) = context.call.outputs().find(is_read) {
            return Err(call::is_input(path));
        }
        let inputs = found.into_iter().map(|(path, unlisted)| {
            let bytes = match unlisted {
                Some(reason) => Err(reason),
                None => file::read(&path, limit::SAVED).map_err(|error| error.to_string()),
            };
            (slashed(&path), bytes)
        });
        let merged = merge::merge(inputs, context.environment.now(), arguments.max_age);
        let fleet = merged.fleet();
        let (call, budget) = (context.call.paths(), Some(arguments.files.budget));
        let command = format!("trueup fleet report {call}");
        let view = TextView { call, budget, command, ..context.output.answers.clone() };
        context.output.report_to(&fleet, arguments.format, &arguments.files, &view)?;
        let failed = if fleet.failed() > 0 { ExitStatus::Failed } else { ExitStatus::Done };
        Ok(failed.worse(ExitStatus::of_verdict(fleet.whole())))
    }
}

/// The file itself, or the files below a directory that may be checks; for an entry that cannot be listed, the reason.
fn files(path: &Path) -> Vec<(PathBuf, Option<String>)> {
    if !path.is_dir() {
        return vec![(path.to_owned(), None)];
    }
    let mut found: Vec<(PathBuf, Option<String>)> = Walk::new(path, MOST_ENTRIES, is_hidden_entry)
        .filter_map(|entry| match entry {
            Ok(entry) if entry.path().extension().is_none_or(|end| end != "json") || entry.file_type().is_dir() => None,
            Ok(entry) => Some((entry.into_path(), None)),
            Err(WalkError::Entry(error)) => Some((error.path()?.to_owned(), Some(error.to_string()))),
            Err(error @ WalkError::TooMany { .. }) => Some((path.to_owned(), Some(error.to_string()))),
        })
        .collect();
    found.sort();
    if found.is_empty() { vec![(path.to_owned(), Some("it contains no *.json file".to_owned()))] } else { found }
}

//! The command line of `fleet report`, which merges the checks of several files.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::args::shared::{ReportFileArgs, formats};
use crate::cli::args::time;
use crate::report::Format;

/// Works with what the checkers of a fleet wrote.
#[derive(Debug, Subcommand)]
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
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub max_age: MaxAge,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_MERGED))]
    pub format: Format,
    #[command(flatten)]
    pub files: ReportFileArgs,
}

/// How old a check may be.
#[derive(Debug, Clone, Copy)]
pub struct MaxAge(pub Duration);

impl FromStr for MaxAge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        time::duration(text).map(|length| Self(length.unsigned_abs())).ok_or("write 90s, 15m, 1h, 2d or 1w")
    }
}

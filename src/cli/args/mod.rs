//! The command line as clap reads it. The options of a command are in its file, those that several share in `shared`.
//! Values are kept as they are written; `settings` decides what they mean.

#[cfg(test)]
mod commands_page_tests;
pub mod help;
mod shared;
pub mod time;

use clap::{Parser, Subcommand};

pub use crate::cli::args::shared::{
    AdoptInto, ApplyArgs, ApprovalArgs, BaseArgs, Color, ColumnArgs, DefinitionFileArgs, FilterArgs, GlobalArgs,
    LiveArgs, PartArgs, PermissionArgs, PullArgs, ReportFileArgs, ScopeArgs, StacksArgs, WrittenReport, formats,
    kind_name, namespace,
};
use crate::cli::command;

const EXAMPLES: &str = "\
Examples:
  trueup init endpoints --sandbox                       begin, with an embedded service
  trueup plan endpoints                                 what would change
  trueup plan endpoints -o plan.json                    … saved, for a review
  trueup apply plan.json --digest DIGEST                … and exactly that
  trueup drift endpoints                                in sync, pending or changed outside
More commands, each with `trueup help COMMAND`: call, completions, fleet, kinds, man, schema";

const EXIT_CODES: &str = "\
Exit codes:
  0 done or in sync     1 failed            2 changes pending   3 drift            4 both
  5 a read was unknown  6 refused, nothing sent                 7 partly applied or not proven
  64 usage              70 a bug of trueup  130 interrupted";

/// Keeps the configuration objects of a tenant in sync with a directory of definitions.
#[derive(Debug, Parser)]
#[command(
    name = "trueup",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"),
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// The commands, in the order of their help.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(command::init::InitArgs),
    Doctor(command::doctor::DoctorArgs),
    Validate(command::validate::ValidateArgs),
    Fmt(command::fmt::FmtArgs),
    Stacks(command::stacks::StacksListArgs),
    Plan(command::plan::PlanArgs),
    Apply(ApplyArgs),
    Drift(command::drift::DriftArgs),
    #[command(
        subcommand,
        hide = true,
        after_help = "Examples:\n  trueup fleet report checks\n  trueup fleet report checks --format markdown"
    )]
    Fleet(command::fleet::FleetSubcommand),
    Rehearse(command::rehearse::RehearseArgs),
    History(command::history::HistoryArgs),
    Rollback(command::rollback::RollbackArgs),
    Move(command::movement::MoveArgs),
    Get(command::get::GetArgs),
    Show(command::show::ShowArgs),
    Pull(PullArgs),
    Import(command::import::ImportArgs),
    Events(command::events::EventsArgs),
    Ddos(command::ddos::DdosArgs),
    Upgrades(command::upgrades::UpgradesArgs),
    #[command(hide = true)]
    Call(command::call::CallArgs),
    Snapshot(command::snapshot::SnapshotArgs),
    Sandbox(command::sandbox::SandboxArgs),
    #[command(hide = true)]
    Schema(command::reference::SchemaArgs),
    #[command(hide = true)]
    Kinds(command::reference::KindsArgs),
    Explain(command::explain::ExplainArgs),
    #[command(hide = true)]
    Completions(command::reference::CompletionsArgs),
    #[command(hide = true)]
    Man(command::reference::ManArgs),
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn sandbox_takes_a_file_only_behind_an_equals_sign() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words).expect("a command line");
        assert_eq!(parse(&["trueup", "plan", "--sandbox", "dir"]).global.sandbox, Some(None));
        let with_file = parse(&["trueup", "plan", "dir", "--sandbox=x.redb"]);
        assert_eq!(with_file.global.sandbox, Some(Some(PathBuf::from("x.redb"))));
        assert_eq!(parse(&["trueup", "plan"]).global.sandbox, None);
    }
}

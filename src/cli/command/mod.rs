//! One file per command that does something; those that only print what is known share one. Each describes its command:
//! arguments, help, and by [`Execute`] how it runs.

pub mod adopt;
pub mod apply;
pub mod call;
pub mod ddos;
pub mod doctor;
pub mod drift;
pub mod events;
pub mod explain;
pub mod fleet;
pub mod fmt;
pub mod get;
pub mod history;
pub mod import;
pub mod init;
pub mod movement;
pub mod plan;
pub mod pull;
pub mod reference;
pub mod rehearse;
pub mod rollback;
pub mod sandbox;
pub mod show;
pub mod snapshot;
pub mod stacks;
pub mod upgrades;
pub mod validate;

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory as _, Parser, Subcommand};

use crate::cli::args::{ApplyArgs, GlobalArgs, GlobalOptions, WrittenReport};
use crate::cli::output::Promise;
use crate::cli::{Context, ExitStatus, Result};
use crate::file::FileMode;
use crate::report::Format;

/// What most commands import, as in cargo.
mod prelude {
    pub(super) use clap::{Args, Subcommand, ValueEnum};
    pub(super) use clap_complete::engine::ArgValueCompleter;

    pub(super) use crate::api;
    pub(super) use crate::cli::args::{
        ApprovalArgs, ChangeArgs, ColumnArgs, DefinitionFileArgs, FilterArgs, GlobalOptions, LiveArgs, ReportFileArgs,
        SERVICE, SETTINGS, ScopeArgs, StacksArgs, formats, kind_name, namespace, output_file,
    };
    pub(super) use crate::cli::prelude::*;
    pub(super) use crate::cli::run::interrupt;
    pub(super) use crate::cli::stacks::targets;
    pub(super) use crate::cli::{
        CommandError, CommandResult as _, Connection, Context, Execute, ExitStatus, LiveSource, Result, Session,
        SessionOptions, Stack, completer, file, output, plan_errors, policy, service, session, settings, stack,
    };
    pub(super) use crate::model::Scope;
    pub(super) use crate::report::{Format, Report};
}

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
  5 a read was unknown  6 refused, nothing changed              7 partly applied or not proven
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

/// The ids of the global options that every command uses.
const OUTPUT: &str = "color quiet";

/// How a command runs, beside its arguments.
pub trait Execute {
    /// The global options that it uses.
    const GLOBALS: GlobalOptions = None;
    /// Whether an interrupt may end it at any time before a run begins: until then it only reads, and it does not wait
    /// for an interrupt itself.
    const ENDS_ON_INTERRUPT: bool = false;

    /// Runs the command.
    async fn execute(&self, context: &Context) -> Result<ExitStatus>;
}

macro_rules! commands {
    ($($(#[$attribute:meta])? $name:ident($arguments:ty),)+) => {
        /// The commands, in the order of their help.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$attribute])? $name($arguments),)+
        }

        impl Command {
            /// Runs the command.
            pub async fn execute(&self, context: &Context) -> Result<ExitStatus> {
                match self {
                    $(Self::$name(arguments) => arguments.execute(context).await,)+
                }
            }

            /// Whether an interrupt ends it at any time.
            pub fn ends_on_interrupt(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$arguments>::ENDS_ON_INTERRUPT,)+
                }
            }

            /// The ids of the global options that the command of this name uses; `None` if it uses all.
            pub fn globals(command: &str) -> Option<Vec<&'static str>> {
                let groups = match command {
                    $(_ if command.eq_ignore_ascii_case(stringify!($name)) => <$arguments>::GLOBALS?,)+
                    _ => &[],
                };
                Some(groups.iter().chain([&OUTPUT]).flat_map(|group| group.split(' ')).collect())
            }
        }
    };
}

commands! {
    Init(init::InitArgs),
    Doctor(doctor::DoctorArgs),
    Validate(validate::ValidateArgs),
    Fmt(fmt::FmtArgs),
    Stacks(stacks::StacksListArgs),
    Plan(plan::PlanArgs),
    Apply(ApplyArgs),
    Drift(drift::DriftArgs),
    #[command(subcommand)]
    Fleet(fleet::FleetSubcommand),
    Rehearse(rehearse::RehearseArgs),
    History(history::HistoryArgs),
    Rollback(rollback::RollbackArgs),
    Move(movement::MoveArgs),
    Get(get::GetArgs),
    Show(show::ShowArgs),
    Pull(pull::PullArgs),
    #[command(subcommand)]
    Import(import::ImportSubcommand),
    Events(events::EventsArgs),
    Ddos(ddos::DdosArgs),
    Upgrades(upgrades::UpgradesArgs),
    Call(call::CallArgs),
    Snapshot(snapshot::SnapshotArgs),
    Sandbox(sandbox::SandboxArgs),
    Schema(reference::SchemaArgs),
    Kinds(reference::KindsArgs),
    Explain(explain::ExplainArgs),
    Completions(reference::CompletionsArgs),
    Man(reference::ManArgs),
}

impl Command {
    /// Whether it makes a run.
    pub fn is_run(&self) -> bool {
        matches!(self, Command::Apply(_) | Command::Rollback(_) | Command::Move(_))
    }

    /// The output that the `--format` promises, unless the report goes to a file.
    pub fn promised(&self, matches: &ArgMatches) -> Option<Promise> {
        let reports_to_file = matches!(self, Command::Drift(_) | Command::Fleet(_));
        let is_in_file = reports_to_file && matches.ids().any(|id| id == "output");
        let format = matches.try_get_raw("format").ok().flatten()?.next()?.to_str().filter(|_| !is_in_file)?;
        match format {
            "json" => Some(Promise::Document),
            "ndjson" if self.is_run() => Some(Promise::RunEvents),
            "ndjson" => Some(Promise::Lines),
            _ => None,
        }
    }

    /// The files in which the call wants the document of its run or check. If the call ends without one, its error goes
    /// there, so that the document of an earlier call is not mistaken for it.
    pub fn promised_files(&self, matches: &ArgMatches) -> Vec<(PathBuf, FileMode)> {
        let (mode, output) = match self {
            Command::Drift(drift) => {
                (FileMode::Shared, drift.files.output.as_ref().filter(|_| drift.format == Format::Json))
            }
            _ if self.is_run() => (FileMode::Private, None),
            _ => return Vec::new(),
        };
        let written = matches.try_get_many::<WrittenReport>("write").ok().flatten().into_iter().flatten();
        let documents = written.filter(|written| written.format == Format::Json).map(|written| &written.path);
        documents.chain(output).map(|path| (path.clone(), mode)).collect()
    }
}

/// The command line, for parsing.
pub fn line() -> clap::Command {
    with_json(Arguments::command())
}

/// The command line, for completions and the manual: each command with the global options that it uses.
pub fn described() -> clap::Command {
    let mut command = line();
    // A built command has the global options in every subcommand.
    command.build();
    let globals: Vec<String> =
        command.get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.get_id().to_string()).collect();
    command.mut_subcommands(|command| {
        let used = Command::globals(command.get_name());
        let is_hidden = |id: &str| {
            globals.iter().any(|global| global == id) && !used.as_ref().is_none_or(|used| used.contains(&id))
        };
        hiding(command, &is_hidden)
    })
}

/// Hides options of a command, and those of its own commands.
fn hiding(command: clap::Command, is_hidden: &dyn Fn(&str) -> bool) -> clap::Command {
    let command = command.mut_args(|arg| if is_hidden(arg.get_id().as_str()) { arg.hide(true) } else { arg });
    command.mut_subcommands(|command| hiding(command, is_hidden))
}

/// `--json` for every `--format` that has it.
fn with_json(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(with_json);
    let format = command.get_arguments().find(|arg| arg.get_id() == "format");
    let has_json = |format: &Arg| format.get_possible_values().iter().any(|value| value.get_name() == "json");
    if !format.is_some_and(has_json) {
        return command;
    }
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).conflicts_with("format");
    command
        .mut_arg("format", |format| format.default_value_if("json", ArgPredicate::Equals("true".into()), "json"))
        .arg(json.help("The same as --format json").hide_short_help(true))
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

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

use clap::Subcommand;

use crate::cli::args::{ApplyArgs, PullArgs};
use crate::cli::{Context, ExitStatus, Result};

/// The ids of the global options of a connection to the service.
pub const SERVICE: &str = "base_url layout token_file ca_cert client_cert client_key client_p12 client_p12_password_file \
                           sandbox concurrency rate verbose log policy";
/// Those of the settings of a directory.
pub const SETTINGS: &str = "config env var";
/// Those that every command has.
const OUTPUT: &str = "color quiet";

/// What the program has to know of a command beside its arguments.
pub trait Execute {
    /// Groups of ids of the global options that it uses; without them, all.
    const GLOBALS: Option<&'static [&'static str]> = None;
    /// Whether it only reads, has no prompt, and does not wait for an interrupt itself: it can be ended at any time.
    const ENDS_ON_INTERRUPT: bool = false;
    /// Whether it computes more than it waits for the service. On one thread no answer has to wake another; files and lists
    /// are read on threads of their own.
    const USES_ALL_PROCESSORS: bool = false;

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

            /// Whether it computes more than it waits.
            pub fn uses_all_processors(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$arguments>::USES_ALL_PROCESSORS,)+
                }
            }

            /// The ids of the global options that the command of this name uses; nothing where that is all of them.
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
    Pull(PullArgs),
    Import(import::ImportArgs),
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

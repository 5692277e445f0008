//! Which document a call promises: with `--format json` every ending is one document on standard output, with
//! `--format ndjson` the last line is one.

use crate::cli::args::Command;
use crate::cli::args::fleet::FleetSubcommand;
use crate::cli::args::query::{DdosCommand, UpgradesCommand};
use crate::cli::args::view::EndpointFormat;
use crate::report::Format;

/// What a call promises on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// One document.
    Document,
    /// Lines, the last of which is a document where the command fails.
    Lines,
    /// The events of a run as lines, the last of which is a document.
    RunEvents,
}

/// What a command promises, if it does.
pub fn promised(command: &Command) -> Option<Promise> {
    let of = |format: Format| match format {
        Format::Json => Some(Promise::Document),
        Format::Ndjson => Some(Promise::Lines),
        _ => None,
    };
    let of_run = |format: Format| match format {
        Format::Ndjson => Some(Promise::RunEvents),
        format => of(format),
    };
    match command {
        Command::Doctor(arguments) => of(arguments.format),
        Command::Validate(arguments) => of(arguments.format),
        Command::Plan(arguments) => of(arguments.format),
        Command::Apply(arguments) => of_run(arguments.decision.format),
        Command::Rollback(arguments) => of_run(arguments.decision.format),
        Command::Move(arguments) => of_run(arguments.decision.format),
        Command::Drift(arguments) if arguments.files.output.is_some() => None,
        Command::Drift(arguments) => of(arguments.format),
        Command::Fleet(FleetSubcommand::Report(arguments)) if arguments.files.output.is_some() => None,
        Command::Fleet(FleetSubcommand::Report(arguments)) => of(arguments.format),
        Command::Stacks(arguments) => of(arguments.format),
        Command::Rehearse(arguments) => of(arguments.format),
        Command::History(arguments) => of(arguments.format),
        Command::Show(arguments) => of(arguments.format),
        Command::Get(arguments) => (arguments.format == EndpointFormat::Json).then_some(Promise::Document),
        Command::Events(arguments) => of(arguments.format),
        Command::Call(arguments) => of(arguments.format),
        Command::Kinds(arguments) => of(arguments.format),
        Command::Explain(arguments) => of(arguments.format),
        Command::Ddos(arguments) => match &arguments.command {
            DdosCommand::List(arguments) => of(arguments.format),
            DdosCommand::Show(arguments) => of(arguments.format),
            DdosCommand::Edit(_) => None,
        },
        Command::Upgrades(arguments) => match &arguments.command {
            UpgradesCommand::Versions(arguments) => of(arguments.format),
            UpgradesCommand::Status(arguments) => of(arguments.format),
        },
        Command::Init(_)
        | Command::Fmt(_)
        | Command::Pull(_)
        | Command::Import(_)
        | Command::Snapshot(_)
        | Command::Sandbox(_)
        | Command::Schema(_)
        | Command::Completions(_)
        | Command::Man(_) => None,
    }
}

//! `completions`: prints the completions of a shell.

use clap::CommandFactory as _;

use crate::cli::args::{Arguments, CompletionsArgs};
use crate::cli::context::Context;
use crate::cli::exit_status::ExitStatus;

/// Prints completions for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "trueup", &mut script);
    context.output.answer(&String::from_utf8_lossy(&script));
    ExitStatus::Done
}

use clap::CommandFactory as _;

use crate::cli::Context;
use crate::cli::args::{Arguments, CompletionsArgs};
use crate::cli::exit_status::ExitStatus;

/// Prints completions for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "trueup", &mut script);
    context.output.answer(&String::from_utf8_lossy(&script));
    ExitStatus::Done
}

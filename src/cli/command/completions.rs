//! `completions`: prints the completions of a shell.

use crate::cli::args::CompletionsArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::ExitStatus;
use crate::cli::help;

/// Prints completions for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::described(), "trueup", &mut script);
    context.output.answer(&String::from_utf8_lossy(&script));
    ExitStatus::Done
}

//! `completions`: prints the script that completes in a shell.

use crate::cli::args::CompletionsArgs;
use crate::cli::completer;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandResult as _, ExitStatus, Result};

/// Prints the script for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> Result<ExitStatus> {
    let script = completer::script(&arguments.shell.to_string());
    context.output.answer(&script.with_status(ExitStatus::Failed)?);
    Ok(ExitStatus::Done)
}

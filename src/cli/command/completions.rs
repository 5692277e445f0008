//! `completions`: prints the script that completes in a shell.

use crate::cli::args::CompletionsArgs;
use crate::cli::completer;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};

/// Prints the script for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let script = completer::script(&arguments.shell.to_string());
    context.output.answer(&script.map_err(|error| CommandError::new(ExitStatus::Failed, error))?);
    Ok(ExitStatus::Done)
}

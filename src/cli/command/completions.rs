//! `completions`: prints the script that completes in a shell.

use crate::cli::args::CompletionsArgs;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, completer};

/// Prints the script for a shell.
pub fn run(arguments: &CompletionsArgs, context: &Context) -> Result<ExitStatus> {
    let script = completer::script(&arguments.shell.to_string());
    context.output.answer(&script.with_status(ExitStatus::Failed)?);
    Ok(ExitStatus::Done)
}

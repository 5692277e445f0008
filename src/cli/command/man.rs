//! `man`: prints the manual page of the program and its commands.

use crate::cli::args::help;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};

/// Prints the manual page: the program, then each of its commands.
pub fn run(context: &Context) -> Result<ExitStatus, CommandError> {
    let program = help::described();
    let failed = |error| CommandError::new(ExitStatus::Failed, anyhow::Error::from(error));
    let mut page = Vec::new();
    clap_mangen::Man::new(program.clone()).render(&mut page).map_err(failed)?;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("trueup {}", command.get_name());
        clap_mangen::Man::new(command.clone().display_name(name)).render(&mut page).map_err(failed)?;
    }
    context.output.answer(&String::from_utf8_lossy(&page));
    Ok(ExitStatus::Done)
}

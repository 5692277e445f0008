//! `man`: prints the manual page of the program and its commands.

use crate::cli::args::help;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result};

/// Prints the manual page: the program, then each of its commands.
pub fn run(context: &Context) -> Result<ExitStatus> {
    let program = help::described();
    let mut page = Vec::new();
    clap_mangen::Man::new(program.clone()).render(&mut page).with_status(ExitStatus::Failed)?;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("trueup {}", command.get_name());
        clap_mangen::Man::new(command.clone().display_name(name)).render(&mut page).with_status(ExitStatus::Failed)?;
    }
    context.output.answer(&String::from_utf8_lossy(&page));
    Ok(ExitStatus::Done)
}

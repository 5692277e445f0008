use clap::CommandFactory as _;

use crate::cli::Context;
use crate::cli::args::Arguments;
use crate::cli::ending::{Ending, Error};

/// Prints the manual page: the program, then each of its commands.
pub fn run(context: &Context) -> Result<Ending, Error> {
    let mut program = Arguments::command();
    program.build();
    let failed = |error| Error::new(Ending::Failed, anyhow::Error::from(error));
    let mut page = Vec::new();
    clap_mangen::Man::new(program.clone()).render(&mut page).map_err(failed)?;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("trueup {}", command.get_name());
        clap_mangen::Man::new(command.clone().display_name(name)).render(&mut page).map_err(failed)?;
    }
    context.output.answer(&String::from_utf8_lossy(&page));
    Ok(Ending::Done)
}

use clap::CommandFactory as _;

use crate::cli::Context;
use crate::cli::args::{Arguments, Completions};
use crate::cli::ending::Ending;

/// Prints completions for a shell.
pub fn run(arguments: &Completions, context: &Context) -> Ending {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "trueup", &mut script);
    context.output.answer(&String::from_utf8_lossy(&script));
    Ending::Done
}

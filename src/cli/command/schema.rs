//! `schema`: prints a JSON Schema of a file or a report.

use crate::cli::args::SchemaArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::ExitStatus;
use crate::report::schema;

/// Prints a JSON Schema.
pub fn run(arguments: &SchemaArgs, context: &Context) -> ExitStatus {
    context.output.answer(&format!("{:#}\n", schema::of(arguments.of)));
    ExitStatus::Done
}

//! `schema`: prints a JSON Schema of a file or a report.

use crate::cli::args::SchemaArgs;
use crate::cli::{Context, ExitStatus};
use crate::report::schema;

/// Prints a JSON Schema.
pub fn run(arguments: &SchemaArgs, context: &Context) -> ExitStatus {
    let schema = match &arguments.kind {
        Some(kind) => schema::of_kind(kind),
        None => schema::of(arguments.of),
    };
    context.output.answer(&format!("{schema:#}\n"));
    ExitStatus::Done
}

//! `schema`: prints a JSON Schema of a file or a report.

use crate::cli::args::{SchemaArgs, SchemaOf};
use crate::cli::context::Context;
use crate::cli::exit_status::ExitStatus;
use crate::report::schema::{self, SchemaKind};

/// Prints a JSON Schema.
pub fn run(arguments: &SchemaArgs, context: &Context) -> ExitStatus {
    let schema = schema::of(match arguments.of {
        SchemaOf::Definition => SchemaKind::Definition,
        SchemaOf::Overlay => SchemaKind::Overlay,
        SchemaOf::Config => SchemaKind::Config,
        SchemaOf::Policy => SchemaKind::Policy,
        SchemaOf::Plan => SchemaKind::Plan,
        SchemaOf::Drift => SchemaKind::Drift,
        SchemaOf::Fleet => SchemaKind::Fleet,
        SchemaOf::Snapshot => SchemaKind::Snapshot,
    });
    context.output.answer(&format!("{schema:#}\n"));
    ExitStatus::Done
}

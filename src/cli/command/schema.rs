use crate::cli::Context;
use crate::cli::args::{Schema, SchemaOf};
use crate::cli::ending::Ending;
use crate::report::schema::{self, Of};

/// Prints a JSON Schema.
pub fn run(arguments: &Schema, context: &Context) -> Ending {
    let schema = schema::of(match arguments.of {
        SchemaOf::Definition => Of::Definition,
        SchemaOf::Config => Of::Config,
        SchemaOf::Policy => Of::Policy,
        SchemaOf::Plan => Of::Plan,
        SchemaOf::Drift => Of::Drift,
        SchemaOf::Snapshot => Of::Snapshot,
    });
    context.output.answer(&format!("{schema:#}\n"));
    Ending::Done
}

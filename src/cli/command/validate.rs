use serde_json::json;

use crate::cli::Context;
use crate::cli::args::{Validate, ValidateFormat};
use crate::cli::ending::{Ending, Error};
use crate::cli::stack::{self, Checked};
use crate::report::json;

/// Checks the definitions, without the service.
pub fn run(arguments: &Validate, context: &Context) -> Result<Ending, Error> {
    match arguments.format {
        ValidateFormat::Text => {
            let stack = stack::open(context, &arguments.scope)?;
            context.output.answer(&stack::told(context, &stack));
            Ok(Ending::Done)
        }
        ValidateFormat::Json => {
            let checked = stack::check(context, &arguments.scope)?;
            let (valid, endpoints, diagnostics) = match &checked {
                Checked::Valid(loaded) => (true, loaded.desired.definitions.len(), json!(loaded.notes)),
                Checked::Wrong(diagnostics) => (false, 0, json!(diagnostics.list)),
            };
            let content = json!({"valid": valid, "endpoints": endpoints, "diagnostics": diagnostics});
            context.output.answer(&json::document("validation", content));
            Ok(if valid { Ending::Done } else { Ending::Invalid })
        }
    }
}

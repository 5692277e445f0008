use serde_json::json;

use crate::cli::Context;
use crate::cli::args::{Validate, ValidateFormat};
use crate::cli::ending::{Ending, Error};
use crate::cli::stack::{self, Checked};
use crate::report::annotation::{self, Annotation};
use crate::report::{github, json, sarif};

/// Checks the definitions, without the service.
pub fn run(arguments: &Validate, context: &Context) -> Result<Ending, Error> {
    match arguments.format {
        ValidateFormat::Text => {
            let stack = stack::open(context, &arguments.scope)?;
            stack::matched(&stack)?;
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
        ValidateFormat::Github => remarks(arguments, context, |remarks| github::annotations(remarks, "")),
        ValidateFormat::Sarif => {
            remarks(arguments, context, |remarks| sarif::report(remarks, "", env!("CARGO_PKG_VERSION")))
        }
    }
}

/// Answers with what was found as remarks at their places.
fn remarks(arguments: &Validate, context: &Context, draw: impl Fn(&[Annotation]) -> String) -> Result<Ending, Error> {
    let checked = stack::check(context, &arguments.scope)?;
    let (found, prefix, ending) = match &checked {
        Checked::Valid(loaded) => (&loaded.notes, context.surroundings.shown_from_here(&loaded.root), Ending::Done),
        Checked::Wrong(diagnostics) => {
            let prefix = diagnostics.prefix(context.surroundings.directory.as_deref());
            (&diagnostics.list, prefix, Ending::Invalid)
        }
    };
    context.output.answer(&draw(&annotation::of_diagnostics(found, &prefix)));
    Ok(ending)
}

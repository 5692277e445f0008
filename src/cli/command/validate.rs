use serde_json::json;

use crate::cli::Context;
use crate::cli::args::{ValidateArgs, ValidateFormat};
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::stack::{self, CheckedDefinitions};
use crate::report::annotation::{self, Annotation};
use crate::report::{github, json, sarif};

/// Checks the definitions, without the service.
pub fn run(arguments: &ValidateArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    match arguments.format {
        ValidateFormat::Text => {
            let stack = stack::open(context, &arguments.scope)?;
            stack::matched(&stack)?;
            context.output.answer(&stack::summary(context, &stack));
            Ok(ExitStatus::Done)
        }
        ValidateFormat::Json => {
            let checked = stack::check(context, &arguments.scope)?;
            let (valid, endpoints, diagnostics) = match &checked {
                CheckedDefinitions::Valid(loaded) => (true, loaded.desired.definitions.len(), json!(loaded.notes)),
                CheckedDefinitions::Wrong(diagnostics) => (false, 0, json!(diagnostics.list)),
            };
            let content = json!({"valid": valid, "endpoints": endpoints, "diagnostics": diagnostics});
            context.output.answer(&json::document("validation", content));
            Ok(if valid { ExitStatus::Done } else { ExitStatus::Invalid })
        }
        ValidateFormat::Github => remarks(arguments, context, |remarks| github::annotations(remarks, "")),
        ValidateFormat::Sarif => {
            remarks(arguments, context, |remarks| sarif::report(remarks, "", env!("CARGO_PKG_VERSION")))
        }
    }
}

/// Answers with what was found as remarks at their places.
fn remarks(
    arguments: &ValidateArgs,
    context: &Context,
    draw: impl Fn(&[Annotation]) -> String,
) -> Result<ExitStatus, CommandError> {
    let checked = stack::check(context, &arguments.scope)?;
    let (found, prefix, ending) = match &checked {
        CheckedDefinitions::Valid(loaded) => {
            (&loaded.notes, context.environment.shown_from_here(&loaded.root), ExitStatus::Done)
        }
        CheckedDefinitions::Wrong(diagnostics) => {
            let prefix = diagnostics.prefix(context.environment.directory.as_deref());
            (&diagnostics.list, prefix, ExitStatus::Invalid)
        }
    };
    context.output.answer(&draw(&annotation::of_diagnostics(found, &prefix)));
    Ok(ending)
}

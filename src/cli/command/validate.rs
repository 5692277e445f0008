//! `validate`: checks the definitions without the service, and reports every problem at its place.

use crate::cli::args::ValidateArgs;
use crate::cli::context::Context;
use crate::cli::diagnostics;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::stack::{self, CheckedDefinitions};
use crate::load::Diagnostics;
use crate::report::{Format, Report, ReportOptions, StackSize, Validation, render};

/// Checks the definitions, without the service.
pub fn run(arguments: &ValidateArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let checked = match arguments.format {
        // People read the problems on stderr, drawn as a compiler draws them.
        Format::Text => CheckedDefinitions::Valid(stack::open_matched(context, &arguments.scope)?),
        _ => stack::check(context, &arguments.scope)?,
    };
    let (contents, found, prefix) = match &checked {
        CheckedDefinitions::Valid(stack) => {
            let (loaded, namespaces) = (&stack.loaded, stack.namespaces().len());
            let (endpoints, files) = (loaded.desired.definitions.len(), loaded.desired.files);
            if arguments.format == Format::Text && !loaded.notes.is_empty() {
                let notes = Diagnostics::new(loaded.notes.clone(), files);
                context.output.message(&diagnostics::render(context, &notes));
            }
            let prefix = context.environment.shown_from_here(&loaded.root);
            (Some(StackSize { endpoints, namespaces, files }), &loaded.notes, prefix)
        }
        CheckedDefinitions::Wrong(wrong) => (None, &wrong.list, wrong.prefix(context.environment.directory.as_deref())),
    };
    let report = Report::Validation(Validation { contents, diagnostics: found, prefix: &prefix });
    let view = context.output.view();
    context.output.answer(&render(&report, arguments.format, &ReportOptions::new(&view)));
    Ok(if contents.is_some() { ExitStatus::Done } else { ExitStatus::Invalid })
}

//! Problems in definitions and settings, as a command reports them: drawn as a compiler draws them, with
//! paths that can be opened from the working directory, and summed up in one line as the error.

use crate::cli::{CommandError, Context};
use crate::load::{Diagnostics, RenderOptions};
use crate::report::Palette;

/// Prints every problem at its place, and returns their sum as the error of the command.
pub fn error(context: &Context, diagnostics: &Diagnostics) -> CommandError {
    context.output.unnamed(&render(context, diagnostics));
    context.output.unnamed("");
    error!(Invalid, "{}; nothing was sent", diagnostics.summary()).sum().diagnostics(diagnostics.list.clone())
}

/// Prints what is not wrong and that a person may want to know; `--quiet` leaves it out.
pub fn message(context: &Context, diagnostics: &Diagnostics) {
    if !context.global.quiet {
        context.output.unnamed(&render(context, diagnostics));
    }
}

/// The problems as text for stderr.
fn render(context: &Context, diagnostics: &Diagnostics) -> String {
    let view = context.output.message_view();
    diagnostics.render(&RenderOptions {
        colour: view.palette == Palette::Coloured,
        width: view.width,
        directory: context.environment.directory.as_deref(),
    })
}

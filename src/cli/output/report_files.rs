//! A report where the call wants it: on standard output or in a file, and in files of other formats.

use std::path::Path;

use crate::cli::args::shared::ReportFileArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::CommandError;
use crate::cli::file;
use crate::report::text::TextView;
use crate::report::{self, Format, Palette, Report, ReportOptions, left_out};

/// Writes the report in `format` and in those of the files. `command` is the one that makes it.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    report: &Report<'_>,
    format: Format,
    files: &ReportFileArgs,
    (view, command): (&TextView, &str),
    context: &Context,
) -> Result<(), CommandError> {
    // A file is no terminal.
    let plain = TextView { is_terminal: false, palette: Palette::default(), ..view.clone() };
    let options =
        |view| ReportOptions { budget: files.budget, command: command.to_owned(), ..ReportOptions::new(view) };
    let into = |path: &Path, format| file::replace(path, |out| report::write(report, format, &options(&plain), out));
    for written in &files.write {
        into(&written.path, written.format)?;
    }
    match &files.output {
        Some(path) => into(path, format)?,
        None => context.output.report_with(report, format, &options(view)),
    }
    let formats = files.write.iter().map(|written| written.format).chain([format]);
    for words in formats.filter_map(|format| left_out(report, format)) {
        context.output.message(&words);
    }
    Ok(())
}

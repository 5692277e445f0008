//! A report where the call wants it: on standard output or in a file, and in files of other formats.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::args::{ReportFileArgs, WrittenReport};
use crate::cli::{Context, Result, file};
use crate::report::{self, Format, Palette, Report, TextView, left_out};

/// Writes the report in `format` and in those of the files.
///
/// # Errors
/// The file of the answer cannot be written.
pub fn write(
    report: &dyn Report,
    format: Format,
    files: &ReportFileArgs,
    view: &TextView,
    context: &Context,
) -> Result<()> {
    write_beside(report, &files.write, view, context);
    match &files.output {
        Some(path) => into(path, report, format, view)?,
        None => context.output.report_with(report, format, view),
    }
    let formats = files.write.iter().map(|written| written.format).chain([format]);
    for words in formats.filter_map(|format| left_out(report, format)) {
        context.output.message(&words);
    }
    Ok(())
}

/// Refuses a report in the place of definitions, and two in one file, the answer's or one of those beside it: the later one
/// would replace the other.
///
/// # Errors
/// There are such.
pub fn check(output: Option<&Path>, beside: &[WrittenReport]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for path in output.into_iter().chain(beside.iter().map(|written| written.path.as_path())) {
        if !seen.insert(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())) {
            return Err(
                error!(Usage, "two reports are to be written to `{}`", path.display()).hint("name a file for each")
            );
        }
        file::check_output(path)?;
    }
    Ok(())
}

/// Refuses the size of a Markdown report where no report is one.
///
/// # Errors
/// There is such.
pub fn check_budget(context: &Context, format: Format, beside: &[WrittenReport]) -> Result<()> {
    let is_used = beside.iter().map(|written| written.format).chain([format]).any(|format| format == Format::Markdown);
    match context.call.words("budget").is_empty() || is_used {
        true => Ok(()),
        false => Err(error!(Usage, "`--budget` limits a report in Markdown")
            .hint("leave out --budget, or give --format markdown")),
    }
}

/// Writes the report in the files that the call wants beside its answer. One that cannot be written is an error at the end
/// of the command: the answer goes first.
pub fn write_beside(report: &dyn Report, files: &[WrittenReport], view: &TextView, context: &Context) {
    for WrittenReport { format, path } in files {
        if let Err(error) = into(path, report, *format, view) {
            context.output.note_unwritten(error.to_string());
        }
    }
}

fn into(path: &Path, report: &dyn Report, format: Format, view: &TextView) -> Result<()> {
    // A file is no terminal.
    let view = TextView { is_terminal: false, palette: Palette::default(), ..view.clone() };
    file::replace(path, |out| report::write(report, format, &view, out))
}

//! The document of a run: made from its journal, and written into the files that the call names (`--write`) when the
//! run has ended, however it ended.

use crate::cli::args::WrittenReport;
use crate::cli::stacks::fleet::file_stem;
use crate::cli::{CommandError, Context, ExitStatus, Result, file, settings};
use crate::file::FileMode;
use crate::journal;
use crate::model::RunId;
use crate::model::policy::Safeguards;
use crate::report::{self, Format, TextView};
use crate::run::{InForce, PolicyDigest, RunDocument, RunRecord};

/// The run of this name, a prefix of it, or `last`, with the runs that resumed or superseded it.
///
/// # Errors
/// There is no such run, or the state cannot be read.
pub fn find(context: &Context, name: &str) -> Result<RunDocument> {
    let store = settings::state_store(context)?;
    let record =
        journal::find(store, name).map_err(|error| settings::store_error(context, ExitStatus::Invalid, error))?;
    let history = journal::history_since(store, &record).map_err(|error| settings::store_failed(context, error))?;
    let known = history.runs.into_iter().find(|summary| summary.run == *record.run());
    let mut document = RunDocument::of(&record, known.as_ref().and_then(|summary| summary.resumed_by.clone()));
    document.run.superseded_by = known.and_then(|summary| summary.superseded_by);
    Ok(document)
}

/// The file for one of several stacks: metrics by directory, which the next run replaces, or the record of this run.
fn file_name(document: &RunDocument, format: Format) -> String {
    let RunDocument { run, plan, .. } = document;
    if format != Format::Prometheus {
        return format!("{}.json", run.run);
    }
    // A stack may have several directories.
    let directory = plan.source.origin.to_string();
    let name = run.stack.as_ref().map_or_else(|| directory.clone(), |stack| format!("{stack}_{directory}"));
    format!("{}.prom", file_stem(&run.base_url, &name, plan.source.environment.as_deref()))
}

/// What is in force for a run, beside its plan.
pub fn in_force(context: &Context, settings: &Safeguards) -> InForce {
    let policy = context.policy.as_ref();
    let policy = policy.map(|file| PolicyDigest { path: file.path.display().to_string(), sha256: file.sha256.clone() });
    InForce { tool_version: env!("CARGO_PKG_VERSION").to_owned(), settings: settings.clone(), policy }
}

/// Writes the document of a run that ended: from its journal, or from what the run knows where that failed. One of several
/// runs has a file of its own in each directory. A file that cannot be written is an error at the end of the command: the
/// outcome goes first.
pub fn write(context: &Context, files: &[WrittenReport], run: &RunId, known: Option<RunRecord>) {
    if files.is_empty() {
        return;
    }
    let read = || {
        let store = settings::state_store(context)?;
        journal::find(store, run.as_str()).map_err(|error| settings::store_failed(context, error))
    };
    let note = |error: CommandError| {
        let unwritten = error!(Failed, "cannot write the document of the run: {error}");
        context.output.note_unwritten(unwritten.hint_each(error.hints));
    };
    let document = match known.map_or_else(read, Ok) {
        Ok(record) => RunDocument::of(&record, None),
        Err(error) => return note(error),
    };
    context.output.leave_files();
    let view = TextView::default();
    // A file that cannot be written does not stop the others.
    for WrittenReport { format, path } in files {
        let path = if context.findings.is_some() { path.join(file_name(&document, *format)) } else { path.clone() };
        // Another user reads metrics.
        let mode = if *format == Format::Prometheus { FileMode::Shared } else { FileMode::Private };
        file::replace(&path, mode, |out| report::write(&document, *format, &view, out)).unwrap_or_else(note);
    }
}

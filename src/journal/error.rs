//! Why a journal cannot be written, read or found, each case with what a user can do about it.

use std::path::PathBuf;

use crate::file::FileError;
use crate::model::RunId;
use crate::model::document::DocumentError;
use crate::state::{LeaseError, StateError};

/// Why a journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or a directory of the journal.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another apply of the same stack is running.
    #[error("another apply of {stack} is running on this machine{holder}; wait for it to end")]
    Locked {
        /// "stack `shop`", or the service if there is no stack.
        stack: String,
        /// " (run `…`)" with the id of that run, or empty if the id cannot be read.
        holder: String,
    },
    /// Another run of the stack began and ended while this one waited for the lock.
    #[error("run `{run}` of {stack} ran while this one waited, so its plan is out of date; repeat the command")]
    Overtaken {
        /// The run that ended meanwhile.
        run: RunId,
        /// "stack `shop`", or the service if there is no stack.
        stack: String,
    },
    /// An object of the state store.
    #[error(transparent)]
    State(#[from] StateError),
    /// The lock in the state store.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The bucket contains another object under a name that only this run writes.
    #[error("`{}` is already there: another program writes this run", .0.display())]
    Taken(PathBuf),
    /// A part of a run is missing, so the other parts are not used either.
    #[error("`{}` lacks the part {part}; the run cannot be used", path.display())]
    Gap {
        /// The run.
        path: PathBuf,
        /// The name of the first part that is missing.
        part: String,
    },
    /// The store lists a run but answers that the object does not exist.
    #[error("`{}` is listed, but the store does not return it; the run cannot be used", .0.display())]
    Withheld(PathBuf),
    /// A damaged line in the middle of a file. A killed process can only cut off the last line.
    #[error("`{}:{line}` is damaged: {reason}; the run cannot be used", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file ends inside its header: the run was killed before it sent anything.
    #[error("`{}` has no header: the run was killed before it sent anything", .0.display())]
    NoHeader(PathBuf),
    /// Written by another version of this program.
    #[error("`{}` cannot be used: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The version of the file and the supported versions.
        reason: DocumentError,
    },
    /// The record of a run that another run resumed is missing.
    #[error("run `{run}` continues run `{resumed}`, whose record is gone: what that wrote is not known")]
    NoResumed {
        /// The run whose record exists.
        run: RunId,
        /// The run that it resumed.
        resumed: RunId,
    },
    /// The requested run does not exist.
    #[error("there is no run `{run}` in `{}`", state.display())]
    NoRun {
        /// The text that the user gave.
        run: String,
        /// The state directory.
        state: PathBuf,
    },
    /// The store has no run of this stack on this service.
    #[error("there is no run {stack} on {base_url} in `{}`{there}", state.display())]
    NoLast {
        /// "of stack `shop`", or "without a stack".
        stack: String,
        /// The service.
        base_url: String,
        /// The state directory.
        state: PathBuf,
        /// "; there are runs of …" if the store has other runs, else empty.
        there: String,
    },
    /// A newer run (of the stack, if the command is about one) cannot be read, so it is unknown which run is the last.
    #[error("`{}` is a later run and cannot be read, so an earlier one is not taken for the last", path.display())]
    LaterUnreadable {
        /// The later run.
        path: PathBuf,
        /// Why it cannot be read.
        source: Box<JournalError>,
    },
    /// More than one run begins with the text that was given.
    #[error("`{run}` matches {count} runs; give more of the id")]
    Ambiguous {
        /// What was asked for.
        run: String,
        /// How many runs begin with it.
        count: usize,
    },
    /// A later run applied all definitions or rolled it back: a resume would undo that.
    #[error("run `{run}` is superseded by run `{by}`, so it is not resumed")]
    Superseded {
        /// The run.
        run: RunId,
        /// The later run.
        by: RunId,
    },
    /// The run was resumed after its rollback was planned.
    #[error("run `{run}` was resumed by run `{by}` since its rollback was planned")]
    Resumed {
        /// The run to roll back.
        run: RunId,
        /// The last run that resumed it.
        by: RunId,
    },
    /// Runs that resume each other in a circle.
    #[error("run `{0}` resumes itself; its file was altered")]
    Circle(String),
}

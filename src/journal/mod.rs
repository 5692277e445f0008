//! Runs on disk. Each run is one file of JSON lines in the state directory: a header with the whole plan,
//! an intent before each write leaves, the result of each change, a closing line. [`Journal`] writes a
//! run, [`load`] reads one back however it ended, and [`history`] lists all of them.

mod error;
mod history;
mod lock;
mod read;
mod write;

pub use error::JournalError;
pub use history::{
    Retention, RunHistory, RunOwner, applied_keys, find, find_newest, find_of, history, naming_time, open_run, prune,
};
pub use read::{load, parse, read};
pub use write::{Journal, RecordError};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::RunId;
use crate::run::{ChangeStep, Intent, RunClosing, RunHeader};

/// The format that this program writes and reads.
const FORMAT_VERSION: u32 = 1;

/// One line of a run's file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// The first line.
    Header {
        /// See [`FORMAT_VERSION`].
        format_version: u32,
        /// The run.
        header: RunHeader,
    },
    /// A write that is about to leave.
    Intent(Intent),
    /// The result of a change.
    Outcome(ChangeStep),
    /// The last line.
    Closing(RunClosing),
}

/// A [`Line`] as it is written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum LineRef<'a> {
    Header { format_version: u32, header: &'a RunHeader },
    Intent(&'a Intent),
    Outcome(&'a ChangeStep),
    Closing(&'a RunClosing),
}

/// The directory of the runs, in the state directory.
const RUNS: &str = "runs";

fn runs(state: &Path) -> PathBuf {
    state.join(RUNS)
}

fn file(state: &Path, run: &RunId) -> PathBuf {
    runs(state).join(format!("{run}.jsonl"))
}

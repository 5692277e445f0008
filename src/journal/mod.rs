//! Runs in the state store. Each run is JSON lines: a header with the whole plan, an intent before each write is sent,
//! the result of each change, a closing line; one file in a directory, or one object for each flush in a
//! bucket. [`Journal`] writes a run, [`load`] reads one back however it ended, and [`history`] lists all of them.

mod error;
mod history;
mod last_actions;
mod lock;
mod objects;
mod prune;
mod read;
mod search;
mod stored;
#[cfg(test)]
mod tests;
mod write;

pub use error::JournalError;
pub use history::{RunHistory, history, history_since};
pub use last_actions::{LastAction, LastActions, last_actions};
pub use prune::{Retention, prune};
pub use read::{load, load_present, parse};
pub use search::{RunOwner, find, find_newest, find_whole, open_run};
pub use stored::{ensure_over, naming_time, run_name, unlock};
pub use write::{Journal, RecordError};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::document::DocumentFormat;
use crate::run::{ChangeStep, Intent, RunClosing, RunHeader};

/// The format of a run's file, as its header names it.
const FORMAT: DocumentFormat =
    DocumentFormat { name: "a run", kinds: &[], versions: 1..=1, remedy: "use the version that wrote it" };

/// One line of a run's file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a run has one header; a box would not make the other lines smaller")]
enum Line<'a> {
    /// The first line.
    Header {
        /// See [`FORMAT`].
        format_version: u32,
        /// The run.
        header: Cow<'a, RunHeader>,
    },
    /// A write that is about to be sent.
    Intent(Cow<'a, Intent>),
    /// The result of a change.
    Outcome(Cow<'a, ChangeStep>),
    /// The last line.
    Closing(Cow<'a, RunClosing>),
}

/// The directory of the runs, in the state store.
const RUNS: &str = "runs";
/// The directory of the locks, beside it.
const LOCKS: &str = "locks";

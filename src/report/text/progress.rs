//! The progress of a run as lines of a log.

use std::time::Duration;

use super::{TextView, change};
use crate::report::line::{self, Part, foreign, line};
use crate::run::{ChangeResult, ChangeStep, RunEvent};

/// A run as lines of a log: one for each change, with its time.
#[derive(Debug, Clone)]
pub struct LineProgress {
    view: TextView,
}

impl LineProgress {
    /// Lines as `view` draws them.
    #[must_use]
    pub fn new(view: TextView) -> Self {
        Self { view }
    }

    /// The line of an event, if it has one; without a line break.
    pub fn line(&self, event: RunEvent<'_>) -> Option<String> {
        match event {
            RunEvent::Finished { step, took } => Some(step_line(step, took, &self.view)),
            RunEvent::Waiting { key, reason, wait, .. } => {
                let key = key.map(|key| line![line::key(key), ": "]);
                let wait = Part::Made(format!("{:.1} s", wait.as_secs_f64()));
                Some(self.view.line(&line!["  … ", key, foreign(reason), ", waiting ", wait]))
            }
            RunEvent::Verifying { read } if read > 1 => {
                Some(self.view.line(&line!["  … still different, read ", u64::from(read)]))
            }
            RunEvent::Started { .. }
            | RunEvent::Phase { .. }
            | RunEvent::Sending { .. }
            | RunEvent::Verifying { .. } => None,
        }
    }
}

/// One change with what became of it and its time.
pub fn step_line(step: &ChangeStep, took: Duration, view: &TextView) -> String {
    let name = change::step(step.action, &step.key, step.result.is_done(), view);
    let result = match &step.result {
        ChangeResult::Done { adopted: true, .. } => "adopted: it was there as wanted, and nobody owned it",
        ChangeResult::Done { by_reading: true, .. } => "done, settled by reading",
        ChangeResult::Done { .. } => "done",
        ChangeResult::AlreadyDone => "already as wanted",
        ChangeResult::Conflict(_) => "conflict",
        ChangeResult::Referred { .. } => "blocked: others refer to it",
        ChangeResult::Failed { .. } => "failed",
        ChangeResult::InDoubt { .. } => "in_doubt",
        ChangeResult::Skipped { .. } => "not tried",
    };
    format!("{name}{result} ({} ms)", took.as_millis())
}

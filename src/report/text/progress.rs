//! The progress of a run as lines of a log.

use std::time::Duration;

use super::TextView;
use crate::report::Role;
use crate::report::facts::plan::sign;
use crate::report::view::{self, Part, code, foreign, line, styled};
use crate::run::{ChangeResult, ChangeStep, RunEvent};

/// How wide the names of endpoints are before their results.
const KEY_WIDTH: usize = 46;

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
    #[must_use]
    pub fn line(&self, event: RunEvent<'_>) -> Option<String> {
        match event {
            RunEvent::Finished { step, took } => Some(step_line(step, took, &self.view)),
            RunEvent::Waiting { key, reason, wait, .. } => {
                let key = key.map(|key| line![view::key(key), ": "]);
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
#[must_use]
pub fn step_line(step: &ChangeStep, took: Duration, view: &TextView) -> String {
    let (sign, role) = sign(step.action);
    let key = format!("{:<KEY_WIDTH$}", step.key.to_string());
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
    let role = if step.result.is_done() { role } else { Role::Wrong };
    let took = Part::Made(took.as_millis().to_string());
    view.line(&line!["  ", styled(role, sign), " ", code(key), "  ", result, " (", took, " ms)"])
}

//! Reports as text for a terminal or a log: signs and words first, colour only added. Every report
//! ends in the next thing to do. And the progress of a run as lines of a log.

mod change;
pub(super) mod draw;

use std::time::Duration;

use crate::report::TextView;
use crate::report::fit::columns;
pub use crate::report::line::digits;
use crate::report::line::{self, Line, Part, foreign};
use crate::run::{ChangeResult, ChangeStep, RunEvent};

/// A number of things: `1 stack`, `12 stacks`.
pub fn count(number: impl TryInto<u64>, one: &'static str) -> String {
    draw::plain(&Line::count(number, one))
}

/// A list of names that does not grow without end.
pub fn some_of(names: &[String], most: usize) -> String {
    draw::plain(&Line::some_of(names.iter(), most))
}

/// The line of an event of a run in a log, if it has one; without a line break.
pub fn progress_line(event: RunEvent<'_>, view: &TextView) -> Option<String> {
    match event {
        RunEvent::Finished { step, took } => Some(step_line(step, took, view)),
        RunEvent::Waiting { key, reason, wait, .. } => {
            let key = key.map(|key| line![line::key(key), ": "]);
            let wait = Part::Made(format!("{:.1} s", wait.as_secs_f64()));
            Some(view.line(&line!["  … ", key, foreign(reason), ", waiting ", wait]))
        }
        RunEvent::Verifying { read } if read > 1 => {
            Some(view.line(&line!["  … still different, read ", u64::from(read)]))
        }
        RunEvent::Started { .. } | RunEvent::Phase { .. } | RunEvent::Sending { .. } | RunEvent::Verifying { .. } => {
            None
        }
    }
}

/// One change with its result and its time.
pub fn step_line(step: &ChangeStep, took: Duration, view: &TextView) -> String {
    let name = change::step(step.action, &step.key, step.result.is_done(), view);
    let result = match &step.result {
        ChangeResult::Done { adopted: true, .. } => "adopted: already as wanted, and owned by no stack",
        ChangeResult::Done { by_reading: true, .. } => "done, confirmed by a read",
        ChangeResult::Done { .. } => "done",
        ChangeResult::AlreadyDone => "already as wanted",
        ChangeResult::Conflict(_) => "conflict",
        ChangeResult::Referred { .. } => "blocked: others refer to it",
        ChangeResult::Failed { .. } => "failed",
        ChangeResult::InDoubt { .. } => "in doubt",
        ChangeResult::Skipped { .. } => "not tried",
    };
    format!("{name}{result} ({} ms)", took.as_millis())
}

use std::time::Duration;

use super::{View, plan::sign};
use crate::plan::{Event, Fate, Step};
use crate::report::{Role, safe};

/// Tells a run as lines where there is no terminal: one a change, with its time.
#[derive(Debug, Clone)]
pub struct LineProgress {
    view: View,
}

impl LineProgress {
    /// Lines as `view` draws them.
    #[must_use]
    pub fn new(view: View) -> Self {
        Self { view }
    }

    /// The line of an event, if it has one; without a line break.
    #[must_use]
    pub fn line(&self, event: &Event) -> Option<String> {
        match event {
            Event::Finished { step, took } => Some(step_line(step, *took, &self.view)),
            Event::Waiting { key, reason, wait } => {
                let key = key.to_string();
                let wait = wait.as_secs_f64();
                Some(format!("  … {}: {}, waiting {wait:.1} s", safe::line(&key), safe::line(reason)))
            }
            Event::Looking { look } if *look > 1 => Some(format!("  … still different, look {look}")),
            Event::Started { .. } | Event::Phase { .. } | Event::Looking { .. } => None,
        }
    }
}

/// One change with what became of it and its time.
#[must_use]
pub fn step_line(step: &Step, took: Duration, view: &View) -> String {
    let (sign, role) = sign(step.action);
    let key = step.key.to_string();
    let key = safe::line(&key);
    let fate = match &step.fate {
        Fate::Done { adopted: true, .. } => "adopted: it was there as wanted, and nobody owned it",
        Fate::Done { by_reading: true, .. } => "done, settled by reading",
        Fate::Done { .. } => "done",
        Fate::AlreadyDone => "already as wanted",
        Fate::Conflict(_) => "conflict",
        Fate::Referred { .. } => "held back: others refer to it",
        Fate::Failed { .. } => "failed",
        Fate::Unsettled { .. } => "unsettled",
        Fate::Skipped { .. } => "not tried",
    };
    let role = if step.fate.is_done() { role } else { Role::Wrong };
    format!("  {} {key:<46}  {fate} ({} ms)", view.palette.paint(role, sign), took.as_millis())
}

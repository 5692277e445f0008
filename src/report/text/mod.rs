//! Reports as text for a terminal or a log: signs and words first, colour only added. Every report
//! ends in the next thing to do.

mod change;
mod draw;
mod drift;
mod fleet;
mod history;
mod outcome;
mod plan;
mod progress;
mod refusal;
mod rehearsal;
mod validation;

pub(super) use draw::draw;
pub use drift::drift;
pub use fleet::fleet;
pub use history::{history, nothing_to_resume, open_run, pruned, resuming, run};
pub use outcome::outcome;
pub use plan::{consents, plan, settings, write_plan};
pub use progress::{LineProgress, step_line};
pub use refusal::{blocked, incomplete, refusal};
pub use rehearsal::rehearsal;

pub use validation::valid;

use std::time::Duration;

use unicode_width::UnicodeWidthStr as _;

use super::view::Line;
use super::{Charset, Palette, Role};

/// How a text report is drawn.
#[derive(Debug, Clone, Default)]
pub struct TextView {
    /// Colour or none.
    pub palette: Palette,
    /// Columns of the terminal.
    pub width: usize,
    /// The characters of drawings.
    pub charset: Charset,
    /// Whether it is read on a terminal, where long lines are broken and columns of free text are cut.
    pub is_terminal: bool,
    /// How long the command took so far; left out where nothing should depend on time.
    pub elapsed: Option<Duration>,
    /// The words that name the stack and its settings behind `trueup plan`, `apply` and the like, quoted for a shell.
    pub call: String,
    /// The command that makes what is shown, if it is not `trueup apply` with those words.
    pub make: Option<String>,
    /// The command that plans it again, if it is not `trueup plan` with those words.
    pub again: Option<String>,
    /// The flags that a command without those words needs to find the same settings, each behind a blank.
    pub flags: String,
}

impl TextView {
    /// Columns that a table may take: a reader that is not a terminal gets every value whole.
    #[must_use]
    pub fn limit(&self) -> usize {
        if self.is_terminal { self.width } else { usize::MAX }
    }

    /// The words that name the stack; `.` where nothing does.
    pub(in crate::report) fn call(&self) -> &str {
        if self.call.is_empty() { "." } else { &self.call }
    }

    /// The command that makes what is shown.
    pub(in crate::report) fn apply_command(&self) -> String {
        let command = self.make.clone().unwrap_or_else(|| format!("trueup apply {}", self.call()));
        super::safe::line(&command).into_owned()
    }

    /// The command that plans it again.
    pub(in crate::report) fn plan_command(&self) -> String {
        let command = self.again.clone().unwrap_or_else(|| format!("trueup plan {}", self.call()));
        super::safe::line(&command).into_owned()
    }
}

/// Notes, a line each.
fn notes(notes: &[Line<'_>], view: &TextView) -> String {
    let word = view.palette.paint(Role::Quiet, "note");
    notes.iter().map(|line| format!("  {word}  {}\n", view.plain(line))).collect()
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

/// `left` with `right` at the end of the line, or two columns behind it where it does not fit.
fn at_the_end(left: &str, left_width: usize, right: &str, right_width: usize, width: usize) -> String {
    if right.is_empty() {
        return left.trim_end().to_owned();
    }
    let gap = width.saturating_sub(left_width + right_width).max(2);
    format!("{left}{}{right}", " ".repeat(gap))
}

fn columns(text: &str) -> usize {
    text.width()
}

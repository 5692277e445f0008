//! Reports as text for a terminal or a log: signs and words first, colour only added. Every report
//! ends in the next thing to do.

mod change;
pub(super) mod draw;
mod drift;
mod fleet;
mod plan;
mod progress;

pub use drift::drift;
pub use fleet::fleet;
pub use plan::{plan, write_plan};
pub use progress::{progress_line, step_line};

use unicode_width::UnicodeWidthStr as _;

use crate::report::line::Line;
pub use crate::report::line::digits;

use super::view::{outcome, runs};
use super::{Role, TextView};
use crate::model::RunId;
use crate::plan::{ApprovalError, Plan};
use crate::run::RunSummary;

/// Why a plan is not applied, with what allows it where something can.
pub fn refusal(refusal: &ApprovalError, view: &TextView) -> String {
    draw::blocks(&outcome::refusal(refusal, view), view)
}

/// What a plan says first: that an apply of it would be refused and why, and who allowed what.
pub fn consents(plan: &Plan, view: &TextView) -> String {
    draw::blocks(&outcome::consented(plan), view)
}

/// That the newest run of a stack was not finished.
pub fn open_run(run: &RunSummary, view: &TextView) -> String {
    draw::blocks(&runs::open(run, view), view)
}

/// What a resume of a run says that is finished: what its plan blocked is not made all the same.
pub fn nothing_to_resume(run: &RunId, plan: &Plan, view: &TextView) -> String {
    view.line(&runs::nothing_to_resume(run, plan, view))
}

/// What a resume begins with.
pub fn resuming(run: &RunSummary, view: &TextView) -> String {
    view.line(&runs::resuming(run))
}

/// Which runs were removed.
pub fn pruned(gone: &[RunId], view: &TextView) -> String {
    view.line(&runs::pruned(gone))
}

/// A number of things: `1 stack`, `12 stacks`.
pub fn count(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {one}{}", digits(number), if number == 1 { "" } else { "s" })
}

/// A list of names that does not grow without end.
pub fn some_of(names: &[String], most: usize) -> String {
    draw::plain(&Line::some_of(names.iter(), most))
}

/// Notes, a line each.
fn notes(notes: &[Line<'_>], view: &TextView) -> String {
    let word = view.palette.paint(Role::Quiet, "note");
    notes.iter().map(|line| format!("  {word}  {}\n", view.plain(line))).collect()
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

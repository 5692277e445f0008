//! Reports as Markdown for a pull request, under a budget of bytes. Deletes, guards, what is blocked
//! and what could not be read are never left out; edits follow as far as the budget reaches, whole
//! blocks at a time, so that no fence is ever cut. Every text from the service or a file is in a
//! code span, a fence or escaped HTML, where neither Markdown nor a forge's mentions and references
//! look. A hidden first line lets a bot find its own comment.

mod draw;
mod escape;
mod fleet;
mod report;

pub(in crate::report) use draw::{capital, draw, table};
pub(in crate::report) use escape::fenced;
pub use fleet::fleet;
pub(in crate::report) use report::report;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The default budget, in bytes: GitHub takes comments of 65,536 characters.
pub const BUDGET: usize = 65_000;

/// The hidden first line: what the report is, and of which stack.
fn marker(kind: &str, stack: Option<&str>) -> String {
    // Whatever could end a comment is percent-encoded.
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');
    let stack = utf8_percent_encode(stack.unwrap_or_default(), KEPT).to_string();
    let stack = stack.replace("--", "-%2D");
    format!("<!-- trueup:{kind} stack={stack} -->\n")
}

#[cfg(test)]
mod tests;

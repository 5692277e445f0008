//! A bug of this program, reported in one clean line instead of a trace, wherever it happens.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::ExitStatus;
use crate::report::{error, safe};

/// The call promises a document, and none was begun.
static DOCUMENT_IS_PROMISED: AtomicBool = AtomicBool::new(false);

/// Takes whether a bug has to be a document on standard output, too.
pub fn promise_document(promised: bool) {
    DOCUMENT_IS_PROMISED.store(promised, Ordering::Relaxed);
}

fn document(what: &str) -> String {
    let error = error!(Bug, "bug: {what}");
    error::json(&error.hint("please report it with the command that led to it").report())
}

/// Replaces the report of panics. The first one ends the program on whatever thread it happens:
/// what a run has sent is in its journal by then.
pub fn end_with_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = safe::line(what);
        if DOCUMENT_IS_PROMISED.load(Ordering::Relaxed) {
            let _ = std::io::stdout().write_all(document(&format!("{what}{place}")).as_bytes());
        }
        // A closed stderr leaves no way to report it.
        let _ = writeln!(
            std::io::stderr(),
            "bug: {what}{place}\n  this is a fault of trueup {}, please report it with the command that led to it",
            env!("CARGO_PKG_VERSION")
        );
        std::process::exit(ExitStatus::Bug.code().into());
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_a_document_like_every_other_error() {
        let document: serde_json::Value = serde_json::from_str(&document("index out of bounds")).expect("JSON");
        assert_eq!((&document["kind"], &document["exit_code"]), (&"error".into(), &70.into()));
        assert_eq!(document["message"], "bug: index out of bounds");
    }
}

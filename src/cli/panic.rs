//! A bug of this program, reported in one clean line instead of a trace, wherever it happens.

use std::io::Write as _;

use super::exit_status::ExitStatus;
use crate::report::safe;

/// Replaces the report of panics. The first one ends the program on whatever thread it happens:
/// what a run has sent is in its journal by then.
pub fn end_with_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = safe::line(what);
        // A closed stderr leaves no way to report it.
        let _ = writeln!(
            std::io::stderr(),
            "bug: {what}{place}\n  this is a fault of trueup {}, please report it with the command that led to it",
            env!("CARGO_PKG_VERSION")
        );
        std::process::exit(ExitStatus::Bug.code().into());
    }));
}

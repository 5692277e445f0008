//! A fault of this program, told in one clean line instead of a trace, wherever it happens.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::report::safe;

static SEEN: AtomicBool = AtomicBool::new(false);

/// Tells whether any thread panicked.
pub struct Watch(());

/// Takes over the telling of panics.
pub fn watch() -> Watch {
    std::panic::set_hook(Box::new(|panic| {
        SEEN.store(true, Ordering::Relaxed);
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = safe::line(what);
        // There is nobody else to tell when stderr is closed.
        let _ = writeln!(
            std::io::stderr(),
            "bug: {what}{place}\n  this is a fault of trueup {}, please report it with the command that led to it",
            env!("CARGO_PKG_VERSION")
        );
    }));
    Watch(())
}

impl Watch {
    /// Whether there was one.
    pub fn saw_one(&self) -> bool {
        SEEN.load(Ordering::Relaxed)
    }
}

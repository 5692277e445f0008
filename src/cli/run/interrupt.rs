//! Ctrl-C during a run: trueup starts no new calls, waits for those in flight, and writes the outcome. A second Ctrl-C
//! ends the program at once, as a kill would: the journal records what was in flight. A signal to end does the same,
//! and so does the loss of the terminal.

use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::exit_status::MAY_HAVE_TAKEN_EFFECT;
use crate::cli::{ExitStatus, Output, Result};
#[cfg(unix)]
use crate::file::{self, limit};
use crate::report::safe;

/// Signals within this time are one interrupt: `timeout` signals the program and its process group.
const ONE_INTERRUPT: Duration = Duration::from_millis(200);

/// The time that a second interrupt leaves the program to end by itself, and to say why.
const GRACE: Duration = Duration::from_secs(1);

/// What the newest run leaves if it ends at once, for the message of a second interrupt.
static LEFT: Mutex<Option<String>> = Mutex::new(None);

/// Becomes `true` when the run that begins now is interrupted. At a second interrupt, `output` says what is `left`.
pub async fn watch(output: Output, left: String) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    let mut first = Box::pin(interrupted());
    // From here on signals are awaited, and no longer end the command by themselves.
    let is_interrupted = futures_util::poll!(first.as_mut()).is_ready();
    output.note_run();
    let ended = format!("interrupted again: ended at once; {left}");
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{}\n", safe::line(&ended)));
    tokio::spawn(async move {
        if !is_interrupted {
            first.await;
        }
        stop.send_replace(true);
        tokio::time::sleep(ONE_INTERRUPT).await;
        let tell = async { output.notice("interrupted: no new changes start; those in flight finish") };
        // Wait for the second before the message is written, or one in between would be lost. A hang-up is not a second
        // interrupt: it arrives several times, from the system and from the shell.
        tokio::join!(biased; asked_to_end(), tell);
        output.clear_lines();
        output.notice(&ended);
        std::process::exit(ExitStatus::Interrupted.code().into());
    });
    stopped
}

/// The result of a command; `None` once it is interrupted while it only reads. A run handles interrupts itself.
pub async fn unless_interrupted<T>(output: &Output, work: impl Future<Output = T>) -> Option<T> {
    let interrupted = async {
        loop {
            interrupted().await;
            if !output.has_run() {
                return;
            }
        }
    };
    tokio::select! {
        result = work => Some(result),
        () = interrupted => None,
    }
}

/// The result of a write that no run records. An interrupt ends it, and leaves open whether it took effect.
///
/// # Errors
/// Those of the write, and that it was interrupted.
pub async fn during_write<T>(output: &Output, write: impl Future<Output = Result<T>>) -> Result<T> {
    unless_interrupted(output, write).await.unwrap_or_else(|| {
        output.clear_lines();
        Err(error!(Interrupted, "interrupted").hint(MAY_HAVE_TAKEN_EFFECT))
    })
}

/// Returns at Ctrl-C, when the process receives a signal to end, or when its terminal is closed or the connection to it lost.
pub async fn interrupted() {
    static INSISTED: Once = Once::new();
    // If the thread cannot start, a second interrupt has no effect.
    INSISTED.call_once(|| drop(std::thread::Builder::new().spawn(end_at_second)));
    first().await;
}

async fn first() {
    tokio::select! {
        () = asked_to_end() => {}
        () = hung_up() => {}
    }
}

/// Ends the program at a second interrupt even if its one thread writes to a reader that no longer reads.
fn end_at_second() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        first().await;
        tokio::time::sleep(ONE_INTERRUPT).await;
        asked_to_end().await;
        tokio::time::sleep(GRACE).await;
        let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        // Not through `Output`, whose lines the blocked write has locked.
        let said = tokio::task::spawn_blocking(move || std::io::stderr().write_all(left.as_bytes()));
        let _ = tokio::time::timeout(GRACE, said).await;
    });
    std::process::exit(ExitStatus::Interrupted.code().into());
}

async fn asked_to_end() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    received(SignalKind::terminate()).await;
}

#[cfg(unix)]
async fn hung_up() {
    match is_hangup_ignored() {
        true => std::future::pending().await,
        false => received(SignalKind::hangup()).await,
    }
}

#[cfg(unix)]
async fn received(kind: SignalKind) {
    match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Whether the program was started to outlive its terminal, as by `nohup`: awaiting the signal would defeat that.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    use std::io::IsTerminal as _;
    let path = format!("/proc/{}/status", std::process::id());
    let status = file::read(path.as_ref(), limit::SETTINGS).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & 1 != 0,
        // If the system does not show it: `nohup` leaves no output on a terminal.
        None => !std::io::stdout().is_terminal() && !std::io::stderr().is_terminal(),
    }
}

/// Windows has no such signal: closing a window asks the program to end.
#[cfg(windows)]
async fn hung_up() {
    std::future::pending::<()>().await;
}

/// The window is closed, or the machine goes down; a service manager sends Ctrl-Break.
#[cfg(windows)]
async fn terminated() {
    use tokio::signal::windows::{ctrl_break, ctrl_close, ctrl_shutdown};
    let (Ok(mut pause), Ok(mut close), Ok(mut shutdown)) = (ctrl_break(), ctrl_close(), ctrl_shutdown()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = pause.recv() => {}
        _ = close.recv() => {}
        _ = shutdown.recv() => {}
    }
}

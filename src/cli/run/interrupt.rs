//! Ctrl-C during a run: trueup starts no new calls, waits for those in flight, and writes the outcome. A
//! second Ctrl-C ends the program at once, as a kill would: the journal records what was in flight.

use std::time::Duration;

use tokio::sync::watch;

use crate::cli::{ExitStatus, Output};

/// Signals that arrive within this time are one interrupt: `timeout` sends its own to the program and to the group of the program.
const ONE_INTERRUPT: Duration = Duration::from_millis(200);

/// Becomes `true` when a person interrupts the command. `output` says so, and at a second interrupt what is `left`.
pub fn watch(output: Output, left: String) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        interrupted().await;
        stop.send_replace(true);
        tokio::time::sleep(ONE_INTERRUPT).await;
        let tell = async { output.notice("interrupted: no new changes start; those in flight finish") };
        // The second is waited for first: one that came between would be lost.
        tokio::join!(biased; interrupted(), tell);
        output.clear_lines();
        output.notice(&format!("interrupted again: ended at once; {left}"));
        std::process::exit(ExitStatus::Interrupted.code().into());
    });
    stopped
}

/// The result of a command that only reads, or nothing as soon as it is interrupted.
pub async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        result = work => Some(result),
        () = interrupted() => None,
    }
}

/// Returns at Ctrl-C, or when the process receives a signal to end.
pub async fn interrupted() {
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
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending::<()>().await,
    }
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

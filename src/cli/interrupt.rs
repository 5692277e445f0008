//! Ctrl-C while a run goes on: no new calls, those in flight finish, the outcome is written.

use tokio::sync::watch;

/// Becomes `true` when a person interrupts the command, who is told so.
pub fn watch(tell: impl Fn(&str) + Send + 'static) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        interrupted().await;
        tell("interrupted: no new changes are begun; those in flight finish");
        stop.send_replace(true);
        // The sender stays, so that a receiver never mistakes its end for an answer.
        std::future::pending::<()>().await;
    });
    stopped
}

/// Returns at Ctrl-C, or when the process is told to end.
pub async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending::<()>().await,
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

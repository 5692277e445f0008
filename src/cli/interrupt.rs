//! Ctrl-C while a run goes on: no new calls, those in flight finish, the outcome is written. Once more,
//! and the program ends there, as a kill would end it: the journal knows what was in flight.

use tokio::sync::watch;

use super::ending::Ending;

/// Becomes `true` when a person interrupts the command, who is told so, and at the second time what is `left`.
pub fn watch(tell: impl Fn(&str) + Send + 'static, left: String) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        interrupted().await;
        tell("interrupted: no new changes are begun; those in flight finish");
        stop.send_replace(true);
        interrupted().await;
        tell(&format!("interrupted again: ended at once; {left}"));
        std::process::exit(Ending::Interrupted.code().into());
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

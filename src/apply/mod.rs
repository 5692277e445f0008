//! Runs an approved plan: creates, then replaces and annotates, then deletes, each write with its intent
//! on disk before it leaves, each lost or odd answer settled by a read, and a verification at the end.
//! What to do about one object and what became of one write are decided by pure functions (`decide`,
//! `settle`); the rest of the module only carries out what they say. [`run`] never fails: everything
//! that goes wrong is the result of a change.

mod client;
mod confirm;
mod decide;
mod options;
mod phases;
mod service;
mod step;
mod target_state;
mod verify;

#[cfg(test)]
mod tests;

pub use options::{ApplyOptions, PollPolicy};

use crate::api::Writer;
use crate::plan::ApprovedPlan;
use crate::run::{Outcome, RunObserver, RunRecord, RunRecorder};

/// Makes the changes of an approved plan.
///
/// # Expected flow
/// Creates, then replaces and annotates, then deletes; inside a phase [`ApplyOptions::concurrency`] changes at
/// the same time. A create is one request; a replace a GET and a PUT; a delete a GET of the object,
/// one of who refers to it, and the DELETE. Then every namespace in which something was sent is read
/// again until nothing differs or [`ApplyOptions::poll_policy`] ends. The recorder is closed last.
///
/// # Guarantees
/// - Every write's intent is on disk, by the recorder's word, before the write leaves. Once the
///   recorder fails nothing more is sent.
/// - A replace sends the object as a GET just before showed it with only the planned fields and the
///   ownership annotations set, and the version of that GET. Where managed fields, annotations or uid are not
///   what the plan saw, the change is refused with each field three ways, and the others go on.
/// - No delete is sent unless every create, replace and annotate is done.
/// - A write whose answer is lost is sent again only after a GET showed the same uid and version, a
///   bounded number of times; never after a 500 or a refusal. A replace that was plainly refused for its
///   version took no effect: where nothing that the plan looks at moved, it is made anew of a fresh GET,
///   as often.
/// - The outcome has every change of the plan, however the run ended.
///
/// # Assumptions
/// The writer talks to the service that the plan is for. One run of a stack is in progress at a time (the
/// journal's lock sees to it on one machine).
///
/// # Caveats
/// A delete cannot carry a version, so what is written between its GET and its DELETE is lost. A
/// replace is *guarded* only where the service was seen to refuse a wrong version or the
/// configuration says that it does; elsewhere it is *versioned*.
///
/// # Errors
/// None: they are results ([`crate::run::ChangeResult`]).
pub async fn run<R: RunRecorder, O: RunObserver>(
    approved: ApprovedPlan<'_>,
    writer: &Writer,
    recorder: &R,
    observer: &O,
    options: ApplyOptions,
) -> Outcome {
    let service = client::HttpService { writer, sealed: &options.sealed };
    phases::run(approved.plan(), None, &service, recorder, observer, &options).await
}

/// Resumes a run that ended early, in a run of its own.
///
/// # Expected flow
/// What the record says is done stays done. Each write in doubt is settled by a GET: as wanted and by
/// the earlier run, done; still with the uid and version that it had, decided afresh; anything else, a
/// conflict. What was not sent is sent, in the order and after the checks of [`run`].
///
/// # Guarantees
/// Those of [`run`]. A change that was undone since is not made twice.
///
/// # Errors
/// None: they are results.
pub async fn resume<R: RunRecorder, O: RunObserver>(
    record: &RunRecord,
    writer: &Writer,
    recorder: &R,
    observer: &O,
    options: ApplyOptions,
) -> Outcome {
    let service = client::HttpService { writer, sealed: &options.sealed };
    phases::run(&record.header.plan, Some(record), &service, recorder, observer, &options).await
}

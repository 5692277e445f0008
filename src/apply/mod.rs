//! Runs an approved plan in waves: creates, then replaces and annotates, then deletes. The intent of each write is on
//! disk before the write is sent, a read settles each lost or odd answer, and a verification ends the run. Pure
//! functions (`decide`, `confirm`) decide what to do about an object and what the result of a write is; the rest of the
//! module only carries that out. [`run`] never fails: each error is the result of a change.

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
/// In each wave creates, then replaces and annotates, then deletes; inside a phase [`ApplyOptions::concurrency`]
/// changes at the same time. A create is one request; a replace a GET and a PUT; a delete a GET of the object, a GET of
/// its referrers, and the DELETE. Then every namespace with a write is read again until nothing differs or
/// [`ApplyOptions::poll_policy`] ends. The recorder is closed last.
///
/// # Guarantees
/// - The recorder confirms that a write's intent is on disk before the write is sent. Once the recorder fails nothing
///   more is sent.
/// - A replace sends the object that a GET just returned, with only the planned fields and the ownership annotations
///   changed, and with its version. If managed fields, annotations or the uid differ from what the plan read, the
///   change is refused with each field three ways, and the others continue.
/// - A delete is sent only if every create, replace and annotate before it in its namespace is done.
/// - A write whose answer is lost is sent again only after a GET showed the same uid and version, a bounded number of
///   times; never after a 500 or a refusal. A replace that was certainly refused for its version took no effect: if
///   nothing that the plan checks has changed, it is built again from a fresh GET, a bounded number of times too.
/// - The outcome contains every change of the plan, however the run ended.
///
/// # Assumptions
/// The writer is connected to the service of the plan. Only one run of a stack is in progress at a time (the journal's
/// lock ensures it: on one machine for a state directory, everywhere for a bucket).
///
/// # Caveats
/// A delete cannot carry a version, so a write between its GET and its DELETE is lost. A replace is *guarded* only if
/// the service has refused a wrong version before or the configuration says that it does; else it is *versioned*.
///
/// # Errors
/// None: errors are results ([`crate::run::ChangeResult`]).
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
/// A change that the record shows as done is not repeated. A GET settles each write in doubt: as wanted and written by
/// the earlier run, it is done; with the same uid and version as before, it is decided afresh; anything else is a
/// conflict. Unsent changes are sent, in the order and after the checks of [`run`].
///
/// # Guarantees
/// Those of [`run`]. A change that was made and then undone by another client is not made again.
///
/// # Errors
/// None: errors are results.
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

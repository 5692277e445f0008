//! The types of a run: the writes that it sends, the events that it reports, the result of each change, and the record
//! from which a later command resumes, rolls back or lists it. The applier, the journal and the reports share only
//! these types. No IO.

mod document;
mod events;
#[cfg(test)]
mod growth_tests;
mod record;
mod rehearsal;
mod result;
mod summary;
mod write;

pub use document::{KIND as RUN_KIND, RunDocument, RunStep, StepResult, UnknownResult};
pub use events::{RunEvent, RunObserver, RunRecorder, Urgency};
pub use record::{
    ApprovalKind, ChangeProgress, InForce, PolicyDigest, RunClosing, RunEntry, RunHeader, RunRecord, RunStatus,
    RunTrigger,
};
pub use rehearsal::{InjectedFaults, Rehearsal};
pub use result::{ChangeResult, ChangeStep, Confirmation, Outcome, Verification};
pub use summary::{RunCounts, RunSummary};
pub use write::{Intent, ObjectBody, WriteRequest};

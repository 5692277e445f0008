//! Drift: differences between live and the definitions because of outside changes. A check computes a
//! verdict for every object of a plan, leaves out acknowledged drift, and records since when a value has
//! drifted. Nothing here changes what an apply does. No IO.

mod acknowledge;
mod check;
mod drift_state;
mod missing;
#[cfg(test)]
mod tests;
mod verdict;

pub use acknowledge::{
    Acknowledgement, AcknowledgementStatus, Acknowledgements, AcknowledgementsKind, Drifted, JudgedAcknowledgement,
};
pub use check::{Check, MOST_SHARDS, STACK_FLAGS, Shard};
pub use drift_state::{DriftState, DriftStateOwner, SeenSince};
pub use missing::{GitPast, MissingCause, Past, Removal, short};
pub use verdict::{ObjectVerdict, UnmanagedPolicy, Verdict, Verdicts};

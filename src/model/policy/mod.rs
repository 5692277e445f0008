//! The settings that decide what a run may do to live objects, in one place: their types, which of two
//! is stricter, how two configurations differ, as texts for a reviewer, and the policy that limits them
//! from outside of the repository. Plans, configuration and gates use these types. No IO.

mod change;
mod consent;
mod limits;
mod safeguards;

pub use change::{Direction, SettingChange, changes};
pub use consent::{GuardName, KeyAllowance, consents};
pub use limits::{Policy, Violation};
pub use safeguards::{GateMode, Gates, Guards, IgnoreRule, Prune, RunTarget, Safeguards, SafetySettings};

#[cfg(test)]
mod tests;

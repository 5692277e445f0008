//! What is known of a stack's past besides what the service shows: from the runs of this machine and
//! from the drift state that a call names. It is asked only where something is missing.

use std::collections::BTreeSet;

use super::ending::{Ending, Error};
use super::{Context, settings};
use crate::journal;
use crate::plan::{Memory, Missing, Plan};

/// Decides for every definition that is missing live whether it was deleted outside. `commits` are
/// those that the live objects of the stack name.
///
/// # Errors
/// The state directory cannot be read.
pub fn judge_missing(
    context: &Context,
    memory: &Memory,
    _commits: &BTreeSet<String>,
    plan: &mut Plan,
) -> Result<(), Error> {
    if plan.missing().next().is_none() {
        return Ok(());
    }
    let state = settings::state_directory(&context.global, &context.surroundings)?;
    // The journal of a long time is much to read.
    let applied = journal::applied_keys(&state, plan.stack.as_deref(), &plan.service.base_url)
        .map_err(|error| Error::new(Ending::Failed, error))?;
    plan.judge_missing(|key| match memory.knows(key) || applied.contains(key) {
        true => Missing::Deleted { commit: None },
        false => Missing::Unknown { reason: None },
    });
    Ok(())
}

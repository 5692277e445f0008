//! The settings that a stack had at the tip of its base, so that a change cannot loosen its own rules:
//! of base and working tree the stricter are in force.

use crate::cli::commits::at_commit::{CommitLookup, LookupError};
use crate::cli::commits::base;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::output::diagnostics;
use crate::cli::stack::Stack;
use crate::model::policy::SafetySettings;

/// Puts the settings in force: with a base, of each the stricter of base and working tree.
///
/// # Errors
/// The base's settings are not known, or the policy forbids something.
pub fn settle(context: &Context, stack: &mut Stack, base: Option<&str>) -> Result<(), CommandError> {
    let Some(base) = base else { return Ok(()) };
    let settings = at(context, stack, base)?;
    stack.settle(context, Some(&settings))
}

/// The settings of the stack at a base, wherever it was there; the defaults where it had none.
fn at(context: &Context, stack: &Stack, base: &str) -> Result<SafetySettings, CommandError> {
    let repository = stack.repository.open().map_err(base::failed)?;
    // The following needs the whole history.
    repository.merge_base(base).map_err(base::failed)?;
    let tip = repository.resolve(base).map_err(base::failed)?;
    match CommitLookup::new(&stack.loaded, repository, &tip).settings() {
        Ok(config) => Ok(config.unwrap_or_default().safety()),
        Err(LookupError::Wrong(diagnostics)) => {
            let wrong = diagnostics::error(context, &diagnostics);
            Err(CommandError::words(ExitStatus::Invalid, format!("the settings of {base} do not load: {wrong}"))
                .hint("they are needed to see which of them were loosened"))
        }
        Err(error) => Err(base::unavailable(context, error, &tip, base)),
    }
}

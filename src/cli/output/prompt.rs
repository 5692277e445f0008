//! The prompts of the program, and what it means for a single operation when the service gives no answer.

use std::io::Write as _;

use crate::api::{ApiError, Certainty};
use crate::cli::{CommandError, Context, ExitStatus, Result, aside};

/// Asks on stderr whether to do `action`; whatever is to be done must have been shown. `hint` says what a
/// call without a terminal can give instead.
///
/// # Errors
/// Stdin is not a terminal, or the answer is not `yes`: refused, nothing sent.
pub async fn confirm(context: &Context, action: &str, hint: &str) -> Result<()> {
    if !context.environment.can_ask {
        return Err(error!(Refused, "confirmation required, but stdin is not a terminal")
            .hint(hint)
            .hint("nothing was sent"));
    }
    let mut stderr = std::io::stderr();
    let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
    // On a thread of its own: an interrupt does not wait for the answer.
    let read = || std::io::stdin().lines().next().and_then(Result::ok);
    let answer = if asked.is_ok() { aside(read).await } else { None };
    if answer.is_some_and(|line| line.trim() == "yes") {
        return Ok(());
    }
    Err(error!(Refused, "declined: nothing was sent").sum())
}

/// The error of a change that the service did not confirm; it says whether the change may have taken effect.
pub fn unconfirmed(error: ApiError) -> CommandError {
    match error.certainty() {
        Certainty::NotSent => CommandError::new(ExitStatus::Failed, error).hint("nothing was sent"),
        Certainty::Refused => CommandError::new(ExitStatus::Failed, error).hint("nothing was changed"),
        Certainty::Unknown => {
            CommandError::new(ExitStatus::Partly, error).hint("it may have taken effect; check before you repeat it")
        }
    }
}

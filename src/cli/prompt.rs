//! What the commands around single operations share: asking a person before something is changed, and
//! what an operation without an answer means.

use std::io::{BufRead as _, Write as _};

use super::Context;
use super::exit_status::{CommandError, ExitStatus};
use crate::api::{ApiError, Certainty};

/// Whether a person wants something to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// It was said on the command line.
    Given,
    /// Not yet.
    Open,
}

impl Confirmation {
    /// The consent of a `--yes` flag.
    #[must_use]
    pub fn of(yes: bool) -> Self {
        if yes { Confirmation::Given } else { Confirmation::Open }
    }

    /// Asks on stderr where nothing was said; whatever is to be done must have been shown.
    ///
    /// # Errors
    /// Nobody can be asked, or the answer is no: refused, nothing sent.
    pub fn ask(self, context: &Context, action: &str) -> Result<(), CommandError> {
        if self == Confirmation::Given {
            return Ok(());
        }
        if !context.environment.can_ask {
            return Err(CommandError::words(ExitStatus::Refused, "confirmation required, but stdin is not a terminal")
                .hint("give --yes")
                .hint("nothing was sent"));
        }
        let mut stderr = std::io::stderr().lock();
        let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
        let mut line = String::new();
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        if read.is_ok() && line.trim() == "yes" {
            return Ok(());
        }
        Err(CommandError::words(ExitStatus::Refused, "declined").hint("nothing was sent"))
    }
}

/// A question that the service did not answer.
pub fn unanswered(error: ApiError) -> CommandError {
    CommandError::new(ExitStatus::Failed, error)
}

/// A change that the service did not confirm: failed where it certainly took no effect.
pub fn unconfirmed(error: ApiError) -> CommandError {
    match error.certainty() {
        Certainty::NotSent => CommandError::new(ExitStatus::Failed, error).hint("nothing was sent"),
        Certainty::Refused => CommandError::new(ExitStatus::Failed, error).hint("nothing was changed"),
        Certainty::Unknown => {
            CommandError::new(ExitStatus::Partly, error).hint("it may have taken effect; look before it is done again")
        }
    }
}

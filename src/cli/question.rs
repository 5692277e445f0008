//! What the commands around single operations share: asking a person before something is changed, and
//! what an operation without an answer means.

use std::io::{BufRead as _, Write as _};

use super::Context;
use super::ending::{Ending, Error};
use crate::api::{ApiError, Certainty};

/// Whether a person wants something to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// It was said on the command line.
    Given,
    /// Not yet.
    Open,
}

impl Consent {
    /// The consent of a `--yes` flag.
    #[must_use]
    pub fn of(yes: bool) -> Self {
        if yes { Consent::Given } else { Consent::Open }
    }

    /// Asks on stderr where nothing was said; whatever is to be done must have been shown.
    ///
    /// # Errors
    /// Nobody can be asked, or the answer is no: refused, nothing sent.
    pub fn ask(self, context: &Context, action: &str) -> Result<(), Error> {
        if self == Consent::Given {
            return Ok(());
        }
        if !context.surroundings.can_ask {
            return Err(Error::words(Ending::Refused, "confirmation required, but stdin is not a terminal")
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
        Err(Error::words(Ending::Refused, "declined").hint("nothing was sent"))
    }
}

/// A question that the service did not answer.
pub fn unanswered(error: ApiError) -> Error {
    Error::new(Ending::Failed, error)
}

/// A change that the service did not confirm: failed where it certainly took no effect.
pub fn unconfirmed(error: ApiError) -> Error {
    match error.certainty() {
        Certainty::NotSent => Error::new(Ending::Failed, error).hint("nothing was sent"),
        Certainty::Refused => Error::new(Ending::Failed, error).hint("nothing was changed"),
        Certainty::Unknown => {
            Error::new(Ending::Partly, error).hint("it may have taken effect; look before it is done again")
        }
    }
}

//! What the commands around single operations share: asking a person before something is changed, and
//! an answer that is written piece by piece to a reader that may go away.

use std::io::{BufRead as _, ErrorKind, Write as _};

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
    pub fn ask(self, context: &Context, question: &str) -> Result<(), Error> {
        if self == Consent::Given {
            return Ok(());
        }
        if !context.surroundings.can_ask {
            return Err(Error::words(Ending::Refused, "nobody can be asked, and nobody said yes beforehand")
                .hint("give --yes")
                .hint("nothing was sent"));
        }
        let mut stderr = std::io::stderr().lock();
        let asked = write!(stderr, "\n{question} Only `yes` does: ").and_then(|()| stderr.flush());
        let mut line = String::new();
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        if read.is_ok() && line.trim() == "yes" {
            return Ok(());
        }
        Err(Error::words(Ending::Refused, "declined").hint("nothing was sent"))
    }
}

/// How a piece of an answer went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is out.
    Whole,
    /// The reader went away and wants no more.
    Closed,
}

/// Writes a piece of the answer and flushes it.
///
/// # Errors
/// Anything but a reader that went away: a full disk, say.
pub fn write(piece: &str) -> Result<Written, Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(piece.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Written::Whole),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Written::Closed),
        Err(error) => Err(Error::new(Ending::Failed, anyhow::Error::from(error).context("cannot write the answer"))),
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

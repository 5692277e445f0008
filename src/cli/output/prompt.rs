//! The prompts of the program, and what it means for a single operation when the service gives no answer.

use std::io::{BufRead as _, Write as _};

use crate::api::{ApiError, Certainty};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::report::safe;

/// Asks on stderr whether to do `action`; whatever is to be done must have been shown. `hint` says what a
/// call without a terminal can give instead.
///
/// # Errors
/// Stdin is not a terminal, or the answer is not `yes`: refused, nothing sent.
pub fn confirm(context: &Context, action: &str, hint: &str) -> Result<(), CommandError> {
    if !context.environment.can_ask {
        return Err(CommandError::words(ExitStatus::Refused, "confirmation required, but stdin is not a terminal")
            .hint(hint)
            .hint("nothing was sent"));
    }
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
    let mut line = String::new();
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
    if read.is_ok() && line.trim() == "yes" {
        return Ok(());
    }
    Err(CommandError::summary(ExitStatus::Refused, anyhow::anyhow!("declined: nothing was sent")))
}

/// Answers that are not valid until a question is given up.
const ATTEMPTS: usize = 3;

/// Asks a question on stderr until the answer is valid; an empty answer is the usual one. Where nobody `asks`, the usual
/// one is the answer.
///
/// # Errors
/// No valid answer, or none at all.
pub fn ask<T>(
    question: &str,
    usual: &str,
    asks: bool,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, CommandError> {
    let refused = |reason: &str| CommandError::words(ExitStatus::Usage, format!("no valid answer: {reason}"));
    if !asks {
        return read(usual).map_err(|reason| refused(&reason));
    }
    let mut stderr = std::io::stderr().lock();
    let mut reason = String::new();
    for _ in 0..ATTEMPTS {
        let usual_shown = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        let asked = write!(stderr, "{question}{usual_shown}: ").and_then(|()| stderr.flush());
        let mut line = String::new();
        let read_bytes = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        if !matches!(read_bytes, Ok(1..)) {
            return Err(CommandError::words(ExitStatus::Refused, "no answer").hint("nothing was written"));
        }
        let answer = if line.trim().is_empty() { usual } else { line.trim() };
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(wrong) => {
                // What goes wrong with the message goes wrong with the next question, too.
                let _ = writeln!(stderr, "  {}", safe::line(&wrong));
                reason = wrong;
            }
        }
    }
    Err(refused(&reason).hint("nothing was written"))
}

/// The error of a read that failed.
pub fn unanswered(error: ApiError) -> CommandError {
    CommandError::new(ExitStatus::Failed, error)
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

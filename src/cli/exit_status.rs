//! The exit status of a command, and the one table of exit codes. Errors have the same kinds; a new kind
//! does not compile until its code is chosen.

use std::fmt;

use crate::api::{ApiError, Certainty};
use crate::drift::Verdict;
use crate::file::FileError;
use crate::load::{self, Diagnostic, Severity};
use crate::plan::{ApprovalError, Plan};
use crate::report::error::{ErrorReport, Refusal};
use crate::run::{ChangeResult, Outcome, Verification};

/// The hint of a write that is not confirmed.
pub const MAY_HAVE_TAKEN_EFFECT: &str = "it may have taken effect; check before you repeat it";

/// How a command ended, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub enum ExitStatus {
    /// Done, or in sync.
    Done,
    /// Changes are pending.
    Pending,
    /// Live was changed outside of trueup.
    Drift,
    /// Changes are pending, and live was changed outside.
    Both,
    /// Refused; nothing was changed.
    Refused,
    /// Something could not be read.
    Unknown,
    /// It failed, or what was sent took no effect.
    Failed,
    /// Definitions or settings are wrong.
    Invalid,
    /// Partly applied, in doubt, or not verified.
    Partly,
    /// Interrupted by a person.
    Interrupted,
    /// The command line is wrong.
    Usage,
    /// A fault of this program.
    Bug,
}

impl ExitStatus {
    /// The exit code, and its name in JSON.
    fn shown(self) -> (u8, &'static str) {
        match self {
            ExitStatus::Done => (0, "done"),
            ExitStatus::Failed => (1, "failed"),
            ExitStatus::Invalid => (1, "invalid"),
            ExitStatus::Pending => (2, "pending"),
            ExitStatus::Drift => (3, "drift"),
            ExitStatus::Both => (4, "both"),
            ExitStatus::Unknown => (5, "unknown"),
            ExitStatus::Refused => (6, "refused"),
            ExitStatus::Partly => (7, "partly"),
            ExitStatus::Usage => (64, "usage"),
            ExitStatus::Bug => (70, "bug"),
            ExitStatus::Interrupted => (130, "interrupted"),
        }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        self.shown().0
    }

    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        self.shown().1
    }

    /// The status of a command whose answer could not be written: a reader that gets nothing must not mistake it for
    /// "in sync", nor changes that were made for a failure.
    pub fn without_answer(self, changed: bool) -> Self {
        match self {
            ExitStatus::Done if changed => ExitStatus::Partly,
            ExitStatus::Done | ExitStatus::Pending | ExitStatus::Drift | ExitStatus::Both | ExitStatus::Unknown => {
                ExitStatus::Failed
            }
            ExitStatus::Failed
            | ExitStatus::Invalid
            | ExitStatus::Refused
            | ExitStatus::Partly
            | ExitStatus::Usage
            | ExitStatus::Bug
            | ExitStatus::Interrupted => self,
        }
    }

    /// The worse of two, for a command about several stacks.
    pub fn worse(self, other: Self) -> Self {
        match (self.min(other), self.max(other)) {
            (ExitStatus::Pending, ExitStatus::Drift) => ExitStatus::Both,
            (_, worse) => worse,
        }
    }

    /// The status of a check, by its verdict.
    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::InSync => ExitStatus::Done,
            Verdict::Pending => ExitStatus::Pending,
            Verdict::Drift => ExitStatus::Drift,
            Verdict::Both => ExitStatus::Both,
            Verdict::Unknown => ExitStatus::Unknown,
        }
    }

    /// The status of an apply that was refused as a whole.
    pub fn of_refusal(refusal: &ApprovalError) -> Self {
        match refusal {
            ApprovalError::Unknown(_) => ExitStatus::Unknown,
            ApprovalError::NoDigest(_) => ExitStatus::Usage,
            ApprovalError::Guards(_) | ApprovalError::Changes(_) | ApprovalError::OtherDigest { .. } => {
                ExitStatus::Refused
            }
        }
    }

    /// The status of an apply. A change that the plan blocked counts as not made.
    pub fn of_outcome(outcome: &Outcome, plan: &Plan) -> Self {
        match outcome.interrupted {
            true => ExitStatus::Interrupted,
            false => Self::of_results(|| outcome.steps.iter().map(|step| &step.result), &outcome.verification, plan),
        }
    }

    /// The status of a run that ended with these results.
    pub fn of_results<'a, I: Iterator<Item = &'a ChangeResult>>(
        results: impl Fn() -> I,
        verification: &Verification,
        plan: &Plan,
    ) -> Self {
        let all_done = plan.blocked.is_empty() && results().all(ChangeResult::is_done);
        if all_done {
            return if verification.is_proven() { ExitStatus::Done } else { ExitStatus::Partly };
        }
        let refused = |result: &ChangeResult| match result {
            ChangeResult::Conflict(conflict) => !conflict.ours_may_be_lost,
            ChangeResult::Referred { .. } | ChangeResult::Skipped { .. } => true,
            ChangeResult::Done { .. }
            | ChangeResult::AlreadyDone
            | ChangeResult::Failed { .. }
            | ChangeResult::InDoubt { .. } => false,
        };
        if results().all(refused) {
            ExitStatus::Refused
        } else if results().any(|result| result.is_done() || result.may_have_taken_effect()) {
            ExitStatus::Partly
        } else {
            ExitStatus::Failed
        }
    }
}

/// The result of a step of a command.
pub type Result<T, E = CommandError> = std::result::Result<T, E>;

/// The error of a command with this exit status, in words: `error!(Usage, "no namespace `{name}`")`.
macro_rules! error {
    ($status:ident, $($words:tt)+) => {
        $crate::cli::exit_status::CommandError::new(
            $crate::cli::exit_status::ExitStatus::$status,
            anyhow::anyhow!($($words)+),
        )
    };
}

/// Turns the error of a step into that of the command. `anyhow::Context` says what the step was for.
pub trait CommandResult<T, E>: Into<Result<T, E>> {
    /// The same result, whose error ends the command with `status`.
    fn with_status(self, status: ExitStatus) -> Result<T>
    where
        E: Into<anyhow::Error>,
    {
        self.into().map_err(|error| CommandError::new(status, error))
    }

    /// The same result, whose error has this hint, too.
    fn hint(self, hint: impl Into<String>) -> Result<T>
    where
        E: Into<CommandError>,
    {
        self.into().map_err(|error| error.into().hint(hint))
    }
}

impl<T, E> CommandResult<T, E> for Result<T, E> {}

/// Why a command ended early: its kind, what happened, and what to do about it.
#[derive(Debug)]
pub struct CommandError {
    /// The exit status of the command.
    pub status: ExitStatus,
    cause: anyhow::Error,
    /// What to do about it, in order.
    pub hints: Vec<String>,
    /// Whether it only sums up what is printed already.
    pub is_sum: bool,
    /// Boxed, because every step of a command returns an error by value.
    details: Box<ErrorDetails>,
}

/// The details of an error that only a document contains.
#[derive(Debug, Default)]
struct ErrorDetails {
    diagnostics: Vec<Diagnostic>,
    refusal: Option<Refusal>,
}

impl CommandError {
    /// An error of this kind. If a file system error has a hint, it comes first.
    pub fn new(status: ExitStatus, error: impl Into<anyhow::Error>) -> Self {
        let cause = error.into();
        let hint = cause.downcast_ref().and_then(FileError::hint).map(str::to_owned);
        let (hints, details) = (hint.into_iter().collect(), Box::default());
        Self { status, cause, hints, is_sum: false, details }
    }

    /// The error of a change that the service did not confirm; it says whether the change may have taken effect.
    pub fn unconfirmed(error: ApiError) -> Self {
        let (status, hint) = match error.certainty() {
            Certainty::NotSent => (ExitStatus::Failed, "nothing was sent"),
            Certainty::Refused => (ExitStatus::Failed, "nothing was changed"),
            Certainty::Unknown => (ExitStatus::Partly, MAY_HAVE_TAKEN_EFFECT),
        };
        Self::new(status, error).hint(hint)
    }

    /// The same error as the sum of printed details: its line comes last, without `error:`.
    #[must_use]
    pub fn sum(self) -> Self {
        Self { is_sum: true, ..self }
    }

    /// The same error with the problems that it sums up.
    #[must_use]
    pub fn diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.details.diagnostics = diagnostics;
        self
    }

    /// The same error with the reason why the plan was refused.
    #[must_use]
    pub fn refusal(mut self, refusal: Refusal) -> Self {
        self.details.refusal = Some(refusal);
        self
    }

    /// The error as the reason in a report of several stacks, with the first of the problems that it sums up.
    pub fn reason(&self) -> String {
        let first = self.details.diagnostics.iter().find(|one| one.severity == Severity::Error);
        let first = first.map(|one| match one.file() {
            Some(file) => format!("{file}:{}: {}; ", one.line(), one.message),
            None => format!("{}; ", one.message),
        });
        first.unwrap_or_default() + &self.to_string()
    }

    /// The error as a report.
    pub fn report(&self) -> ErrorReport<'_> {
        ErrorReport {
            exit_code: self.status.code(),
            status: self.status.as_str(),
            message: self.to_string(),
            causes: self.cause.chain().map(ToString::to_string).collect(),
            hints: &self.hints,
            diagnostics: &self.details.diagnostics,
            refusal: self.details.refusal.as_ref(),
        }
    }

    /// The same error with something to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_each([hint])
    }

    /// The same error with what there is to do about it.
    #[must_use]
    pub fn hint_each(mut self, hints: impl IntoIterator<Item: Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }

    /// The same error with the nearest known word as a hint, if one is near enough.
    #[must_use]
    pub fn did_you_mean<'w>(self, word: &str, known: impl IntoIterator<Item = &'w str>) -> Self {
        let near = load::nearest(word, known);
        self.hint_each(near.map(|near| format!("did you mean `{near}`?")))
    }

    /// Whether it is an error of this type.
    pub fn is<E: fmt::Display + fmt::Debug + Send + Sync + 'static>(&self) -> bool {
        self.cause.is::<E>()
    }
}

impl fmt::Display for CommandError {
    /// The error and its causes in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.cause)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::model::{Key, RunId};
    use crate::plan::{ActionKind, BlockReason, BlockedChange, Conflict, Unchangeable};
    use crate::run::{ChangeStep, Confirmation};

    fn result(kind: &str) -> ChangeResult {
        let reason = String::new();
        match kind {
            "done" => ChangeResult::Done { confirmation: Confirmation::Versioned, by_reading: false, adopted: false },
            "already" => ChangeResult::AlreadyDone,
            "conflict" => ChangeResult::Conflict(Conflict { reason, ours_may_be_lost: false, fields: Vec::new() }),
            "lost" => ChangeResult::Conflict(Conflict { reason, ours_may_be_lost: true, fields: Vec::new() }),
            "referred" => ChangeResult::Referred { by: Vec::new() },
            "failed" => ChangeResult::Failed { reason },
            "in_doubt" => ChangeResult::InDoubt { reason },
            "skipped" => ChangeResult::Skipped { reason },
            other => panic!("`{other}` is not a result"),
        }
    }

    fn outcome(results: &[&str], verification: Verification) -> Outcome {
        let step =
            |kind: &&str| ChangeStep::new(Key::parse("shop/cart").expect("a key"), ActionKind::Replace, result(kind));
        Outcome {
            run: RunId::new("r").expect("an id"),
            steps: results.iter().map(step).collect(),
            verification,
            interrupted: false,
            unhealthy: Vec::new(),
            requests: 0,
            milliseconds: 0,
            verify_milliseconds: 0,
            unrecorded: false,
        }
    }

    fn plan(held: usize) -> Plan {
        let one = || {
            BlockedChange::new(
                Key::parse("shop/blocked").expect("a key"),
                BlockReason::Unchangeable(Unchangeable::Deleting),
                None,
            )
        };
        Plan { blocked: (0..held).map(|_| one()).collect(), ..Plan::default() }
    }

    #[test]
    fn an_apply_ends_by_what_became_of_its_changes() {
        let proven = || Verification::Verified { reads: 1 };
        for (results, ending) in [
            (&["done", "already"][..], ExitStatus::Done),
            (&[], ExitStatus::Done),
            (&["conflict", "conflict"], ExitStatus::Refused),
            (&["referred"], ExitStatus::Refused),
            (&["conflict", "skipped"], ExitStatus::Refused),
            (&["failed"], ExitStatus::Failed),
            (&["failed", "skipped"], ExitStatus::Failed),
            (&["failed", "conflict"], ExitStatus::Failed),
            (&["done", "conflict"], ExitStatus::Partly),
            (&["done", "failed", "skipped"], ExitStatus::Partly),
            (&["in_doubt"], ExitStatus::Partly),
            (&["lost"], ExitStatus::Partly),
        ] {
            assert_eq!(ExitStatus::of_outcome(&outcome(results, proven()), &plan(0)), ending, "{results:?}");
        }
    }

    #[test]
    fn what_the_plan_blocked_counts_as_undone() {
        let ending = |results: &[&str]| ExitStatus::of_outcome(&outcome(results, Verification::NotNeeded), &plan(1));
        assert_eq!(ending(&["done"]), ExitStatus::Partly);
        assert_eq!(ending(&[]), ExitStatus::Refused);
    }

    #[test]
    fn an_apply_that_is_not_verified_is_partly_done() {
        let unknown = Verification::Unknown { reason: String::new() };
        assert_eq!(ExitStatus::of_outcome(&outcome(&["done"], unknown), &plan(0)), ExitStatus::Partly);
        let differs = Verification::Differs { left: Vec::new() };
        assert_eq!(ExitStatus::of_outcome(&outcome(&["done"], differs), &plan(0)), ExitStatus::Partly);
    }

    #[test]
    fn what_a_file_error_knows_to_do_is_the_first_hint_whatever_was_said_around_it() {
        let failed = || Err::<(), _>(FileError::Link("policy.yaml".into()));
        let error =
            failed().context("cannot read the policy").with_status(ExitStatus::Invalid).hint("nothing was sent");
        let error = error.expect_err("it failed");
        assert_eq!(error.hints, ["give the path that the link leads to", "nothing was sent"]);
        assert_eq!(error.to_string(), "cannot read the policy: `policy.yaml` is a symbolic link");
    }

    #[test]
    fn an_interruption_goes_before_everything() {
        let mut outcome = outcome(&["done", "failed"], Verification::NotNeeded);
        outcome.interrupted = true;
        assert_eq!(ExitStatus::of_outcome(&outcome, &plan(0)), ExitStatus::Interrupted);
    }
}

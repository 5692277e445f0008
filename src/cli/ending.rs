//! How a command ends, and the one table of exit codes. Errors are sorted into the same kinds; a new
//! kind does not compile until its code is chosen.

use std::fmt;

use crate::plan::{Convergence, Fate, Outcome, Plan, Refusal, Verdict};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Done, or in sync.
    Done,
    /// It failed, or what was sent took no effect.
    Failed,
    /// Definitions or settings are wrong.
    Invalid,
    /// Changes are pending.
    Pending,
    /// Someone changed live.
    Drift,
    /// Both.
    Both,
    /// A read was unknown.
    Unknown,
    /// Refused; nothing was sent.
    Refused,
    /// Partly applied, unsettled, or convergence not proven.
    Partly,
    /// The command line is wrong.
    Usage,
    /// A fault of this program.
    Bug,
    /// Interrupted by a person.
    Interrupted,
}

impl Ending {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Ending::Done => 0,
            Ending::Failed | Ending::Invalid => 1,
            Ending::Pending => 2,
            Ending::Drift => 3,
            Ending::Both => 4,
            Ending::Unknown => 5,
            Ending::Refused => 6,
            Ending::Partly => 7,
            Ending::Usage => 64,
            Ending::Bug => 70,
            Ending::Interrupted => 130,
        }
    }

    /// The ending of a command whose answer could not be written: whoever reads nothing must not take it
    /// for "in sync", nor made changes for a failure.
    #[must_use]
    pub fn without_answer(self, changed: bool) -> Self {
        match self {
            Ending::Done if changed => Ending::Partly,
            Ending::Done | Ending::Pending | Ending::Drift | Ending::Both | Ending::Unknown => Ending::Failed,
            Ending::Failed
            | Ending::Invalid
            | Ending::Refused
            | Ending::Partly
            | Ending::Usage
            | Ending::Bug
            | Ending::Interrupted => self,
        }
    }

    /// The ending of a command that looks, by its verdict.
    #[must_use]
    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::InSync => Ending::Done,
            Verdict::Pending => Ending::Pending,
            Verdict::Drift => Ending::Drift,
            Verdict::Both => Ending::Both,
            Verdict::Unknown => Ending::Unknown,
        }
    }

    /// The ending of an apply that was refused as a whole.
    #[must_use]
    pub fn of_refusal(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Unknown { .. } => Ending::Unknown,
            Refusal::NoDigest { .. } => Ending::Usage,
            Refusal::Guards { .. } | Refusal::Changes { .. } | Refusal::OtherDigest { .. } => Ending::Refused,
        }
    }

    /// The ending of an apply. What the plan held back singly counts as undone.
    #[must_use]
    pub fn of_outcome(outcome: &Outcome, plan: &Plan) -> Self {
        let fates = || outcome.steps.iter().map(|step| &step.fate);
        if outcome.interrupted {
            return Ending::Interrupted;
        }
        let all_done = plan.held.is_empty() && fates().all(Fate::is_done);
        let proven = matches!(outcome.convergence, Convergence::Proven { .. } | Convergence::NotNeeded);
        if all_done {
            return if proven { Ending::Done } else { Ending::Partly };
        }
        let refused = |fate: &Fate| match fate {
            Fate::Conflict(conflict) => !conflict.ours_may_be_lost,
            Fate::Referred { .. } | Fate::Skipped { .. } => true,
            Fate::Done { .. } | Fate::AlreadyDone | Fate::Failed { .. } | Fate::Unsettled { .. } => false,
        };
        if fates().all(refused) {
            Ending::Refused
        } else if fates().any(|fate| fate.is_done() || fate.may_have_taken_effect()) {
            Ending::Partly
        } else {
            Ending::Failed
        }
    }
}

/// Why a command ended early: its kind, what happened, and what to do about it.
#[derive(Debug)]
pub struct Error {
    ending: Ending,
    told: anyhow::Error,
    hints: Vec<String>,
    is_sum: bool,
}

impl Error {
    /// An error of this kind.
    pub fn new(ending: Ending, told: impl Into<anyhow::Error>) -> Self {
        Self { ending, told: told.into(), hints: Vec::new(), is_sum: false }
    }

    /// An error of this kind in words.
    pub fn words(ending: Ending, words: impl fmt::Display) -> Self {
        Self::new(ending, anyhow::anyhow!("{words}"))
    }

    /// An error whose details have been told already: it is the last line, without `error:`.
    pub fn told(ending: Ending, sum: impl Into<anyhow::Error>) -> Self {
        Self { ending, told: sum.into(), hints: Vec::new(), is_sum: true }
    }

    /// Whether the error only sums up what has been told.
    #[must_use]
    pub fn is_sum(&self) -> bool {
        self.is_sum
    }

    /// The same error with something to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// How the command ends.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// What to do about it, in order.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Error {
    /// The error and its causes in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Key, Layout};
    use crate::plan::{ActionKind, Blocked, Conflict, Held, Hold, RunId, Service, Settings, Settled, Source, Step};

    fn fate(kind: &str) -> Fate {
        let reason = String::new();
        match kind {
            "done" => Fate::Done { settled: Settled::Versioned, by_reading: false, adopted: false },
            "already" => Fate::AlreadyDone,
            "conflict" => Fate::Conflict(Conflict { reason, ours_may_be_lost: false, fields: Vec::new() }),
            "lost" => Fate::Conflict(Conflict { reason, ours_may_be_lost: true, fields: Vec::new() }),
            "referred" => Fate::Referred { by: Vec::new() },
            "failed" => Fate::Failed { reason },
            "unsettled" => Fate::Unsettled { reason },
            "skipped" => Fate::Skipped { reason },
            other => panic!("`{other}` is no fate"),
        }
    }

    fn outcome(fates: &[&str], convergence: Convergence) -> Outcome {
        let step = |kind: &&str| Step {
            key: Key::parse("shop/cart").expect("a key"),
            action: ActionKind::Replace,
            fate: fate(kind),
        };
        Outcome {
            run: RunId::new("r").expect("an id"),
            steps: fates.iter().map(step).collect(),
            convergence,
            interrupted: false,
            unhealthy: Vec::new(),
            requests: 0,
            milliseconds: 0,
            look_milliseconds: 0,
        }
    }

    fn plan(held: usize) -> Plan {
        let one = || Held::new(Key::parse("shop/held").expect("a key"), Hold::Blocked(Blocked::Deleting), None);
        Plan {
            tool_version: String::new(),
            service: Service { base_url: String::new(), layout: Layout::Uniform },
            stack: None,
            settings: Settings::default(),
            setting_changes: Vec::new(),
            scope: Default::default(),
            changes: Vec::new(),
            held: (0..held).map(|_| one()).collect(),
            guards: Vec::new(),
            allowed: Vec::new(),
            left_out: 0,
            notes: Vec::new(),
            source: Source::default(),
        }
    }

    #[test]
    fn an_apply_ends_by_what_became_of_its_changes() {
        let proven = || Convergence::Proven { looks: 1 };
        for (fates, ending) in [
            (&["done", "already"][..], Ending::Done),
            (&[], Ending::Done),
            (&["conflict", "conflict"], Ending::Refused),
            (&["referred"], Ending::Refused),
            (&["conflict", "skipped"], Ending::Refused),
            (&["failed"], Ending::Failed),
            (&["failed", "skipped"], Ending::Failed),
            (&["failed", "conflict"], Ending::Failed),
            (&["done", "conflict"], Ending::Partly),
            (&["done", "failed", "skipped"], Ending::Partly),
            (&["unsettled"], Ending::Partly),
            (&["lost"], Ending::Partly),
        ] {
            assert_eq!(Ending::of_outcome(&outcome(fates, proven()), &plan(0)), ending, "{fates:?}");
        }
    }

    #[test]
    fn what_the_plan_held_back_counts_as_undone() {
        let ending = |fates: &[&str]| Ending::of_outcome(&outcome(fates, Convergence::NotNeeded), &plan(1));
        assert_eq!(ending(&["done"]), Ending::Partly);
        assert_eq!(ending(&[]), Ending::Refused);
    }

    #[test]
    fn an_apply_that_is_not_proven_to_converge_is_partly_done() {
        let unknown = Convergence::Unknown { reason: String::new() };
        assert_eq!(Ending::of_outcome(&outcome(&["done"], unknown), &plan(0)), Ending::Partly);
        let differs = Convergence::Differs { left: Vec::new() };
        assert_eq!(Ending::of_outcome(&outcome(&["done"], differs), &plan(0)), Ending::Partly);
    }

    #[test]
    fn an_interruption_goes_before_everything() {
        let mut outcome = outcome(&["done", "failed"], Convergence::NotNeeded);
        outcome.interrupted = true;
        assert_eq!(Ending::of_outcome(&outcome, &plan(0)), Ending::Interrupted);
    }
}

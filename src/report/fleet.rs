//! What a command found or did in several stacks, a part for each: one report over all of them. A stack that failed
//! is a part like any other and hides none.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::annotation::{self, Annotation, AnnotationLevel, Finding};
use super::{AttributionDetail, Validation};
use crate::drift::{Check, Verdict};
use crate::model::Key;
use crate::plan::{Digest, Plan};
use crate::run::Outcome;

/// What was done with each stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetCommand {
    /// Its definitions were checked.
    Validate,
    /// It was planned.
    Plan,
    /// Its plan was applied.
    Apply,
    /// It was checked for drift.
    Drift,
}

impl FleetCommand {
    /// Its name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            FleetCommand::Validate => "validate",
            FleetCommand::Plan => "plan",
            FleetCommand::Apply => "apply",
            FleetCommand::Drift => "drift",
        }
    }

    /// What a stack is not, if it failed.
    #[must_use]
    pub fn undone(self) -> &'static str {
        match self {
            FleetCommand::Validate => "not valid",
            FleetCommand::Plan => "not planned",
            FleetCommand::Apply => "not applied",
            FleetCommand::Drift => "not checked",
        }
    }
}

/// Several stacks, in the order of the call.
pub struct Fleet<'a> {
    /// What was done with each.
    pub command: FleetCommand,
    /// Each stack with its result.
    pub parts: Vec<FleetPart<'a>>,
    /// The digest over the plans of all stacks, and the words of a command that names all of them.
    pub plans: Option<(Digest, String)>,
    /// Which of how many shards this is.
    pub shard: Option<(u32, u32)>,
}

/// One stack.
pub struct FleetPart<'a> {
    /// Its directory, as the person wrote it.
    pub directory: String,
    /// Its environment, if the call is about several.
    pub environment: Option<String>,
    /// The words of a command that names it alone.
    pub call: String,
    /// The flags that a command without those words needs to find its settings, each behind a blank.
    pub flags: String,
    /// The result.
    pub outcome: PartOutcome<'a>,
}

/// The result for one stack.
pub enum PartOutcome<'a> {
    /// Its definitions are valid, or are not.
    Validated(Validation<'a>),
    /// Its plan.
    Planned(&'a Plan),
    /// The outcome of its plan.
    Applied(&'a Outcome, &'a Plan),
    /// The check for drift.
    Checked(Check<'a>),
    /// There is none; why.
    Failed(String),
    /// It belongs to another shard.
    Elsewhere,
    /// It was left out; why.
    Skipped(String),
}

impl FleetPart<'_> {
    /// The directory, with the environment if the call is about several.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match &self.environment {
            None => Cow::Borrowed(&self.directory),
            Some(environment) => Cow::Owned(format!("{} ({environment})", self.directory)),
        }
    }
}

impl<'a> Fleet<'a> {
    /// A report over these parts.
    #[must_use]
    pub fn new(command: FleetCommand, parts: Vec<FleetPart<'a>>) -> Self {
        Self { command, parts, plans: None, shard: None }
    }

    /// The checks that were made, with their stacks.
    pub fn checks(&self) -> impl Iterator<Item = (&FleetPart<'a>, &Check<'a>)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Checked(check) => Some((part, check)),
            _ => None,
        })
    }

    /// The plans that were made or applied, with their stacks.
    pub fn plans(&self) -> impl Iterator<Item = (&FleetPart<'a>, &'a Plan)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Planned(plan) | PartOutcome::Applied(_, plan) => Some((part, *plan)),
            _ => None,
        })
    }

    /// The stacks that have no result, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&FleetPart<'a>, &str)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Failed(reason) => Some((part, reason.as_str())),
            _ => None,
        })
    }

    /// How many stacks have no result.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failures().count()
    }

    /// The verdict over all that were checked.
    #[must_use]
    pub fn whole(&self) -> Verdict {
        self.checks().fold(Verdict::InSync, |whole, (_, check)| whole.and(check.verdicts.whole()))
    }

    /// The remarks on all of them, those that matter most first.
    #[must_use]
    pub fn remarks(&self, detail: AttributionDetail) -> Vec<Annotation> {
        let undone = self.command.undone();
        let failed = self.failures().map(|(part, reason)| Annotation {
            finding: Finding::Unchecked,
            level: AnnotationLevel::Error,
            place: None,
            title: format!("{undone}: {}", part.name()),
            part: String::new(),
            message: reason.to_owned(),
        });
        let others = self.parts.iter().flat_map(|part| match &part.outcome {
            PartOutcome::Checked(check) => annotation::of_check(check),
            PartOutcome::Planned(plan) => annotation::of_plan(plan, detail),
            PartOutcome::Validated(checked) => annotation::of_diagnostics(checked.diagnostics, checked.prefix),
            _ => Vec::new(),
        });
        let mut all: Vec<Annotation> = failed.chain(others).collect();
        all.sort_by_key(|remark| remark.level);
        all
    }
}

/// No change was made before this run.
pub(super) static NOTHING_EARLIER: BTreeSet<Key> = BTreeSet::new();

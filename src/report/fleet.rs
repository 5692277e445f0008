//! The checks of several stacks, each with a verdict of its own: the report of one checker of a fleet.

use super::annotation::{self, Annotation, AnnotationLevel, Finding};
use crate::drift::{Check, Verdict};

/// Several stacks, in the order of the call.
pub struct Fleet<'a> {
    /// Each stack with the result of its check.
    pub parts: Vec<FleetPart<'a>>,
}

/// One stack.
pub struct FleetPart<'a> {
    /// Its directory, as the person wrote it.
    pub directory: String,
    /// What became of its check.
    pub outcome: PartOutcome<'a>,
}

/// The result of the check of one stack.
pub enum PartOutcome<'a> {
    /// It was made.
    Checked(Check<'a>),
    /// It could not be made; why.
    Failed(String),
    /// All its namespaces are other checkers'.
    Elsewhere,
}

impl<'a> Fleet<'a> {
    /// The checks that were made, with their directories.
    pub fn checks(&self) -> impl Iterator<Item = (&str, &Check<'a>)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Checked(check) => Some((part.directory.as_str(), check)),
            PartOutcome::Failed(_) | PartOutcome::Elsewhere => None,
        })
    }

    /// The stacks that could not be checked, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match &part.outcome {
            PartOutcome::Failed(reason) => Some((part.directory.as_str(), reason.as_str())),
            PartOutcome::Checked(_) | PartOutcome::Elsewhere => None,
        })
    }

    /// How many stacks could not be checked.
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
    pub fn remarks(&self) -> Vec<Annotation> {
        let failed = self.failures().map(|(directory, reason)| Annotation {
            finding: Finding::Unchecked,
            level: AnnotationLevel::Error,
            place: None,
            title: format!("not checked: {directory}"),
            message: reason.to_owned(),
        });
        let mut all: Vec<Annotation> =
            failed.chain(self.checks().flat_map(|(_, check)| annotation::of_check(check))).collect();
        all.sort_by_key(|remark| remark.level);
        all
    }
}

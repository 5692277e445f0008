use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Change, Closing, Fate, Header, Intent, RunId, Step};
use crate::model::Key;

/// A run as its journal kept it, however it ended.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// What was to be done, by whom and when.
    pub header: Header,
    /// Every write that left, or was about to, in order.
    pub intents: Vec<Intent>,
    /// What became of changes, in the order in which it was known.
    pub outcomes: Vec<Step>,
    /// The last line; nothing where the run was killed.
    pub closing: Option<Closing>,
    /// The last line was cut off, as a kill in the middle of a write leaves it.
    pub torn: bool,
}

/// How far a run got with one change.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Nothing was sent and nothing is known.
    Untouched,
    /// A write was about to leave, and whether it took effect is not known.
    InDoubt(&'a Intent),
    /// It has its fate.
    Fated(&'a Fate),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// Every change has a fate that is certain.
    Finished,
    /// It stopped before every change had its fate; no write is in doubt.
    Unfinished,
    /// So many writes may have taken effect or not.
    InDoubt {
        /// Writes.
        count: usize,
    },
}

impl RunRecord {
    /// The run.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.header.run
    }

    /// Each planned change, in order, with how far the run got with it.
    #[must_use]
    pub fn progress(&self) -> Vec<(&Change, Progress<'_>)> {
        let intents: BTreeMap<&Key, &Intent> = self.intents.iter().map(|intent| (&intent.key, intent)).collect();
        let fates: BTreeMap<&Key, &Fate> = self.outcomes.iter().map(|step| (&step.key, &step.fate)).collect();
        let of = |key: &Key| match (fates.get(key), intents.get(key)) {
            (Some(Fate::Unsettled { .. }) | None, Some(intent)) => Progress::InDoubt(intent),
            (Some(fate), _) => Progress::Fated(fate),
            (None, None) => Progress::Untouched,
        };
        self.header.plan.changes.iter().map(|change| (change, of(&change.key))).collect()
    }

    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        let progress = self.progress();
        let count = progress.iter().filter(|(_, progress)| matches!(progress, Progress::InDoubt(_))).count();
        let interrupted = self.closing.as_ref().is_some_and(|closing| closing.interrupted);
        let untouched = progress.iter().any(|(_, progress)| matches!(progress, Progress::Untouched));
        match count {
            0 if untouched || interrupted => Ending::Unfinished,
            0 => Ending::Finished,
            count => Ending::InDoubt { count },
        }
    }
}

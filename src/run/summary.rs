//! A run in short, as the history lists it: who ran it, when, against what, and how it ended.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeResult, RunRecord, RunStatus, RunTrigger};
use crate::model::{Key, Namespace, RunId, Scope};
use crate::plan::ActionKind;

/// One run in short.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, where it did.
    pub ended: Option<String>,
    /// Who ran it, as the machine says.
    pub user: Option<String>,
    /// Who and what started it, as the forge and the call say.
    pub trigger: RunTrigger,
    /// The stack.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
    /// The commit that has the applied definitions.
    pub commit: Option<String>,
    /// What was planned.
    pub planned: RunCounts,
    /// Changes that are done.
    pub done: usize,
    /// How it ended.
    pub status: RunStatus,
    /// The run that this one resumed.
    pub resumes: Option<RunId>,
    /// The run that this one rolled back.
    pub rolls_back: Option<RunId>,
    /// The run that went on with this one and settled it.
    pub resumed_by: Option<RunId>,
    /// The later run that applied and verified all definitions of the stack, made the last change that this one had left, or
    /// rolled this one back, so that nothing is left of this one.
    pub superseded_by: Option<RunId>,
    /// The embedded service, as the header names it.
    #[serde(skip)]
    pub sandbox: Option<String>,
    /// The lists of which it applies all definitions of its stack.
    #[serde(skip)]
    pub applied_whole: BTreeSet<Scope>,
    /// The lists that it changes, if not all of its changes were made.
    #[serde(skip)]
    pub unfinished_lists: BTreeSet<Scope>,
    /// What of them was not made.
    #[serde(skip)]
    pub unfinished: BTreeSet<Key>,
    /// What it made that earlier runs had left; set where all runs are known.
    #[serde(skip)]
    pub taken_over: BTreeSet<Key>,
    /// What its plan leaves undone, because it is blocked.
    #[serde(skip)]
    pub blocked: BTreeSet<Key>,
    /// Changes that the service refused, or for which it could not be reached: a resume sends them again.
    #[serde(skip)]
    pub failed: usize,
    /// The consents of its plan, by name: a resume needs them again.
    #[serde(skip)]
    pub allowed: BTreeSet<String>,
    /// The consents that its rollback needs.
    #[serde(skip)]
    pub undo_consents: BTreeSet<String>,
    /// The namespaces that its call pruned: a resume has to name them again.
    #[serde(skip)]
    pub prune_namespaces: BTreeSet<Namespace>,
}

/// Planned changes by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCounts {
    /// Creates.
    pub create: usize,
    /// Replaces.
    pub replace: usize,
    /// Recreates.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub recreate: usize,
    /// Annotations.
    pub annotate: usize,
    /// Deletes.
    pub delete: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(count: &usize) -> bool {
    *count == 0
}

impl RunSummary {
    /// A run in short; whether another resumed it is set where all runs are known.
    pub fn of(record: &RunRecord) -> Self {
        let plan = &record.header.plan;
        let (count, status) = (|kind| plan.count(kind), record.ending());
        let failed = record.results().filter(|result| matches!(result, ChangeResult::Failed { .. })).count();
        let is_finished = matches!(status, RunStatus::Finished | RunStatus::Unverified) && failed == 0;
        let changed = plan.changes.iter().filter(|_| !is_finished).map(|change| &change.key);
        let made = record.made();
        Self {
            run: record.header.run.clone(),
            started: record.header.started.clone(),
            ended: record.closing.as_ref().map(|closing| closing.ended.clone()),
            user: record.header.user.clone(),
            trigger: record.header.trigger.clone(),
            stack: plan.stack.clone(),
            base_url: plan.service.base_url.clone(),
            commit: plan.source.commit.clone(),
            planned: RunCounts {
                create: count(ActionKind::Create),
                replace: count(ActionKind::Replace),
                recreate: count(ActionKind::Recreate),
                annotate: count(ActionKind::Annotate),
                delete: count(ActionKind::Delete),
            },
            done: made.len(),
            status,
            failed,
            resumes: record.header.resumes.clone(),
            rolls_back: record.header.rolls_back.clone(),
            resumed_by: None,
            superseded_by: None,
            sandbox: record.header.sandbox.clone(),
            prune_namespaces: plan.settings.prune_namespaces.clone(),
            allowed: plan.allowed.iter().map(|allowed| allowed.name.clone()).collect(),
            undo_consents: plan.undo_consents(),
            applied_whole: plan.scope.keys().filter(|_| plan.is_whole()).cloned().collect(),
            unfinished_lists: changed.clone().map(Scope::from).collect(),
            unfinished: changed.filter(|key| !made.contains(key)).cloned().collect(),
            taken_over: BTreeSet::new(),
            blocked: plan.blocked.iter().map(|blocked| blocked.key.clone()).collect(),
        }
    }

    /// Who ran it: the person that the forge names, else the user of the machine.
    pub fn who(&self) -> Option<&str> {
        self.trigger.actor.as_deref().or(self.user.as_deref())
    }

    /// Whether it has not ended, or left writes in doubt, and no later run took that over.
    pub fn is_open(&self) -> bool {
        !matches!(self.status, RunStatus::Finished | RunStatus::Unverified) && !self.is_settled()
    }

    /// Whether it ended, and a resume would send again what failed.
    pub fn is_incomplete(&self) -> bool {
        !self.is_open() && self.failed > 0 && !self.is_settled()
    }

    fn is_settled(&self) -> bool {
        self.resumed_by.is_some() || self.superseded_by.is_some()
    }

    /// Whether this run, which began later, leaves nothing to resume of the first of `parts`, which are a run and those
    /// that it resumed.
    pub fn supersedes(&self, parts: &[&RunSummary]) -> bool {
        let Some(earlier) = parts.first() else { return false };
        // A resume would make again what was undone, or go on without it.
        if self.done > 0 && parts.iter().any(|part| self.rolls_back.as_ref() == Some(&part.run)) {
            return true;
        }
        // Environments and directories of one stack have namespaces of their own, and a stack may have fewer than it had.
        let is_about_it =
            !self.applied_whole.is_disjoint(&earlier.unfinished_lists) && self.blocked.is_disjoint(&earlier.unfinished);
        self.is_after(earlier) && is_about_it && self.status == RunStatus::Finished && self.done == self.planned.whole()
    }

    /// Whether it is of the same stack, and was planned after a run that began before it.
    pub fn is_after(&self, earlier: &RunSummary) -> bool {
        let is_same =
            self.stack == earlier.stack && self.base_url == earlier.base_url && self.sandbox == earlier.sandbox;
        // What is resumed is a plan of then.
        is_same && self.resumes.as_ref().is_none_or(|resumed| *resumed > earlier.run)
    }
}

impl RunCounts {
    /// All together.
    pub fn whole(self) -> usize {
        self.create + self.replace + self.recreate + self.annotate + self.delete
    }
}

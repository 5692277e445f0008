//! A summary of a run for the history: who ran it, when, against which service, and how it ended.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeResult, RunRecord, RunStatus, RunTrigger};
use crate::model::{Key, Namespace, RunId, Scope};
use crate::plan::ActionKind;

/// A summary of one run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended; null if it did not.
    pub ended: Option<String>,
    /// The user of the machine who ran it.
    pub user: Option<String>,
    /// Who and what started it, by the forge and the arguments of the call.
    pub trigger: RunTrigger,
    /// The stack.
    pub stack: Option<String>,
    /// The service.
    pub base_url: String,
    /// The commit of the applied definitions.
    pub commit: Option<String>,
    /// The planned changes.
    pub planned: RunCounts,
    /// How many changes are done.
    pub done: usize,
    /// How it ended.
    pub status: RunStatus,
    /// The run that this one resumed.
    pub resumes: Option<RunId>,
    /// The run that this one rolled back.
    pub rolls_back: Option<RunId>,
    /// The run that resumed this one.
    pub resumed_by: Option<RunId>,
    /// The later run that applied and verified all definitions of the stack, made the last remaining change of this
    /// run, or rolled it back, so that nothing remains to be resumed.
    pub superseded_by: Option<RunId>,
    /// The embedded service, as the header names it.
    #[serde(skip)]
    pub sandbox: Option<String>,
    /// The lists for which it applies all definitions of its stack.
    #[serde(skip)]
    pub applied_whole: BTreeSet<Scope>,
    /// The lists that it changes, if not all of its changes were made.
    #[serde(skip)]
    pub unfinished_lists: BTreeSet<Scope>,
    /// The changes in these lists that were not made.
    #[serde(skip)]
    pub unfinished: BTreeSet<Key>,
    /// The changes that it made and earlier runs had left; set when all runs are known.
    #[serde(skip)]
    pub taken_over: BTreeSet<Key>,
    /// The blocked changes of its plan.
    #[serde(skip)]
    pub blocked: BTreeSet<Key>,
    /// How many changes failed, because the service refused them or could not be reached: a resume sends them again.
    #[serde(skip)]
    pub failed: usize,
    /// The approvals of its plan, by name: a resume needs them again.
    #[serde(skip)]
    pub allowed: BTreeSet<String>,
    /// The approvals that its rollback needs.
    #[serde(skip)]
    pub undo_consents: BTreeSet<String>,
    /// The namespaces that its call pruned: a resume must name them again.
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
    /// A summary of a run; whether another run resumed it is set when all runs are known.
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

    /// Who ran it: the person that the forge names, or else the user of the machine.
    pub fn who(&self) -> Option<&str> {
        self.trigger.actor.as_deref().or(self.user.as_deref())
    }

    /// Whether it has not ended or left writes in doubt, and no later run settled that.
    pub fn is_open(&self) -> bool {
        !matches!(self.status, RunStatus::Finished | RunStatus::Unverified) && !self.is_settled()
    }

    /// Whether it ended with failed changes that a resume would send again.
    pub fn is_incomplete(&self) -> bool {
        !self.is_open() && self.failed > 0 && !self.is_settled()
    }

    fn is_settled(&self) -> bool {
        self.resumed_by.is_some() || self.superseded_by.is_some()
    }

    /// Whether this later run leaves nothing to resume of the first of `parts`, which are a run and the runs that it
    /// resumed.
    pub fn supersedes(&self, parts: &[&RunSummary]) -> bool {
        let Some(earlier) = parts.first() else { return false };
        // After a rollback a resume would make the undone changes again, or continue without them.
        if self.done > 0 && parts.iter().any(|part| self.rolls_back.as_ref() == Some(&part.run)) {
            return true;
        }
        // Environments and directories of a stack have their own namespaces, and a stack may have fewer than before.
        let is_about_it =
            !self.applied_whole.is_disjoint(&earlier.unfinished_lists) && self.blocked.is_disjoint(&earlier.unfinished);
        self.is_after(earlier) && is_about_it && self.status == RunStatus::Finished && self.done == self.planned.whole()
    }

    /// Whether it is of the same stack, and its plan was made after `earlier` began.
    pub fn is_after(&self, earlier: &RunSummary) -> bool {
        let is_same =
            self.stack == earlier.stack && self.base_url == earlier.base_url && self.sandbox == earlier.sandbox;
        // A resume carries out the older plan of the run that it resumes.
        is_same && self.resumes.as_ref().is_none_or(|resumed| *resumed > earlier.run)
    }
}

impl RunCounts {
    /// The sum of all kinds.
    pub fn whole(self) -> usize {
        self.create + self.replace + self.recreate + self.annotate + self.delete
    }
}

//! A run as the journal recorded it: header, intents, results and closing line. They show how far the run got with each
//! change, what a resume still has to do, and what a rollback undoes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeResult, ChangeStep, Intent, Outcome, Verification};
use crate::model::policy::Safeguards;
use crate::model::{Key, RunId};
use crate::plan::{ActionKind, AppliedWrite, Change, Plan, UndoneRun};

/// What a journal stores about a run before anything is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub started: String,
    /// The user of this machine who runs it.
    pub user: Option<String>,
    /// Who and what started it, by the forge and the arguments of the call.
    #[serde(default, skip_serializing_if = "RunTrigger::is_empty")]
    pub trigger: RunTrigger,
    /// The run that this one resumes.
    pub resumes: Option<RunId>,
    /// The run that this one rolls back.
    pub rolls_back: Option<RunId>,
    /// The file of the embedded service and its creation time, because all embedded services have one address. `None`
    /// for any other service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The settings, policy and program that apply to the run; `None` in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<InForce>,
    /// The whole plan.
    pub plan: Plan,
}

// Never used for a decision: only the history and the document of a run report it.
/// Who and what started a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTrigger {
    /// The person that the forge names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// How the plan was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalKind>,
    /// Who approved it, by the arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The pull or merge request: its URL, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_request: Option<String>,
    /// The job of the pipeline, by its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The commit that the forge names; the applied definitions may be those of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// How a plan was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// The user typed `yes`.
    Prompt,
    /// `--yes`
    Yes,
    /// `--digest`
    Digest,
}

impl RunTrigger {
    /// Whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The settings, policy and program of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InForce {
    /// The version of trueup that made the run.
    pub tool_version: String,
    /// The settings.
    pub settings: Safeguards,
    /// The policy.
    pub policy: Option<PolicyDigest>,
}

/// A policy file and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDigest {
    /// The file.
    pub path: String,
    /// The SHA-256 of its bytes: 64 hex digits.
    pub sha256: String,
}

/// The last line of a run's journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunClosing {
    /// When it ended, RFC 3339.
    pub ended: String,
    /// The verification.
    pub verification: Verification,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// A run as its journal recorded it, however it ended.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The plan of the run, who runs it, and when it began.
    pub header: RunHeader,
    /// Writes and results in the order in which they were recorded. If this run resumed others, their entries come
    /// first.
    pub entries: Vec<RunEntry>,
    /// The last line; `None` if the run was killed.
    pub closing: Option<RunClosing>,
}

/// One entry of a journal.
#[derive(Debug, Clone)]
pub enum RunEntry {
    /// A write that was sent, or was about to be sent.
    Intent(Intent),
    /// The result of a change.
    Outcome(ChangeStep),
}

/// How far a run got with one change.
#[derive(Debug, Clone, Copy)]
pub enum ChangeProgress<'a> {
    /// Nothing was sent.
    Untouched,
    /// It is unknown whether a write that was about to be sent took effect; with the step that says why, if recorded.
    InDoubt(&'a Intent, Option<&'a ChangeStep>),
    /// It has its result.
    Ended(&'a ChangeStep),
}

impl<'a> ChangeProgress<'a> {
    /// Its result, if it is known to be done.
    pub fn done(self) -> Option<&'a ChangeResult> {
        match self {
            ChangeProgress::Ended(step) if step.result.is_done() => Some(&step.result),
            _ => None,
        }
    }

    fn is_in_doubt(self) -> bool {
        match self {
            ChangeProgress::Untouched => false,
            ChangeProgress::InDoubt(..) => true,
            ChangeProgress::Ended(step) => step.result.is_in_doubt(),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunStatus {
    /// Every change has a certain result, and the verification found no difference.
    Finished,
    /// Every change has a certain result, but the verification did not confirm the live objects.
    Unverified,
    /// It stopped before every change had its result; no write is in doubt.
    Unfinished,
    /// It is unknown whether some writes took effect.
    InDoubt {
        /// The number of these writes.
        count: usize,
    },
}

impl RunRecord {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.header.run
    }

    /// A run whose journal lacks something, as the run itself knows it.
    pub fn of_outcome(header: RunHeader, outcome: &Outcome, ended: Timestamp) -> Self {
        let Outcome { steps, verification, interrupted, .. } = outcome;
        let (verification, interrupted) = (verification.clone(), *interrupted);
        let closing = Some(RunClosing { ended: ended.to_string(), verification, interrupted });
        Self { header, entries: steps.iter().cloned().map(RunEntry::Outcome).collect(), closing }
    }

    /// Each planned change, in order, with how far the run got with it.
    pub fn progress(&self) -> Vec<(&Change, ChangeProgress<'_>)> {
        let mut reached: BTreeMap<&Key, ChangeProgress<'_>> = BTreeMap::new();
        for entry in &self.entries {
            match entry {
                RunEntry::Intent(intent) => {
                    reached.insert(&intent.key, ChangeProgress::InDoubt(intent, None));
                }
                RunEntry::Outcome(step) => {
                    let known = reached.entry(&step.key).or_insert(ChangeProgress::Untouched);
                    *known = match *known {
                        ChangeProgress::InDoubt(intent, _) if step.result.is_in_doubt() => {
                            ChangeProgress::InDoubt(intent, Some(step))
                        }
                        _ => ChangeProgress::Ended(step),
                    };
                }
            }
        }
        let of = |key: &Key| reached.get(key).copied().unwrap_or(ChangeProgress::Untouched);
        self.header.plan.changes.iter().map(|change| (change, of(&change.key))).collect()
    }

    /// How many changes are not known to be done: a resume would settle or send them.
    pub fn left(&self) -> usize {
        self.keys(false).len()
    }

    /// The plan with only the changes of [`Self::left`].
    pub fn rest(&self) -> Plan {
        let open = self.keys(false);
        let mut plan = self.header.plan.clone();
        plan.changes.retain(|change| open.contains(&change.key));
        plan
    }

    /// The changes that are known to be done.
    pub fn made(&self) -> BTreeSet<&Key> {
        self.keys(true)
    }

    fn keys(&self, are_done: bool) -> BTreeSet<&Key> {
        let progress = self.progress().into_iter();
        progress.filter(|(_, progress)| progress.done().is_some() == are_done).map(|(change, _)| &change.key).collect()
    }

    /// The writes that took effect or may have: for each object the first one, whose before-image is what the run
    /// found. A create counts only if no later entry shows that another client created the object.
    pub fn writes(&self) -> Vec<&Intent> {
        // A create becomes an annotate where the run takes ownership of what it met.
        let of_others = self.entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            RunEntry::Intent(intent) => (intent.action == ActionKind::Annotate).then_some((&intent.key, at)),
            RunEntry::Outcome(step) => step.result.is_of_another().then_some((&step.key, at)),
        });
        let of_others: BTreeMap<&Key, usize> = of_others.collect();
        let mut writes: Vec<&Intent> = Vec::new();
        let mut written: BTreeSet<&Key> = BTreeSet::new();
        let mut pending: BTreeMap<&Key, &Intent> = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            match entry {
                RunEntry::Intent(intent) => {
                    if intent.before.is_some() || of_others.get(&intent.key).is_none_or(|shown| *shown < at) {
                        pending.entry(&intent.key).or_insert(intent);
                    }
                }
                RunEntry::Outcome(step) => {
                    let Some(intent) = pending.remove(&step.key) else { continue };
                    if step.result.may_have_taken_effect() && written.insert(&step.key) {
                        writes.push(intent);
                    }
                }
            }
        }
        writes.extend(pending.into_values().filter(|intent| !written.contains(&intent.key)));
        writes
    }

    /// The runs that each written object may name in its ownership annotations, in order: a resume writes its own name,
    /// but an object whose write it found made names the earlier run.
    pub fn writers(&self) -> BTreeMap<&Key, Vec<RunId>> {
        let mut writers: BTreeMap<&Key, Vec<RunId>> = BTreeMap::new();
        for entry in &self.entries {
            if let RunEntry::Intent(intent) = entry
                && let Some(run) = intent.request.run()
            {
                let runs = writers.entry(&intent.key).or_default();
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
        }
        writers
    }

    /// This run as a rollback undoes it.
    pub fn undone(&self) -> UndoneRun<'_> {
        let mut runs = self.writers();
        let writes = self.writes().into_iter().map(|write| AppliedWrite {
            key: &write.key,
            action: write.action,
            // The rollback of a run also undoes the runs that it resumed.
            runs: runs.remove(&write.key).unwrap_or_default(),
            before: write.before.as_ref(),
        });
        UndoneRun { run: self.run(), plan: &self.header.plan, writes: writes.collect() }
    }

    /// The results of the changes that have one, in the order of the plan.
    pub fn results(&self) -> impl Iterator<Item = &ChangeResult> {
        self.progress().into_iter().filter_map(|(_, progress)| match progress {
            ChangeProgress::Ended(step) => Some(&step.result),
            ChangeProgress::Untouched | ChangeProgress::InDoubt(..) => None,
        })
    }

    /// How it ended.
    pub fn ending(&self) -> RunStatus {
        let progress = self.progress();
        let count = progress.iter().filter(|(_, progress)| progress.is_in_doubt()).count();
        let interrupted = self.closing.as_ref().is_none_or(|closing| closing.interrupted);
        let untouched = progress.iter().any(|(_, progress)| matches!(progress, ChangeProgress::Untouched));
        match count {
            0 if untouched || interrupted => RunStatus::Unfinished,
            0 if self.closing.as_ref().is_some_and(|closing| closing.verification.is_proven()) => RunStatus::Finished,
            0 => RunStatus::Unverified,
            count => RunStatus::InDoubt { count },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ListRead, Live, LiveItem, Ownership, Scope};
    use crate::plan::{self, Action, Allowances, BeforeImage, Conflict, Ignore, OwnershipAnnotations, RollbackInput};
    use crate::run::{Confirmation, ObjectBody, WriteRequest};
    use crate::tests::world::{STACK, annotated, endpoint, header, live};

    fn record(plan: Plan, entries: Vec<RunEntry>) -> RunRecord {
        RunRecord { header: header("run-1", plan), entries, closing: None }
    }

    /// What a run recorded of replaces: the port that each found, and its result.
    fn written(steps: &[(&str, u16, Option<ChangeResult>)]) -> Vec<(String, u64)> {
        let entries = steps.iter().flat_map(|(name, port, result)| {
            let found = endpoint(name, *port);
            let (key, action) = (found.key.clone(), ActionKind::Replace);
            let body = ObjectBody::of(&found).expect("JSON");
            let intent = Intent {
                key: key.clone(),
                action,
                attempt: 0,
                request: WriteRequest::Replace { body },
                before: Some(BeforeImage::of(&live(found))),
                request_id: None,
            };
            let outcome = result.clone().map(|result| RunEntry::Outcome(ChangeStep::new(key, action, result)));
            std::iter::once(RunEntry::Intent(intent)).chain(outcome)
        });
        let record = record(Plan::default(), entries.collect());
        let found = |write: &&Intent| write.before.as_ref().expect("a before-image").endpoint.spec.unit("port");
        let port = |write: &&Intent| found(write).as_u64().unwrap_or_default();
        record.writes().iter().map(|write| (write.key.name.to_string(), port(write))).collect()
    }

    #[test]
    fn a_write_that_was_not_made_is_not_undone_and_of_several_the_first_that_may_have_been() {
        let done = || ChangeResult::Done { confirmation: Confirmation::Versioned, by_reading: false, adopted: false };
        let failed = || ChangeResult::Failed { reason: "403".to_owned() };
        let in_doubt = || ChangeResult::InDoubt { reason: "the answer was lost".to_owned() };
        assert_eq!(written(&[("a", 1, Some(failed()))]), []);
        let writes = [
            ("a", 1, Some(failed())),
            ("b", 1, Some(in_doubt())),
            ("c", 1, None),
            ("a", 2, Some(done())),
            ("a", 3, Some(done())),
            ("b", 2, Some(done())),
        ];
        assert_eq!(written(&writes), [("b".to_owned(), 1), ("a".to_owned(), 2), ("c".to_owned(), 1)]);
    }

    /// What one run recorded of a create: whether it was sent, whether an annotate was, and its result unless it was
    /// killed.
    type Step = (bool, bool, Option<ChangeResult>);

    /// Every step that leaves something to resume.
    fn open_steps() -> Vec<Step> {
        let reason = || "the answer was lost".to_owned();
        let conflict = Conflict::new("created by someone else", BTreeSet::new(), [None, None, None]);
        let lost = Conflict { ours_may_be_lost: true, ..conflict.clone() };
        let results = [
            None,
            Some(ChangeResult::InDoubt { reason: reason() }),
            Some(ChangeResult::Failed { reason: reason() }),
            Some(ChangeResult::Skipped { reason: reason() }),
            Some(ChangeResult::Conflict(conflict)),
            Some(ChangeResult::Conflict(lost)),
        ];
        let sent = [(false, false), (true, false), (false, true), (true, true)];
        let of = |(create, annotate)| results.clone().map(|result| (create, annotate, result));
        sent.into_iter().flat_map(of).collect()
    }

    /// How many deletes and how many changes a rollback after these runs plans, where the object is as the create
    /// makes it.
    fn undone(steps: &[&Step]) -> (usize, usize) {
        let wanted = endpoint("a", 1);
        let owned = annotated(live(wanted.clone()), &wanted, Some(STACK));
        let [created, found] = [&owned.endpoint, &wanted].map(|object| ObjectBody::of(object).expect("JSON"));
        let intent = |action, request, before| {
            let key = wanted.key.clone();
            RunEntry::Intent(Intent { key, action, attempt: 0, request, before, request_id: None })
        };
        let entries = steps.iter().flat_map(|(create, annotate, result)| {
            let create =
                create.then(|| intent(ActionKind::Create, WriteRequest::Create { body: created.clone() }, None));
            let annotate = annotate.then(|| {
                let before = Some(BeforeImage::of(&live(wanted.clone())));
                intent(ActionKind::Annotate, WriteRequest::Replace { body: found.clone() }, before)
            });
            let step = |result| RunEntry::Outcome(ChangeStep::new(wanted.key.clone(), ActionKind::Create, result));
            create.into_iter().chain(annotate).chain(result.clone().map(step))
        });
        let entries = entries.collect();
        let ownership = Some(OwnershipAnnotations::wanted(Ownership::wanted(&wanted, Some(STACK)), None));
        let create = Change { ownership, ..Change::new(wanted.key.clone(), Action::Create { wanted: wanted.clone() }) };
        let record = record(Plan { stack: Some(STACK.to_owned()), changes: vec![create], ..Plan::default() }, entries);
        let items = [(wanted.key.clone(), LiveItem::Object(owned.clone()))].into();
        let rollback = plan::rollback(RollbackInput {
            undone: &record.undone(),
            live: &Live { lists: [(Scope::from(&wanted.key), ListRead::Complete { items })].into(), requests: 1 },
            definitions: &[],
            only: &|_| true,
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
        });
        (rollback.deletes().count(), rollback.changes.len())
    }

    #[test]
    fn a_rollback_deletes_nothing_that_the_last_run_says_another_client_created() {
        let done =
            |adopted| Some(ChangeResult::Done { confirmation: Confirmation::Unguarded, by_reading: true, adopted });
        let open = open_steps();
        let pairs = open.iter().flat_map(|one| open.iter().map(move |other| vec![one, other]));
        let earlier: Vec<Vec<&Step>> =
            std::iter::once(Vec::new()).chain(open.iter().map(|one| vec![one])).chain(pairs).collect();
        for earlier in &earlier {
            let then = |last: &Step| undone(&earlier.iter().copied().chain([last]).collect::<Vec<_>>());
            for last in [(false, true, done(true)), (true, true, done(true))] {
                assert_eq!(then(&last), (0, 1), "adopted: {earlier:?}");
            }
            for last in [done(true), Some(ChangeResult::AlreadyDone)] {
                assert_eq!(then(&(false, false, last)).0, 0, "met: {earlier:?}");
            }
            if earlier.iter().all(|(_, annotate, _)| !annotate) {
                assert_eq!(then(&(true, false, done(false))), (1, 1), "created: {earlier:?}");
            }
        }
    }
}

//! One change of a run: read, decide, record the intent, send, and settle an answer that was lost or odd.
//! The decisions are those of `decide` and `confirm`; this file only carries them out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::ApplyOptions;
use super::confirm::{self, FailedAnswer, SentWrite, SettledWrite};
use super::decide::{self, CREATED, WriteDecision};
use super::service::EndpointService;
use super::target_state::TargetState;
use crate::api::{ApiError, Certainty, CurrentState};
use crate::model::RunId;
use crate::plan::{Action, ActionKind, BeforeImage, Change, Conflict};
use crate::run::{
    ChangeResult, ChangeStep, Confirmation, Intent, RunEvent, RunObserver, RunRecorder, Urgency, WriteRequest,
};

/// Times that one write is sent at most.
const MOST_TRIES: u32 = 4;
/// The wait before a write is sent again; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Further reads of an object whose write may have taken effect although it cannot be seen.
const MOST_REREADS: u32 = 3;

/// Why nothing more is sent.
pub(super) const INTERRUPTED: &str = "the run was interrupted";
const NO_JOURNAL: &str = "the journal could not be written, so nothing more is sent";

/// Where the work on a change begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepStart<'a> {
    /// Nothing was sent before.
    Fresh,
    /// An earlier run tried and did not make it: live is looked at first, for a create too.
    Read,
    /// An earlier run was about to send this, or sent it.
    InDoubt(&'a Intent, &'a [RunId]),
}

/// Works on single changes of a run.
pub(super) struct Worker<'a, S, R, O> {
    pub(super) service: &'a S,
    pub(super) recorder: &'a R,
    pub(super) observer: &'a O,
    pub(super) options: &'a ApplyOptions,
    /// This service answered a version mismatch.
    pub(super) checks_versions: AtomicBool,
    /// The journal failed: nothing more is sent.
    pub(super) journal_failed: AtomicBool,
    /// Writes at the same time.
    pub(super) slots: Semaphore,
}

/// A write with how its last try ended.
#[derive(Clone, Copy)]
struct AttemptedWrite<'a> {
    target: &'a TargetState<'a>,
    earlier: &'a [TargetState<'a>],
    write: &'a Intent,
    error: &'a ApiError,
}

/// What follows a try that did not end well.
#[expect(clippy::large_enum_variant, reason = "one lives for one step; a box would cost an allocation a write")]
enum NextStep {
    /// Nothing: this became of it.
    Over(ChangeResult),
    /// It was not made, and is sent again.
    Again,
    /// It was refused for its version and nothing that the plan looks at moved, or for an object of nobody
    /// that is as wanted: this is sent instead, of the object as it is now. After the last try it is the
    /// conflict.
    Anew(Intent, Conflict),
}

impl<S: EndpointService, R: RunRecorder, O: RunObserver> Worker<'_, S, R, O> {
    pub(super) fn is_stopped(&self) -> bool {
        *self.options.stop.borrow()
    }

    /// Why nothing more may be sent, if so.
    fn halted(&self) -> Option<&'static str> {
        if self.journal_failed.load(Ordering::Relaxed) {
            return Some(NO_JOURNAL);
        }
        self.is_stopped().then_some(INTERRUPTED)
    }

    /// Stores the result of a change. A result that cannot be kept stays in doubt in the journal.
    pub(super) async fn record(&self, step: &ChangeStep) {
        if self.recorder.outcome(step).await.is_err() {
            self.journal_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Makes one change and returns its result; `requests` receives the ids of its writes and of a read that failed.
    pub(super) async fn make(&self, change: &Change, start: StepStart<'_>, requests: &mut Vec<String>) -> ChangeResult {
        let ignored = self.options.ignore.fields(&change.key);
        let theirs = match start {
            StepStart::InDoubt(_, runs) => runs,
            StepStart::Fresh | StepStart::Read => &[],
        };
        let in_doubt = matches!(start, StepStart::InDoubt(..));
        if let Some(reason) = self.halted() {
            let reason = reason.to_owned();
            return if in_doubt { ChangeResult::InDoubt { reason } } else { ChangeResult::Skipped { reason } };
        }
        let targets = TargetState::new(change, &self.options.run, ignored.clone()).and_then(|target| {
            let earlier: Result<Vec<_>, _> =
                theirs.iter().map(|run| TargetState::new(change, run, ignored.clone())).collect();
            Ok((target, earlier?))
        });
        let (target, earlier) = match targets {
            Ok(targets) => targets,
            Err(reason) => return undecided(ChangeResult::Failed { reason }, in_doubt),
        };
        let decision = match start {
            StepStart::Fresh => self.decide(&target, requests).await,
            StepStart::Read => self.read_and_decide(&target, requests).await,
            StepStart::InDoubt(intent, _) => self.resolve(&target, &earlier, intent, requests).await,
        };
        let result = match decision {
            Ok(WriteDecision::Send(request, before)) => {
                return self.write(&target, &earlier, intent(&target, request, before), requests).await;
            }
            Ok(WriteDecision::AlreadyDone) => ChangeResult::AlreadyDone,
            Ok(WriteDecision::Conflict(conflict)) => ChangeResult::Conflict(conflict),
            Ok(WriteDecision::Referred(by)) => ChangeResult::Referred { by },
            Ok(WriteDecision::Refuse(reason)) => ChangeResult::Failed { reason },
            Err(result) => result,
        };
        undecided(result, in_doubt)
    }

    async fn decide(
        &self,
        target: &TargetState<'_>,
        requests: &mut Vec<String>,
    ) -> Result<WriteDecision, ChangeResult> {
        match &target.change.action {
            Action::Create { .. } => Ok(decide::create(target)),
            _ => self.read_and_decide(target, requests).await,
        }
    }

    async fn read_and_decide(
        &self,
        target: &TargetState<'_>,
        requests: &mut Vec<String>,
    ) -> Result<WriteDecision, ChangeResult> {
        let now = self.service.read(&target.change.key).await.map_err(|error| failed(error, requests))?;
        self.decide_on(target, &now, requests).await
    }

    async fn decide_on(
        &self,
        target: &TargetState<'_>,
        now: &CurrentState,
        requests: &mut Vec<String>,
    ) -> Result<WriteDecision, ChangeResult> {
        let decision = match &target.change.action {
            Action::Create { .. } => decide::create_after_read(target, now),
            Action::Replace { before, .. } | Action::Annotate { before } => decide::replace(target, before, now),
            Action::Delete { before, referrers } => match decide::delete(target, before, now) {
                send @ WriteDecision::Send(..) => {
                    let found = self.service.referrers(&target.change.key).await;
                    let found = found.map_err(|error| failed(error, requests))?;
                    decide::refer(referrers, found).unwrap_or(send)
                }
                other => other,
            },
        };
        Ok(decision)
    }

    /// Settles what an earlier run left in doubt, and decides afresh where it was not made.
    async fn resolve(
        &self,
        target: &TargetState<'_>,
        earlier: &[TargetState<'_>],
        intent: &Intent,
        requests: &mut Vec<String>,
    ) -> Result<WriteDecision, ChangeResult> {
        let now = self.service.read(&target.change.key).await.map_err(|error| {
            requests.extend(error.request_id.clone());
            ChangeResult::InDoubt { reason: error.to_string() }
        })?;
        let sent = SentWrite {
            target,
            earlier,
            request: &intent.request,
            before: intent.before.as_ref(),
            answer: FailedAnswer::Lost,
            may_be_made: true,
        };
        match confirm::settle(&sent, &now) {
            SettledWrite::Done => Err(self.done(target, intent, true)),
            SettledWrite::AlreadyDone => Ok(WriteDecision::AlreadyDone),
            SettledWrite::Conflict(conflict) => Ok(WriteDecision::Conflict(conflict)),
            SettledWrite::NotMade | SettledWrite::Adopt => self.decide_on(target, &now, requests).await,
        }
    }

    /// How safe a write is.
    fn settled(&self, write: &Intent) -> Confirmation {
        // A replace carries the version of the look before it, where that had one.
        let version = write.before.as_ref().and_then(|before| before.resource_version.as_ref());
        match (&write.request, version) {
            (WriteRequest::Replace { .. }, Some(_)) => {
                if self.options.version_checked || self.checks_versions.load(Ordering::Relaxed) {
                    Confirmation::Guarded
                } else {
                    Confirmation::Versioned
                }
            }
            _ => Confirmation::Unguarded,
        }
    }

    /// Sends a write until it is settled, each time with its intent on disk before. `earlier` is the same
    /// change as earlier runs may have sent it.
    async fn write(
        &self,
        target: &TargetState<'_>,
        earlier: &[TargetState<'_>],
        mut write: Intent,
        requests: &mut Vec<String>,
    ) -> ChangeResult {
        let key = &target.change.key;
        let mut may_be_made = !earlier.is_empty();
        let mut last = "an earlier run may have sent it".to_owned();
        for attempt in 0..MOST_TRIES {
            if let Some(result) = self.unsent_result(may_be_made, &last) {
                return result;
            }
            write.attempt = attempt;
            write.request_id = Some(self.service.request_id());
            let urgency = if self.slots.available_permits() > 0 { Urgency::Immediate } else { Urgency::Batched };
            if let Err(error) = self.recorder.intent(&write, urgency).await {
                return self.unrecorded(&error, may_be_made, last);
            }
            // Never closed. Its intent may have waited for others while the run was stopped.
            let slot = self.slots.acquire().await;
            if let Some(result) = self.unsent_result(may_be_made, &last) {
                return result;
            }
            if let Err(error) = self.recorder.permits() {
                return self.unrecorded(&error, may_be_made, last);
            }
            requests.extend(write.request_id.clone());
            self.observer.event(RunEvent::Sending {
                key,
                action: write.action,
                attempt: attempt + 1,
                request_id: write.request_id.as_deref(),
            });
            let sent = self.service.send(&write).await;
            drop(slot);
            let error = match sent {
                Ok(()) => return self.done(target, &write, false),
                Err(error) => error,
            };
            last = error.to_string();
            let tried = AttemptedWrite { target, earlier, write: &write, error: &error };
            match self.settle(&tried, &mut may_be_made).await {
                NextStep::Over(result) => return result,
                NextStep::Again if attempt + 1 < MOST_TRIES => {
                    let wait = FIRST_WAIT * (1 << attempt);
                    self.observer.event(RunEvent::Waiting { key, attempt: attempt + 1, reason: &last, wait });
                    self.options.pace.wait(wait).await;
                }
                NextStep::Again => {}
                // At once, before somebody moves it again.
                NextStep::Anew(fresh, _) if attempt + 1 < MOST_TRIES => write = fresh,
                NextStep::Anew(_, conflict) => return ChangeResult::Conflict(conflict),
            }
        }
        ChangeResult::InDoubt { reason: format!("{last}; it was sent {MOST_TRIES} times") }
    }

    /// What becomes of a write that the recorder does not permit; nothing more is sent.
    fn unrecorded(&self, error: &R::Error, may_be_made: bool, last: String) -> ChangeResult {
        self.journal_failed.store(true, Ordering::Relaxed);
        match may_be_made {
            true => ChangeResult::InDoubt { reason: last },
            false => {
                let reason = format!("nothing was sent, because the journal could not be written: {error}");
                ChangeResult::Failed { reason }
            }
        }
    }

    /// What becomes of a write that may not be sent any more, if so.
    fn unsent_result(&self, may_be_made: bool, last: &str) -> Option<ChangeResult> {
        let reason = self.halted()?;
        Some(match may_be_made {
            false => ChangeResult::Skipped { reason: reason.to_owned() },
            true => ChangeResult::InDoubt { reason: format!("{last}; {reason}") },
        })
    }

    /// What follows a write that did not end well.
    async fn settle(&self, tried: &AttemptedWrite<'_>, may_be_made: &mut bool) -> NextStep {
        let AttemptedWrite { target, earlier, write, error } = *tried;
        let doubt = match error.certainty() {
            Certainty::NotSent if !*may_be_made => {
                return NextStep::Over(ChangeResult::Failed { reason: error.to_string() });
            }
            Certainty::Refused => FailedAnswer::Refused,
            Certainty::Unknown if error.status() == Some(500) => FailedAnswer::Broken,
            Certainty::Unknown | Certainty::NotSent => FailedAnswer::Lost,
        };
        *may_be_made |= doubt != FailedAnswer::Refused;
        let plain_refusal = doubt == FailedAnswer::Refused && !*may_be_made;
        let is_create = matches!(write.request, WriteRequest::Create { .. });
        if is_create && plain_refusal && error.status() != Some(409) {
            return NextStep::Over(ChangeResult::Failed { reason: error.to_string() });
        }
        let before = write.before.as_ref();
        let sent =
            SentWrite { target, earlier, request: &write.request, before, answer: doubt, may_be_made: *may_be_made };
        let mut rereads = 0;
        loop {
            let now = match self.service.read(&target.change.key).await {
                Ok(now) => now,
                Err(unread) => {
                    let reason = format!("{error}; a look at it failed too: {unread}");
                    return NextStep::Over(undecided(ChangeResult::Failed { reason }, *may_be_made));
                }
            };
            let moved_on = confirm::proves_check(&sent, &now);
            if moved_on {
                self.checks_versions.store(true, Ordering::Relaxed);
            }
            let result = match confirm::settle(&sent, &now) {
                // A delete that was refused and is not there was somebody else's.
                SettledWrite::Done if plain_refusal && matches!(write.request, WriteRequest::Delete { .. }) => {
                    ChangeResult::AlreadyDone
                }
                SettledWrite::Done => self.done(target, write, true),
                SettledWrite::AlreadyDone => ChangeResult::AlreadyDone,
                SettledWrite::Adopt => return self.anew(target, &now, None).await,
                SettledWrite::Conflict(conflict) if plain_refusal && moved_on && is_about_version(error) => {
                    return self.anew(target, &now, Some(conflict)).await;
                }
                SettledWrite::Conflict(conflict) => ChangeResult::Conflict(conflict),
                SettledWrite::NotMade if confirm::may_repeat(doubt) => return NextStep::Again,
                // A try may have taken effect, and the read may lag: the refusal of a second try would even
                // be evidence of it.
                SettledWrite::NotMade if *may_be_made => {
                    if rereads < MOST_REREADS && self.halted().is_none() {
                        let wait = FIRST_WAIT * (1 << rereads);
                        rereads += 1;
                        self.observer.event(RunEvent::Waiting {
                            key: &target.change.key,
                            attempt: write.attempt + 1,
                            reason: &error.to_string(),
                            wait,
                        });
                        self.options.pace.wait(wait).await;
                        continue;
                    }
                    ChangeResult::InDoubt {
                        reason: format!("{error}; reads show it as before, which proves nothing yet"),
                    }
                }
                SettledWrite::NotMade => self.not_made(target, write, error).await,
            };
            return NextStep::Over(result);
        }
    }

    /// What is sent instead, of the object as it is now; the conflict where nothing can be.
    async fn anew(&self, target: &TargetState<'_>, now: &CurrentState, conflict: Option<Conflict>) -> NextStep {
        let conflict = conflict.unwrap_or_else(|| target.conflict(CREATED, now.endpoint()));
        match self.decide_on(target, now, &mut Vec::new()).await {
            Ok(WriteDecision::Send(request, before)) => NextStep::Anew(intent(target, request, before), conflict),
            _ => NextStep::Over(ChangeResult::Conflict(conflict)),
        }
    }

    fn done(&self, target: &TargetState<'_>, write: &Intent, by_reading: bool) -> ChangeResult {
        let adopted = target.change.action.kind() == ActionKind::Create && write.action != ActionKind::Create;
        ChangeResult::Done { confirmation: self.settled(write), by_reading, adopted }
    }

    /// A refused delete may have been refused because somebody began to refer to the object.
    async fn not_made(&self, target: &TargetState<'_>, write: &Intent, error: &ApiError) -> ChangeResult {
        if let WriteRequest::Delete { .. } = write.request
            && let Ok(by) = self.service.referrers(&target.change.key).await
            && !by.is_empty()
        {
            return ChangeResult::Referred { by };
        }
        ChangeResult::Failed { reason: error.to_string() }
    }
}

/// Whether a refusal can be one of the version (API.md: which of the two is not known).
fn is_about_version(error: &ApiError) -> bool {
    matches!(error.status(), Some(409 | 412))
}

/// What is about to be sent for the first time. A create that meets the same object of nobody only takes
/// ownership of it.
fn intent(target: &TargetState<'_>, request: WriteRequest, before: Option<BeforeImage>) -> Intent {
    let action = match (target.change.action.kind(), &request) {
        (ActionKind::Create, WriteRequest::Replace { .. }) => ActionKind::Annotate,
        (kind, _) => kind,
    };
    Intent { key: target.change.key.clone(), action, attempt: 0, request, before, request_id: None }
}

/// `result`, unless it says that nothing was made of a write that may have been.
fn undecided(result: ChangeResult, may_be_made: bool) -> ChangeResult {
    if !may_be_made || result.may_have_taken_effect() {
        return result;
    }
    match result {
        ChangeResult::Conflict(conflict) => ChangeResult::Conflict(Conflict { ours_may_be_lost: true, ..conflict }),
        ChangeResult::Referred { by } => {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            ChangeResult::InDoubt { reason: format!("others refer to it, so it was not sent again: {}", by.join(", ")) }
        }
        ChangeResult::Failed { reason } | ChangeResult::Skipped { reason } => ChangeResult::InDoubt { reason },
        ChangeResult::AlreadyDone | ChangeResult::Done { .. } | ChangeResult::InDoubt { .. } => result,
    }
}

fn failed(error: ApiError, requests: &mut Vec<String>) -> ChangeResult {
    requests.extend(error.request_id.clone());
    ChangeResult::Failed { reason: error.to_string() }
}

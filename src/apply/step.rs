use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::Options;
use super::aim::{Aim, Now};
use super::decide::{self, Decision};
use super::service::Service;
use super::settle::{self, Doubt, Sent, Settlement};
use crate::api::{ApiError, Certainty};
use crate::plan::{
    Action, Before, Change, Conflict, Event, Fate, Haste, Intent, Observer, Recorder, Request, RunId, Settled, Step,
};

/// Times that one write is sent at most.
const MOST_TRIES: u32 = 4;
/// The wait before a write is sent again; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Why nothing more is sent.
pub(super) const INTERRUPTED: &str = "the run was interrupted";
const NO_JOURNAL: &str = "the journal could not be written, so nothing more is sent";

/// Where the work on a change begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start<'a> {
    /// Nothing was sent before.
    Fresh,
    /// An earlier run tried and did not make it: live is looked at first, for a create too.
    Look,
    /// An earlier run was about to send this, or sent it.
    InDoubt(&'a Intent, &'a RunId),
}

/// Works on single changes of a run.
pub(super) struct Worker<'a, S, R, O> {
    pub(super) service: &'a S,
    pub(super) recorder: &'a R,
    pub(super) observer: &'a O,
    pub(super) options: &'a Options,
    /// This service answered a version mismatch.
    pub(super) checks_versions: AtomicBool,
    /// The journal failed: nothing more is sent.
    pub(super) journal_failed: AtomicBool,
    /// Writes at the same time.
    pub(super) slots: Semaphore,
}

/// What follows a try that did not end well.
#[expect(clippy::large_enum_variant, reason = "one lives for one step; a box would cost an allocation a write")]
enum Next {
    /// Nothing: this became of it.
    Over(Fate),
    /// It was not made, and is sent again.
    Again,
    /// It was refused for its version, and nothing that the plan looks at moved: this is sent instead,
    /// of the object as it is now. The conflict stands where it was tried often enough.
    Anew(Intent, Conflict),
}

impl<S: Service, R: Recorder, O: Observer> Worker<'_, S, R, O> {
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

    /// Keeps what became of a change. A fate that cannot be kept stays in doubt in the journal.
    pub(super) async fn keep(&self, step: &Step) {
        if self.recorder.outcome(step).await.is_err() {
            self.journal_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Makes one change and tells what became of it.
    pub(super) async fn make(&self, change: &Change, start: Start<'_>) -> Fate {
        if let Some(reason) = self.halted() {
            return Fate::Skipped { reason: reason.to_owned() };
        }
        let ignored = self.options.ignore.fields(&change.key);
        let aim = match Aim::new(change, &self.options.run, ignored.clone()) {
            Ok(aim) => aim,
            Err(reason) => return Fate::Failed { reason },
        };
        let decision = match start {
            Start::Fresh => self.decide(&aim).await,
            Start::Look => self.look_and_decide(&aim).await,
            Start::InDoubt(intent, run) => match Aim::new(change, run, ignored) {
                Ok(theirs) => self.resolve(&aim, &theirs, intent).await,
                Err(reason) => return Fate::Failed { reason },
            },
        };
        match decision {
            Ok(Decision::Send(request, before)) => self.write(&aim, intent(&aim, request, before)).await,
            Ok(Decision::AlreadyDone) => Fate::AlreadyDone,
            Ok(Decision::Conflict(conflict)) => Fate::Conflict(conflict),
            Ok(Decision::Referred(by)) => Fate::Referred { by },
            Ok(Decision::Refuse(reason)) => Fate::Failed { reason },
            Err(fate) => fate,
        }
    }

    async fn decide(&self, aim: &Aim<'_>) -> Result<Decision, Fate> {
        match &aim.change.action {
            Action::Create { .. } => Ok(decide::create(aim)),
            _ => self.look_and_decide(aim).await,
        }
    }

    async fn look_and_decide(&self, aim: &Aim<'_>) -> Result<Decision, Fate> {
        let now = self.service.look(&aim.change.key).await.map_err(failed)?;
        self.decide_on(aim, &now).await
    }

    async fn decide_on(&self, aim: &Aim<'_>, now: &Now) -> Result<Decision, Fate> {
        let decision = match &aim.change.action {
            Action::Create { .. } => decide::create_after_look(aim, now),
            Action::Replace { before, .. } | Action::Mark { before } => decide::replace(aim, before, now),
            Action::Delete { before, referrers } => match decide::delete(aim, before, now) {
                send @ Decision::Send(..) => {
                    let found = self.service.referrers(&aim.change.key).await.map_err(failed)?;
                    decide::refer(referrers, found).unwrap_or(send)
                }
                other => other,
            },
        };
        Ok(decision)
    }

    /// Settles what an earlier run left in doubt, and decides afresh where it was not made.
    async fn resolve(&self, aim: &Aim<'_>, theirs: &Aim<'_>, intent: &Intent) -> Result<Decision, Fate> {
        let unsettled = |error: ApiError| Fate::Unsettled { reason: error.to_string() };
        let now = self.service.look(&aim.change.key).await.map_err(unsettled)?;
        let sent = Sent {
            aim: theirs,
            request: &intent.request,
            before: intent.before.as_ref(),
            doubt: Doubt::Lost,
            may_be_made: true,
        };
        match settle::settle(&sent, &now) {
            Settlement::Done => Err(Fate::Done { settled: self.settled(intent), by_reading: true }),
            Settlement::AlreadyDone => Ok(Decision::AlreadyDone),
            Settlement::Conflict(conflict) => Ok(Decision::Conflict(conflict)),
            Settlement::NotMade => self.decide_on(aim, &now).await,
        }
    }

    /// How safe a write is.
    fn settled(&self, write: &Intent) -> Settled {
        // A replace carries the version of the look before it, where that had one.
        let version = write.before.as_ref().and_then(|before| before.resource_version.as_ref());
        match (&write.request, version) {
            (Request::Replace { .. }, Some(_)) => {
                if self.options.version_checked || self.checks_versions.load(Ordering::Relaxed) {
                    Settled::Guarded
                } else {
                    Settled::Versioned
                }
            }
            _ => Settled::Unguarded,
        }
    }

    /// Sends a write until it is settled, each time with its intent on disk before.
    async fn write(&self, aim: &Aim<'_>, mut write: Intent) -> Fate {
        let key = &aim.change.key;
        let mut may_be_made = false;
        let mut last = String::new();
        for attempt in 0..MOST_TRIES {
            if let Some(fate) = self.held_up(may_be_made, &last) {
                return fate;
            }
            write.attempt = attempt;
            let haste = if self.slots.available_permits() > 0 { Haste::Now } else { Haste::None };
            if let Err(error) = self.recorder.intent(&write, haste).await {
                self.journal_failed.store(true, Ordering::Relaxed);
                let reason = format!("nothing was sent, because the journal could not be written: {error}");
                return if may_be_made { Fate::Unsettled { reason: last } } else { Fate::Failed { reason } };
            }
            // Never closed. Its intent may have waited for others while the run was stopped.
            let slot = self.slots.acquire().await;
            if let Some(fate) = self.held_up(may_be_made, &last) {
                return fate;
            }
            let sent = self.service.send(key, &write.request).await;
            drop(slot);
            let error = match sent {
                Ok(()) => return Fate::Done { settled: self.settled(&write), by_reading: false },
                Err(error) => error,
            };
            last = error.to_string();
            match self.settle(aim, &write, &error, &mut may_be_made).await {
                Next::Over(fate) => return fate,
                Next::Again if attempt + 1 < MOST_TRIES => {
                    let wait = FIRST_WAIT * (1 << attempt);
                    self.observer.event(Event::Waiting { key: key.clone(), reason: last.clone(), wait });
                    self.options.pace.wait(wait).await;
                }
                Next::Again => {}
                // At once, before somebody moves it again.
                Next::Anew(fresh, _) if attempt + 1 < MOST_TRIES => write = fresh,
                Next::Anew(_, conflict) => return Fate::Conflict(conflict),
            }
        }
        Fate::Unsettled { reason: format!("{last}; it was sent {MOST_TRIES} times") }
    }

    /// What becomes of a write that may not be sent any more, if so.
    fn held_up(&self, may_be_made: bool, last: &str) -> Option<Fate> {
        let reason = self.halted()?;
        Some(match may_be_made {
            false => Fate::Skipped { reason: reason.to_owned() },
            true => Fate::Unsettled { reason: format!("{last}; {reason}") },
        })
    }

    /// What follows a write that did not end well.
    async fn settle(&self, aim: &Aim<'_>, write: &Intent, error: &ApiError, may_be_made: &mut bool) -> Next {
        let doubt = match error.certainty() {
            Certainty::NotSent if !*may_be_made => return Next::Over(Fate::Failed { reason: error.to_string() }),
            Certainty::NotSent | Certainty::Refused => Doubt::Refused,
            Certainty::Unknown if error.status() == Some(500) => Doubt::Broken,
            Certainty::Unknown => Doubt::Lost,
        };
        *may_be_made |= doubt != Doubt::Refused;
        let plain_refusal = doubt == Doubt::Refused && !*may_be_made;
        let is_create = matches!(write.request, Request::Create { .. });
        if is_create && plain_refusal && error.status() != Some(409) {
            return Next::Over(Fate::Failed { reason: error.to_string() });
        }
        let now = match self.service.look(&aim.change.key).await {
            Ok(now) => now,
            Err(unread) => {
                let reason = format!("{error}; a look at it failed too: {unread}");
                return Next::Over(if *may_be_made { Fate::Unsettled { reason } } else { Fate::Failed { reason } });
            }
        };
        let before = write.before.as_ref();
        let sent = Sent { aim, request: &write.request, before, doubt, may_be_made: *may_be_made };
        let moved_on = settle::proves_check(&sent, &now);
        if moved_on {
            self.checks_versions.store(true, Ordering::Relaxed);
        }
        let fate = match settle::settle(&sent, &now) {
            // A delete that was refused and is not there was somebody else's.
            Settlement::Done if plain_refusal && matches!(write.request, Request::Delete { .. }) => Fate::AlreadyDone,
            Settlement::Done => self.done_by_reading(write),
            Settlement::AlreadyDone => Fate::AlreadyDone,
            Settlement::Conflict(conflict) if plain_refusal && moved_on && is_about_version(error) => {
                return match self.decide_on(aim, &now).await {
                    Ok(Decision::Send(request, before)) => Next::Anew(intent(aim, request, before), conflict),
                    _ => Next::Over(Fate::Conflict(conflict)),
                };
            }
            Settlement::Conflict(conflict) => Fate::Conflict(conflict),
            Settlement::NotMade if settle::may_repeat(doubt) => return Next::Again,
            Settlement::NotMade => self.not_made(aim, write, error).await,
        };
        Next::Over(fate)
    }

    fn done_by_reading(&self, write: &Intent) -> Fate {
        Fate::Done { settled: self.settled(write), by_reading: true }
    }

    /// A refused delete may have been refused because somebody began to refer to the object.
    async fn not_made(&self, aim: &Aim<'_>, write: &Intent, error: &ApiError) -> Fate {
        if let Request::Delete { .. } = write.request
            && let Ok(by) = self.service.referrers(&aim.change.key).await
            && !by.is_empty()
        {
            return Fate::Referred { by };
        }
        Fate::Failed { reason: error.to_string() }
    }
}

/// Whether a refusal can be one of the version (API.md: which of the two is not known).
fn is_about_version(error: &ApiError) -> bool {
    matches!(error.status(), Some(409 | 412))
}

/// What is about to be sent for the first time.
fn intent(aim: &Aim<'_>, request: Request, before: Option<Before>) -> Intent {
    Intent { key: aim.change.key.clone(), action: aim.change.action.kind(), attempt: 0, request, before }
}

fn failed(error: ApiError) -> Fate {
    Fate::Failed { reason: error.to_string() }
}

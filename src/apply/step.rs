use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::Options;
use super::aim::{Aim, Now};
use super::decide::{self, CREATED, Decision};
use super::service::Service;
use super::settle::{self, Doubt, Sent, Settlement};
use crate::api::{ApiError, Certainty};
use crate::plan::{
    Action, ActionKind, Before, Change, Conflict, Event, Fate, Haste, Intent, Observer, Recorder, Request, RunId,
    Settled, Step,
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
pub(super) enum Start<'a> {
    /// Nothing was sent before.
    Fresh,
    /// An earlier run tried and did not make it: live is looked at first, for a create too.
    Look,
    /// An earlier run was about to send this, or sent it.
    InDoubt(&'a Intent, &'a [RunId]),
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

/// A write with how its last try ended.
#[derive(Clone, Copy)]
struct Tried<'a> {
    aim: &'a Aim<'a>,
    earlier: &'a [Aim<'a>],
    write: &'a Intent,
    error: &'a ApiError,
}

/// What follows a try that did not end well.
#[expect(clippy::large_enum_variant, reason = "one lives for one step; a box would cost an allocation a write")]
enum Next {
    /// Nothing: this became of it.
    Over(Fate),
    /// It was not made, and is sent again.
    Again,
    /// It was refused for its version and nothing that the plan looks at moved, or for an object of nobody
    /// that is as wanted: this is sent instead, of the object as it is now. After the last try it is the
    /// conflict.
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
        let ignored = self.options.ignore.fields(&change.key);
        let theirs = match start {
            Start::InDoubt(_, runs) => runs,
            Start::Fresh | Start::Look => &[],
        };
        let in_doubt = matches!(start, Start::InDoubt(..));
        if let Some(reason) = self.halted() {
            let reason = reason.to_owned();
            return if in_doubt { Fate::Unsettled { reason } } else { Fate::Skipped { reason } };
        }
        let aims = Aim::new(change, &self.options.run, ignored.clone()).and_then(|aim| {
            let earlier: Result<Vec<_>, _> = theirs.iter().map(|run| Aim::new(change, run, ignored.clone())).collect();
            Ok((aim, earlier?))
        });
        let (aim, earlier) = match aims {
            Ok(aims) => aims,
            Err(reason) => return undecided(Fate::Failed { reason }, in_doubt),
        };
        let decision = match start {
            Start::Fresh => self.decide(&aim).await,
            Start::Look => self.look_and_decide(&aim).await,
            Start::InDoubt(intent, _) => self.resolve(&aim, &earlier, intent).await,
        };
        let fate = match decision {
            Ok(Decision::Send(request, before)) => {
                return self.write(&aim, &earlier, intent(&aim, request, before)).await;
            }
            Ok(Decision::AlreadyDone) => Fate::AlreadyDone,
            Ok(Decision::Conflict(conflict)) => Fate::Conflict(conflict),
            Ok(Decision::Referred(by)) => Fate::Referred { by },
            Ok(Decision::Refuse(reason)) => Fate::Failed { reason },
            Err(fate) => fate,
        };
        undecided(fate, in_doubt)
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
    async fn resolve(&self, aim: &Aim<'_>, earlier: &[Aim<'_>], intent: &Intent) -> Result<Decision, Fate> {
        let unsettled = |error: ApiError| Fate::Unsettled { reason: error.to_string() };
        let now = self.service.look(&aim.change.key).await.map_err(unsettled)?;
        let sent = Sent {
            aim,
            earlier,
            request: &intent.request,
            before: intent.before.as_ref(),
            doubt: Doubt::Lost,
            may_be_made: true,
        };
        match settle::settle(&sent, &now) {
            Settlement::Done => Err(self.done(aim, intent, true)),
            Settlement::AlreadyDone => Ok(Decision::AlreadyDone),
            Settlement::Conflict(conflict) => Ok(Decision::Conflict(conflict)),
            Settlement::NotMade | Settlement::Adopt => self.decide_on(aim, &now).await,
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

    /// Sends a write until it is settled, each time with its intent on disk before. `earlier` is the same
    /// change as earlier runs may have sent it.
    async fn write(&self, aim: &Aim<'_>, earlier: &[Aim<'_>], mut write: Intent) -> Fate {
        let key = &aim.change.key;
        let mut may_be_made = !earlier.is_empty();
        let mut last = "an earlier run may have sent it".to_owned();
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
                Ok(()) => return self.done(aim, &write, false),
                Err(error) => error,
            };
            last = error.to_string();
            let tried = Tried { aim, earlier, write: &write, error: &error };
            match self.settle(&tried, &mut may_be_made).await {
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
    async fn settle(&self, tried: &Tried<'_>, may_be_made: &mut bool) -> Next {
        let Tried { aim, earlier, write, error } = *tried;
        let doubt = match error.certainty() {
            Certainty::NotSent if !*may_be_made => return Next::Over(Fate::Failed { reason: error.to_string() }),
            Certainty::Refused => Doubt::Refused,
            Certainty::Unknown if error.status() == Some(500) => Doubt::Broken,
            Certainty::Unknown | Certainty::NotSent => Doubt::Lost,
        };
        *may_be_made |= doubt != Doubt::Refused;
        let plain_refusal = doubt == Doubt::Refused && !*may_be_made;
        let is_create = matches!(write.request, Request::Create { .. });
        if is_create && plain_refusal && error.status() != Some(409) {
            return Next::Over(Fate::Failed { reason: error.to_string() });
        }
        let before = write.before.as_ref();
        let sent = Sent { aim, earlier, request: &write.request, before, doubt, may_be_made: *may_be_made };
        let mut rereads = 0;
        loop {
            let now = match self.service.look(&aim.change.key).await {
                Ok(now) => now,
                Err(unread) => {
                    let reason = format!("{error}; a look at it failed too: {unread}");
                    return Next::Over(undecided(Fate::Failed { reason }, *may_be_made));
                }
            };
            let moved_on = settle::proves_check(&sent, &now);
            if moved_on {
                self.checks_versions.store(true, Ordering::Relaxed);
            }
            let fate = match settle::settle(&sent, &now) {
                // A delete that was refused and is not there was somebody else's.
                Settlement::Done if plain_refusal && matches!(write.request, Request::Delete { .. }) => {
                    Fate::AlreadyDone
                }
                Settlement::Done => self.done(aim, write, true),
                Settlement::AlreadyDone => Fate::AlreadyDone,
                Settlement::Adopt => return self.anew(aim, &now, None).await,
                Settlement::Conflict(conflict) if plain_refusal && moved_on && is_about_version(error) => {
                    return self.anew(aim, &now, Some(conflict)).await;
                }
                Settlement::Conflict(conflict) => Fate::Conflict(conflict),
                Settlement::NotMade if settle::may_repeat(doubt) => return Next::Again,
                // A try may have taken effect, and the read may lag: the refusal of a second try would even
                // be evidence of it.
                Settlement::NotMade if *may_be_made => {
                    if rereads < MOST_REREADS && self.halted().is_none() {
                        let wait = FIRST_WAIT * (1 << rereads);
                        rereads += 1;
                        let key = aim.change.key.clone();
                        self.observer.event(Event::Waiting { key, reason: error.to_string(), wait });
                        self.options.pace.wait(wait).await;
                        continue;
                    }
                    Fate::Unsettled { reason: format!("{error}; reads show it as before, which proves nothing yet") }
                }
                Settlement::NotMade => self.not_made(aim, write, error).await,
            };
            return Next::Over(fate);
        }
    }

    /// What is sent instead, of the object as it is now; the conflict where nothing can be.
    async fn anew(&self, aim: &Aim<'_>, now: &Now, conflict: Option<Conflict>) -> Next {
        let conflict = conflict.unwrap_or_else(|| aim.conflict(CREATED, now.endpoint()));
        match self.decide_on(aim, now).await {
            Ok(Decision::Send(request, before)) => Next::Anew(intent(aim, request, before), conflict),
            _ => Next::Over(Fate::Conflict(conflict)),
        }
    }

    fn done(&self, aim: &Aim<'_>, write: &Intent, by_reading: bool) -> Fate {
        let adopted = aim.change.action.kind() == ActionKind::Create && write.action != ActionKind::Create;
        Fate::Done { settled: self.settled(write), by_reading, adopted }
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

/// What is about to be sent for the first time. A create that meets the same object of nobody only takes
/// ownership of it.
fn intent(aim: &Aim<'_>, request: Request, before: Option<Before>) -> Intent {
    let action = match (aim.change.action.kind(), &request) {
        (ActionKind::Create, Request::Replace { .. }) => ActionKind::Mark,
        (kind, _) => kind,
    };
    Intent { key: aim.change.key.clone(), action, attempt: 0, request, before }
}

/// `fate`, unless it says that nothing was made of a write that may have been.
fn undecided(fate: Fate, may_be_made: bool) -> Fate {
    if !may_be_made || fate.may_have_taken_effect() {
        return fate;
    }
    match fate {
        Fate::Conflict(conflict) => Fate::Conflict(Conflict { ours_may_be_lost: true, ..conflict }),
        Fate::Referred { by } => {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            Fate::Unsettled { reason: format!("others refer to it, so it was not sent again: {}", by.join(", ")) }
        }
        Fate::Failed { reason } | Fate::Skipped { reason } => Fate::Unsettled { reason },
        Fate::AlreadyDone | Fate::Done { .. } | Fate::Unsettled { .. } => fate,
    }
}

fn failed(error: ApiError) -> Fate {
    Fate::Failed { reason: error.to_string() }
}

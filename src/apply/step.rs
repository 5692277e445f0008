//! One change of a run: take a turn, read the object, decide, record the intent, and send, until there is a result. The
//! functions of `decide` and `confirm` make the decisions; this file only carries them out.
//!
//! Each try of a write begins with a look, which reads its object in a turn that the write consumes; a create that was
//! never sent needs none, because the service refuses a second one. The clearance is checked last before a write is
//! sent. A recreate is a delete and then a create; each look shows which of them remains to be done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::ApplyOptions;
use super::confirm::{self, FailedAnswer, SentWrite, SettledWrite};
use super::decide::{self, DecidedWrite};
use super::service::{ObjectService, WriteTurn};
use super::target_state::TargetState;
use crate::api::{ApiError, AttemptHistory, Certainty, CurrentState, WriteDeparture, WriteFailure};
use crate::model::{Key, RelatedObject, RunId};
use crate::plan::{Action, ActionKind, BeforeImage, Change, Conflict};
use crate::run::{
    ChangeProgress, ChangeResult, ChangeStep, Confirmation, Intent, RunEvent, RunObserver, RunRecorder, Urgency,
    WriteRequest,
};

/// How often one write is sent at most.
const MOST_TRIES: u32 = 4;
/// The wait before a write is sent again; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Further reads of an object whose write may have taken effect although no read shows it.
const MOST_REREADS: u32 = 3;
/// How long a write may rely on its look. Meanwhile the intent is stored, and a connection may have to be opened.
const LOOK_LASTS: Duration = Duration::from_secs(3);
/// How many looks may get too old before their write is sent.
const MOST_OLD_LOOKS: u32 = 4;
/// Looks at an object whose delete takes time before a recreate; about 16 s with the waits between them.
const MOST_GOING_LOOKS: u32 = 7;

/// Why nothing more is sent.
pub(super) const INTERRUPTED: &str = "the run was interrupted";
const NO_JOURNAL: &str = "the journal could not be written, so nothing more is sent";

/// The state of a recreate whose create was not made, by the last look.
const DELETED: &str = "deleted, and not created again";
const STILL_THERE: &str = "its delete was confirmed, but it still exists";

/// How far an earlier run got with a change, and the names of the runs that wrote it.
pub(super) type EarlierProgress<'a> = (ChangeProgress<'a>, &'a [RunId]);

/// Works on single changes of a run.
pub(super) struct Worker<'a, S, R, O> {
    pub(super) service: &'a S,
    pub(super) recorder: &'a R,
    pub(super) observer: &'a O,
    pub(super) options: &'a ApplyOptions,
    /// This service has refused a wrong version.
    pub(super) checks_versions: AtomicBool,
    /// The journal failed: nothing more is sent.
    pub(super) journal_failed: AtomicBool,
}

/// The work on one change.
struct Progress<'a> {
    target: &'a TargetState<'a>,
    /// The same change as earlier runs may have sent it.
    earlier: &'a [TargetState<'a>],
    /// The last write of this run or an earlier one that was sent and failed.
    tried: Option<TriedWrite>,
    /// A write may have taken effect.
    may_be_made: bool,
    /// The change is a create that was never sent: there is nothing to read.
    is_new: bool,
    /// Writes of this run that were sent.
    sent: u32,
    /// Tries refused by rate limiting and failed connections.
    refused: AttemptHistory,
    /// The intent that is stored but not sent yet.
    stored: Option<Intent>,
    old_looks: u32,
    /// Set once the delete of a recreate is made: the message if the create is not.
    half: Option<&'static str>,
    going_looks: u32,
    /// How the last try ended.
    last: String,
    /// The request ids of the writes and of a failed read.
    requests: &'a mut Vec<String>,
}

/// A write that was sent and failed.
struct TriedWrite {
    write: Intent,
    /// Its error; `None` if an earlier run sent it.
    error: Option<ApiError>,
    answer: FailedAnswer,
    /// The object was not read since.
    is_unread: bool,
    /// The wait before it is sent again is over.
    has_waited: bool,
    rereads: u32,
}

/// A look at an object, and the write that relies on it.
struct Look<T> {
    turn: T,
    /// The time from which its age counts.
    at: Timestamp,
    write: DecidedWrite,
}

/// What follows a part of the work.
enum NextStep {
    /// Nothing: the change has this result.
    Over(ChangeResult),
    /// Another look, after a wait.
    Again(Duration),
}

/// Why a write may not be sent.
enum Uncleared<E> {
    /// The run stops.
    Halted(&'static str),
    /// The recorder does not permit it.
    Forbidden(E),
    /// Its look is too old.
    Old,
}

impl<S: ObjectService, R: RunRecorder, O: RunObserver> Worker<'_, S, R, O> {
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

    /// Why a write that relies on the look of this time may not be sent now, if so.
    fn uncleared(&self, looked: Option<Timestamp>) -> Option<Uncleared<R::Error>> {
        if let Some(reason) = self.halted() {
            return Some(Uncleared::Halted(reason));
        }
        if let Err(error) = self.recorder.permits() {
            return Some(Uncleared::Forbidden(error));
        }
        let age = self.options.clock.now().duration_since(looked?);
        // If the clock was set back, the age is unknown and the look counts as old.
        let is_fresh = Duration::try_from(age).is_ok_and(|age| age <= LOOK_LASTS);
        (!is_fresh).then_some(Uncleared::Old)
    }

    /// Stores the result of a change. If that fails, the write stays in doubt in the journal.
    pub(super) async fn record(&self, step: &ChangeStep) {
        if self.recorder.outcome(step).await.is_err() {
            self.journal_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Makes one change and returns its result; the ids of its writes and of a failed read are added to `requests`.
    pub(super) async fn make(
        &self,
        change: &Change,
        earlier: Option<EarlierProgress<'_>>,
        requests: &mut Vec<String>,
    ) -> ChangeResult {
        let ignored = self.options.ignore.fields(&change.key);
        let (intent, runs) = match earlier {
            Some((ChangeProgress::InDoubt(intent, _), runs)) => (Some(intent), runs),
            _ => (None, &[][..]),
        };
        let targets = TargetState::new(change, &self.options.run, ignored.clone()).and_then(|target| {
            let others: Result<Vec<_>, _> =
                runs.iter().map(|run| TargetState::new(change, run, ignored.clone())).collect();
            Ok((target, others?))
        });
        let (target, others) = match targets {
            Ok(targets) => targets,
            Err(reason) => return undecided(ChangeResult::Failed { reason }, intent.is_some()),
        };
        if change.sealed().iter().any(|digest| !self.options.sealed.contains(digest)) {
            let reason = "a secret of it is not in the definitions of this directory, or has changed there".to_owned();
            return undecided(ChangeResult::Failed { reason }, intent.is_some());
        }
        let mut progress = Progress {
            target: &target,
            earlier: &others,
            tried: intent.map(|intent| TriedWrite::of_earlier_run(intent.clone())),
            may_be_made: intent.is_some(),
            // A change that an earlier run tried is read first, even a create.
            is_new: earlier.is_none() && matches!(change.action, Action::Create { .. }),
            sent: 0,
            refused: AttemptHistory::default(),
            stored: None,
            old_looks: 0,
            half: None,
            going_looks: 0,
            last: "an earlier run may have sent it".to_owned(),
            requests,
        };
        loop {
            let wait = match self.attempt(&mut progress).await {
                NextStep::Over(result) => {
                    return match progress.half {
                        Some(half) => half_made(result, half),
                        None => undecided(result, progress.may_be_made),
                    };
                }
                NextStep::Again(wait) => wait,
            };
            self.options.unless_stopped(self.options.pace.wait(wait)).await;
        }
    }

    /// One try: a look and what follows from it, which can be a write.
    async fn attempt(&self, progress: &mut Progress<'_>) -> NextStep {
        // A write that was sent is always followed by a read, even if the run is stopped.
        let is_unread = progress.tried.as_ref().is_some_and(|tried| tried.is_unread);
        if let Some(reason) = self.halted().filter(|_| !is_unread) {
            return progress.unsent(reason);
        }
        let attempt =
            async { if progress.is_new { self.create(progress).await } else { self.look_and_write(progress).await } };
        attempt.await.unwrap_or_else(|next| next)
    }

    /// Sends a create for the first time. Its intent is stored before the turn, because the turn contains no read.
    async fn create(&self, progress: &mut Progress<'_>) -> Result<NextStep, NextStep> {
        let urgency = if self.service.has_room() { Urgency::Immediate } else { Urgency::Batched };
        let intent = self.store(progress, decide::create(progress.target)?, urgency).await?;
        let turn = self.options.unless_stopped(self.service.turn(0)).await;
        let turn = turn.ok_or_else(|| progress.unsent(INTERRUPTED))?;
        Ok(self.send(progress, intent, turn, None).await)
    }

    async fn look_and_write(&self, progress: &mut Progress<'_>) -> Result<NextStep, NextStep> {
        let is_unread = progress.tried.as_ref().is_some_and(|tried| tried.is_unread);
        let look = self.look(progress);
        let look = if is_unread { Some(look.await) } else { self.options.unless_stopped(look).await };
        let look = look.ok_or_else(|| progress.unsent(INTERRUPTED))??;
        let intent = self.store(progress, look.write, Urgency::Immediate).await?;
        Ok(self.send(progress, intent, look.turn, Some(look.at)).await)
    }

    /// Reads the object in a new turn, settles a write that was tried before, then decides what to send.
    async fn look(&self, progress: &mut Progress<'_>) -> Result<Look<S::Turn<'_>>, NextStep> {
        let Change { key, action, .. } = progress.target.change;
        let turn = self.service.turn(if matches!(action, Action::Delete { .. }) { 2 } else { 1 }).await;
        let asked = self.options.clock.now();
        let now = turn.read(key).await.map_err(|unread| progress.unread(unread))?;
        let answered = self.options.clock.now();
        progress.tried.iter_mut().for_each(|tried| tried.is_unread = false);
        let is_there = matches!((action, &now), (Action::Recreate { before, .. }, CurrentState::Object(seen))
            if seen.live.uid == before.uid);
        // After its confirmed delete an object is never deleted again: this read lags, or the delete takes time.
        if progress.half.is_some() && is_there {
            return Err(self.wait_until_gone(progress));
        }
        progress.half = progress.half.map(|_| DELETED);
        self.settle(progress, &now, &turn).await?;
        let write = match action {
            Action::Create { .. } => decide::create_after_read(progress.target, &now)?,
            Action::Replace { before, .. } | Action::Annotate { before } => {
                decide::replace(progress.target, before, &now)?
            }
            Action::Delete { before, referrers } => self.delete(progress, (before, referrers), (&now, &turn)).await?,
            Action::Recreate { before, .. } => match &now {
                // The old object is still there.
                CurrentState::Object(seen) if is_there => match seen.live.deleting {
                    true => return Err(self.wait_until_gone(progress)),
                    false => self.delete(progress, (before, &[]), (&now, &turn)).await?,
                },
                CurrentState::Absent | CurrentState::Object(_) | CurrentState::Unsupported(_) => {
                    decide::create_after_read(progress.target, &now)?
                }
            },
        };
        // The service itself refuses a second create, and a replace of another version. The state read for any other
        // write may be as old as the request.
        let is_guarded = match &write {
            (WriteRequest::Create { .. }, _) => true,
            (WriteRequest::Replace { .. }, Some(before)) => before.resource_version.is_some(),
            _ => false,
        };
        Ok(Look { turn, at: if is_guarded { answered } else { asked }, write })
    }

    /// The delete of an object to which only the named objects refer.
    async fn delete(
        &self,
        progress: &mut Progress<'_>,
        (before, referrers): (&BeforeImage, &[RelatedObject]),
        (now, turn): (&CurrentState, &S::Turn<'_>),
    ) -> Result<DecidedWrite, NextStep> {
        let write = decide::delete(progress.target, before, now)?;
        let found = turn.referrers(&progress.target.change.key).await.map_err(|unread| progress.unread(unread))?;
        decide::refer(referrers, found)?;
        Ok(write)
    }

    fn wait_until_gone(&self, progress: &mut Progress<'_>) -> NextStep {
        const GOING: &str = "its delete takes time";
        progress.going_looks += 1;
        progress.half = progress.half.map(|_| STILL_THERE);
        if progress.going_looks == MOST_GOING_LOOKS {
            return NextStep::Over(ChangeResult::Failed { reason: GOING.to_owned() });
        }
        self.wait(&progress.target.change.key, progress.sent, progress.going_looks, GOING)
    }

    /// Stores the intent of a write. An equal intent that was stored but not sent is used again.
    async fn store(
        &self,
        progress: &mut Progress<'_>,
        (request, before): DecidedWrite,
        urgency: Urgency,
    ) -> Result<Intent, NextStep> {
        let is_same = |stored: &Intent| stored.request == request && stored.before == before;
        if let Some(stored) = progress.stored.take().filter(is_same) {
            return Ok(stored);
        }
        let Change { key, action, .. } = progress.target.change;
        // A create that finds an equal object without an owner only takes ownership of it.
        let action = match (action.kind(), &request) {
            (ActionKind::Create, WriteRequest::Replace { .. }) => ActionKind::Annotate,
            (kind, _) => kind,
        };
        let request_id = Some(self.service.request_id());
        let intent = Intent { key: key.clone(), action, attempt: progress.sent, request, before, request_id };
        match self.recorder.intent(&intent, urgency).await {
            Ok(()) => Ok(intent),
            Err(error) => Err(self.forbidden(progress, &error)),
        }
    }

    /// Sends a write that relies on the look of this time. Its clearance is checked after all waits.
    async fn send(
        &self,
        progress: &mut Progress<'_>,
        intent: Intent,
        turn: S::Turn<'_>,
        looked: Option<Timestamp>,
    ) -> NextStep {
        let (why_not, announced) = (OnceLock::new(), OnceLock::new());
        let request_id = intent.request_id.clone().unwrap_or_default();
        let sending = RunEvent::Sending {
            key: &intent.key,
            action: intent.action,
            attempt: intent.attempt + 1,
            request_id: [&request_id],
        };
        let clearance = || match self.uncleared(looked) {
            Some(reason) => {
                why_not.get_or_init(|| reason);
                false
            }
            None => {
                announced.get_or_init(|| self.observer.event(sending));
                true
            }
        };
        let departure = WriteDeparture { request_id: &request_id, clearance: &clearance, tried: &mut progress.refused };
        let sent = turn.send(&intent, departure).await;
        match why_not.into_inner() {
            Some(Uncleared::Halted(reason)) => return progress.unsent(reason),
            Some(Uncleared::Forbidden(error)) => return self.forbidden(progress, &error),
            Some(Uncleared::Old) => return progress.look_again(intent),
            None => {}
        }
        progress.requests.push(request_id);
        match sent {
            Ok(()) if is_half(progress.target.change, &intent) => {
                progress.deleted();
                NextStep::Again(Duration::ZERO)
            }
            Ok(()) => NextStep::Over(self.done(progress.target, &intent, false)),
            Err(WriteFailure { error, again }) => {
                progress.is_new = false;
                progress.last = error.to_string();
                let Some(wait) = again else { return progress.failed(intent, error) };
                if error.certainty() == Certainty::Refused {
                    progress.tried.get_or_insert(TriedWrite::new(intent, Some(error), FailedAnswer::ForNow));
                }
                NextStep::Again(wait)
            }
        }
    }

    /// The result of a write that the recorder does not permit; nothing more is sent.
    fn forbidden(&self, progress: &Progress<'_>, error: &R::Error) -> NextStep {
        self.journal_failed.store(true, Ordering::Relaxed);
        let reason = match progress.may_be_made {
            true => progress.last.clone(),
            false => format!("nothing was sent, because the journal could not be written: {error}"),
        };
        NextStep::Over(ChangeResult::Failed { reason })
    }

    /// Settles the write that was tried: its result is the `Err`; `Ok` means that another write may be sent.
    async fn settle(
        &self,
        progress: &mut Progress<'_>,
        now: &CurrentState,
        turn: &S::Turn<'_>,
    ) -> Result<(), NextStep> {
        let Progress { target, earlier, tried, may_be_made, sent, last, .. } = progress;
        let (target, may_be_made) = (*target, *may_be_made);
        let Some(tried) = tried else { return Ok(()) };
        let TriedWrite { write, answer, .. } = &*tried;
        let doubt = SentWrite { target, earlier, write, answer: *answer, may_be_made };
        let (is_plainly_refused, has_moved) =
            (doubt.is_plainly_refused(), confirm::was_refused_after_move(&doubt, now));
        if has_moved && tried.is_about_version() {
            self.checks_versions.store(true, Ordering::Relaxed);
        }
        let (has_tries, is_half) = (*sent < MOST_TRIES, is_half(target.change, write));
        let result = match confirm::settle(&doubt, now) {
            SettledWrite::Done if is_half => {
                progress.deleted();
                return Ok(());
            }
            // A deleted object does not show who deleted it: if this run sent a delete, the delete counts as its own.
            SettledWrite::Done => self.done(target, write, true),
            SettledWrite::AlreadyDone => ChangeResult::AlreadyDone,
            _ if *answer == FailedAnswer::ForNow => return Ok(()),
            // Without a wait, before the object changes again.
            SettledWrite::Adopt => return Ok(()),
            SettledWrite::Conflict(_) if is_plainly_refused && has_moved && has_tries => return Ok(()),
            SettledWrite::Conflict(conflict) => ChangeResult::Conflict(conflict),
            // A write whose answer was lost may be sent again, because it was not made.
            SettledWrite::NotMade if *answer == FailedAnswer::Lost => {
                if tried.has_waited && has_tries {
                    return Ok(());
                }
                if has_tries {
                    tried.has_waited = true;
                    return Err(self.wait(&target.change.key, *sent, *sent, last));
                }
                ChangeResult::InDoubt { reason: format!("{last}; it was sent {MOST_TRIES} times") }
            }
            // A try may have taken effect, and the read may lag: a refused second try may even be a sign of that.
            SettledWrite::NotMade if may_be_made => {
                if tried.rereads < MOST_REREADS && self.halted().is_none() {
                    tried.rereads += 1;
                    return Err(self.wait(&target.change.key, *sent, tried.rereads, last));
                }
                ChangeResult::InDoubt { reason: format!("{last}; reads show it as before, which proves nothing yet") }
            }
            SettledWrite::NotMade => not_made(write, turn, last).await,
        };
        Err(NextStep::Over(result))
    }

    /// The wait after the `number`th failure, from 1.
    fn wait(&self, key: &Key, attempt: u32, number: u32, reason: &str) -> NextStep {
        let wait = FIRST_WAIT * (1 << number.saturating_sub(1));
        self.observer.event(RunEvent::Waiting { key: Some(key), attempt, reason, wait });
        NextStep::Again(wait)
    }

    fn done(&self, target: &TargetState<'_>, write: &Intent, by_reading: bool) -> ChangeResult {
        let adopted = target.change.action.kind() == ActionKind::Create && write.action != ActionKind::Create;
        ChangeResult::Done { confirmation: self.confirmation(write), by_reading, adopted }
    }

    /// How well a write was protected against concurrent writes.
    fn confirmation(&self, write: &Intent) -> Confirmation {
        // A replace carries the version that its look read, if there was one.
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
}

impl Progress<'_> {
    /// The result of a change when nothing more may be sent.
    fn unsent(&self, reason: &str) -> NextStep {
        NextStep::Over(match self.may_be_made {
            false => ChangeResult::Skipped { reason: reason.to_owned() },
            true => ChangeResult::InDoubt { reason: format!("{}; {reason}", self.last) },
        })
    }

    /// Notes that the delete of a recreate is made: its create remains, and was not sent yet.
    fn deleted(&mut self) {
        (self.half, self.may_be_made, self.sent, self.tried) = (Some(DELETED), false, 0, None);
    }

    /// What follows if the object of a change cannot be read.
    fn unread(&mut self, unread: ApiError) -> NextStep {
        self.requests.extend(unread.request_id.clone());
        let reason = match self.tried.as_ref().and_then(|tried| tried.error.as_ref()) {
            Some(error) => format!("{error}; reading it failed too: {unread}"),
            None => unread.to_string(),
        };
        NextStep::Over(ChangeResult::Failed { reason })
    }

    /// What follows if the look of a write is too old to send it.
    fn look_again(&mut self, intent: Intent) -> NextStep {
        self.old_looks += 1;
        if self.old_looks < MOST_OLD_LOOKS {
            self.stored = Some(intent);
            return NextStep::Again(Duration::ZERO);
        }
        let (seconds, times) = (LOOK_LASTS.as_secs(), MOST_OLD_LOOKS);
        let reason = format!("not sent: more than {seconds} s passed since each of {times} reads of it began");
        NextStep::Over(ChangeResult::Failed { reason })
    }

    /// What follows a failed write that is not simply sent again.
    fn failed(&mut self, write: Intent, error: ApiError) -> NextStep {
        let answer = match error.certainty() {
            Certainty::NotSent if !self.may_be_made => {
                return NextStep::Over(ChangeResult::Failed { reason: self.last.clone() });
            }
            Certainty::Refused => FailedAnswer::Refused,
            Certainty::Unknown if error.status() == Some(500) => FailedAnswer::Broken,
            Certainty::Unknown | Certainty::NotSent => FailedAnswer::Lost,
        };
        self.sent += 1;
        // What a delete that was made is answered where a gateway sends it again.
        let is_gone = matches!(write.request, WriteRequest::Delete { .. }) && error.is_absent();
        self.may_be_made |= answer != FailedAnswer::Refused || is_gone;
        let is_create = matches!(write.request, WriteRequest::Create { .. });
        if is_create && !self.may_be_made && error.status() != Some(409) {
            return NextStep::Over(ChangeResult::Failed { reason: self.last.clone() });
        }
        self.tried = Some(TriedWrite { is_unread: true, ..TriedWrite::new(write, Some(error), answer) });
        NextStep::Again(Duration::ZERO)
    }
}

impl TriedWrite {
    fn new(write: Intent, error: Option<ApiError>, answer: FailedAnswer) -> Self {
        Self { write, error, answer, is_unread: false, has_waited: false, rereads: 0 }
    }

    /// The last intent of an earlier run, which may have been sent.
    fn of_earlier_run(write: Intent) -> Self {
        Self { has_waited: true, ..Self::new(write, None, FailedAnswer::Lost) }
    }

    /// Whether it may have been refused for its version (API.md: it is unknown whether the status is 409 or 412).
    fn is_about_version(&self) -> bool {
        self.error.as_ref().is_some_and(|error| matches!(error.status(), Some(409 | 412)))
    }
}

impl From<ChangeResult> for NextStep {
    fn from(result: ChangeResult) -> Self {
        NextStep::Over(result)
    }
}

/// A refused delete may have been refused because of a new referrer.
async fn not_made(write: &Intent, turn: &impl WriteTurn, reason: &str) -> ChangeResult {
    if let WriteRequest::Delete { .. } = write.request
        && let Ok(by) = turn.referrers(&write.key).await
        && !by.is_empty()
    {
        return ChangeResult::Referred { by };
    }
    ChangeResult::Failed { reason: reason.to_owned() }
}

/// Whether a write is the delete of a recreate.
fn is_half(change: &Change, write: &Intent) -> bool {
    matches!((&change.action, &write.request), (Action::Recreate { .. }, WriteRequest::Delete { .. }))
}

/// The result of a recreate whose delete was made: in doubt unless its create is made, so that a resume finishes it.
fn half_made(result: ChangeResult, half: &str) -> ChangeResult {
    match undecided(result, true) {
        ChangeResult::InDoubt { reason } => ChangeResult::InDoubt { reason: format!("{half}: {reason}") },
        ChangeResult::AlreadyDone => {
            ChangeResult::Done { confirmation: Confirmation::Unguarded, by_reading: true, adopted: false }
        }
        result => result,
    }
}

/// `result`, changed to one in doubt if it denies a write that may have been made.
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

//! Finds the result of a write whose answer was lost or odd, from what was sent and what a GET shows. Pure.

use super::decide::{self, CHANGED, CREATED, DELETED, RECREATED};
use super::target_state::TargetState;
use crate::api::CurrentState;
use crate::model::{LiveObject, Object};
use crate::plan::{Action, BeforeImage, Conflict};
use crate::run::{Intent, WriteRequest};

/// How a write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedAnswer {
    /// The service refused it.
    Refused,
    /// The service refused it for now: it is sent again, unless it took effect, for example because a gateway sent it twice.
    ForNow,
    /// The service failed while it handled the write: never sent again.
    Broken,
    /// No evidence: an answer of a gateway, a time-out, a cut connection, a killed process.
    Lost,
}

/// A write whose result is unknown.
pub(super) struct SentWrite<'a> {
    pub(super) target: &'a TargetState<'a>,
    /// The same change as earlier runs may have sent it, if this run resumes them.
    pub(super) earlier: &'a [TargetState<'a>],
    pub(super) write: &'a Intent,
    /// How this try ended.
    pub(super) answer: FailedAnswer,
    /// Whether this or an earlier try of the same write may have taken effect.
    pub(super) may_be_made: bool,
}

/// The result of such a write.
#[derive(Debug, Clone)]
pub(super) enum SettledWrite {
    /// It was made.
    Done,
    /// The live object is as wanted: another client made the change.
    AlreadyDone,
    /// The read shows the old object. Reads may lag, so this is proof only if no try may have taken effect.
    NotMade,
    /// Another client created the object with the same content and this run may own it: the ownership annotations are
    /// written instead.
    Adopt,
    /// The live object is neither the old nor the wanted one.
    Conflict(Conflict),
}

/// The result of a write, as `now` shows it.
pub(super) fn settle(sent: &SentWrite<'_>, now: &CurrentState) -> SettledWrite {
    match (&sent.write.request, &sent.write.before) {
        (WriteRequest::Create { .. }, _) => create(sent, now),
        (WriteRequest::Replace { .. }, Some(before)) => replace(sent, before, now),
        (WriteRequest::Delete { .. }, Some(before)) => delete(sent, before, now),
        // Without a before-image nothing can be decided.
        (WriteRequest::Replace { .. } | WriteRequest::Delete { .. }, None) => sent.conflict(CHANGED, now),
    }
}

/// Whether the object has a new version since the read before a refused replace.
pub(super) fn was_refused_after_move(sent: &SentWrite<'_>, now: &CurrentState) -> bool {
    let (Some(before), CurrentState::Object(seen)) = (&sent.write.before, now) else { return false };
    let versions = (&before.resource_version, &seen.live.resource_version);
    let moved = matches!(versions, (Some(before), Some(now)) if before != now);
    sent.answer == FailedAnswer::Refused && moved && matches!(sent.write.request, WriteRequest::Replace { .. })
}

fn create(sent: &SentWrite<'_>, now: &CurrentState) -> SettledWrite {
    match now {
        CurrentState::Absent => SettledWrite::NotMade,
        CurrentState::Object(seen) if sent.is_undeleted(&seen.live) => SettledWrite::NotMade,
        CurrentState::Object(seen) => match sent.made(&seen.live.endpoint) {
            Some(settlement) if !seen.live.deleting => settlement,
            _ if !sent.may_be_made && decide::is_adoptable(sent.target, seen) => SettledWrite::Adopt,
            _ => sent.conflict(&decide::created_by(sent.target, now), now),
        },
        CurrentState::Unsupported(_) => sent.conflict(CREATED, now),
    }
}

const REWRITTEN: &str = "as wanted, but written by another client";

fn replace(sent: &SentWrite<'_>, before: &BeforeImage, now: &CurrentState) -> SettledWrite {
    match now {
        CurrentState::Absent => sent.conflict(DELETED, now),
        CurrentState::Unsupported(_) => sent.conflict(CHANGED, now),
        CurrentState::Object(seen) => {
            let live: &LiveObject = &seen.live;
            if live.uid != before.uid {
                return sent.conflict(RECREATED, now);
            }
            if let Some(settlement) = sent.made(&live.endpoint) {
                return settlement;
            }
            if sent.target.is_untouched(before, live) { SettledWrite::NotMade } else { sent.conflict(CHANGED, now) }
        }
    }
}

fn delete(sent: &SentWrite<'_>, before: &BeforeImage, now: &CurrentState) -> SettledWrite {
    match now {
        CurrentState::Absent => SettledWrite::Done,
        CurrentState::Unsupported(_) => sent.conflict(CHANGED, now),
        CurrentState::Object(seen) if seen.live.uid != before.uid => sent.conflict(RECREATED, now),
        CurrentState::Object(seen) if seen.live.deleting => SettledWrite::Done,
        CurrentState::Object(seen) if sent.target.is_untouched(before, &seen.live) => SettledWrite::NotMade,
        CurrentState::Object(_) => sent.conflict(CHANGED, now),
    }
}

impl SentWrite<'_> {
    /// Whether the object from before the recreate of an earlier run still exists: its delete was not made.
    fn is_undeleted(&self, live: &LiveObject) -> bool {
        let Action::Recreate { before, .. } = &self.target.change.action else { return false };
        !self.earlier.is_empty() && live.uid == before.uid
    }

    /// Whether the service refused the write and no other try may have taken effect.
    pub(super) fn is_plainly_refused(&self) -> bool {
        self.answer == FailedAnswer::Refused && !self.may_be_made
    }

    /// The result if the live object is as wanted, by this write or by that of another client.
    fn made(&self, now: &Object) -> Option<SettledWrite> {
        let writers = std::iter::once(self.target).chain(self.earlier);
        let ours = writers.map(|target| target.is_by_this_run(now)).collect::<Vec<_>>();
        // Removed values that the service kept do not matter here: the verification reports them.
        let is_made = || ours.contains(&Some(true)) && self.target.is_as_written(now);
        if !self.target.is_met(now) && !is_made() {
            return None;
        }
        Some(match ours.contains(&Some(true)) {
            true => SettledWrite::Done,
            // Without annotations a lost write and the same write of another client look alike.
            false if self.may_be_made && ours.contains(&None) => SettledWrite::Done,
            // Our write may have been made before theirs, which a rollback has to know.
            false if self.may_be_made => {
                let conflict = self.target.conflict(REWRITTEN, Some(now));
                SettledWrite::Conflict(Conflict { ours_may_be_lost: true, ..conflict })
            }
            false => SettledWrite::AlreadyDone,
        })
    }

    fn conflict(&self, reason: &str, now: &CurrentState) -> SettledWrite {
        let conflict = self.target.conflict(reason, now.endpoint());
        SettledWrite::Conflict(Conflict { ours_may_be_lost: self.may_be_made, ..conflict })
    }
}

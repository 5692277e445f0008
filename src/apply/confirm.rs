//! What became of a write whose answer was lost or odd, given what was sent and what a GET shows. Pure.

use super::decide::{self, CHANGED, CREATED, DELETED, RECREATED};
use super::target_state::TargetState;
use crate::api::CurrentState;
use crate::model::{LiveObject, Object};
use crate::plan::{Action, BeforeImage, Conflict};
use crate::run::{Intent, WriteRequest};

/// How a write ended that did not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedAnswer {
    /// The service said no.
    Refused,
    /// The service broke while it worked on it: never sent again.
    Broken,
    /// No evidence: a gateway's word, a time-out, a cut connection, a process that was killed.
    Lost,
}

/// A write in question.
pub(super) struct SentWrite<'a> {
    pub(super) target: &'a TargetState<'a>,
    /// The same change as earlier runs may have sent it, which a resume continues.
    pub(super) earlier: &'a [TargetState<'a>],
    pub(super) write: &'a Intent,
    /// How this try ended.
    pub(super) answer: FailedAnswer,
    /// This or an earlier try of the same write may have taken effect.
    pub(super) may_be_made: bool,
}

/// Its result.
#[derive(Debug, Clone)]
pub(super) enum SettledWrite {
    /// It was made.
    Done,
    /// Live is as wanted: another client made it so.
    AlreadyDone,
    /// The read shows the object as it was. Reads may lag, so this proves something only where no try
    /// may have taken effect.
    NotMade,
    /// Another client created the object with the same content, and it may be owned: the ownership
    /// annotations are written instead.
    Adopt,
    /// Live is something else.
    Conflict(Conflict),
}

/// What became of a write, as `now` shows it.
pub(super) fn settle(sent: &SentWrite<'_>, now: &CurrentState) -> SettledWrite {
    match (&sent.write.request, &sent.write.before) {
        (WriteRequest::Create { .. }, _) => create(sent, now),
        (WriteRequest::Replace { .. }, Some(before)) => replace(sent, before, now),
        (WriteRequest::Delete { .. }, Some(before)) => delete(sent, before, now),
        // Without a before-image nothing can be decided.
        (WriteRequest::Replace { .. } | WriteRequest::Delete { .. }, None) => sent.conflict(CHANGED, now),
    }
}

/// Whether the object had moved when the service refused to replace it.
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

const REWRITTEN: &str = "as wanted, but written by someone else";

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
    /// The object as it was before the recreate of an earlier run is there: what that run took for its delete was not made.
    fn is_undeleted(&self, live: &LiveObject) -> bool {
        let Action::Recreate { before, .. } = &self.target.change.action else { return false };
        !self.earlier.is_empty() && live.uid == before.uid
    }

    /// The service said no, and no other try may have taken effect.
    pub(super) fn is_plainly_refused(&self) -> bool {
        self.answer == FailedAnswer::Refused && !self.may_be_made
    }

    /// Live is as wanted: by this write or by that of another client.
    fn made(&self, now: &Object) -> Option<SettledWrite> {
        let writers = std::iter::once(self.target).chain(self.earlier);
        let ours = writers.map(|target| target.is_by_this_run(now)).collect::<Vec<_>>();
        // The verification reports what a service kept against our write.
        let is_made = || ours.contains(&Some(true)) && self.target.is_as_written(now);
        if !self.target.is_met(now) && !is_made() {
            return None;
        }
        Some(match ours.contains(&Some(true)) {
            true => SettledWrite::Done,
            // Without annotations a lost write and the same write of another client look alike.
            false if self.may_be_made && ours.contains(&None) => SettledWrite::Done,
            // Ours may lie beneath: a rollback has to know.
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

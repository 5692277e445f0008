//! What became of a write whose answer was lost or odd, given what was sent and what a GET shows. Pure.

use super::aim::{Aim, Now};
use super::decide::{self, CHANGED, CREATED, DELETED, RECREATED};
use crate::model::{Endpoint, LiveObject};
use crate::plan::{Before, Conflict, Request};

/// How a write ended that did not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The service said no.
    Refused,
    /// The service broke while it worked on it: never sent again.
    Broken,
    /// Nothing that tells: a gateway's word, a time-out, a cut connection, a process that was killed.
    Lost,
}

/// A write in question.
pub(super) struct Sent<'a> {
    pub(super) aim: &'a Aim<'a>,
    /// The same change as earlier runs may have sent it, which a resume goes on with.
    pub(super) earlier: &'a [Aim<'a>],
    pub(super) request: &'a Request,
    /// The object as the GET before the write saw it; a create has none.
    pub(super) before: Option<&'a Before>,
    /// How this try ended.
    pub(super) doubt: Doubt,
    /// This or an earlier try of the same write may have taken effect.
    pub(super) may_be_made: bool,
}

/// What became of it.
#[derive(Debug, Clone)]
pub(super) enum Settlement {
    /// It was made.
    Done,
    /// Live is as wanted by somebody else's hand.
    AlreadyDone,
    /// The read shows the object as it was. Reads may lag, so this proves something only where no try
    /// may have taken effect.
    NotMade,
    /// Somebody else created the object with the same content, and it may be owned: the ownership
    /// annotations are written instead.
    Adopt,
    /// Live is something else.
    Conflict(Conflict),
}

/// What became of a write, as `now` shows it.
pub(super) fn settle(sent: &Sent<'_>, now: &Now) -> Settlement {
    match (sent.request, sent.before) {
        (Request::Create { .. }, _) => create(sent, now),
        (Request::Replace { .. }, Some(before)) => replace(sent, before, now),
        (Request::Delete { .. }, Some(before)) => delete(sent, before, now),
        // Without a before-image nothing can be told.
        (Request::Replace { .. } | Request::Delete { .. }, None) => sent.conflict(CHANGED, now),
    }
}

/// Whether a write that ended so may be sent again, now that it is known not to have been made.
pub(super) fn may_repeat(doubt: Doubt) -> bool {
    doubt == Doubt::Lost
}

/// Whether a refusal proves that this service checks versions: the object had moved when it refused.
pub(super) fn proves_check(sent: &Sent<'_>, now: &Now) -> bool {
    let (Some(before), Now::Object(seen)) = (sent.before, now) else { return false };
    let versions = (&before.resource_version, &seen.live.resource_version);
    let moved = matches!(versions, (Some(before), Some(now)) if before != now);
    sent.doubt == Doubt::Refused && moved && matches!(sent.request, Request::Replace { .. })
}

fn create(sent: &Sent<'_>, now: &Now) -> Settlement {
    match now {
        Now::Absent => Settlement::NotMade,
        Now::Object(seen) => match sent.made(&seen.live.endpoint) {
            Some(settlement) if !seen.live.deleting => settlement,
            _ if !sent.may_be_made && decide::is_adoptable(sent.aim, seen) => Settlement::Adopt,
            _ => sent.conflict(&decide::created_by(sent.aim, now), now),
        },
        Now::Unheld { .. } => sent.conflict(CREATED, now),
    }
}

const REWRITTEN: &str = "as wanted, but written by someone else";

fn replace(sent: &Sent<'_>, before: &Before, now: &Now) -> Settlement {
    match now {
        Now::Absent => sent.conflict(DELETED, now),
        Now::Unheld { .. } => sent.conflict(CHANGED, now),
        Now::Object(seen) => {
            let live: &LiveObject = &seen.live;
            if live.uid != before.uid {
                return sent.conflict(RECREATED, now);
            }
            if let Some(settlement) = sent.made(&live.endpoint) {
                return settlement;
            }
            if sent.aim.is_untouched(before, live) { Settlement::NotMade } else { sent.conflict(CHANGED, now) }
        }
    }
}

fn delete(sent: &Sent<'_>, before: &Before, now: &Now) -> Settlement {
    match now {
        Now::Absent => Settlement::Done,
        Now::Unheld { .. } => sent.conflict(CHANGED, now),
        Now::Object(seen) if seen.live.uid != before.uid => sent.conflict(RECREATED, now),
        Now::Object(seen) if seen.live.deleting => Settlement::Done,
        Now::Object(seen) if sent.aim.is_untouched(before, &seen.live) => Settlement::NotMade,
        Now::Object(_) => sent.conflict(CHANGED, now),
    }
}

impl Sent<'_> {
    /// Live is as wanted: by this write or by somebody else's.
    fn made(&self, now: &Endpoint) -> Option<Settlement> {
        if !self.aim.is_met(now) {
            return None;
        }
        let writers = std::iter::once(self.aim).chain(self.earlier);
        let ours = writers.map(|aim| aim.is_by_this_run(now)).collect::<Vec<_>>();
        Some(match ours.contains(&Some(true)) {
            true => Settlement::Done,
            // Without annotations a lost write and somebody's same write look alike.
            false if self.may_be_made && ours.contains(&None) => Settlement::Done,
            // Ours may lie beneath: a rollback has to know.
            false if self.may_be_made => {
                let conflict = self.aim.conflict(REWRITTEN, Some(now));
                Settlement::Conflict(Conflict { ours_may_be_lost: true, ..conflict })
            }
            false => Settlement::AlreadyDone,
        })
    }

    fn conflict(&self, reason: &str, now: &Now) -> Settlement {
        let conflict = self.aim.conflict(reason, now.endpoint());
        Settlement::Conflict(Conflict { ours_may_be_lost: self.may_be_made, ..conflict })
    }
}

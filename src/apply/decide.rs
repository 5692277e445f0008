//! What to do about one object, given the planned change and what a GET just before shows. Pure.

use super::target_state::{TargetState, is_annotation_only};
use crate::api::{CurrentObject, CurrentState};
use crate::model::{Endpoint, ReferredDelete, RelatedObject};
use crate::plan::{Action, BeforeImage, Conflict};
use crate::run::{ObjectBody, WriteRequest};

/// What to do about one object.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one lives for one step; a box would cost an allocation a write")]
pub(super) enum WriteDecision {
    /// Send this; the second value is the object as the GET saw it, nothing for a create.
    Send(WriteRequest, Option<BeforeImage>),
    /// Live already is as wanted.
    AlreadyDone,
    /// Live moved.
    Conflict(Conflict),
    /// Others refer to the object, and nobody allowed that.
    Referred(Vec<RelatedObject>),
    /// It cannot be written, with the reason.
    Refuse(String),
}

/// The create of an object that nobody looked at before: the service refuses a second one itself.
pub(super) fn create(target: &TargetState<'_>) -> WriteDecision {
    let Some(wanted) = target.wanted() else { return WriteDecision::Refuse("nothing is wanted".to_owned()) };
    match ObjectBody::of(wanted) {
        Ok(body) => WriteDecision::Send(WriteRequest::Create { body }, None),
        Err(error) => unwritable(&error),
    }
}

/// The create of an object after a look at it, as a resumed run takes one.
pub(super) fn create_after_read(target: &TargetState<'_>, now: &CurrentState) -> WriteDecision {
    match now {
        CurrentState::Absent => create(target),
        CurrentState::Object(seen) if target.is_met(&seen.live.endpoint) && !seen.live.deleting => {
            WriteDecision::AlreadyDone
        }
        CurrentState::Object(seen) if is_adoptable(target, seen) => adopt(target, seen),
        CurrentState::Object(seen) => {
            WriteDecision::Conflict(target.conflict(&created_by(target, now), Some(&seen.live.endpoint)))
        }
        CurrentState::Unsupported { .. } => WriteDecision::Conflict(target.conflict(CREATED, None)),
    }
}

/// Whether an object that somebody else created is what the create asked for, but for the ownership
/// annotations, and may be owned by the rules of `--adopt`.
pub(super) fn is_adoptable(target: &TargetState<'_>, seen: &CurrentObject) -> bool {
    let live = &seen.live;
    matches!(target.change.action, Action::Create { .. })
        && target.change.ownership.is_some()
        && !live.deleting
        && live.owner_view.is_none()
        && target.foreign_stack(&live.endpoint).is_none()
        && target.fields_met(&live.endpoint)
}

/// The object as it is with the ownership annotations of the create.
pub(super) fn adopt(target: &TargetState<'_>, seen: &CurrentObject) -> WriteDecision {
    match seen.body(|body| target.set(body)).and_then(|body| ObjectBody::of(&body)) {
        Ok(body) => WriteDecision::Send(WriteRequest::Replace { body }, Some(BeforeImage::of(&seen.live))),
        Err(error) => unwritable(&error),
    }
}

/// Why a create meets an object, with the stack that owns it.
pub(super) fn created_by(target: &TargetState<'_>, now: &CurrentState) -> String {
    match now.endpoint().and_then(|endpoint| target.foreign_stack(endpoint)) {
        Some(stack) => format!("{CREATED}, and owned by the stack `{stack}`"),
        None => CREATED.to_owned(),
    }
}

pub(super) const CREATED: &str = "created by someone else";
pub(super) const CHANGED: &str = "changed by someone else";
pub(super) const DELETED: &str = "deleted by someone else";
pub(super) const RECREATED: &str = "deleted and created again by someone else";
const DELETING: &str = "being deleted";
const OWNED: &str = "now belongs to another object of the service";

/// The replace or annotate of an object as `now` shows it.
pub(super) fn replace(target: &TargetState<'_>, before: &BeforeImage, now: &CurrentState) -> WriteDecision {
    let seen = match now {
        CurrentState::Absent => return WriteDecision::Conflict(target.conflict(DELETED, None)),
        CurrentState::Unsupported { reason } => return unsupported(reason),
        CurrentState::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    if let Some(conflict) = untouchable(target, seen) {
        return WriteDecision::Conflict(conflict);
    }
    if target.is_met(endpoint) {
        return WriteDecision::AlreadyDone;
    }
    if live.uid != before.uid {
        return WriteDecision::Conflict(target.conflict(RECREATED, Some(endpoint)));
    }
    let moved = target.moved(&before.endpoint, endpoint);
    // Fields that somebody already set to what is wanted lack only the ownership annotations.
    let only_annotations_lack = || target.fields_met(endpoint) && !is_annotation_only(&moved);
    if !moved.is_empty() && !only_annotations_lack() {
        return WriteDecision::Conflict(target.conflict(CHANGED, Some(endpoint)));
    }
    let blocking = live.unknown.iter().find(|field| field.blocks);
    if let (Some(field), Action::Replace { .. }) = (blocking, &target.change.action) {
        return WriteDecision::Refuse(format!(
            "`{}` is unknown to this version and may be the chosen option of its group",
            field.path
        ));
    }
    match seen.body(|body| target.set(body)).and_then(|body| ObjectBody::of(&body)) {
        Ok(body) => WriteDecision::Send(WriteRequest::Replace { body }, Some(BeforeImage::of(live))),
        Err(error) => unwritable(&error),
    }
}

/// The delete of an object as `now` shows it. Whoever refers to it is asked only when this says send.
pub(super) fn delete(target: &TargetState<'_>, before: &BeforeImage, now: &CurrentState) -> WriteDecision {
    let seen = match now {
        CurrentState::Absent => return WriteDecision::AlreadyDone,
        CurrentState::Unsupported { reason } => return unsupported(reason),
        CurrentState::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    if live.uid != before.uid {
        return WriteDecision::Conflict(target.conflict(RECREATED, Some(endpoint)));
    }
    if live.deleting {
        return WriteDecision::AlreadyDone;
    }
    if let Some(conflict) = untouchable(target, seen) {
        return WriteDecision::Conflict(conflict);
    }
    if !target.moved(&before.endpoint, endpoint).is_empty() {
        return WriteDecision::Conflict(target.conflict(CHANGED, Some(endpoint)));
    }
    let referred = match &target.change.action {
        Action::Delete { referrers, .. } if !referrers.is_empty() => ReferredDelete::Allowed,
        _ => ReferredDelete::Refused,
    };
    WriteDecision::Send(WriteRequest::Delete { referred }, Some(BeforeImage::of(live)))
}

/// A delete that may be sent, after a look at who refers to the object: those that the plan named
/// were allowed by a person, others were not.
pub(super) fn refer(planned: &[RelatedObject], found: Vec<RelatedObject>) -> Option<WriteDecision> {
    let new = found.iter().any(|referrer| !planned.contains(referrer));
    new.then_some(WriteDecision::Referred(found))
}

fn untouchable(target: &TargetState<'_>, seen: &CurrentObject) -> Option<Conflict> {
    let endpoint: Option<&Endpoint> = Some(&seen.live.endpoint);
    if seen.live.owner_view.is_some() {
        return Some(target.conflict(OWNED, endpoint));
    }
    seen.live.deleting.then(|| target.conflict(DELETING, endpoint))
}

fn unwritable(error: &serde_json::Error) -> WriteDecision {
    WriteDecision::Refuse(format!("the endpoint cannot be written: {error}"))
}

fn unsupported(reason: &str) -> WriteDecision {
    WriteDecision::Refuse(format!("the live object cannot be held by this version: {reason}"))
}

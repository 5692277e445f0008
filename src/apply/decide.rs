//! Decides what to do about one object, from the planned change and what a GET just before shows. Pure.

use super::target_state::TargetState;
use crate::api::{CurrentObject, CurrentState};
use crate::kind::{self, Flag};
use crate::model::{Field, Object, ReferredDelete, RelatedObject};
use crate::plan::{Action, BeforeImage};
use crate::run::{ChangeResult, ObjectBody, WriteRequest};

/// A write, and the object that the GET before it returned; a create has none.
pub(super) type DecidedWrite = (WriteRequest, Option<BeforeImage>);

/// What to send, or the result of a change that sends nothing.
type Decision = Result<DecidedWrite, ChangeResult>;

/// The create of an object that was not read before: the service itself refuses a second create.
pub(super) fn create(target: &TargetState<'_>) -> Decision {
    let Some(wanted) = &target.wanted else { return refused("nothing is wanted".to_owned()) };
    let body = match &target.change.action {
        Action::Recreate { .. } => serde_json::to_value(wanted.body()).and_then(|mut body| {
            let spec = wanted.key.kind.message();
            body["spec"] = kind::pruned(spec, &body["spec"], Flag::ReplaceOnly);
            target.set(&mut body);
            ObjectBody::of(&body)
        }),
        _ => ObjectBody::of(&wanted.body()),
    };
    match body {
        Ok(body) => Ok((WriteRequest::Create { body }, None)),
        Err(error) => unwritable(&error),
    }
}

/// The create of an object that was read before, as in a resumed run.
pub(super) fn create_after_read(target: &TargetState<'_>, now: &CurrentState) -> Decision {
    match now {
        CurrentState::Absent => create(target),
        CurrentState::Object(seen) if target.is_met(&seen.live.endpoint) && !seen.live.deleting => {
            Err(ChangeResult::AlreadyDone)
        }
        CurrentState::Object(seen) if is_adoptable(target, seen) => replaced(target, seen),
        CurrentState::Object(seen) => conflict(target, &created_by(target, now), Some(&seen.live.endpoint)),
        CurrentState::Unsupported(_) => conflict(target, CREATED, None),
    }
}

/// Whether an object that another client created equals the wanted one except for the ownership annotations, and may be
/// taken over by the rules of `--adopt`.
pub(super) fn is_adoptable(target: &TargetState<'_>, seen: &CurrentObject) -> bool {
    let live = &seen.live;
    matches!(target.change.action, Action::Create { .. })
        && !live.deleting
        && live.owner_view.is_none()
        && target.foreign_stack(&live.endpoint).is_none()
        && target.fields_met(&live.endpoint)
}

/// The live object with the change written into it; for a create of an equal object, its ownership and hidden fields.
fn replaced(target: &TargetState<'_>, seen: &CurrentObject) -> Decision {
    if let Some(path) = target.change.lost_secret(&seen.live) {
        return refused(format!("`{path}` may contain a secret, which no answer shows: a replace would remove it"));
    }
    match seen.body(|body| target.set(body)).and_then(|body| ObjectBody::of(&body)) {
        Ok(body) => Ok((WriteRequest::Replace { body }, Some(BeforeImage::of(&seen.live)))),
        Err(error) => unwritable(&error),
    }
}

/// Why a create found an object, with the stack that owns it.
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
pub(super) fn replace(target: &TargetState<'_>, before: &BeforeImage, now: &CurrentState) -> Decision {
    let seen = match now {
        CurrentState::Absent => return conflict(target, DELETED, None),
        CurrentState::Unsupported(reason) => return unsupported(reason),
        CurrentState::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    touchable(target, seen)?;
    if target.is_met(endpoint) {
        return Err(ChangeResult::AlreadyDone);
    }
    if live.uid != before.uid {
        return conflict(target, RECREATED, Some(endpoint));
    }
    let moved = target.moved(&before.endpoint, endpoint);
    // If all fields are already as wanted, only the ownership annotations are missing.
    let only_annotations_lack = || target.fields_met(endpoint) && !moved.iter().any(Field::is_ownership_annotation);
    if !moved.is_empty() && !only_annotations_lack() {
        return conflict(target, CHANGED, Some(endpoint));
    }
    let blocking = live.unknown.iter().find(|field| field.blocks);
    if let (Some(field), Action::Replace { .. }) = (blocking, &target.change.action) {
        return refused(format!(
            "`{}` is unknown to this version and may be the chosen option of its group",
            field.path
        ));
    }
    replaced(target, seen)
}

/// The delete of an object as `now` shows it. Its referrers are read only if this decides to send it.
pub(super) fn delete(target: &TargetState<'_>, before: &BeforeImage, now: &CurrentState) -> Decision {
    let seen = match now {
        CurrentState::Absent => return Err(ChangeResult::AlreadyDone),
        CurrentState::Unsupported(reason) => return unsupported(reason),
        CurrentState::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    if live.uid != before.uid {
        return conflict(target, RECREATED, Some(endpoint));
    }
    if live.deleting {
        return Err(ChangeResult::AlreadyDone);
    }
    touchable(target, seen)?;
    if target.is_edited(&before.endpoint, endpoint) {
        return conflict(target, CHANGED, Some(endpoint));
    }
    let referred = match &target.change.action {
        Action::Delete { referrers, .. } if !referrers.is_empty() => ReferredDelete::Allowed,
        _ => ReferredDelete::Refused,
    };
    Ok((WriteRequest::Delete { referred }, Some(BeforeImage::of(live))))
}

/// Whether a delete may be sent, given the objects that refer to its object: a user allowed those that the plan named,
/// but no others.
pub(super) fn refer(planned: &[RelatedObject], found: Vec<RelatedObject>) -> Result<(), ChangeResult> {
    // The service spells a kind in several ways.
    let is_planned = |one: &RelatedObject| {
        planned.iter().any(|other| one == other || one.key().is_some_and(|key| other.key() == Some(key)))
    };
    let new = !found.iter().all(is_planned);
    if new { Err(ChangeResult::Referred { by: found }) } else { Ok(()) }
}

fn touchable(target: &TargetState<'_>, seen: &CurrentObject) -> Result<(), ChangeResult> {
    let reason = match &seen.live {
        live if live.owner_view.is_some() => OWNED,
        live if live.deleting => DELETING,
        _ => return Ok(()),
    };
    conflict(target, reason, Some(&seen.live.endpoint))
}

fn conflict<T>(target: &TargetState<'_>, reason: &str, now: Option<&Object>) -> Result<T, ChangeResult> {
    Err(ChangeResult::Conflict(target.conflict(reason, now)))
}

fn refused<T>(reason: String) -> Result<T, ChangeResult> {
    Err(ChangeResult::Failed { reason })
}

fn unwritable<T>(error: &serde_json::Error) -> Result<T, ChangeResult> {
    refused(format!("the endpoint cannot be written: {error}"))
}

fn unsupported<T>(reason: &str) -> Result<T, ChangeResult> {
    refused(format!("this trueup cannot read the live object: {reason}"))
}

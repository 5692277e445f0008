//! What to do about one object, given the planned change and what a GET just before shows. Pure.

use super::aim::{Aim, Now, Seen, holds_mark};
use crate::model::{Endpoint, Json, Level, Referred};
use crate::plan::{Action, Before, Body, Conflict, Referrer, Request};

/// What to do about one object.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one lives for one step; a box would cost an allocation a write")]
pub(super) enum Decision {
    /// Send this; the second value is the object as the GET saw it, which a create has not.
    Send(Request, Option<Before>),
    /// Live already is as wanted.
    AlreadyDone,
    /// Live moved.
    Conflict(Conflict),
    /// Others refer to the object, and nobody allowed that.
    Referred(Vec<Referrer>),
    /// It cannot be written, with the reason.
    Refuse(String),
}

/// The create of an object that nobody looked at before: the service refuses a second one itself.
pub(super) fn create(aim: &Aim<'_>) -> Decision {
    let Some(wanted) = aim.wanted() else { return Decision::Refuse("nothing is wanted".to_owned()) };
    match Body::of(wanted) {
        Ok(body) => Decision::Send(Request::Create { body }, None),
        Err(error) => unwritable(&error),
    }
}

/// The create of an object after a look at it, as a resumed run takes one.
pub(super) fn create_after_look(aim: &Aim<'_>, now: &Now) -> Decision {
    match now {
        Now::Absent => create(aim),
        Now::Object(seen) if aim.is_met(&seen.live.endpoint) && !seen.live.deleting => Decision::AlreadyDone,
        Now::Object(seen) if is_adoptable(aim, seen) => adopt(aim, seen),
        Now::Object(seen) => Decision::Conflict(aim.conflict(&created_by(aim, now), Some(&seen.live.endpoint))),
        Now::Unheld { .. } => Decision::Conflict(aim.conflict(CREATED, None)),
    }
}

/// Whether an object that somebody else created is what the create asked for, but for the ownership
/// annotations, and may be owned by the rules of `--adopt`.
pub(super) fn is_adoptable(aim: &Aim<'_>, seen: &Seen) -> bool {
    let live = &seen.live;
    matches!(aim.change.action, Action::Create { .. })
        && aim.change.marks.is_some()
        && !live.deleting
        && live.owner_view.is_none()
        && aim.foreign_stack(&live.endpoint).is_none()
        && aim.fields_met(&live.endpoint)
}

/// The object as it is with the ownership annotations of the create.
pub(super) fn adopt(aim: &Aim<'_>, seen: &Seen) -> Decision {
    match Body::of(&replaced(aim, seen)) {
        Ok(body) => Decision::Send(Request::Replace { body }, Some(Before::of(&seen.live))),
        Err(error) => unwritable(&error),
    }
}

/// Why a create meets an object, with the stack that owns it.
pub(super) fn created_by(aim: &Aim<'_>, now: &Now) -> String {
    match now.endpoint().and_then(|endpoint| aim.foreign_stack(endpoint)) {
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

/// The replace (or mark) of an object as `now` shows it.
pub(super) fn replace(aim: &Aim<'_>, before: &Before, now: &Now) -> Decision {
    let seen = match now {
        Now::Absent => return Decision::Conflict(aim.conflict(DELETED, None)),
        Now::Unheld { reason } => return unheld(reason),
        Now::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    if let Some(conflict) = untouchable(aim, seen) {
        return Decision::Conflict(conflict);
    }
    if aim.is_met(endpoint) {
        return Decision::AlreadyDone;
    }
    if live.uid != before.uid {
        return Decision::Conflict(aim.conflict(RECREATED, Some(endpoint)));
    }
    let moved = aim.moved(&before.endpoint, endpoint);
    // Fields that somebody already set to what is wanted lack only their mark.
    let only_mark_lacks = aim.fields_met(endpoint) && !holds_mark(&moved);
    if !moved.is_empty() && !only_mark_lacks {
        return Decision::Conflict(aim.conflict(CHANGED, Some(endpoint)));
    }
    let blocking = live.unknown.iter().find(|field| field.blocks);
    if let (Some(field), Action::Replace { .. }) = (blocking, &aim.change.action) {
        return Decision::Refuse(format!(
            "`{}` is unknown to this version and may be the chosen option of its group",
            field.path
        ));
    }
    match Body::of(&replaced(aim, seen)) {
        Ok(body) => Decision::Send(Request::Replace { body }, Some(Before::of(live))),
        Err(error) => unwritable(&error),
    }
}

/// The fresh object with only the wanted fields set, without what says nothing, and the version that it
/// was read with.
fn replaced(aim: &Aim<'_>, seen: &Seen) -> Json {
    let mut body = serde_json::Map::new();
    for part in ["metadata", "spec"] {
        body.insert(part.to_owned(), seen.raw.get(part).cloned().unwrap_or_default());
    }
    let mut body = Json::Object(body);
    aim.set(&mut body);
    for part in ["metadata", "spec"] {
        Level::SPEC.prune(&mut body[part]);
    }
    if let Some(version) = &seen.live.resource_version {
        body["resource_version"] = version.as_str().into();
    }
    body
}

/// The delete of an object as `now` shows it. Whoever refers to it is asked only when this says send.
pub(super) fn delete(aim: &Aim<'_>, before: &Before, now: &Now) -> Decision {
    let seen = match now {
        Now::Absent => return Decision::AlreadyDone,
        Now::Unheld { reason } => return unheld(reason),
        Now::Object(seen) => seen,
    };
    let (live, endpoint) = (&seen.live, &seen.live.endpoint);
    if live.uid != before.uid {
        return Decision::Conflict(aim.conflict(RECREATED, Some(endpoint)));
    }
    if live.deleting {
        return Decision::AlreadyDone;
    }
    if let Some(conflict) = untouchable(aim, seen) {
        return Decision::Conflict(conflict);
    }
    if !aim.moved(&before.endpoint, endpoint).is_empty() {
        return Decision::Conflict(aim.conflict(CHANGED, Some(endpoint)));
    }
    let referred = match &aim.change.action {
        Action::Delete { referrers, .. } if !referrers.is_empty() => Referred::Allowed,
        _ => Referred::Refused,
    };
    Decision::Send(Request::Delete { referred }, Some(Before::of(live)))
}

/// A delete that may be sent, after a look at who refers to the object: those that the plan named
/// were allowed by a person, others were not.
pub(super) fn refer(planned: &[Referrer], found: Vec<Referrer>) -> Option<Decision> {
    let new = found.iter().any(|referrer| !planned.contains(referrer));
    new.then_some(Decision::Referred(found))
}

fn untouchable(aim: &Aim<'_>, seen: &Seen) -> Option<Conflict> {
    let endpoint: Option<&Endpoint> = Some(&seen.live.endpoint);
    if seen.live.owner_view.is_some() {
        return Some(aim.conflict(OWNED, endpoint));
    }
    seen.live.deleting.then(|| aim.conflict(DELETING, endpoint))
}

fn unwritable(error: &serde_json::Error) -> Decision {
    Decision::Refuse(format!("the endpoint cannot be written: {error}"))
}

fn unheld(reason: &str) -> Decision {
    Decision::Refuse(format!("the live object cannot be held by this version: {reason}"))
}

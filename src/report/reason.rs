//! Why a change is made, and why one is blocked, in the words that every report uses.

use super::counted::some_of;
use super::safe;
use crate::model::SourceLocation;
use crate::plan::{Action, Attribution, BlockReason, BlockedChange, Cause, Change, FieldChange, Unchangeable};

/// Why an object is missing that a commit which was applied defines.
const DELETED_OR_FAILED: &str = "deleted outside, or its create failed";

/// Why a change is made, in a word or two: whose it is if a base attributes it, else its cause.
#[must_use]
pub fn reason(change: &Change) -> &'static str {
    if let Some(attribution) = change.attribution {
        return attribution.as_str();
    }
    match (&change.action, change.cause) {
        (Action::Create { .. }, Some(Cause::Drift)) if change.applied_in.is_some() => DELETED_OR_FAILED,
        (Action::Create { .. }, Some(Cause::Drift)) => "deleted outside",
        (Action::Create { .. }, _) => "new",
        (Action::Delete { .. }, Some(Cause::Unannotated)) => "not managed",
        (Action::Delete { .. }, _) => "definition removed",
        (Action::Annotate { .. }, _) => "in sync",
        (Action::Replace { adopts: true, .. }, _) => "adopts",
        (Action::Replace { fields, .. }, _) => of_fields(fields),
    }
}

fn of_fields(fields: &[FieldChange]) -> &'static str {
    let has = |attribution| fields.iter().any(|field| field.attribution == Some(attribution));
    let attributions = shared(fields.iter().map(|field| field.attribution));
    let causes = shared(fields.iter().map(|field| field.cause));
    match (attributions, causes) {
        (Some(Some(attribution)), _) => attribution.as_str(),
        (None, _) if has(Attribution::ThisChange) => "this change and others",
        (None, _) if has(Attribution::BehindBase) => "behind base and others",
        (None, _) => "not this change",
        (Some(None), Some(cause)) => cause.as_str(),
        (Some(None), None) => "pending and drift",
    }
}

/// The value that all share.
fn shared<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Why a change is made, with the commit that it follows from.
#[must_use]
pub fn reason_since(change: &Change) -> String {
    match &change.applied_in {
        Some(commit) if change.attribution.is_none() => format!("{}, since {}", reason(change), short_commit(commit)),
        _ => reason(change).to_owned(),
    }
}

/// The reason of a change where its action alone does not imply it.
#[must_use]
pub fn remarkable_reason(change: &Change) -> String {
    let implied = match &change.action {
        Action::Create { .. } => change.cause != Some(Cause::Drift),
        Action::Delete { .. } => change.cause != Some(Cause::Unannotated),
        Action::Replace { .. } | Action::Annotate { .. } => false,
    };
    if implied && change.attribution.is_none() { String::new() } else { reason_since(change) }
}

/// The first digits of a commit.
#[must_use]
pub fn short_commit(commit: &str) -> String {
    safe::line(commit).chars().take(7).collect()
}

/// Where a delete was written: the place in an overlay that removes the endpoint.
#[must_use]
pub fn removal(change: &Change) -> Option<&SourceLocation> {
    change.place.as_ref().filter(|_| matches!(change.action, Action::Delete { .. }))
}

/// Why a change is blocked, and what allows it.
#[must_use]
pub fn block_reason(blocked: &BlockedChange) -> (String, Option<String>) {
    let key = blocked.key.to_string();
    let key = safe::line(&key);
    match &blocked.reason {
        BlockReason::ForeignStack { stack } => {
            (format!("it belongs to stack {}", safe::line(stack)), Some(format!("--allow foreign-stack={key}")))
        }
        BlockReason::Protected => ("it is protected (`trueup/protect`)".to_owned(), Some(format!("--allow protected={key}"))),
        BlockReason::Unverified => (
            "its ownership annotation does not name the object that it was written for, so it may be a copy: delete it \
             by hand, or put its definition back, apply, and take it out again"
                .to_owned(),
            Some(format!("--allow unverified={key}")),
        ),
        BlockReason::Referred { by } => {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            (format!("{} would be left without it", some_of(&by, 4)), Some(format!("--allow referred={key}")))
        }
        BlockReason::DefinedElsewhere { stack, directory, environment, same_stack, transfer } => {
            let stack = stack.as_ref().map_or_else(|| "a stack".to_owned(), |stack| format!("stack {}", safe::line(stack)));
            let environment = environment.as_ref().map(|name| format!(" (environment {})", safe::line(name)));
            let how = match transfer {
                Some(command) => format!("transfer it first: {}", safe::line(command)),
                None if *same_stack => "this is the same stack; give each a `stack:` or a `base_url:` of its own".to_owned(),
                None => format!("let that stack take it over first, with --adopt --allow foreign-stack={key}"),
            };
            (format!("{stack} in {}{} defines it; {how}", safe::line(directory), environment.unwrap_or_default()), None)
        }
        BlockReason::Moved(conflict) => {
            let fields: Vec<String> = conflict.fields.iter().map(|moved| moved.field.to_string()).collect();
            let fields = if fields.is_empty() { String::new() } else { format!(": {}", some_of(&fields, 8)) };
            (format!("{}{fields}", safe::line(&conflict.reason)), None)
        }
        BlockReason::Unchangeable(why) => (unchangeable(why), None),
    }
}

fn unchangeable(why: &Unchangeable) -> String {
    match why {
        Unchangeable::OwnerView(owner) => format!(
            "it belongs to {} {}/{} of the service: change that instead",
            safe::line(&owner.kind),
            safe::line(&owner.namespace),
            safe::line(&owner.name)
        ),
        Unchangeable::Deleting => "it is being deleted: plan again when it is gone".to_owned(),
        Unchangeable::Unsupported { reason } => {
            format!("this trueup cannot read the live object: {}", safe::line(reason))
        }
        Unchangeable::UnknownOption { path } => {
            format!("`{}` may be its target and is not known to this trueup", safe::line(path))
        }
        Unchangeable::DefinersUnknown { reason } => {
            format!("whether another stack defines it is unknown: {}", safe::line(reason))
        }
        Unchangeable::ReferrersUnknown { reason } => {
            format!("who refers to it could not be read: {}", safe::line(reason))
        }
    }
}

//! Why a change is made, and why one is blocked, in the words that every report uses.

use super::edits::ValueEdit;
use crate::drift::short;
use crate::model::STACK;
use crate::model::policy::KeyAllowance;
use crate::plan::{
    Action, Attribution, BlockReason, BlockedChange, BrokenReference, Cause, Change, FieldChange, Unchangeable,
    WrittenReference,
};
use crate::report::prelude::*;

/// Why an object is missing that an applied commit defines.
const DELETED_OR_FAILED: &str = "deleted outside, or its create failed";

/// Follows the attribution of a value that was changed outside as well.
const CHANGED_OUTSIDE: &str = ", and changed outside";

/// Follows the attribution of a value that the base changed, and the working tree in another way.
const CHANGED_HERE: &str = ", changed here too";

/// Why a change is made, in a few words: whose it is if a base attributes it, with what happened outside, else its cause.
pub fn reason(change: &Change) -> Line<'static> {
    let cause = match (&change.action, change.cause) {
        (Action::Create { .. }, Some(Cause::Drift)) => {
            let words = if change.applied_in.is_some() { DELETED_OR_FAILED } else { "deleted outside" };
            return match change.attribution {
                None | Some(Attribution::Drift) => line![words],
                Some(side) => line![side.as_str(), ", and ", words],
            };
        }
        (Action::Create { .. }, None) => "the run deleted it",
        (Action::Create { .. }, _) => "new",
        (Action::Delete { .. }, Some(Cause::Unannotated)) => "not managed",
        (Action::Delete { .. }, None) => "the run created it",
        (Action::Delete { .. }, _) => "definition removed",
        (Action::Annotate { .. }, _) => "in sync",
        (Action::Replace { .. } | Action::Recreate { .. }, _) if change.transfer().is_some() => {
            "passes to another stack"
        }
        _ if change.adopts() => "adopts",
        (Action::Replace { fields, .. } | Action::Recreate { fields, .. }, _) => return of_fields(fields),
    };
    line![change.attribution.map_or(cause, Attribution::as_str), change.changed_here.then_some(CHANGED_HERE)]
}

fn of_fields(fields: &[FieldChange]) -> Line<'static> {
    let has = |attribution| fields.iter().any(|field| field.attribution == Some(attribution));
    let attributions = shared(fields.iter().map(|field| field.attribution));
    let cause = shared(fields.iter().map(|field| field.cause)).unwrap_or(Cause::Both);
    let whose = match attributions {
        Some(None) => return line![of_cause(cause)],
        Some(Some(attribution)) => attribution.as_str(),
        None if has(Attribution::ThisChange) => "this change and others",
        None if has(Attribution::BehindBase) => "behind base and others",
        None => "not this change",
    };
    let changed_here = fields.iter().any(|field| field.changed_here).then_some(CHANGED_HERE);
    line![whose, changed_here, fields.iter().any(|field| field.cause == Cause::Both).then_some(CHANGED_OUTSIDE)]
}

/// Why a value differs. What was changed both in the files and outside has one name, for one value and for several.
pub fn of_cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Both => "drift and pending",
        Cause::Pending | Cause::Drift | Cause::Unannotated => cause.as_str(),
    }
}

/// Whose change an edit is if a base attributes it, with what happened outside, else why the value differs.
pub fn of_edit(edit: &ValueEdit) -> Line<'static> {
    let Some(side) = edit.attribution else { return line![edit.cause.map_or("", of_cause)] };
    let changed_here = edit.changed_here.then_some(CHANGED_HERE);
    line![side.as_str(), changed_here, (edit.cause == Some(Cause::Both)).then_some(CHANGED_OUTSIDE)]
}

/// The value that all share.
fn shared<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Why a change is made, with the commit that it follows from.
pub fn reason_since(change: &Change) -> Line<'_> {
    match (&change.applied_in, change.transfer()) {
        (_, Some((from, to))) => line!["passes from stack ", code(from), " to stack ", code(to)],
        (Some(commit), None) => reason(change).and(", since ").and(code(short(commit))),
        (None, None) => reason(change),
    }
}

/// The reason of a change, unless its action alone implies it.
pub fn remarkable_reason(change: &Change) -> Line<'_> {
    let implied = match &change.action {
        Action::Create { .. } | Action::Delete { .. } => change.cause == Some(Cause::Pending),
        Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => false,
    };
    if implied && change.attribution.is_none() { Line::default() } else { reason_since(change) }
}

/// Where the definition of what is deleted was removed: by an overlay, or with its file in a commit.
pub fn removed(change: &Change) -> Option<Line<'_>> {
    match (&change.action, &change.place, &change.removed_in) {
        (Action::Delete { .. }, Some(place), _) => Some(line!["removed in ", at(place)]),
        (_, _, Some(commit)) => Some(line!["removed in ", code(short(&commit.id)), " (", code(&commit.date), ")"]),
        (_, _, None) => None,
    }
}

/// Why a change is blocked, and the flag that allows it.
pub fn block_reason(blocked: &BlockedChange) -> (Line<'_>, Option<String>) {
    let allow = |consent: KeyAllowance| format!("--allow {}", safe::shell(&format!("{consent}={}", blocked.key)));
    (blocked_by(blocked, &allow), blocked.consent().map(allow))
}

fn blocked_by<'b>(blocked: &'b BlockedChange, allow: &dyn Fn(KeyAllowance) -> String) -> Line<'b> {
    match &blocked.reason {
        BlockReason::ForeignStack { stack } => line!["it belongs to stack ", code(stack)],
        BlockReason::Protected => line!["it is protected (`trueup/protect`)"],
        BlockReason::Unverified => line![
            "its ownership annotation does not name the object that it was written for, so it may be a copy: delete it by \
                   hand, or put its definition back, apply, and take it out again"
        ],
        BlockReason::Referred { by } => {
            let by = Line::some_of(by.iter().map(ToString::to_string), 4);
            by.and(match blocked.consent() {
                None => " refers to it: remove the reference in one apply, and create it anew in the next",
                Some(_) => " would be left without it",
            })
        }
        BlockReason::DefinedElsewhere { stack, directory, environment, same_stack, transfer } => {
            let stack = stack.as_deref().map_or_else(|| line!["a stack"], |stack| line!["stack ", code(stack)]);
            let environment = environment.as_deref().map(|name| line![" (environment ", code(name), ")"]);
            let how = match transfer {
                Some(command) => line!["transfer it first: ", code(command)],
                None if *same_stack => {
                    line!["this is the same stack; give each a `stack:` or a `base_url:` of its own"]
                }
                None => {
                    let before = blocked.change.as_ref().and_then(|change| change.action.before());
                    let owned = before.filter(|before| before.endpoint.annotations.contains_key(STACK));
                    let consent = owned.map(|_| format!(" {}", allow(KeyAllowance::ForeignStack)));
                    let adopt = format!("--adopt{}", consent.unwrap_or_default());
                    line!["let that stack take it over first, with ", code(adopt)]
                }
            };
            line![stack, " in ", code(directory), environment, " defines it; ", how]
        }
        BlockReason::Moved(conflict) => {
            let fields = Line::some_of(conflict.fields.iter().map(|moved| moved.field.to_string()), 8);
            let fields = (!fields.is_empty()).then(|| line![": ", fields]);
            line![foreign(&conflict.reason), fields]
        }
        BlockReason::Unreplaced { create } => {
            line!["the create of ", code(create.to_string()), ", which may come in its place, is blocked"]
        }
        BlockReason::Reference(broken) => reference(broken),
        BlockReason::Unchangeable(why) => unchangeable(why),
    }
}

fn reference(broken: &BrokenReference) -> Line<'_> {
    let refers = |WrittenReference { path, target, .. }: &WrittenReference| {
        line![code(path.clone()), " refers to ", code(target.to_string())]
    };
    let circle = |references: &[WrittenReference]| {
        Line::joined(references.iter().map(|reference| line![code(reference.by.to_string())]), " -> ")
    };
    match broken {
        BrokenReference::Missing(one) => line![refers(one), ", which is neither defined nor live"],
        BrokenReference::LeftOut(one) => line![refers(one), ", which does not exist, and this call does not create it"],
        BrokenReference::Unread(one) => line![refers(one), ", and whether that exists could not be read"],
        BrokenReference::Deleted(one) => {
            line!["the definition of ", code(one.by.to_string()), " refers to it at ", code(one.path.clone())]
        }
        BrokenReference::Circle(all) => line!["none of these can be created first: ", circle(all)],
        BrokenReference::LiveCircle(all) => line![
            "none of these can be deleted first: ",
            circle(all),
            "; let one of them go of the next in one apply, and delete them in the next"
        ],
    }
}

fn unchangeable(why: &Unchangeable) -> Line<'_> {
    match why {
        Unchangeable::OwnerView(owner) => {
            line!["it belongs to ", code(owner.to_string()), " of the service: change that instead"]
        }
        Unchangeable::Deleting => line!["it is being deleted: plan again when it is gone"],
        Unchangeable::Unsupported { reason, .. } => line!["this trueup cannot read the live object: ", foreign(reason)],
        Unchangeable::Secret { path } => {
            line![
                code(path),
                " may contain a secret, which no answer shows, and a replace would remove it: write the secret into the \
                 definition, in its sealed form (`blindfold_secret_info`), or, where its field takes none, change the object \
                 in the console"
            ]
        }
        Unchangeable::SecretMissing { path } => line![
            "the service takes no such object without the secret ",
            code(path),
            ", which the definition leaves out, and the service has none there: write it into the definition, in its sealed form \
             (`blindfold_secret_info`)"
        ],
        Unchangeable::Unapplied { path } => line![
            "a write of it would change ",
            code(path),
            ", which no answer shows whole, beyond what this plan shows: apply the whole definition first, or restore what \
             was applied"
        ],
        Unchangeable::SecretBefore { path } => line![
            "it cannot be restored: what it had in ",
            code(path),
            ", which no answer shows, is neither in its definition nor in the commit that was applied; put its file back with \
             that value, and apply it"
        ],
        Unchangeable::Immutable { path } => {
            line![code(path), " cannot change after the create: the object has to be deleted and created anew"]
        }
        Unchangeable::UnknownOption { path } => line![code(path), " may be its target and is not known to this trueup"],
        Unchangeable::DefinersUnknown { reason } => {
            line!["whether another stack defines it is unknown: ", foreign(reason)]
        }
        Unchangeable::ReferrersUnknown { reason } => line!["who refers to it could not be read: ", foreign(reason)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::annotation::{AnnotationLevel, of_plan};
    use crate::report::{Format, TextView, render, sample_tests};

    #[test]
    fn what_the_base_and_the_working_tree_changed_is_of_both() {
        let mut plan = sample_tests::attributed(sample_tests::plan(10, false));
        plan.blocked.clear();
        plan.changes.retain(|change| change.key.name.as_str() == "ep-7");
        let Action::Replace { fields, .. } = &mut plan.changes[0].action else { panic!("a replace") };
        for (at, field) in fields.iter_mut().enumerate() {
            (field.cause, field.attribution) = (Cause::Pending, Some(Attribution::BehindBase));
            field.changed_here = at == 0;
        }
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Sarif] {
            let text = render(&plan, format, &TextView::default());
            let both = text.matches("behind base, changed here too").count();
            // Beside the value, and above all of them.
            assert!(both > 0 && (format != Format::Text || both == 2), "{format:?}: {text}");
            assert!(!text.contains("no difference is from this change\n"), "{format:?}: {text}");
        }
        let held = plan.changes.remove(0);
        plan.blocked.push(BlockedChange::new(held.key.clone(), BlockReason::Protected, Some(held)));
        let text = render(&plan, Format::Text, &TextView::default());
        assert!(text.contains("(behind base, changed here too)"), "{text}");
        assert!(!text.contains("no difference is from this change\n"), "{text}");
    }

    #[test]
    fn what_happened_outside_is_said_of_what_a_base_attributes_as_well() {
        let mut plan = sample_tests::attributed(sample_tests::plan(10, false));
        plan.blocked.clear();
        plan.notes.clear();
        plan.guards.clear();
        plan.changes.retain(|change| matches!(change.key.name.as_str(), "ep-2" | "ep-4"));
        for change in &mut plan.changes {
            match &mut change.action {
                Action::Replace { fields, .. } => {
                    for field in fields {
                        (field.cause, field.attribution) = (Cause::Both, Some(Attribution::ThisChange));
                    }
                }
                _ => {
                    (change.cause, change.attribution) = (Some(Cause::Drift), Some(Attribution::Drift));
                    change.applied_in = Some("056437c".to_owned());
                }
            }
        }
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Github, Format::Sarif] {
            let text = render(&plan, format, &TextView::default());
            assert!(text.contains("this change, and changed outside"), "{format:?}: {text}");
            assert!(text.contains(DELETED_OR_FAILED) && text.contains("056437c"), "{format:?}: {text}");
        }
        let remarks = of_plan(&plan);
        assert!(remarks.iter().all(|remark| remark.level == AnnotationLevel::Warning), "{remarks:?}");
    }
}

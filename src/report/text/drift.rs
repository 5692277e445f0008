//! The verdict of a check as text: each endpoint that is not in sync with its fields, what is accepted, and
//! what to do next.

use crate::report::counted::{count, some_of};
use std::collections::BTreeSet;

use super::{TextView, columns, notes, refusal, seconds};
use crate::drift::{AcknowledgementStatus, Check, Verdict, Verdicts};
use crate::model::{Field, Key};
use crate::plan::{Action, Change, Plan};
use crate::report::edits::{self, Sign, ValueEdit};
use crate::report::reason::reason_since;
use crate::report::time::{age, minute};
use crate::report::{Role, safe};

/// Longer differences, in characters, are not part of the table.
const LONG: usize = 100;

/// The verdict over a tenant: what was changed outside, what is pending, and what to do about it.
#[must_use]
pub fn drift(check: &Check<'_>, view: &TextView) -> String {
    let Check { plan, verdicts, .. } = check;
    let mut text = headline(plan, verdicts, view);
    if plan.source.snapshot.is_some() {
        text.push_str(&format!("{}, not the service\n", super::plan::read_scope(plan)));
    }
    let changes = plan.changes.iter().chain(plan.blocked.iter().filter_map(|held| held.change.as_ref()));
    let mut lines: Vec<[String; 4]> = Vec::new();
    for change in changes {
        let object = verdicts.objects.get(&change.key).filter(|object| object.verdict != Verdict::Pending);
        lines.extend(object.into_iter().flat_map(|object| drifted(change, &object.drifted, check)));
    }
    let listed: BTreeSet<&Key> =
        plan.changes.iter().map(|change| &change.key).chain(plan.blocked.iter().map(|held| &held.key)).collect();
    for (key, object) in &verdicts.objects {
        if object.verdict == Verdict::Drift && !listed.contains(key) {
            lines.push([key.to_string(), "not managed".to_owned(), String::new(), String::new()]);
        }
    }
    if !lines.is_empty() {
        text.push_str(&format!("\n{}", table(&lines)));
    }
    text.push_str(&accepted(check));
    let pending: Vec<String> = verdicts
        .objects
        .iter()
        .filter(|(_, object)| object.verdict == Verdict::Pending)
        .map(|(key, _)| key.to_string())
        .collect();
    if !pending.is_empty() {
        text.push_str(&format!("\n  not applied yet: {}\n", some_of(&pending, 12)));
    }
    if !verdicts.unknown.is_empty() {
        text.push_str(&format!("\n{}", refusal::incomplete(plan, view)));
    }
    let notes = notes(plan, view);
    if !notes.is_empty() {
        text.push_str(&format!("\n{notes}"));
    }
    text.push_str(&next(verdicts, view));
    text
}

fn headline(plan: &Plan, verdicts: &Verdicts, view: &TextView) -> String {
    let looked = plan.read_scope();
    let environment = plan.source.environment.as_ref().map(|name| format!(", environment {}", safe::line(name)));
    let outside = format!("{}{}", environment.unwrap_or_default(), super::plan::narrowed(plan));
    let number = |which: &[Verdict]| verdicts.objects.values().filter(|object| which.contains(&object.verdict)).count();
    let drifted = number(&[Verdict::Drift, Verdict::Both]);
    let pending = number(&[Verdict::Pending, Verdict::Both]);
    let of = count(looked.endpoints, "endpoint");
    let were = if drifted == 1 { "was" } else { "were" };
    let have = if pending == 1 { "has" } else { "have" };
    let word = |role, word| view.palette.paint(role, word);
    match verdicts.whole() {
        Verdict::InSync => {
            let elapsed = view.elapsed.map(|time| format!(", {}", seconds(time))).unwrap_or_default();
            let namespaces = count(looked.namespaces, "namespace");
            format!("{}: {of} in {namespaces}{elapsed}{outside}\n", word(Role::Right, "In sync"))
        }
        Verdict::Pending => {
            format!("{}  {pending} of {of} {have} changes to apply{outside}\n", word(Role::Replace, "PENDING"))
        }
        Verdict::Drift => {
            format!("{}  {drifted} of {of} {were} changed outside{outside}\n", word(Role::Wrong, "DRIFT"))
        }
        Verdict::Both => format!(
            "{}  {drifted} of {of} {were} changed outside, {pending} {have} changes to apply{outside}\n",
            word(Role::Wrong, "DRIFT AND PENDING")
        ),
        Verdict::Unknown => format!("{}  no verdict over everything{outside}\n", word(Role::Wrong, "UNKNOWN")),
    }
}

/// Key, field, movement from wanted to live, and since when. Of a replace only the fields in `left`
/// are reported, the others are accepted.
fn drifted(change: &Change, left: &[Field], check: &Check<'_>) -> Vec<[String; 4]> {
    let key = change.key.to_string();
    let by = change.action.before().and_then(|before| before.creator.as_deref());
    let created = by.map(|by| format!(", created by {by}")).unwrap_or_default();
    let since = |field: Option<&Field>, time: Option<&String>| {
        if let Some(seen) = check.drift_state.and_then(|state| state.seen(&change.key, field)) {
            let first = minute(&seen.first_seen.to_string());
            let checks = count(usize::try_from(seen.checks).unwrap_or(usize::MAX), "check");
            return format!("since {first} ({}), seen in {checks}{created}", age(seen.age(check.now)));
        }
        time.map(|time| format!("since {}{created}", minute(time))).unwrap_or_default()
    };
    match &change.action {
        Action::Create { .. } if change.applied_in.is_some() => {
            vec![[key, "missing".to_owned(), reason_since(change), since(None, None)]]
        }
        Action::Create { .. } => {
            vec![[key, "deleted".to_owned(), "it was applied and is gone".to_owned(), since(None, None)]]
        }
        Action::Delete { before, .. } => {
            vec![[key, "not managed".to_owned(), String::new(), since(None, before.modified.as_ref())]]
        }
        Action::Annotate { .. } => Vec::new(),
        Action::Replace { fields, before, .. } => fields
            .iter()
            .filter(|field| left.contains(&field.field))
            .flat_map(|field| edits::of_field(field).into_iter().map(move |edit| (field, edit)))
            .map(|(field, edit)| {
                let moved = movement(&edit);
                [key.clone(), edit.name, moved, since(Some(&field.field), before.modified.as_ref())]
            })
            .collect(),
    }
}

/// What became of a wanted value live.
fn movement(edit: &ValueEdit) -> String {
    if !edit.has_lines() {
        return if edit.is_long() { "changed".to_owned() } else { format!("{} -> {}", edit.wanted(), edit.live()) };
    }
    let live = edit.lines().into_iter().filter_map(|(sign, line)| match sign {
        Sign::Removed => Some(format!("+ {line}")),
        Sign::Added => Some(format!("- {line}")),
        Sign::Same | Sign::Gap => None,
    });
    let live = live.collect::<Vec<_>>().join(", ");
    if live.chars().count() > LONG { "changed".to_owned() } else { live }
}

/// What is accepted, and what of it has ended or fits no more.
fn accepted(check: &Check<'_>) -> String {
    let lines: Vec<[String; 4]> = check
        .acknowledged
        .iter()
        .map(|entry| {
            let one = &entry.acknowledgement;
            let standing = match entry.status {
                AcknowledgementStatus::Silences => format!("accepted until {}", one.expires),
                AcknowledgementStatus::Expired => format!("EXPIRED on {}", one.expires),
                AcknowledgementStatus::Moved => "drifted on to another value".to_owned(),
                AcknowledgementStatus::Unneeded => "no longer needed".to_owned(),
            };
            let field = one.field.as_ref().map(ToString::to_string).unwrap_or_default();
            [one.object.to_string(), field, standing, one.reason.clone()]
        })
        .collect();
    if lines.is_empty() { String::new() } else { format!("\n  acknowledged\n{}", table(&lines)) }
}

fn table(lines: &[[String; 4]]) -> String {
    let lines: Vec<[String; 4]> =
        lines.iter().map(|line| line.clone().map(|cell| safe::line(&cell).into_owned())).collect();
    let widths: Vec<usize> = (0..3).map(|at| lines.iter().map(|line| columns(&line[at])).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let mut drawn = String::from("  ");
        for (cell, width) in line.iter().zip(&widths) {
            drawn.push_str(cell);
            drawn.push_str(&" ".repeat(width + 2 - columns(cell)));
        }
        drawn.push_str(&line[3]);
        text.push_str(&format!("{}\n", drawn.trim_end()));
    }
    text
}

fn next(verdicts: &Verdicts, view: &TextView) -> String {
    let directory = safe::line(view.call());
    match verdicts.whole() {
        Verdict::InSync | Verdict::Unknown => String::new(),
        Verdict::Pending => format!("\napply:  trueup apply {directory}\n"),
        Verdict::Drift | Verdict::Both => {
            format!(
                "\nrestore with:                 trueup apply {directory}\n\
                 accept the live values with:  trueup pull --drift {directory}\n"
            )
        }
    }
}

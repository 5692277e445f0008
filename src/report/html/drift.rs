//! A check as a page: what was changed outside with its values and since when, what is
//! not applied yet, what is accepted, and what could not be read.

use std::collections::BTreeMap;

use super::plan::{action_text, facts_of_read};
use super::{Page, PageContent, PageRow, at};
use crate::drift::{AcknowledgementStatus, Check, ObjectVerdict, Verdict};
use crate::model::{Field, Key};
use crate::plan::{Action, Change, Note};
use crate::report::counted::count;
use crate::report::reason::reason;
use crate::report::{ReportOptions, edits, plan_notes, safe, text, time, unread};

/// The actions of the plan as what somebody did outside.
const WORDS: [(&str, &str); 4] =
    [("replace", "changed"), ("create", "deleted"), ("delete", "unmanaged"), ("annotate", "pending")];

/// The check of one stack as a page.
#[must_use]
pub fn drift(check: &Check<'_>, options: &ReportOptions<'_>) -> String {
    let mut page = page(&format!("Drift of {}", text::stack(check.plan)), &options.command);
    page.facts = facts_of_read(check.plan);
    add(check, "", &mut page);
    cards(std::slice::from_ref(&check), 0, &mut page);
    commands(check.verdicts.whole(), options.view.call(), &mut page);
    page.render()
}

pub(super) fn page(heading: &str, command: &str) -> Page {
    let content = PageContent { sides: ["wanted", "live"], words: BTreeMap::from(WORDS), ..PageContent::default() };
    let footer = format!("Made with <code>{}</code> by trueup {}.", safe::html(command), env!("CARGO_PKG_VERSION"));
    Page { heading: safe::html(heading), footer, content, ..Page::default() }
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::InSync => "in sync",
        Verdict::Pending => "pending",
        Verdict::Drift => "changed outside",
        Verdict::Both => "changed outside and pending",
        Verdict::Unknown => "unknown",
    }
}

pub(super) fn cards(checks: &[&Check<'_>], failed: usize, page: &mut Page) {
    let number = |which: &[Verdict]| {
        let objects = checks.iter().flat_map(|check| check.verdicts.objects.values());
        objects.filter(|object| which.contains(&object.verdict)).count()
    };
    page.card("delete", number(&[Verdict::Drift, Verdict::Both]), "changed outside");
    page.card("replace", number(&[Verdict::Pending, Verdict::Both]), "not applied yet");
    let unread: usize = checks.iter().map(|check| check.verdicts.unknown.len()).sum();
    let accepted = checks.iter().flat_map(|check| &check.acknowledged);
    let accepted = accepted.filter(|entry| entry.status == AcknowledgementStatus::Silences).count();
    page.card("blocked", failed, "not checked");
    page.card("blocked", unread, "not read");
    page.card("mark", accepted, "accepted");
    page.card("sync", checks.iter().map(|check| check.verdicts.in_sync).sum(), "in sync");
}

pub(super) fn commands(verdict: Verdict, call: &str, page: &mut Page) {
    match verdict {
        Verdict::InSync | Verdict::Unknown => {}
        Verdict::Pending => page.commands.push(("Apply", format!("trueup apply {call}"))),
        Verdict::Drift | Verdict::Both => {
            page.commands.push(("Restore", format!("trueup apply {call}")));
            page.commands.push(("Accept the live values", format!("trueup pull --drift {call}")));
        }
    }
}

/// Adds what a check found. `directory` is that of its stack in a fleet.
pub(super) fn add(check: &Check<'_>, directory: &str, page: &mut Page) {
    page.unread(&unread::by_reason(check.verdicts.unknown.iter().map(|(name, reason)| (name, reason.as_str()))));
    for line in plan_notes::lines_of(check.plan, Note::is_undecided) {
        page.alarm("Not decided.", &safe::html(&line));
    }
    let blocked = check.plan.blocked.iter().filter_map(|held| held.change.as_ref());
    let changes: BTreeMap<&Key, &Change> =
        check.plan.changes.iter().chain(blocked).map(|change| (&change.key, change)).collect();
    let mut objects: Vec<(&Key, &ObjectVerdict)> = check.verdicts.objects.iter().collect();
    objects.sort_by_key(|(_, object)| object.verdict == Verdict::Pending);
    for (key, object) in objects {
        let mut row = row(check, key, object, changes.get(key).copied(), page);
        if !directory.is_empty() {
            row.k = format!("{}: {}", safe::line(directory), row.k);
            row.n = format!("{}: {}", safe::line(directory), row.n);
        }
        let word = WORDS.iter().find(|(action, _)| *action == row.a).map_or(row.a, |(_, word)| word);
        page.plain.push(safe::html(&format!("{word:<10}{}  ({})", row.k, row.r)));
        page.content.changes.push(row);
    }
    for entry in &check.acknowledged {
        let one = &entry.acknowledgement;
        let field = one.field.as_ref().map(|field| format!(" {field}")).unwrap_or_default();
        let status = match entry.status {
            AcknowledgementStatus::Silences => format!("accepted until {}", one.expires),
            AcknowledgementStatus::Expired => format!("expired on {}", one.expires),
            AcknowledgementStatus::Moved => "drifted on to another value".to_owned(),
            AcknowledgementStatus::Unneeded => "no longer needed".to_owned(),
        };
        page.notes.push(safe::html(&format!("{}{field}: {status}, {}", one.object, one.reason)));
    }
    page.notes
        .extend(plan_notes::lines_of(check.plan, |note| !note.is_undecided()).iter().map(|line| safe::html(line)));
}

/// The row of an endpoint that is not in sync, with the edits of what was changed outside: from the wanted to the
/// live value.
fn row(check: &Check<'_>, key: &Key, object: &ObjectVerdict, change: Option<&Change>, page: &mut Page) -> PageRow {
    let is_pending = object.verdict == Verdict::Pending;
    let Some(change) = change else {
        let action = if is_pending { "annotate" } else { "delete" };
        return PageRow::new(key, action, "not managed", page.edits(&[]));
    };
    let fields = change.fields().iter().filter(|field| object.drifted.contains(&field.field));
    // What is pending is the matter of a plan.
    let edits = match &change.action {
        _ if is_pending => Vec::new(),
        Action::Replace { .. } => fields.flat_map(edits::of_field).collect(),
        _ => edits::of(change),
    };
    let edits: Vec<edits::ValueEdit> = edits.into_iter().map(edits::ValueEdit::reversed).collect();
    let action = if is_pending { "annotate" } else { change.action.kind().as_str() };
    PageRow {
        p: change.place.as_ref().map(at),
        t: since(check, change),
        ..PageRow::new(key, action, reason(change), page.edits(&edits))
    }
}

/// Since when a change is known, and what the service knows of the object.
fn since(check: &Check<'_>, change: &Change) -> String {
    let first: Option<&Field> = change.fields().first().map(|field| &field.field);
    let known = action_text(change, Some(check.now));
    let Some(seen) = check.drift_state.and_then(|state| state.seen(&change.key, first)) else { return known };
    let checks = usize::try_from(seen.checks).unwrap_or(usize::MAX);
    let since = time::with_age(&seen.first_seen.to_string(), Some(check.now));
    let since = format!("seen since {since} in {}", count(checks, "check"));
    if known.is_empty() { since } else { format!("{since}; {known}") }
}

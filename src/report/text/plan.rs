//! A plan as text: every change with its fields and places, equal edits folded, then what is blocked, the
//! notes, the guards, the counts and the command that applies exactly this plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{TextView, at, at_the_end, attribution, columns, count, difference, notes, refusal, seconds, some_of};
use crate::model::Field;
use crate::plan::{Action, ActionKind, BlockedChange, Cause, Change, Digest, GuardName, Plan};
use crate::report::attribution::summary;
use crate::report::edits;
use crate::report::rows::{self, FieldRow, RowText};
use crate::report::{Role, safe};

/// Where the names of fields begin, and how wide they are.
const FIELD_INDENT: usize = 8;
const FIELD_WIDTH: usize = 25;
/// How wide the names of endpoints are before their causes.
const KEY_WIDTH: usize = 46;
/// From so many endpoints with one and the same edit on, the edit is listed once.
const FOLD: usize = 3;
/// Names that are shown of a long list.
const NAMES: usize = 12;

/// A plan, line by line, with its counts, its digest and the next thing to do. `saved` is the file
/// that the plan was written to.
#[must_use]
pub fn plan(plan: &Plan, saved: Option<&Path>, view: &TextView) -> String {
    let unknown = plan.unknown().next().is_some();
    if plan.changes.is_empty() && plan.blocked.is_empty() && !unknown {
        return format!("{}{}", super::setting_changes(plan, view), in_sync(plan, view));
    }
    let mut text = consents(plan, view);
    text.push_str(&super::setting_changes(plan, view));
    text.push_str(&header(plan, view));
    let rendered = attribution::listed(plan, view);
    let (folded, single) = fold(&rendered);
    let goes = |change: &&&Change| change.action.kind() == ActionKind::Delete;
    for change in single.iter().filter(|change| !goes(change)) {
        text.push('\n');
        text.push_str(&self::change(change, view));
    }
    for (_, changes) in folded {
        text.push('\n');
        text.push_str(&self::folded(&changes, view));
    }
    text.push_str(&marks(plan, view));
    for change in single.iter().filter(goes) {
        text.push('\n');
        text.push_str(&self::change(change, view));
    }
    for held in plan.blocked.iter().filter(|held| attribution::lists(held, plan, view)) {
        text.push('\n');
        text.push_str(&self::blocked(held, view));
    }
    text.push_str(&attribution::others(plan, view));
    let notes = notes::notes(plan, view);
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes);
    }
    if unknown {
        text.push('\n');
        text.push_str(&refusal::incomplete(plan, view));
    }
    text.push('\n');
    text.push_str(&guards(plan, view));
    let digest = plan.digest();
    text.push_str(&format!("{}\n", counts(plan, &digest, view)));
    text.push_str(&next(plan, &digest, saved, view));
    text
}

fn in_sync(plan: &Plan, view: &TextView) -> String {
    if let Some(run) = plan.undone() {
        return format!("Nothing to roll back: what {run} wrote is as it was before it.\n{}", notes::notes(plan, view));
    }
    let mut text = format!(
        "{}: {} in {}, {}",
        view.palette.paint(Role::Right, "In sync"),
        count(plan.in_sync(), "endpoint"),
        count(plan.read_scope().namespaces, "namespace"),
        read_scope(plan),
    );
    if let Some(elapsed) = view.elapsed {
        text.push_str(&format!(", {}", seconds(elapsed)));
    }
    text.push_str(&outside(plan).map(|outside| format!("; {outside}")).unwrap_or_default());
    text.push('\n');
    text.push_str(&notes::notes(plan, view));
    text
}

/// What the filters of the call leave out, and what could not be read.
pub(in crate::report) fn outside(plan: &Plan) -> Option<String> {
    let looked = plan.read_scope();
    let mut parts = Vec::new();
    if plan.left_out > 0 {
        parts.push(format!("{} outside the filter", count(plan.left_out, "change")));
    }
    if looked.left_out > 0 {
        parts.push(format!("{} outside the filter", count(looked.left_out, "namespace")));
    }
    if looked.unread > 0 {
        parts.push(format!("{} not read", count(looked.unread, "namespace")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What was read: the service in so many requests, or a snapshot of a time.
pub(super) fn read_scope(plan: &Plan) -> String {
    match &plan.source.snapshot {
        None => count(usize::try_from(plan.source.requests).unwrap_or(usize::MAX), "request"),
        Some(taken) => format!("against the snapshot of {}", safe::line(&minute(taken))),
    }
}

/// An RFC 3339 time up to its minute.
pub(in crate::report) fn minute(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

fn header(plan: &Plan, view: &TextView) -> String {
    let stack = match &plan.stack {
        Some(stack) => format!(", stack {}", safe::line(stack)),
        None => ", no stack".to_owned(),
    };
    let seen = plan.read_scope();
    let (title, defined) = match plan.undone() {
        Some(run) => (format!("Rollback of {run} at"), String::new()),
        None => ("Plan for".to_owned(), format!("{} defined, ", count(seen.endpoints, "endpoint"))),
    };
    let against = match &plan.source.base {
        Some(base) => format!(", against {}", safe::line(base)),
        None => String::new(),
    };
    format!(
        "{} {}{stack}{against}, {}, {defined}{}{}\n",
        view.palette.paint(Role::Strong, title),
        safe::line(&plan.service.base_url),
        count(seen.namespaces, "namespace"),
        read_scope(plan),
        outside(plan).map(|outside| format!("; {outside}")).unwrap_or_default(),
    )
}

type Folded<'a> = BTreeMap<String, Vec<&'a Change>>;

/// Replaces that make one and the same edit in many endpoints, by that edit, and the other changes.
fn fold(changes: &[Change]) -> (Folded<'_>, Vec<&Change>) {
    let edit = |change: &Change| match &change.action {
        Action::Replace { fields, adopts: false, .. } => {
            let rendered =
                fields.iter().map(|field| (&field.field, &field.before, &field.after, field.cause, field.attribution));
            Some(format!("{:?}", rendered.collect::<Vec<_>>()))
        }
        _ => None,
    };
    let mut edits: Folded<'_> = BTreeMap::new();
    for change in changes {
        if let Some(edit) = edit(change) {
            edits.entry(edit).or_default().push(change);
        }
    }
    edits.retain(|_, changes| changes.len() >= FOLD);
    let single = changes
        .iter()
        .filter(|change| change.action.kind() != ActionKind::Annotate)
        .filter(|change| edit(change).is_none_or(|edit| !edits.contains_key(&edit)))
        .collect();
    (edits, single)
}

pub(super) fn sign(kind: ActionKind) -> (&'static str, Role) {
    match kind {
        ActionKind::Create => ("+ create ", Role::Create),
        ActionKind::Replace => ("~ replace", Role::Replace),
        ActionKind::Annotate => ("* annotate", Role::Quiet),
        ActionKind::Delete => ("- delete ", Role::Delete),
    }
}

/// The cause of a whole change: one word where all its fields agree.
fn cause(change: &Change) -> String {
    if let Some(side) = change.attribution {
        return side.to_string();
    }
    let mut causes = change.fields().iter().map(|field| field.cause);
    match (&change.action, causes.next()) {
        (Action::Replace { adopts: true, .. }, _) => "adopts".to_owned(),
        (Action::Replace { .. }, Some(first)) if causes.all(|cause| cause == first) => first.to_string(),
        (Action::Replace { .. }, _) => "pending and drift".to_owned(),
        (Action::Create { .. }, _) if change.cause == Some(Cause::Drift) => edits::reason_since(change),
        (Action::Delete { .. }, _) if change.cause == Some(Cause::Unmarked) => "not managed".to_owned(),
        _ => String::new(),
    }
}

fn change(change: &Change, view: &TextView) -> String {
    let mut text = head(change, view);
    match &change.action {
        Action::Create { wanted } => {
            for row in rows::of_endpoint(wanted) {
                text.push_str(&self::row(&row, None, view));
            }
        }
        Action::Replace { fields, before, .. } => {
            for row in fields.iter().flat_map(rows::of_field) {
                text.push_str(&self::row(&row, before.modified.as_deref(), view));
            }
        }
        Action::Annotate { .. } => {}
        Action::Delete { before, referrers } => {
            let (target, port) = (Field::Target.value(&before.endpoint), before.endpoint.spec.port);
            let target = rows::words(&Field::Target, &target).unwrap_or_default();
            let port = if port == 0 { String::new() } else { format!(", port {port}") };
            text.push_str(&words("was", &format!("{}{port}", safe::line(&target))));
            for referrer in referrers {
                let referrer = referrer.to_string();
                text.push_str(&words("referred to by", &format!("{} (allowed)", safe::line(&referrer))));
            }
        }
    }
    text
}

fn head(change: &Change, view: &TextView) -> String {
    let (sign, role) = sign(change.action.kind());
    let key = change.key.to_string();
    let key = safe::line(&key);
    let place = match (&change.action, &change.removed_in) {
        (Action::Delete { .. }, Some(commit)) => {
            format!("file removed in {} ({})", short(&commit.id), safe::line(&commit.date))
        }
        (Action::Delete { .. }, None) => "no definition".to_owned(),
        // The fields of a replace carry their own places.
        (Action::Replace { fields, .. }, _) if fields.iter().all(|field| field.place.is_some()) => String::new(),
        _ => change.place.as_ref().map(at).unwrap_or_default(),
    };
    let gap = " ".repeat(KEY_WIDTH.saturating_sub(columns(&key)));
    let cause = cause(change);
    let width = columns(format!("  {sign} {key}{gap}  {cause}").trim_end());
    let painted = view.palette.paint(Role::Strong, &key);
    let drawn = format!("  {} {painted}{gap}  {cause}", view.palette.paint(role, sign));
    let shown = view.palette.paint(Role::Quiet, &place).to_string();
    let shown = if place.is_empty() { "" } else { &shown };
    format!("{}\n", at_the_end(drawn.trim_end(), width, shown, columns(&place), view.width))
}

fn short(commit: &str) -> String {
    safe::line(commit).chars().take(7).collect()
}

/// One row of a change.
fn row(row: &FieldRow, modified: Option<&str>, view: &TextView) -> String {
    let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "(none)".to_owned(), value_text);
    let mut lines = None;
    let text = match &row.text {
        RowText::Value(value) if rows::is_long(value) && value.contains('\n') => {
            lines = Some((String::new(), value.clone()));
            String::new()
        }
        RowText::Value(value) => value_text(value),
        RowText::Words(text) => safe::line(text).into_owned(),
        RowText::Moved { before, after } => format!("{} -> {}", shown(before), shown(after)),
        RowText::Lines { before, after } => {
            lines = Some((before.clone(), after.clone()));
            String::new()
        }
    };
    let aside = aside(row, modified);
    let place = row.place.as_ref().filter(|_| row.name != "target").map(at).unwrap_or_default();
    let mut left = format!("{}{:<FIELD_WIDTH$}{text}", " ".repeat(FIELD_INDENT), format!("{} ", safe::line(&row.name)));
    if !aside.is_empty() && row.name != "target" {
        left.push_str(&format!("  ({aside})"));
    }
    let left = left.trim_end();
    let quiet = view.palette.paint(Role::Quiet, &place).to_string();
    let right = if place.is_empty() { "" } else { &quiet };
    let mut drawn = format!("{}\n", at_the_end(left, columns(left), right, columns(&place), view.width));
    if let Some((before, after)) = lines {
        drawn.push_str(&difference::lines(&before, &after, &" ".repeat(FIELD_INDENT + 2), view));
    }
    drawn
}

/// Why a field differs, where that is not the plain case.
fn aside(row: &FieldRow, modified: Option<&str>) -> String {
    if let Some(side) = row.attribution {
        return side.to_string();
    }
    let last = modified.and_then(|time| time.get(..10)).map(|day| format!(", last on {}", safe::line(day)));
    let last = last.unwrap_or_default();
    match row.cause {
        Some(Cause::Drift) => format!("changed outside{last}"),
        Some(Cause::Both) => format!("changed here and outside{last}"),
        Some(Cause::Pending | Cause::Unmarked) | None => String::new(),
    }
}

/// A value that cannot be taken for something else.
fn value_text(value: &str) -> String {
    let odd = value.is_empty() || value.trim() != value || value == "(none)" || value.contains(" -> ");
    let value = safe::line(value);
    if odd { format!("\"{value}\"") } else { value.into_owned() }
}

fn words(name: &str, text: &str) -> String {
    format!("{}{:<FIELD_WIDTH$}{text}\n", " ".repeat(FIELD_INDENT), format!("{name} "))
}

/// Many endpoints with one edit.
fn folded(changes: &[&Change], view: &TextView) -> String {
    let (sign, role) = sign(ActionKind::Replace);
    let Some(first) = changes.first() else { return String::new() };
    let mut text = format!("  {} {}", view.palette.paint(role, sign), count(changes.len(), "endpoint"));
    let cause = cause(first);
    let gap = (KEY_WIDTH + 2).saturating_sub(count(changes.len(), "endpoint").len());
    text.push_str(format!("{}{cause}", " ".repeat(gap)).trim_end());
    text.push('\n');
    for row in first.fields().iter().flat_map(rows::of_field) {
        let row = FieldRow { place: None, ..row };
        text.push_str(&self::row(&row, None, view));
    }
    let names: Vec<String> = changes
        .iter()
        .map(|change| match change.fields().first().and_then(|field| field.place.as_ref()) {
            Some(place) => format!("{} ({})", change.key, at(place)),
            None => change.key.to_string(),
        })
        .collect();
    for line in wrapped(&names, view.width.saturating_sub(FIELD_INDENT)) {
        text.push_str(&format!("{}{}\n", " ".repeat(FIELD_INDENT), view.palette.paint(Role::Quiet, line)));
    }
    text
}

fn wrapped(names: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, name) in names.iter().enumerate() {
        let name = safe::line(name);
        let comma = if at + 1 < names.len() { "," } else { "" };
        let piece = format!("{name}{comma}");
        let line = lines.last_mut().filter(|line| line.is_empty() || columns(line) + columns(&piece) < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(&piece),
            Some(line) => line.push_str(&format!(" {piece}")),
            None => lines.push(piece),
        }
    }
    lines
}

/// Ownership annotations need no review: one line.
fn marks(plan: &Plan, view: &TextView) -> String {
    let marks: Vec<String> = plan
        .changes
        .iter()
        .filter(|change| change.action.kind() == ActionKind::Annotate)
        .map(|change| change.key.to_string())
        .collect();
    if marks.is_empty() {
        return String::new();
    }
    let (sign, role) = sign(ActionKind::Annotate);
    let text = format!(
        "{} in sync, only ownership annotations are written: {}",
        count(marks.len(), "endpoint"),
        some_of(&marks, NAMES)
    );
    format!("\n  {} {text}\n", view.palette.paint(role, sign))
}

fn blocked(held: &BlockedChange, view: &TextView) -> String {
    let key = held.key.to_string();
    let what = held.change.as_ref().map_or("change", |change| change.action.kind().as_str());
    let place = held.place.as_ref().map(at).unwrap_or_default();
    let left = format!("  ! blocked {}", safe::line(&key));
    let painted = left.replacen("! blocked", &view.palette.paint(Role::Careful, "! blocked").to_string(), 1);
    let quiet = if place.is_empty() { String::new() } else { view.palette.paint(Role::Quiet, &place).to_string() };
    let mut text = format!("{}\n", at_the_end(&painted, columns(&left), &quiet, columns(&place), view.width));
    if let Some(change) = &held.change {
        for row in change.fields().iter().flat_map(rows::of_field) {
            text.push_str(&self::row(&row, None, view));
        }
    }
    let (why, allow) = refusal::block_reason(held);
    text.push_str(&words(&format!("no {what}"), &why));
    if let Some(allow) = allow {
        text.push_str(&words("to allow it", &allow));
    }
    text
}

/// What a plan says first: that an apply of it would be refused and why, and who allowed what.
#[must_use]
pub fn consents(plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    let refused = plan.refused();
    if !refused.is_empty() {
        let word = view.palette.paint(Role::Wrong, "REFUSED");
        text.push_str(&format!("{word}  an apply of this plan is refused unless it is allowed by name\n"));
        for guard in refused {
            let guard_text = guard.to_string();
            text.push_str(&format!("  --allow {}: {}\n", guard.name, safe::line(&guard_text)));
        }
    } else if plan.is_refused() {
        let word = view.palette.paint(Role::Wrong, "REFUSED");
        text.push_str(&format!("{word}  an apply of this plan does nothing: everything in it is blocked\n"));
    }
    for allowed in &plan.allowed {
        let word = view.palette.paint(Role::Careful, "ALLOWED");
        let by = allowed.by.as_ref().map(|by| format!(" by {}", safe::line(by))).unwrap_or_default();
        text.push_str(&format!("{word}  {}{by}\n", safe::line(&allowed.name)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

pub(super) fn guards(plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    for guard in &plan.guards {
        let guard_text = guard.to_string();
        text.push_str(&format!("{}  {}\n", view.palette.paint(Role::Careful, "guard"), safe::line(&guard_text)));
        match plan.allowed(guard) {
            None => text.push_str(&format!("       an apply is refused; to allow it: --allow {}\n", guard.name)),
            Some(allowed) => {
                let by = allowed.by.as_ref().map(|by| format!(" by {}", safe::line(by))).unwrap_or_default();
                text.push_str(&format!("       allowed{by}\n"));
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn counts(plan: &Plan, digest: &Digest, view: &TextView) -> String {
    let mut parts = summary(plan, view.detail, |number| number.to_string());
    let marks = plan.count(ActionKind::Annotate);
    if marks > 0 {
        parts.push(format!("{marks} to {}", ActionKind::Annotate));
    }
    if !plan.blocked.is_empty() {
        parts.push(format!("{} blocked", plan.blocked.len()));
    }
    parts.push(format!("{} in sync", plan.in_sync()));
    format!("{}.   digest {}", parts.join(", "), digest.short())
}

fn next(plan: &Plan, digest: &Digest, saved: Option<&Path>, view: &TextView) -> String {
    if plan.changes.is_empty() {
        return String::new();
    }
    // What would revert merged work is not proposed: the next step is above.
    let refused = plan.refused();
    if refused.iter().any(|guard| guard.name == GuardName::BehindBase) {
        return String::new();
    }
    let file = match saved {
        Some(path) => format!("{}{}", safe::shell(&path.to_string_lossy()), view.flags),
        None if view.directory.is_empty() => ".".to_owned(),
        None => view.directory.clone(),
    };
    let base = plan.source.base.as_ref().filter(|_| saved.is_none());
    let base = base.map(|base| format!(" --base {}", safe::shell(base))).unwrap_or_default();
    let mut command = format!("trueup apply {}{base} --digest {}", safe::line(&file), digest.short());
    // A saved plan holds the consents that were given, and its digest covers them.
    let given = plan.allowed.iter().filter(|_| saved.is_none()).map(|allowed| allowed.name.as_str());
    let names: BTreeSet<&str> = refused.iter().map(|guard| guard.name.as_str()).chain(given).collect();
    for name in names {
        command.push_str(&format!(" --allow {}", safe::line(name)));
    }
    let label = view.palette.paint(Role::Quiet, "Apply exactly this:");
    format!("{label}  {command}\n")
}

//! One change of a plan as text: its values with their places, many endpoints with one edit, and a change that
//! is blocked.

use super::{TextView, at, at_the_end, columns};
use crate::model::Field;
use crate::plan::{Action, ActionKind, BlockedChange, Cause, Change, FieldChange};
use crate::report::counted::count;
use crate::report::edits::{self, Sign, ValueEdit};
use crate::report::reason::{block_reason, remarkable_reason, removal, short_commit};
use crate::report::{Role, safe, values as texts};

/// Where the names of fields begin, and how wide they are.
const FIELD_INDENT: usize = 8;
const FIELD_WIDTH: usize = 25;
/// How wide the names of endpoints are before their causes.
const KEY_WIDTH: usize = 46;

/// The sign and the word of an action.
pub(super) fn sign(kind: ActionKind) -> (&'static str, Role) {
    match kind {
        ActionKind::Create => ("+ create ", Role::Create),
        ActionKind::Replace => ("~ replace", Role::Replace),
        ActionKind::Annotate => ("* annotate", Role::Quiet),
        ActionKind::Delete => ("- delete ", Role::Delete),
    }
}

/// One change with its values.
pub(super) fn change(change: &Change, view: &TextView) -> String {
    format!("{}{}", head(change, view), values(change, view))
}

/// The values of a change, before and after.
pub(super) fn values(change: &Change, view: &TextView) -> String {
    let mut text = String::new();
    match &change.action {
        Action::Create { .. } => {
            for edit in edits::of(change) {
                text.push_str(&row(&edit, None, view));
            }
        }
        Action::Replace { fields, before, .. } => {
            text.push_str(&rows(fields, before.modified.as_deref(), view));
        }
        Action::Annotate { .. } => {}
        Action::Delete { before, referrers } => {
            let (target, port) = (Field::Target.value(&before.endpoint), before.endpoint.spec.port);
            let target = texts::words(&Field::Target, &target).unwrap_or_default();
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
        _ if let Some(place) = removal(change) => format!("removed in {}", at(place)),
        (Action::Delete { .. }, Some(commit)) => {
            format!("file removed in {} ({})", short_commit(&commit.id), safe::line(&commit.date))
        }
        (Action::Delete { .. }, None) => "no definition".to_owned(),
        // The fields of a replace carry their own places.
        (Action::Replace { fields, .. }, _) if fields.iter().all(|field| field.place.is_some()) => String::new(),
        _ => change.place.as_ref().map(at).unwrap_or_default(),
    };
    let gap = " ".repeat(KEY_WIDTH.saturating_sub(columns(&key)));
    let cause = remarkable_reason(change);
    let width = columns(format!("  {sign} {key}{gap}  {cause}").trim_end());
    let painted = view.palette.paint(Role::Strong, &key);
    let drawn = format!("  {} {painted}{gap}  {cause}", view.palette.paint(role, sign));
    let shown = view.palette.paint(Role::Quiet, &place).to_string();
    let shown = if place.is_empty() { "" } else { &shown };
    format!("{}\n", at_the_end(drawn.trim_end(), width, shown, columns(&place), view.width))
}

/// One value of a change.
fn row(edit: &ValueEdit, modified: Option<&str>, view: &TextView) -> String {
    let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "(none)".to_owned(), value_text);
    // The values of a whole object stay on their line: there is nothing to compare them with.
    let by_lines = if edit.cause.is_some() { edit.is_long() } else { edit.has_lines() };
    let text = match &edit.after {
        _ if by_lines => String::new(),
        Some(value) if edit.cause.is_none() => value_text(value),
        after => format!("{} -> {}", shown(&edit.before), shown(after)),
    };
    let aside = aside(edit, modified);
    let place = edit.place.as_ref().map(at).unwrap_or_default();
    let mut left =
        format!("{}{:<FIELD_WIDTH$}{text}", " ".repeat(FIELD_INDENT), format!("{} ", safe::line(&edit.name)));
    if !aside.is_empty() {
        left.push_str(&format!("  ({aside})"));
    }
    let left = left.trim_end();
    let quiet = view.palette.paint(Role::Quiet, &place).to_string();
    let right = if place.is_empty() { "" } else { &quiet };
    let mut drawn = format!("{}\n", at_the_end(left, columns(left), right, columns(&place), view.width));
    for (sign, line) in edit.lines().into_iter().filter(|_| by_lines) {
        let role = match sign {
            Sign::Removed => Role::Delete,
            Sign::Added => Role::Create,
            Sign::Same | Sign::Gap => Role::Quiet,
        };
        let line = if sign == Sign::Gap { view.charset.gap().to_owned() } else { line };
        let line = format!("{} {}", sign.as_char(), safe::line(&line));
        drawn.push_str(&format!("{}{}\n", " ".repeat(FIELD_INDENT + 2), view.palette.paint(role, line.trim_end())));
    }
    drawn
}

/// The values that a replace changes. `modified` is when somebody last changed the live object.
fn rows(fields: &[FieldChange], modified: Option<&str>, view: &TextView) -> String {
    let mut text = String::new();
    for field in fields {
        for edit in edits::of_field(field) {
            text.push_str(&row(&edit, modified, view));
        }
        if field.field == Field::Target {
            text.push_str(&words("target", &texts::target_words(&field.before, &field.after)));
        }
    }
    text
}

/// Why a field differs, where that is not the plain case.
fn aside(edit: &ValueEdit, modified: Option<&str>) -> String {
    if let Some(side) = edit.attribution {
        return side.to_string();
    }
    let last = modified.and_then(|time| time.get(..10)).map(|day| format!(", last on {}", safe::line(day)));
    let last = last.unwrap_or_default();
    match edit.cause {
        Some(Cause::Drift) => format!("changed outside{last}"),
        Some(Cause::Both) => format!("changed here and outside{last}"),
        Some(Cause::Pending | Cause::Unannotated) | None => String::new(),
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
pub(super) fn folded(changes: &[&Change], view: &TextView) -> String {
    let (sign, role) = sign(ActionKind::Replace);
    let Some(first) = changes.first() else { return String::new() };
    let mut text = format!("  {} {}", view.palette.paint(role, sign), count(changes.len(), "endpoint"));
    let cause = remarkable_reason(first);
    let gap = (KEY_WIDTH + 2).saturating_sub(count(changes.len(), "endpoint").len());
    text.push_str(format!("{}{cause}", " ".repeat(gap)).trim_end());
    text.push('\n');
    let fields: Vec<FieldChange> =
        first.fields().iter().map(|field| FieldChange { place: None, ..field.clone() }).collect();
    text.push_str(&rows(&fields, None, view));
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

/// One change that is blocked, with the reason and what allows it.
pub(super) fn blocked(held: &BlockedChange, view: &TextView) -> String {
    let key = held.key.to_string();
    let what = held.change.as_ref().map_or("change", |change| change.action.kind().as_str());
    let place = held.place.as_ref().map(at).unwrap_or_default();
    let left = format!("  ! blocked {}", safe::line(&key));
    let painted = left.replacen("! blocked", &view.palette.paint(Role::Careful, "! blocked").to_string(), 1);
    let quiet = if place.is_empty() { String::new() } else { view.palette.paint(Role::Quiet, &place).to_string() };
    let mut text = format!("{}\n", at_the_end(&painted, columns(&left), &quiet, columns(&place), view.width));
    if let Some(change) = &held.change {
        text.push_str(&rows(change.fields(), None, view));
    }
    let (why, allow) = block_reason(held);
    text.push_str(&words(&format!("no {what}"), &why));
    if let Some(allow) = allow {
        text.push_str(&words("to allow it", &allow));
    }
    text
}

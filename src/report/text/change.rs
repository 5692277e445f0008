//! One change of a plan as text: its values with their places, many endpoints with one edit, and a change that
//! is blocked.

use super::columns;
use crate::plan::{Action, ActionKind, BlockedChange, Cause, Change};
use crate::report::facts::edits::{self, Sign, ValueEdit};
use crate::report::facts::plan::sign;
use crate::report::facts::reason::{block_reason, of_edit, remarkable_reason, removed};
use crate::report::prelude::*;

/// Where the names of fields begin, and how wide they are.
const FIELD_INDENT: usize = 8;
const FIELD_WIDTH: usize = 25;
/// The widest column that they may need, so that a value stays near its name.
const WIDEST_FIELD: usize = 56;
/// The width of the sign and the name of an endpoint before the text about it.
const NAME_WIDTH: usize = 56;

/// One change with its values.
pub(super) fn change(change: &Change, view: &TextView) -> String {
    format!("{}{}", head(change, view), values(change, view))
}

/// The values of a change, before and after.
pub(super) fn values(change: &Change, view: &TextView) -> String {
    let modified = change.action.before().and_then(|before| before.modified.as_deref());
    let mut text = rows(&edits::of(change), (modified, change.is_of_several()), view);
    if let Action::Delete { referrers, .. } = &change.action {
        for referrer in referrers {
            text.push_str(&labelled("referred to by", &line![code(referrer.to_string()), " (allowed)"], view));
        }
    }
    text
}

/// The line of a change of a run up to its result.
pub(super) fn step(kind: ActionKind, name: &Key, is_done: bool, view: &TextView) -> String {
    let (sign, role) = sign(kind);
    let role = if is_done { role } else { Role::Wrong };
    begin((sign, role), &view.plain(&line![key(name)]), view)
}

/// A sign and a rendered name, up to the text about them.
fn begin((sign, role): (&str, Role), name: &str, view: &TextView) -> String {
    let gap = NAME_WIDTH.saturating_sub(sign.len() + 1 + columns(name));
    format!("  {} {name}{:gap$}  ", view.palette.paint(role, sign), "")
}

fn head(change: &Change, view: &TextView) -> String {
    let place = match (&change.action, removed(change)) {
        (_, Some(removed)) => removed,
        (Action::Delete { .. }, None) if change.cause.is_some() => line!["no definition"],
        // The fields of a replace carry their own places.
        (Action::Replace { fields, .. } | Action::Recreate { fields, .. }, _)
            if fields.iter().all(|field| field.place.is_some()) =>
        {
            Line::default()
        }
        _ => line![change.place.as_ref().map(at)],
    };
    let name = view.line(&line![styled(Role::Strong, key(&change.key))]);
    let left = begin(sign(change.action.kind()), &name, view) + &view.plain(&remarkable_reason(change));
    placed(&left, &place, view)
}

/// A line with a place at its end, or two columns after it if it does not fit.
fn placed(left: &str, place: &Line<'_>, view: &TextView) -> String {
    let (left, place) = (left.trim_end(), view.plain(place));
    if place.is_empty() {
        return format!("{left}\n");
    }
    let gap = view.width.saturating_sub(columns(left) + columns(&place)).max(2);
    format!("{left}{:gap$}{}\n", "", view.palette.paint(Role::Quiet, &place))
}

/// One value of a change.
fn row(edit: &ValueEdit, name_width: usize, aside: Line<'_>, view: &TextView) -> String {
    // The values of a whole object stay on their line: there is nothing to compare them with.
    let by_lines = if edit.cause.is_some() { edit.is_long() } else { edit.has_lines() };
    let text = match (&edit.before, &edit.after) {
        _ if by_lines => Line::default(),
        (None, Some(_)) if edit.cause.is_none() => line![code(edit.wanted())],
        (Some(_), None) if edit.cause.is_none() => line![code(edit.live())],
        _ => line![styled(Role::Delete, code(edit.live())), " -> ", styled(Role::Create, code(edit.wanted()))],
    };
    let text = if aside.is_empty() { text } else { line![text, "  (", aside, ")"] };
    let name = view.plain(&line![code(&edit.name)]);
    let mut drawn = placed(&field(&name, name_width, &view.line(&text)), &line![edit.place.as_ref().map(at)], view);
    for (sign, text) in edit.lines().into_iter().filter(|_| by_lines) {
        let role = match sign {
            Sign::Removed => Role::Delete,
            Sign::Added => Role::Create,
            Sign::Same | Sign::Gap => Role::Quiet,
        };
        let text = view.plain(&if sign == Sign::Gap { line!["…"] } else { line![code(text)] });
        let text = format!("{} {text}", sign.as_str());
        drawn.push_str(&format!("{}{}\n", " ".repeat(FIELD_INDENT + 2), view.palette.paint(role, text.trim_end())));
    }
    drawn
}

/// The name of a field and the text about it, both rendered.
fn field(name: &str, width: usize, text: &str) -> String {
    format!("{}{:<width$}{text}", " ".repeat(FIELD_INDENT), format!("{name} "))
}

/// The column of the names of these values: objects of most kinds have longer ones than endpoints.
fn field_width(edits: &[ValueEdit]) -> usize {
    let widest = edits.iter().map(|edit| edit.name.len() + 1).filter(|width| *width <= WIDEST_FIELD).max();
    widest.unwrap_or_default().max(FIELD_WIDTH)
}

/// The values of a change. `modified` is when the live object was last changed. With `has_side`, each value says whose
/// change it is; otherwise a line above says it for all.
fn rows(edits: &[ValueEdit], (modified, has_side): (Option<&str>, bool), view: &TextView) -> String {
    let width = field_width(edits);
    let asides: Vec<Line<'_>> = edits.iter().map(|edit| aside(edit, modified, has_side)).collect();
    // A reason that all of them share is beside the first.
    let is_shared = asides.iter().all(|aside| *aside == asides[0]);
    let row = |(at, (edit, aside)): (usize, (&ValueEdit, Line<'_>))| {
        row(edit, width, if is_shared && at > 0 { Line::default() } else { aside }, view)
    };
    edits.iter().zip(asides).enumerate().map(row).collect()
}

/// Why a field differs, unless it is the plain case.
fn aside<'a>(edit: &ValueEdit, modified: Option<&'a str>, has_side: bool) -> Line<'a> {
    let last = || modified.and_then(|time| time.get(..10)).map(|day| line![", last on ", code(day)]);
    match (edit.attribution, edit.cause) {
        (Some(_), Some(Cause::Both)) => of_edit(edit).and(last()),
        (Some(_), _) if has_side => of_edit(edit),
        (Some(_), _) => Line::default(),
        (None, Some(Cause::Drift)) => line!["changed outside", last()],
        (None, Some(Cause::Both)) => line!["changed here and outside", last()],
        (None, Some(Cause::Pending | Cause::Unannotated) | None) => Line::default(),
    }
}

fn labelled(name: &str, text: &Line<'_>, view: &TextView) -> String {
    field(name, FIELD_WIDTH, &view.plain(text)) + "\n"
}

/// Many endpoints with one edit.
pub(super) fn folded(changes: &[&Change], view: &TextView) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let number = view.plain(&Line::count(changes.len(), Key::noun(changes.iter().map(|change| &change.key))));
    let left = begin(sign(ActionKind::Replace), &number, view) + &view.plain(&remarkable_reason(first));
    let mut text = placed(&left, &Line::default(), view);
    // The names have places of their own.
    let edits: Vec<ValueEdit> = edits::of(first).into_iter().map(|edit| ValueEdit { place: None, ..edit }).collect();
    text.push_str(&rows(&edits, (None, first.is_of_several()), view));
    let name = |change: &&Change| {
        let place = change.fields().first().and_then(|field| field.place.as_ref());
        view.plain(&line![key(&change.key), place.map(|place| line![" (", at(place), ")"])])
    };
    let names: Vec<String> = changes.iter().map(name).collect();
    for line in wrapped(&names, view.width.saturating_sub(FIELD_INDENT)) {
        text.push_str(&format!("{}{}\n", " ".repeat(FIELD_INDENT), view.palette.paint(Role::Quiet, line)));
    }
    text
}

/// The names in lines, with a comma after each but the last.
pub(super) fn wrapped(names: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, name) in names.iter().enumerate() {
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
    let what = held.change.as_ref().map_or("change", |change| change.action.kind().as_str());
    // A change with fields says it beside each value.
    let whole = held.change.as_ref().filter(|change| change.fields().is_empty() && change.attribution.is_some());
    let whose = whole.map(|change| line!["   ", remarkable_reason(change)]);
    let left = view.line(&line!["  ", styled(Role::Careful, "! blocked"), " ", key(&held.key), whose]);
    let mut text = placed(&left, &line![held.place.as_ref().map(at)], view);
    if let Some(change) = &held.change {
        let edits = change.fields().iter().flat_map(|field| edits::of_field(change.key.kind, field));
        // Nothing above them says whose change they are.
        text.push_str(&rows(&edits.collect::<Vec<_>>(), (None, true), view));
    }
    let (why, allow) = block_reason(held);
    text.push_str(&labelled(&format!("no {what}"), &why, view));
    if let Some(allow) = allow {
        text.push_str(&labelled("to allow it", &line![code(allow)], view));
    }
    text
}

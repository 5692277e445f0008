//! The verdict of a check, for an issue that a schedule opens or updates.

use super::super::edits::{self, Edit};
use super::{Options, count, digits, inert, marker};
use crate::plan::{Action, Cause, Change, Plan, Verdict, Verdicts};

/// Characters of a value that a table shows.
const LONG: usize = 80;

/// The verdicts as Markdown: what could not be read always, then a table of what was changed outside
/// while `options.budget` bytes last.
#[must_use]
pub fn drift(plan: &Plan, verdicts: &Verdicts, options: &Options) -> String {
    let mut text = marker("drift", plan.stack.as_deref());
    text.push_str(&format!("### trueup drift: {}\n\n", headline(verdicts)));
    text.push_str(&format!("Service {}", inert::code(&plan.service.base_url)));
    if let Some(stack) = &plan.stack {
        text.push_str(&format!(", stack {}", inert::code(stack)));
    }
    text.push_str(&format!(", {} in sync.\n\n", digits(verdicts.in_sync)));
    for (namespace, reason) in &verdicts.unknown {
        text.push_str(&format!(
            "- **Incomplete:** the list of {} cannot be trusted: {}; nothing is concluded about it\n",
            inert::code(namespace.as_str()),
            inert::code(reason)
        ));
    }
    if !verdicts.unknown.is_empty() {
        text.push('\n');
    }
    let rows = rows(plan, verdicts);
    let total = rows.len();
    let foot = |shown: usize| {
        if shown < total {
            format!("{} of {} shown. Everything: {}\n", digits(shown), count(total, "row"), inert::code(&options.rest))
        } else {
            "Put back: `trueup apply`. Keep theirs: `trueup pull --drift`.\n".to_owned()
        }
    };
    let head = "| endpoint | field | wanted | live | why | since |\n|---|---|---|---|---|---|\n";
    let room = options.budget.saturating_sub(text.len() + foot(0).len().max(foot(total).len()) + head.len() + 1);
    let mut table = String::new();
    let mut shown = 0;
    for row in rows {
        if table.len() + row.len() > room {
            break;
        }
        table.push_str(&row);
        shown += 1;
    }
    if shown > 0 {
        text.push_str(&format!("{head}{table}\n"));
    }
    if total > 0 {
        text.push_str(&foot(shown));
    }
    text
}

fn headline(verdicts: &Verdicts) -> String {
    let number = |which: &[Verdict]| verdicts.objects.values().filter(|object| which.contains(&object.verdict)).count();
    let mut parts = Vec::new();
    if !verdicts.unknown.is_empty() {
        parts.push(format!("{} could not be read", count(verdicts.unknown.len(), "namespace")));
    }
    let drifted = number(&[Verdict::Drift, Verdict::Both]);
    if drifted > 0 {
        parts.push(format!("{} changed outside", count(drifted, "endpoint")));
    }
    let pending = number(&[Verdict::Pending, Verdict::Both]);
    if pending > 0 {
        parts.push(format!("{} not applied yet", count(pending, "endpoint")));
    }
    if parts.is_empty() { "in sync".to_owned() } else { parts.join(", ") }
}

/// A row a value; what was changed outside first.
fn rows(plan: &Plan, verdicts: &Verdicts) -> Vec<String> {
    let changes: Vec<&Change> =
        plan.changes.iter().chain(plan.held.iter().filter_map(|held| held.change.as_ref())).collect();
    let mut rows: Vec<(bool, String)> = Vec::new();
    for (key, object) in &verdicts.objects {
        let name = inert::cell(&key.to_string());
        let outside = object.verdict != Verdict::Pending;
        let plain = |why: &str| (outside, format!("| {name} | | | | {why} | |\n"));
        let Some(change) = changes.iter().find(|change| change.key == *key) else {
            rows.push(plain(if outside { "not managed" } else { "held back" }));
            continue;
        };
        match &change.action {
            Action::Replace { before, .. } => {
                let since = before.modified.as_deref().map(inert::cell).unwrap_or_default();
                rows.extend(edits::of(change).iter().map(|edit| {
                    let outside = edit.cause != Some(Cause::Pending);
                    (outside, row(&name, edit, if outside { &since } else { "" }))
                }));
            }
            Action::Create { .. } | Action::Delete { .. } | Action::Mark { .. } => {
                rows.push(plain(edits::reason(change)));
            }
        }
    }
    rows.sort_by_key(|(outside, _)| !outside);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(name: &str, edit: &Edit, since: &str) -> String {
    let value = |value: &Option<String>| match value {
        None => "(none)".to_owned(),
        Some(text) if text.chars().count() > LONG => {
            let begin: String = text.chars().take(LONG).collect();
            format!("{}…", inert::cell(&begin))
        }
        Some(text) => inert::cell(text),
    };
    let why = edit.cause.map_or("", Cause::as_str);
    let field = inert::cell(&edit.name);
    format!("| {name} | {field} | {} | {} | {why} | {since} |\n", value(&edit.after), value(&edit.before))
}

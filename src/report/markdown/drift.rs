//! The verdict of a check, for an issue that a schedule opens or updates.

use super::super::edits::{self, ValueEdit};
use super::super::reason::reason_since;
use super::super::{plan_notes, time};
use super::{MarkdownOptions, count, digits, escape, marker, plan};
use crate::drift::{AcknowledgementStatus, Check, Verdict, Verdicts};
use crate::plan::{Action, Cause, Note};

/// Characters of a value that a table shows.
const LONG: usize = 80;

/// The verdicts as Markdown: what could not be read always, then a table of what was changed outside
/// and what is accepted, while `options.budget` bytes last.
#[must_use]
pub fn drift(check: &Check<'_>, options: &MarkdownOptions) -> String {
    let Check { plan, verdicts, .. } = check;
    let mut text = marker("drift", plan.stack.as_deref());
    text.push_str(&format!("### trueup drift: {}\n\n", headline(verdicts)));
    text.push_str(&format!("Service {}", escape::code(&plan.service.base_url)));
    if let Some(stack) = &plan.stack {
        text.push_str(&format!(", stack {}", escape::code(stack)));
    }
    if let Some(environment) = &plan.source.environment {
        text.push_str(&format!(", environment {}", escape::code(environment)));
    }
    if let Some(taken) = &plan.source.snapshot {
        text.push_str(&format!(", against the snapshot of {}", escape::code(&time::minute(taken))));
    }
    text.push_str(&format!(", {} in sync", digits(verdicts.in_sync)));
    text.push_str(&super::narrowed(plan));
    text.push_str(".\n\n");
    let unknown = verdicts.unknown.iter().map(|(namespace, reason)| (namespace, reason.as_str()));
    text.push_str(&plan::incomplete(unknown));
    let undecided = plan_notes::lines_of(plan, Note::is_undecided);
    for line in &undecided {
        text.push_str(&format!("- **Not decided:** {}\n", escape::code(line)));
    }
    if !verdicts.unknown.is_empty() || !undecided.is_empty() {
        text.push('\n');
    }
    let rows = rows(check);
    let total = rows.len();
    let foot = |shown: usize| {
        if shown < total {
            format!("{} of {} shown. Everything: {}\n", digits(shown), count(total, "row"), escape::code(&options.rest))
        } else {
            "Restore with: `trueup apply`. Accept the live values with: `trueup pull --drift`.\n".to_owned()
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
    let accepted = accepted(check);
    let end = if total > 0 { foot(shown) } else { String::new() };
    if text.len() + accepted.len() + end.len() <= options.budget {
        text.push_str(&accepted);
    }
    text.push_str(&end);
    text
}

pub(super) fn headline(verdicts: &Verdicts) -> String {
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
fn rows(check: &Check<'_>) -> Vec<String> {
    let Check { plan, verdicts, .. } = check;
    let changes = plan.by_key();
    let mut rows: Vec<(bool, String)> = Vec::new();
    for (key, object) in &verdicts.objects {
        let name = escape::cell(&key.to_string());
        let outside = object.verdict != Verdict::Pending;
        let plain = |why: &str| (outside, format!("| {name} | | | | {why} | |\n"));
        let Some(change) = changes.get(key) else {
            rows.push(plain(if outside { "not managed" } else { "blocked" }));
            continue;
        };
        match &change.action {
            Action::Replace { fields, before, .. } => {
                let modified = before.modified.as_deref().map(|time| time::with_age(time, Some(check.now)));
                let modified = modified.as_deref().map(escape::cell).unwrap_or_default();
                for field in fields {
                    let outside = field.cause != Cause::Pending;
                    if outside && !object.drifted.contains(&field.field) && field.cause != Cause::Both {
                        continue;
                    }
                    let since = match check.drift_state.and_then(|state| state.seen(key, Some(&field.field))) {
                        Some(seen) if outside => {
                            let first = time::with_age(&seen.first_seen.to_string(), Some(check.now));
                            format!("{first}, seen in {}", count(usize::try_from(seen.checks).unwrap_or(0), "check"))
                        }
                        _ if outside => modified.clone(),
                        _ => String::new(),
                    };
                    rows.extend(edits::of_field(field).iter().map(|edit| (outside, row(&name, edit, &since))));
                }
            }
            Action::Create { .. } | Action::Delete { .. } | Action::Annotate { .. } => {
                rows.push(plain(&reason_since(change)));
            }
        }
    }
    rows.sort_by_key(|(outside, _)| !outside);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(name: &str, edit: &ValueEdit, since: &str) -> String {
    let value = |value: &Option<String>| match value {
        None => "(none)".to_owned(),
        Some(text) if text.chars().count() > LONG => {
            let begin: String = text.chars().take(LONG).collect();
            format!("{}…", escape::cell(&begin))
        }
        Some(text) => escape::cell(text),
    };
    let why = edit.cause.map_or("", Cause::as_str);
    let field = escape::cell(&edit.name);
    format!("| {name} | {field} | {} | {} | {why} | {since} |\n", value(&edit.after), value(&edit.before))
}

/// What is accepted, and what of it has expired or fits no more.
fn accepted(check: &Check<'_>) -> String {
    if check.acknowledged.is_empty() {
        return String::new();
    }
    let mut text = String::from("#### Acknowledged\n\n");
    for entry in &check.acknowledged {
        let one = &entry.acknowledgement;
        let field =
            one.field.as_ref().map(|field| format!(" {}", escape::code(&field.to_string()))).unwrap_or_default();
        let standing = match entry.status {
            AcknowledgementStatus::Silences => format!("accepted until {}", one.expires),
            AcknowledgementStatus::Expired => format!("**expired on {}**", one.expires),
            AcknowledgementStatus::Moved => "**drifted on to another value**".to_owned(),
            AcknowledgementStatus::Unneeded => "no longer needed".to_owned(),
        };
        let (object, reason) = (escape::code(&one.object.to_string()), escape::code(&one.reason));
        text.push_str(&format!("- {object}{field}: {standing}, {reason}\n"));
    }
    text.push('\n');
    text
}

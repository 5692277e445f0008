use super::{View, columns, count, notes, refusal, seconds, some_of};
use crate::plan::{Action, Cause, Change, Plan, Verdict, Verdicts};
use crate::report::rows::{self, RowText};
use crate::report::{Role, safe};

/// The verdict over a tenant: what was changed outside, what is pending, and what to do about it.
#[must_use]
pub fn drift(plan: &Plan, verdicts: &Verdicts, view: &View) -> String {
    let mut text = headline(plan, verdicts, view);
    let changes = plan.changes.iter().chain(plan.held.iter().filter_map(|held| held.change.as_ref()));
    let mut lines: Vec<[String; 4]> = Vec::new();
    for change in changes {
        if verdicts.objects.get(&change.key).is_some_and(|object| object.verdict != Verdict::Pending) {
            lines.extend(drifted(change));
        }
    }
    for (key, object) in &verdicts.objects {
        let told = plan.changes.iter().map(|change| &change.key).chain(plan.held.iter().map(|held| &held.key));
        if object.verdict == Verdict::Drift && !told.into_iter().any(|told| told == key) {
            lines.push([key.to_string(), "not managed".to_owned(), String::new(), String::new()]);
        }
    }
    if !lines.is_empty() {
        text.push_str(&format!("\n{}", table(&lines)));
    }
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
    let notes = notes::notes(plan, view);
    if !notes.is_empty() {
        text.push_str(&format!("\n{notes}"));
    }
    text.push_str(&next(verdicts, view));
    text
}

fn headline(plan: &Plan, verdicts: &Verdicts, view: &View) -> String {
    let defined: usize = plan.scope.values().map(|scope| scope.definitions).sum();
    let number = |which: &[Verdict]| verdicts.objects.values().filter(|object| which.contains(&object.verdict)).count();
    let drifted = number(&[Verdict::Drift, Verdict::Both]);
    let pending = number(&[Verdict::Pending, Verdict::Both]);
    let of = count(defined, "endpoint");
    let were = if drifted == 1 { "was" } else { "were" };
    let wait = if pending == 1 { "waits" } else { "wait" };
    let word = |role, word| view.palette.paint(role, word);
    match verdicts.whole() {
        Verdict::InSync => {
            let elapsed = view.elapsed.map(|time| format!(", {}", seconds(time))).unwrap_or_default();
            let namespaces = count(plan.scope.len(), "namespace");
            format!("{}: {of} in {namespaces}{elapsed}\n", word(Role::Right, "In sync"))
        }
        Verdict::Pending => format!("{}  {pending} of {of} {wait} for an apply\n", word(Role::Replace, "PENDING")),
        Verdict::Drift => format!("{}  {drifted} of {of} {were} changed outside\n", word(Role::Wrong, "DRIFT")),
        Verdict::Both => format!(
            "{}  {drifted} of {of} {were} changed outside, {pending} {wait} for an apply\n",
            word(Role::Wrong, "DRIFT AND PENDING")
        ),
        Verdict::Unknown => format!("{}  no verdict over everything\n", word(Role::Wrong, "UNKNOWN")),
    }
}

/// Key, field, movement from wanted to live, and since when.
fn drifted(change: &Change) -> Vec<[String; 4]> {
    let key = change.key.to_string();
    let since = |time: Option<&String>| {
        time.and_then(|time| Some(format!("since {} {}", time.get(..10)?, time.get(11..16)?))).unwrap_or_default()
    };
    match &change.action {
        Action::Create { .. } => {
            vec![[key, "deleted".to_owned(), "it was applied and is gone".to_owned(), String::new()]]
        }
        Action::Delete { before, .. } => {
            vec![[key, "not managed".to_owned(), String::new(), since(before.modified.as_ref())]]
        }
        Action::Mark { .. } => Vec::new(),
        Action::Replace { fields, before, .. } => fields
            .iter()
            .filter(|field| field.cause != Cause::Pending)
            .flat_map(rows::of_field)
            .filter(|row| row.name != "target")
            .map(|row| {
                let none = || "(none)".to_owned();
                let text = match row.text {
                    RowText::Value(text) | RowText::Words(text) => text,
                    RowText::Moved { before, after } => {
                        format!("{} -> {}", after.unwrap_or_else(none), before.unwrap_or_else(none))
                    }
                    RowText::Lines { .. } => "changed".to_owned(),
                };
                [key.clone(), row.name, text, since(before.modified.as_ref())]
            })
            .collect(),
    }
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

fn next(verdicts: &Verdicts, view: &View) -> String {
    let directory = if view.directory.is_empty() { "." } else { &view.directory };
    let directory = safe::line(directory);
    match verdicts.whole() {
        Verdict::InSync | Verdict::Unknown => String::new(),
        Verdict::Pending => format!("\napply:  trueup apply {directory}\n"),
        Verdict::Drift | Verdict::Both => {
            format!("\nput back:  trueup apply {directory}      keep theirs:  trueup pull --drift {directory}\n")
        }
    }
}

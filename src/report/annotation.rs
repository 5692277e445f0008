//! Remarks at places in the source: what the formats that draw beside the source have in common.
//! A plan or a check goes in, remarks come out, those that matter most first. The texts are untrusted:
//! each format neutralises them in its own way.

use super::{edits, text};
use crate::load::{Diagnostic, Severity};
use crate::model::Place;
use crate::plan::{Action, Cause, Change, Check, Plan, Side, Standing, Verdict};

/// One remark at one place, for programs that draw remarks beside the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// How much it matters.
    pub level: Level,
    /// Where; nothing where no file is to blame.
    pub place: Option<Place>,
    /// What it is about, in a few words.
    pub title: String,
    /// What there is to say.
    pub message: String,
}

/// How much a remark matters; the first is worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something is refused.
    Error,
    /// Something to look at.
    Warning,
    /// Something to know.
    Notice,
}

/// The remarks on a plan, those that matter most first: forges show only the first few.
#[must_use]
pub fn of_plan(plan: &Plan) -> Vec<Annotation> {
    let mut all = unknown(plan);
    for guard in &plan.guards {
        let message = format!("{guard}; if that is what you mean: --allow {}", guard.name);
        all.push(annotation(Level::Error, None, format!("guard {}", guard.name), message));
    }
    for held in &plan.held {
        let (why, allow) = text::hold(held);
        let message = allow.map_or_else(|| why.clone(), |allow| format!("{why}; if you mean it: {allow}"));
        all.push(annotation(Level::Warning, held.place.clone(), format!("held back: {}", held.key), message));
    }
    all.extend(plan.changes.iter().flat_map(|change| of_change(change, |_| true)));
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on a check: what was changed outside, what could not be read, what was accepted too long ago.
#[must_use]
pub fn of_check(check: &Check<'_>) -> Vec<Annotation> {
    let mut all = unknown(check.plan);
    for (key, object) in &check.verdicts.objects {
        match check.plan.change_of(key) {
            Some(change) => {
                let left = |cause: Option<Cause>, field: &str| {
                    cause == Some(Cause::Pending)
                        || change.fields().is_empty()
                        || object.drifted.iter().any(|drifted| field == drifted.to_string())
                };
                all.extend(of_change(change, |change| left(Some(change.cause), &change.field.to_string())));
            }
            None if object.verdict == Verdict::Drift => {
                let message = "a live endpoint that nobody defined".to_owned();
                all.push(annotation(Level::Warning, None, format!("not managed: {key}"), message));
            }
            // Held back without a change of its own: told with the holds.
            None => {}
        }
    }
    for held in check.plan.held.iter().filter(|held| held.change.is_none()) {
        let (why, _) = text::hold(held);
        all.push(annotation(Level::Warning, held.place.clone(), format!("held back: {}", held.key), why));
    }
    for told in check.acknowledged.iter().filter(|told| told.standing == Standing::Expired) {
        let one = &told.acknowledgement;
        let title = format!("acknowledgement expired: {}", one.object);
        let message = format!("it ended on {}: {}", one.expires, one.reason);
        all.push(annotation(Level::Warning, None, title, message));
    }
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on definitions. `prefix` stands before every path, so that it can be opened.
#[must_use]
pub fn of_diagnostics(diagnostics: &[Diagnostic], prefix: &str) -> Vec<Annotation> {
    let remark = |diagnostic: &Diagnostic| {
        let level = match diagnostic.severity {
            Severity::Error => Level::Error,
            Severity::Note => Level::Notice,
        };
        let mark = diagnostic.marks.first();
        let place = mark.map(|mark| Place {
            file: format!("{prefix}{}", mark.file),
            line: mark.start.line,
            column: mark.start.column,
        });
        let label = mark.map(|mark| mark.label.as_str()).filter(|label| !label.is_empty());
        let mut message = diagnostic.message.clone();
        for more in label.into_iter().chain(diagnostic.help.as_deref()) {
            message.push_str(&format!("; {more}"));
        }
        annotation(level, place, "definition".to_owned(), message)
    };
    diagnostics.iter().map(remark).collect()
}

fn annotation(level: Level, place: Option<Place>, title: String, message: String) -> Annotation {
    Annotation { level, place, title, message }
}

fn unknown(plan: &Plan) -> Vec<Annotation> {
    plan.unknown()
        .map(|(namespace, reason)| {
            let title = format!("incomplete: {namespace}");
            annotation(Level::Error, None, title, format!("the list cannot be trusted: {reason}"))
        })
        .collect()
}

fn of_change(change: &Change, told: impl Fn(&crate::plan::FieldChange) -> bool) -> Vec<Annotation> {
    let title = format!("{} {}", change.action.kind(), change.key);
    match &change.action {
        Action::Mark { .. } => Vec::new(),
        Action::Create { .. } => {
            let level = if change.cause == Some(Cause::Drift) { Level::Warning } else { Level::Notice };
            vec![annotation(level, change.place.clone(), title, edits::reason(change).to_owned())]
        }
        Action::Delete { .. } => {
            let removed = change.removed_in.as_ref();
            let removed = removed.map(|commit| format!(", file removed in {} ({})", commit.id, commit.date));
            let message = format!("{}{}", edits::reason(change), removed.unwrap_or_default());
            vec![annotation(Level::Warning, change.place.clone(), title, message)]
        }
        Action::Replace { fields, .. } => fields
            .iter()
            .filter(|field| told(field))
            .flat_map(|field| {
                let quiet = field.side.map_or(field.cause == Cause::Pending, |side| {
                    matches!(side, Side::ThisChange | Side::PendingOnBase)
                });
                let level = if quiet { Level::Notice } else { Level::Warning };
                let why = field.side.map_or(field.cause.as_str(), Side::as_str);
                let place = field.place.clone().or_else(|| change.place.clone());
                let title = title.clone();
                edits::of_field(field).into_iter().map(move |edit| {
                    let value = |value: Option<String>| value.unwrap_or_else(|| "(none)".to_owned());
                    let message = format!("{}: {} -> {} ({why})", edit.name, value(edit.before), value(edit.after));
                    annotation(level, place.clone(), title.clone(), message)
                })
            })
            .collect(),
    }
}

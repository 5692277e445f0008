//! The view of a check.

use super::plan::{read, stack};
use super::{Alarm, AlarmKind, Content, Count, View, unread};
use crate::drift::{AcknowledgementStatus, Check};
use crate::plan::Note;
use crate::report::facts::{check as facts, notes, unread as unread_facts};
use crate::report::line::line;

impl<'a> View<'a> {
    /// The view of a check; `call` is the words that name its stack in a command.
    pub fn of_check(check: &'a Check, call: &str) -> Self {
        let plan = &check.plan;
        let unknown = check.verdicts.unknown.iter().map(|(namespace, reason)| (namespace, reason.as_str()));
        let mut alarms = unread(&unread_facts::by_reason(unknown));
        alarms.extend(notes::lines_of(plan, Note::is_undecided).into_iter().map(|text| Alarm {
            kind: AlarmKind::Undecided,
            text,
            items: Vec::new(),
        }));
        Self {
            kind: "drift",
            plan,
            heading: line!["Drift of ", stack(plan)],
            headline: facts::headline(&check.verdicts),
            facts: read(plan),
            digest: None,
            counts: counts(&[check]),
            alarms,
            settings: None,
            content: Content::Check(facts::rows(check), facts::acknowledged(check)),
            notes: notes::lines_of(plan, |note| !note.is_undecided()),
            commands: facts::commands(check, call),
        }
    }
}

/// How many endpoints of these checks are what.
pub fn counts(checks: &[&Check]) -> Vec<Count> {
    let count = |class, number, words| Count { class, number, words };
    let (drifted, pending) = facts::numbers(checks.iter().map(|check| &check.verdicts));
    let accepted = checks.iter().flat_map(|check| &check.acknowledged);
    let accepted = accepted.filter(|entry| entry.status == AcknowledgementStatus::Silences).count();
    vec![
        count("delete", drifted, "changed outside"),
        count("replace", pending, "not applied yet"),
        count("blocked", checks.iter().map(|check| check.verdicts.unknown.len()).sum(), "not read"),
        count("mark", accepted, "accepted"),
        count("sync", checks.iter().map(|check| check.verdicts.in_sync).sum(), "in sync"),
    ]
}

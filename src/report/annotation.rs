//! Remarks at places in the source: the common part of the formats that show them beside the source. A plan or a check
//! goes in, remarks come out, those that matter most first. The texts are untrusted: each format neutralises them in
//! its own way.

use super::facts::check::{self, Row, State};
use super::facts::plan::{self as facts, Item, Part};
use super::facts::reason::{block_reason, of_cause, of_edit, reason, reason_since};
use super::facts::{edits, notes};
use super::line::moment;
use crate::drift::{AcknowledgementStatus, Check};
use crate::load::{Diagnostic, Severity};
use crate::model::policy::{Direction, SettingChange};
use crate::model::{SourceLocation, words};
use crate::plan::{Action, Attribution, BlockReason, BlockedChange, Cause, Change, FieldChange, GuardName, Note, Plan};

/// One remark at one place, for programs that draw remarks beside the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Its kind.
    pub finding: Finding,
    /// How much it matters.
    pub level: AnnotationLevel,
    /// Where; `None` if no file is to blame.
    pub place: Option<SourceLocation>,
    /// What it is about, in a few words.
    pub title: String,
    /// Which of several remarks with this title it is: a field, a namespace. It never depends on lines or values.
    pub part: String,
    /// The text.
    pub message: String,
}

/// How much a remark matters; the first is worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    /// Something is refused.
    Error,
    /// Something to look at.
    Warning,
    /// Something to know.
    Notice,
}
words!(AnnotationLevel { Error = "error", Warning = "warning", Notice = "notice" });

macro_rules! findings {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $id:literal, $level:ident;)+) => {
        /// The kinds of remarks, one for each thing that a reader may want to see or to mute by itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Finding { $($(#[doc = $meaning])+ $variant),+ }

        impl Finding {
            /// Every kind.
            pub const ALL: &'static [Finding] = &[$(Finding::$variant),+];

            /// The name, which never changes its meaning.
            pub fn id(self) -> &'static str {
                match self { $(Finding::$variant => $id),+ }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Finding::$variant => concat!($($meaning),+).trim_ascii()),+ }
            }

            /// How much it matters by default.
            fn level(self) -> AnnotationLevel {
                match self { $(Finding::$variant => AnnotationLevel::$level),+ }
            }
        }
    };
}

findings! {
    /// A definition that cannot be applied.
    Definition = "definition-error", Error;
    /// A definition that was read differently than it was written.
    Read = "definition-note", Notice;
    /// A namespace could not be read: nothing is concluded about it.
    Unknown = "unknown-read", Error;
    /// What was compared is a snapshot, as the service was then.
    Snapshot = "snapshot", Notice;
    /// A stack of a fleet that could not be checked.
    Unchecked = "not-checked", Error;
    /// More endpoints would be deleted or replaced than the guard allows.
    MassChange = "guard-mass-change", Error;
    /// Every owned endpoint of a namespace would be deleted.
    EmptyNamespace = "guard-empty-namespace", Error;
    /// Applying would revert what the base branch merged.
    BehindBaseGuard = "guard-behind-base", Error;
    /// A setting that lets more pass than at the base: what the base says stays in force.
    SettingLoosened = "setting-loosened", Warning;
    /// A setting that is another than at the base, and that has no stricter value.
    SettingChanged = "setting-changed", Warning;
    /// A setting that the policy limits.
    SettingLimited = "setting-limited", Notice;
    /// A setting that lets less pass than at the base.
    SettingTightened = "setting-tightened", Notice;
    /// A setting that the base branch changed and this change did not follow.
    SettingBehindBase = "setting-behind-base", Notice;
    /// Blocked: the live object belongs to another stack.
    ForeignStack = "blocked-foreign-stack", Warning;
    /// Blocked: the object is protected from deletes.
    Protected = "blocked-protected", Warning;
    /// Blocked: the ownership annotation of the object that would go does not prove whose it is.
    Unverified = "blocked-unverified", Warning;
    /// Blocked: others refer to the object that would go.
    Referred = "blocked-referred", Warning;
    /// Blocked: another stack of the repository defines the object that would go.
    DefinedElsewhere = "blocked-defined-elsewhere", Warning;
    /// Blocked: what a rollback would undo was changed since.
    Moved = "blocked-moved", Warning;
    /// Blocked: the object cannot be changed.
    Blocked = "blocked-unchangeable", Warning;
    /// An endpoint that is created.
    Create = "create", Notice;
    /// An endpoint that was applied and then deleted outside.
    DeletedOutside = "deleted-outside", Warning;
    /// An endpoint that is deleted because its definition is gone.
    Delete = "delete", Warning;
    /// A live endpoint without a definition.
    Unmanaged = "not-managed", Warning;
    /// Objects of which only the ownership annotations are written.
    Annotate = "annotate", Notice;
    /// A value that the files changed and that is not applied yet.
    Pending = "value-pending", Notice;
    /// A value that was changed outside.
    Drift = "value-drift", Warning;
    /// A value that was changed in the files and outside.
    Both = "value-both", Warning;
    /// A value of an endpoint without ownership annotations.
    Unannotated = "value-unannotated", Warning;
    /// A value that the base branch changed and this change did not follow.
    BehindBase = "value-behind-base", Warning;
    /// Something that a check could not decide, such as whether a missing endpoint was deleted.
    Undecided = "not-decided", Notice;
    /// An acknowledgement whose last day is over.
    Expired = "acknowledgement-expired", Warning;
}

/// The remarks on a plan, those that matter most first: forges show only the first few. Everything that an apply does
/// is among them.
pub fn of_plan(plan: &Plan) -> Vec<Annotation> {
    let mut all: Vec<Annotation> = plan.setting_changes.iter().map(of_setting).collect();
    all.extend(unknown(plan));
    all.extend(snapshot(plan));
    for guard in &plan.guards {
        let finding = match guard.name {
            GuardName::MassChange => Finding::MassChange,
            GuardName::EmptyNamespace => Finding::EmptyNamespace,
            GuardName::BehindBase => Finding::BehindBaseGuard,
        };
        let message = match plan.allowed(guard) {
            None => format!("{guard}; to allow it: --allow {}", guard.name),
            Some(_) => format!("{guard}; allowed"),
        };
        let kinds: String = guard.kinds.iter().map(|kind| format!("{kind}:")).collect();
        let part = kinds + &guard.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
        all.push(Annotation { part, ..Annotation::new(finding, format!("guard {}", guard.name), message) });
    }
    let parts = facts::parts(plan);
    let mut items: Vec<(Part, &Item<'_>)> =
        parts.iter().flat_map(|(part, items)| items.iter().map(|item| (*part, item))).collect();
    items.sort_by_key(|(part, item)| (std::cmp::Reverse(item.rank()), *part));
    for (_, item) in items {
        match item {
            Item::Blocked(held) => all.push(of_blocked(held)),
            Item::Changes(changes) => all.extend(changes.iter().flat_map(|change| of_change(change))),
        }
    }
    let annotates = facts::annotates(plan, usize::MAX).map(|line| line.unescaped());
    all.extend(annotates.map(|message| Annotation::new(Finding::Annotate, "annotate", message)));
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on a check: what was changed outside, what could not be read, what was accepted too long ago.
pub fn of_check(check: &Check) -> Vec<Annotation> {
    let mut all: Vec<Annotation> = unknown(&check.plan).chain(snapshot(&check.plan)).collect();
    all.extend(check::rows(check).iter().flat_map(of_row));
    for entry in check.acknowledged.iter().filter(|entry| entry.status == AcknowledgementStatus::Expired) {
        let one = &entry.acknowledgement;
        let title = format!("acknowledgement expired: {}", one.object);
        let message = format!("it ended on {}: {}", one.expires, one.reason);
        all.push(Annotation::new(Finding::Expired, title, message));
    }
    let undecided = notes::lines(&check.plan, Note::is_undecided).into_iter();
    all.extend(undecided.map(|line| Annotation::new(Finding::Undecided, "not decided", line.unescaped())));
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on an endpoint that is not in sync. A check changes nothing, so both sides are named.
fn of_row(row: &Row<'_>) -> Vec<Annotation> {
    let title = format!("{} {}", row.state.as_str(), row.key);
    let place = || row.change.and_then(|change| change.place.clone());
    if row.values.is_empty() || row.state == State::Blocked {
        let finding = match (row.state, row.change.map(|change| &change.action)) {
            (State::Deleted, _) => Finding::DeletedOutside,
            (State::Unmanaged, _) => Finding::Unmanaged,
            (State::Blocked, _) => row.blocked.map_or(Finding::Blocked, |held| of_reason(&held.reason)),
            (State::Changed, _) => Finding::Drift,
            (State::Pending, Some(Action::Delete { .. } | Action::Recreate { .. })) => Finding::Delete,
            (State::Pending, Some(Action::Create { .. })) => Finding::Create,
            (State::Pending, Some(Action::Replace { .. } | Action::Annotate { .. }) | None) => Finding::Pending,
        };
        let [defined, live] = row.whole();
        let why = if row.why.is_empty() { String::new() } else { format!(" ({})", row.because().unescaped()) };
        let message = format!("defined: {defined}, live: {live}{why}");
        return vec![Annotation { place: place(), ..Annotation::new(finding, title, message) }];
    }
    let remark = |value: &check::Value| {
        let edit = &value.edit;
        let finding = match (value.is_outside, edit.cause) {
            (false, _) => Finding::Pending,
            (true, Some(Cause::Both)) => Finding::Both,
            (true, Some(Cause::Unannotated)) => Finding::Unannotated,
            (true, _) => Finding::Drift,
        };
        let why = edit.cause.map_or("", of_cause);
        let blocked = if row.blocked.is_some() { format!("; {}", row.because().unescaped()) } else { String::new() };
        let message = format!("{}: defined {}, live {} ({why}){blocked}", edit.name, edit.wanted(), edit.live());
        let (part, place) = (edit.name.clone(), edit.place.clone().or_else(place));
        Annotation { part, place, ..Annotation::new(finding, title.clone(), message) }
    };
    row.values.iter().map(remark).collect()
}

fn of_reason(reason: &BlockReason) -> Finding {
    match reason {
        BlockReason::ForeignStack { .. } => Finding::ForeignStack,
        BlockReason::Protected => Finding::Protected,
        BlockReason::Unverified => Finding::Unverified,
        BlockReason::Referred { .. } => Finding::Referred,
        BlockReason::DefinedElsewhere { .. } => Finding::DefinedElsewhere,
        BlockReason::Moved(_) => Finding::Moved,
        BlockReason::Unreplaced { .. } | BlockReason::Reference(_) | BlockReason::Unchangeable(_) => Finding::Blocked,
    }
}

fn of_blocked(held: &BlockedChange) -> Annotation {
    let (why, allow) = block_reason(held);
    let why = why.unescaped();
    let message = allow.map_or_else(|| why.clone(), |allow| format!("{why}; to allow it: {allow}"));
    let place = held.place.clone();
    Annotation { place, ..Annotation::new(of_reason(&held.reason), format!("blocked: {}", held.key), message) }
}

/// The remarks on definitions. `prefix` is put before every path, so that it can be opened.
pub fn of_diagnostics(diagnostics: &[Diagnostic], prefix: &str) -> Vec<Annotation> {
    let remark = |diagnostic: &Diagnostic| {
        let finding = match diagnostic.severity {
            Severity::Error => Finding::Definition,
            Severity::Note => Finding::Read,
        };
        let mark = diagnostic.labels.first();
        let place = mark.map(|mark| SourceLocation {
            file: format!("{prefix}{}", mark.file),
            line: mark.start.line,
            column: mark.start.column,
        });
        let label = mark.map(|mark| mark.label.as_str()).filter(|label| !label.is_empty());
        let mut message = diagnostic.message.clone();
        for more in label.into_iter().chain(diagnostic.help.as_deref()) {
            message.push_str(&format!("; {more}"));
        }
        // A problem is found again by its words, without the values beside it.
        let part = format!("{} {}", mark.map(|mark| &*mark.file).unwrap_or_default(), diagnostic.message);
        Annotation { part, place, ..Annotation::new(finding, "definition", message) }
    };
    diagnostics.iter().map(remark).collect()
}

impl Annotation {
    /// A remark without a place, which is the only one of its kind with this title.
    pub fn new(finding: Finding, title: impl Into<String>, message: String) -> Self {
        Self { finding, level: finding.level(), place: None, title: title.into(), part: String::new(), message }
    }
}

fn of_setting(change: &SettingChange) -> Annotation {
    let finding = match change.direction {
        Direction::Loosened => Finding::SettingLoosened,
        Direction::Changed => Finding::SettingChanged,
        Direction::Limited => Finding::SettingLimited,
        Direction::Tightened => Finding::SettingTightened,
        Direction::BehindBase => Finding::SettingBehindBase,
    };
    let title = format!("setting {}: {}", change.direction, change.setting);
    Annotation::new(finding, title, format!("{}; {}", change.values(), change.force()))
}

fn of_value(field: &FieldChange) -> Finding {
    match (field.attribution, field.cause) {
        (Some(Attribution::BehindBase), _) => Finding::BehindBase,
        (_, Cause::Pending) => Finding::Pending,
        (_, Cause::Drift) => Finding::Drift,
        (_, Cause::Both) => Finding::Both,
        (_, Cause::Unannotated) => Finding::Unannotated,
    }
}

fn unknown(plan: &Plan) -> impl Iterator<Item = Annotation> {
    plan.unknown().map(|(namespace, reason)| {
        let message = format!("could not read the list: {reason}");
        Annotation::new(Finding::Unknown, format!("incomplete: {namespace}"), message)
    })
}

fn snapshot(plan: &Plan) -> Option<Annotation> {
    let taken = moment(plan.source.snapshot.as_deref()?);
    let message = line!["against the snapshot of ", taken, ", not the service"].unescaped();
    Some(Annotation::new(Finding::Snapshot, "snapshot", message))
}

fn of_change(change: &Change) -> Vec<Annotation> {
    let title = format!("{} {}", change.action.kind(), change.key);
    let whole = |finding, message| {
        vec![Annotation { place: change.place.clone(), ..Annotation::new(finding, title.clone(), message) }]
    };
    match &change.action {
        Action::Annotate { .. } => Vec::new(),
        Action::Create { .. } => {
            let is_drift = change.cause == Some(Cause::Drift);
            let finding = if is_drift { Finding::DeletedOutside } else { Finding::Create };
            whole(finding, reason_since(change).unescaped())
        }
        Action::Delete { .. } => {
            let removed = change.removed_in.as_ref();
            let removed = removed.map(|commit| format!(", removed in {} ({})", commit.id, commit.date));
            let unmanaged = change.cause == Some(Cause::Unannotated);
            let finding = if unmanaged { Finding::Unmanaged } else { Finding::Delete };
            whole(finding, format!("{}{}", reason(change).unescaped(), removed.unwrap_or_default()))
        }
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => {
            fields.iter().flat_map(|field| of_field(change, field, &title)).collect()
        }
    }
}

/// The remarks on the values of a field that a change replaces.
fn of_field(change: &Change, field: &FieldChange, title: &str) -> Vec<Annotation> {
    let quiet = field.attribution.map_or(field.cause == Cause::Pending, |side| {
        matches!(side, Attribution::ThisChange | Attribution::PendingOnBase) && field.cause != Cause::Both
    });
    let level = if quiet && !change.action.deletes() { AnnotationLevel::Notice } else { AnnotationLevel::Warning };
    let remark = |edit: edits::ValueEdit| {
        let why = of_edit(&edit).unescaped();
        let message = format!("{}: {} -> {} ({why})", edit.name, edit.live(), edit.wanted());
        let (part, place) = (edit.name, edit.place.or_else(|| change.place.clone()));
        Annotation { level, part, place, ..Annotation::new(of_value(field), title, message) }
    };
    edits::of_field(change.key.kind, field).into_iter().map(remark).collect()
}

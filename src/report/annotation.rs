//! Remarks at places in the source: what the formats that draw beside the source have in common.
//! A plan or a check goes in, remarks come out, those that matter most first. The texts are untrusted:
//! each format neutralises them in its own way.

use super::facts::check::{self, Row, State};
use super::facts::edits;
use super::facts::notes;
use super::facts::plan::{self as facts, Item, Part, Rank};
use super::facts::reason::{block_reason, of_cause, reason, reason_since};
use crate::drift::{AcknowledgementStatus, Check};
use crate::load::{Diagnostic, Severity};
use crate::model::SourceLocation;
use crate::model::policy::{Direction, SettingChange};
use crate::plan::{Action, Attribution, BlockReason, BlockedChange, Cause, Change, FieldChange, GuardName, Note, Plan};

/// One remark at one place, for programs that draw remarks beside the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Of which kind it is.
    pub finding: Finding,
    /// How much it matters.
    pub level: AnnotationLevel,
    /// Where; nothing where no file is to blame.
    pub place: Option<SourceLocation>,
    /// What it is about, in a few words.
    pub title: String,
    /// Which of several remarks with this title it is: a field, a namespace. It never depends on lines or values.
    pub part: String,
    /// What there is to say.
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

macro_rules! findings {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $id:literal,)+) => {
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
        }
    };
}

findings! {
    /// A definition that cannot be applied.
    Definition = "definition-error",
    /// A definition that was read differently than it was written.
    Read = "definition-note",
    /// A namespace could not be read: nothing is concluded about it.
    Unknown = "unknown-read",
    /// A stack of a fleet that could not be checked.
    Unchecked = "not-checked",
    /// More endpoints would be deleted or replaced than the guard allows.
    MassChange = "guard-mass-change",
    /// Every owned endpoint of a namespace would be deleted.
    EmptyNamespace = "guard-empty-namespace",
    /// Applying would revert what the base branch merged.
    BehindBaseGuard = "guard-behind-base",
    /// A setting that lets more pass than at the base: what the base says stays in force.
    SettingLoosened = "setting-loosened",
    /// A setting that is another than at the base, and that has no stricter value.
    SettingChanged = "setting-changed",
    /// A setting that the policy limits.
    SettingLimited = "setting-limited",
    /// A setting that lets less pass than at the base.
    SettingTightened = "setting-tightened",
    /// Blocked: the live object belongs to another stack.
    ForeignStack = "blocked-foreign-stack",
    /// Blocked: the object is protected from deletes.
    Protected = "blocked-protected",
    /// Blocked: the ownership annotation of the object that would go does not prove whose it is.
    Unverified = "blocked-unverified",
    /// Blocked: others refer to the object that would go.
    Referred = "blocked-referred",
    /// Blocked: another stack of the repository defines the object that would go.
    DefinedElsewhere = "blocked-defined-elsewhere",
    /// Blocked: what a rollback would undo was changed since.
    Moved = "blocked-moved",
    /// Blocked: the object cannot be changed.
    Blocked = "blocked-unchangeable",
    /// An endpoint that is created.
    Create = "create",
    /// An endpoint that was applied and then deleted outside.
    DeletedOutside = "deleted-outside",
    /// An endpoint that is deleted because its definition is gone.
    Delete = "delete",
    /// A live endpoint without a definition.
    Unmanaged = "not-managed",
    /// A value that the files changed and that is not applied yet.
    Pending = "value-pending",
    /// A value that was changed outside.
    Drift = "value-drift",
    /// A value that was changed in the files and outside.
    Both = "value-both",
    /// A value of an endpoint without ownership annotations.
    Unannotated = "value-unannotated",
    /// A value that the base branch changed and this change did not follow.
    BehindBase = "value-behind-base",
    /// Something that a check could not decide, such as whether a missing endpoint was deleted.
    Undecided = "not-decided",
    /// An acknowledgement whose last day is over.
    Expired = "acknowledgement-expired",
}

/// The remarks on a plan, those that matter most first: forges show only the first few. Everything that an apply does
/// is among them.
pub fn of_plan(plan: &Plan) -> Vec<Annotation> {
    let mut all: Vec<Annotation> = plan.setting_changes.iter().map(of_setting).collect();
    all.extend(unknown(plan));
    for guard in &plan.guards {
        let message = format!("{guard}; to allow it: --allow {}", guard.name);
        let finding = match guard.name {
            GuardName::MassChange => Finding::MassChange,
            GuardName::EmptyNamespace => Finding::EmptyNamespace,
            GuardName::BehindBase => Finding::BehindBaseGuard,
        };
        let kinds: String = guard.kinds.iter().map(|kind| format!("{kind}:")).collect();
        let part = kinds + &guard.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
        let remark = annotation(finding, AnnotationLevel::Error, None, format!("guard {}", guard.name), message);
        all.push(Annotation { part, ..remark });
    }
    let parts = facts::parts(plan);
    let mut items: Vec<(Part, &Item<'_>)> =
        parts.iter().flat_map(|(part, items)| items.iter().map(|item| (*part, item))).collect();
    items.sort_by_key(|(part, item)| (std::cmp::Reverse(item.rank()), *part));
    for (_, item) in items {
        match item {
            Item::Blocked(held) => all.push(of_blocked(held)),
            Item::Changes(fold) => all.extend(fold.changes.iter().flat_map(|change| of_change(change))),
        }
    }
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on a check: what was changed outside, what could not be read, what was accepted too long ago.
pub fn of_check(check: &Check) -> Vec<Annotation> {
    let mut all = unknown(&check.plan);
    let mut rows = check::rows(check);
    // Both before drift before pending, creates last.
    rows.sort_by_key(|row| std::cmp::Reverse((row.state.is_outside(), row.change.map(Rank::of))));
    all.extend(rows.iter().flat_map(of_row));
    for entry in check.acknowledged.iter().filter(|entry| entry.status == AcknowledgementStatus::Expired) {
        let one = &entry.acknowledgement;
        let title = format!("acknowledgement expired: {}", one.object);
        let message = format!("it ended on {}: {}", one.expires, one.reason);
        all.push(annotation(Finding::Expired, AnnotationLevel::Warning, None, title, message));
    }
    for (finding, message) in undecided(&check.plan) {
        all.push(annotation(finding, AnnotationLevel::Notice, None, "not decided".to_owned(), message));
    }
    all.sort_by_key(|annotation| annotation.level);
    all
}

/// The remarks on an endpoint that is not in sync. Nothing is done here, so both sides are named.
fn of_row(row: &Row<'_>) -> Vec<Annotation> {
    let title = format!("{} {}", row.state.as_str(), row.key);
    let place = || row.change.and_then(|change| change.place.clone());
    if row.values.is_empty() || row.state == State::Blocked {
        let (finding, level) = match row.state {
            State::Deleted => (Finding::DeletedOutside, AnnotationLevel::Warning),
            State::Unmanaged => (Finding::Unmanaged, AnnotationLevel::Warning),
            State::Blocked => (Finding::Blocked, AnnotationLevel::Warning),
            State::Changed => (Finding::Drift, AnnotationLevel::Warning),
            State::Pending => match row.change.map(|change| &change.action) {
                Some(Action::Delete { .. } | Action::Recreate { .. }) => (Finding::Delete, AnnotationLevel::Warning),
                Some(Action::Create { .. }) => (Finding::Create, AnnotationLevel::Notice),
                Some(Action::Replace { .. } | Action::Annotate { .. }) | None => {
                    (Finding::Pending, AnnotationLevel::Notice)
                }
            },
        };
        let [defined, live] = row.whole();
        let why = if row.why.is_empty() { String::new() } else { format!(" ({})", row.because().unescaped()) };
        let message = format!("defined: {defined}, live: {live}{why}");
        return vec![annotation(finding, level, place(), title, message)];
    }
    let remark = |value: &check::Value| {
        let edit = &value.edit;
        let (finding, level) = match (value.is_outside, edit.cause) {
            (false, _) => (Finding::Pending, AnnotationLevel::Notice),
            (true, Some(Cause::Both)) => (Finding::Both, AnnotationLevel::Warning),
            (true, Some(Cause::Unannotated)) => (Finding::Unannotated, AnnotationLevel::Warning),
            (true, _) => (Finding::Drift, AnnotationLevel::Warning),
        };
        let why = edit.cause.map_or("", of_cause);
        let blocked = if row.is_blocked { format!("; {}", row.because().unescaped()) } else { String::new() };
        let message = format!("{}: defined {}, live {} ({why}){blocked}", edit.name, edit.wanted(), edit.live());
        let remark = annotation(finding, level, edit.place.clone().or_else(place), title.clone(), message);
        Annotation { part: edit.name.clone(), ..remark }
    };
    row.values.iter().map(remark).collect()
}

fn of_blocked(held: &BlockedChange) -> Annotation {
    let (why, allow) = block_reason(held);
    let why = why.unescaped();
    let message = allow.map_or_else(|| why.clone(), |allow| format!("{why}; to allow it: {allow}"));
    let title = format!("blocked: {}", held.key);
    annotation(of_hold(&held.reason), AnnotationLevel::Warning, held.place.clone(), title, message)
}

/// The remarks on definitions. `prefix` is put before every path, so that it can be opened.
pub fn of_diagnostics(diagnostics: &[Diagnostic], prefix: &str) -> Vec<Annotation> {
    let remark = |diagnostic: &Diagnostic| {
        let (finding, level) = match diagnostic.severity {
            Severity::Error => (Finding::Definition, AnnotationLevel::Error),
            Severity::Note => (Finding::Read, AnnotationLevel::Notice),
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
        Annotation { part, ..annotation(finding, level, place, "definition".to_owned(), message) }
    };
    diagnostics.iter().map(remark).collect()
}

fn annotation(
    finding: Finding,
    level: AnnotationLevel,
    place: Option<SourceLocation>,
    title: String,
    message: String,
) -> Annotation {
    Annotation { finding, level, place, title, part: String::new(), message }
}

fn of_setting(change: &SettingChange) -> Annotation {
    let (finding, level) = match change.direction {
        Direction::Loosened => (Finding::SettingLoosened, AnnotationLevel::Warning),
        Direction::Changed => (Finding::SettingChanged, AnnotationLevel::Warning),
        Direction::Limited => (Finding::SettingLimited, AnnotationLevel::Notice),
        Direction::Tightened => (Finding::SettingTightened, AnnotationLevel::Notice),
    };
    let title = format!("setting {}: {}", change.direction, change.setting);
    annotation(finding, level, None, title, format!("{}; {}", change.values(), change.force()))
}

fn of_hold(hold: &BlockReason) -> Finding {
    match hold {
        BlockReason::ForeignStack { .. } => Finding::ForeignStack,
        BlockReason::Protected => Finding::Protected,
        BlockReason::Unverified => Finding::Unverified,
        BlockReason::Referred { .. } => Finding::Referred,
        BlockReason::DefinedElsewhere { .. } => Finding::DefinedElsewhere,
        BlockReason::Moved(_) => Finding::Moved,
        BlockReason::Reference(_) | BlockReason::Unchangeable(_) => Finding::Blocked,
    }
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

/// What a check could not decide, in words.
fn undecided(plan: &Plan) -> Vec<(Finding, String)> {
    let lines = notes::lines_of(plan, Note::is_undecided).into_iter();
    lines.map(|line| (Finding::Undecided, line.unescaped())).collect()
}

fn unknown(plan: &Plan) -> Vec<Annotation> {
    plan.unknown()
        .map(|(namespace, reason)| {
            let title = format!("incomplete: {namespace}");
            annotation(
                Finding::Unknown,
                AnnotationLevel::Error,
                None,
                title,
                format!("the list cannot be trusted: {reason}"),
            )
        })
        .collect()
}

fn of_change(change: &Change) -> Vec<Annotation> {
    let title = format!("{} {}", change.action.kind(), change.key);
    match &change.action {
        Action::Annotate { .. } => Vec::new(),
        Action::Create { .. } => {
            let (finding, level) = match change.cause {
                Some(Cause::Drift) => (Finding::DeletedOutside, AnnotationLevel::Warning),
                _ => (Finding::Create, AnnotationLevel::Notice),
            };
            vec![annotation(finding, level, change.place.clone(), title, reason_since(change).unescaped())]
        }
        Action::Delete { .. } => {
            let removed = change.removed_in.as_ref();
            let removed = removed.map(|commit| format!(", file removed in {} ({})", commit.id, commit.date));
            let message = format!("{}{}", reason(change), removed.unwrap_or_default());
            let unmanaged = change.cause == Some(Cause::Unannotated);
            let finding = if unmanaged { Finding::Unmanaged } else { Finding::Delete };
            vec![annotation(finding, AnnotationLevel::Warning, change.place.clone(), title, message)]
        }
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => fields
            .iter()
            .flat_map(|field| {
                let quiet = field.attribution.map_or(field.cause == Cause::Pending, |side| {
                    matches!(side, Attribution::ThisChange | Attribution::PendingOnBase)
                });
                let level =
                    if quiet && !change.action.deletes() { AnnotationLevel::Notice } else { AnnotationLevel::Warning };
                let why = field.attribution.map_or(field.cause.as_str(), Attribution::as_str);
                let title = title.clone();
                edits::of_field(change.key.kind, field).into_iter().map(move |edit| {
                    let message = format!("{}: {} -> {} ({why})", edit.name, edit.live(), edit.wanted());
                    let place = edit.place.or_else(|| change.place.clone());
                    let remark = annotation(of_value(field), level, place, title.clone(), message);
                    Annotation { part: edit.name.clone(), ..remark }
                })
            })
            .collect(),
    }
}

//! The verdict for each object of a plan and for the whole plan: in sync, pending, drift, both, or
//! unknown. A verdict follows from the causes of the plan's changes.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Field, Key, Scope, words};
use crate::plan::{Action, Cause, Change, Note, Plan};

/// How an object or a whole plan compares with its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No difference.
    #[default]
    InSync,
    /// The files changed.
    Pending,
    /// Live was changed outside of trueup.
    Drift,
    /// The files and live changed.
    Both,
    /// A read was incomplete: nothing is concluded.
    Unknown,
}

words!(Verdict { InSync = "in_sync", Pending = "pending", Drift = "drift", Both = "both", Unknown = "unknown" });

/// The verdict for one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectVerdict {
    /// Its verdict.
    pub verdict: Verdict,
    /// The fields that were changed outside; empty where the whole object was.
    pub drifted: Vec<Field>,
}

/// The verdicts for a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdicts {
    /// The objects that are not in sync.
    pub objects: BTreeMap<Key, ObjectVerdict>,
    /// The lists that could not be read, with the reasons.
    pub unknown: BTreeMap<Scope, String>,
    /// The number of objects in sync.
    pub in_sync: usize,
}

/// Whether a live object without a definition counts as drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnmanagedPolicy {
    /// It is a note.
    #[default]
    Note,
    /// It is drift, whatever its origin: objects without ownership annotations, objects that this stack owns and may
    /// not delete, and objects that cannot be represented.
    Fail,
}

impl Verdict {
    /// The combination of two verdicts.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
            (Verdict::InSync, one) | (one, Verdict::InSync) => one,
            (one, same) if one == same => one,
            _ => Verdict::Both,
        }
    }

    /// Whether live was changed outside.
    pub fn is_drift(self) -> bool {
        matches!(self, Verdict::Drift | Verdict::Both)
    }

    /// Whether the definitions have changes that are not applied yet.
    pub fn is_pending(self) -> bool {
        matches!(self, Verdict::Pending | Verdict::Both)
    }

    fn of(cause: Cause) -> Self {
        match cause {
            Cause::Pending => Verdict::Pending,
            // Only an outside change explains a difference in an unannotated object.
            Cause::Drift | Cause::Unannotated => Verdict::Drift,
            Cause::Both => Verdict::Both,
        }
    }
}

impl Verdicts {
    /// The verdict for the whole plan.
    pub fn whole(&self) -> Verdict {
        if !self.unknown.is_empty() {
            return Verdict::Unknown;
        }
        self.objects.values().fold(Verdict::InSync, |whole, object| whole.and(object.verdict))
    }
}

impl Plan {
    /// The verdicts for everything in this plan's scope.
    pub fn verdicts(&self, unmanaged: UnmanagedPolicy) -> Verdicts {
        let mut objects: BTreeMap<Key, ObjectVerdict> =
            self.changes.iter().filter_map(|change| Some((change.key.clone(), object(change)?))).collect();
        for entry in &self.blocked {
            // A blocked object does not match its definition, so it is never in sync.
            let verdict = Verdict::of(entry.unread().and_then(|(_, cause)| cause).unwrap_or(Cause::Pending));
            let blocked = ObjectVerdict { verdict, drifted: Vec::new() };
            let verdict = entry.change.as_ref().and_then(object).unwrap_or(blocked);
            objects.insert(entry.key.clone(), verdict);
        }
        for note in &self.notes {
            let Some(key) = drifted(note, unmanaged) else { continue };
            let object = objects.entry(key.clone()).or_default();
            object.verdict = object.verdict.and(Verdict::Drift);
            if let Some(field) =
                note.unnamed().map(|(_, field, _)| field).filter(|field| !object.drifted.contains(field))
            {
                object.drifted.push(field);
            }
        }
        let unknown = self.unknown().map(|(scope, reason)| (scope.clone(), reason.to_owned())).collect();
        let in_sync = self.in_sync_by_list().values().sum();
        Verdicts { objects, unknown, in_sync }
    }

    /// How many objects of each list are in sync and have no live values that their definitions do not name.
    pub fn in_sync_by_list(&self) -> BTreeMap<Scope, usize> {
        let mut numbers: BTreeMap<Scope, usize> =
            self.scope.iter().map(|(list, scope)| (list.clone(), scope.in_sync)).collect();
        let changes = self.changes.iter().filter(|change| object(change).is_some()).map(|change| &change.key);
        let changed: BTreeSet<&Key> = changes.chain(self.blocked.iter().map(|entry| &entry.key)).collect();
        let unnamed: BTreeSet<&Key> = self.notes.iter().filter_map(Note::unnamed).map(|(key, ..)| key).collect();
        for key in unnamed.difference(&changed) {
            if let Some(number) = numbers.get_mut(&Scope::from(*key)) {
                *number = number.saturating_sub(1);
            }
        }
        numbers
    }
}

/// The object of a note that counts as drift. Every kind of note is listed here.
fn drifted(note: &Note, unmanaged: UnmanagedPolicy) -> Option<&Key> {
    match note {
        // An apply does not remove it, and no definition names it: a user has to decide.
        Note::Outside { key, .. } | Note::OutsideKinds { key, .. } | Note::Unnamed { key, .. } => Some(key),
        // Live, but not defined.
        Note::Unmanaged { key } | Note::Orphan { key } | Note::Awaited { key, .. } | Note::Unsupported { key, .. } => {
            (unmanaged == UnmanagedPolicy::Fail).then_some(key)
        }
        // Defined, or owned by another object; a copy without a definition also gets the note `Unmanaged`.
        Note::Unannotated { .. }
        | Note::NotAnnotated { .. }
        | Note::Unshown { .. }
        | Note::Ignored { .. }
        | Note::Unstacked { .. }
        | Note::Copied { .. }
        | Note::ForeignEqual { .. }
        | Note::Owned { .. }
        | Note::UnknownField { .. }
        | Note::NotTaken { .. }
        | Note::DroppedField { .. }
        | Note::EmptyNamespace { .. }
        | Note::NotOffered { .. }
        | Note::Recreated { .. }
        | Note::ReferrersNotAsked { .. }
        | Note::DeletesUnknown { .. }
        | Note::Weak { .. }
        | Note::OutsideUnread { .. }
        | Note::Left { .. }
        | Note::NotDefined { .. }
        | Note::StillDefined { .. }
        | Note::Differs { .. }
        | Note::Renamed { .. }
        | Note::Loaded { .. } => None,
    }
}

fn object(change: &Change) -> Option<ObjectVerdict> {
    judged(change, |_| false)
}

/// The verdict for the object of a change, without accepted drift. `accepted` gets `None` for the whole
/// object.
pub(super) fn judged(change: &Change, accepted: impl Fn(Option<&Field>) -> bool) -> Option<ObjectVerdict> {
    let left = |verdict: Verdict, field: Option<&Field>| match verdict {
        Verdict::Drift if accepted(field) => Verdict::InSync,
        Verdict::Both if accepted(field) => Verdict::Pending,
        verdict => verdict,
    };
    match &change.action {
        Action::Annotate { .. } => None,
        Action::Create { .. } | Action::Delete { .. } => {
            let verdict = left(Verdict::of(change.cause.unwrap_or(Cause::Pending)), None);
            Some(ObjectVerdict { verdict, drifted: Vec::new() })
        }
        Action::Replace { fields, .. } | Action::Recreate { fields, .. } => {
            let verdicts = fields.iter().map(|field| (field, left(Verdict::of(field.cause), Some(&field.field))));
            let drifted = verdicts.clone().filter(|(_, verdict)| verdict.is_drift());
            Some(ObjectVerdict {
                drifted: drifted.map(|(field, _)| field.field.clone()).collect(),
                verdict: verdicts.fold(Verdict::InSync, |whole, (_, verdict)| whole.and(verdict)),
            })
        }
    }
}

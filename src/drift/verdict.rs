//! The verdict over each endpoint of a plan and over the whole plan: in sync, pending, drift, both, or
//! unknown. A verdict follows from the causes that the plan gives its changes.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Field, Key, Scope, words};
use crate::plan::{Action, Cause, Change, Note, Plan};

/// How an endpoint or a whole plan compares with its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing differs.
    #[default]
    InSync,
    /// The files moved on.
    Pending,
    /// Someone changed live.
    Drift,
    /// Both.
    Both,
    /// A read was incomplete: nothing is concluded.
    Unknown,
}

words!(Verdict { InSync = "in_sync", Pending = "pending", Drift = "drift", Both = "both", Unknown = "unknown" });

/// The verdict over one endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectVerdict {
    /// Its verdict.
    pub verdict: Verdict,
    /// The fields that were changed outside; nothing where the whole object was.
    pub drifted: Vec<Field>,
}

/// The verdicts over a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdicts {
    /// Endpoints that are not in sync.
    pub objects: BTreeMap<Key, ObjectVerdict>,
    /// Lists whose read is unknown, with the reason.
    pub unknown: BTreeMap<Scope, String>,
    /// Endpoints that are.
    pub in_sync: usize,
}

/// Whether a live endpoint without a definition counts as drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnmanagedPolicy {
    /// It is a note.
    #[default]
    Note,
    /// It is drift, however it came about: what has no ownership annotations, what this stack owns and may not
    /// delete, and what cannot be read.
    Fail,
}

impl Verdict {
    /// The two put together.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
            (Verdict::InSync, one) | (one, Verdict::InSync) => one,
            (one, same) if one == same => one,
            _ => Verdict::Both,
        }
    }

    /// Whether something was changed outside.
    pub fn is_drift(self) -> bool {
        matches!(self, Verdict::Drift | Verdict::Both)
    }

    /// Whether the definitions have something that is not applied yet.
    pub fn is_pending(self) -> bool {
        matches!(self, Verdict::Pending | Verdict::Both)
    }

    fn of(cause: Cause) -> Self {
        match cause {
            Cause::Pending => Verdict::Pending,
            // An unannotated object that differs: only a change outside explains it.
            Cause::Drift | Cause::Unannotated => Verdict::Drift,
            Cause::Both => Verdict::Both,
        }
    }
}

impl Verdicts {
    /// The verdict over everything.
    pub fn whole(&self) -> Verdict {
        if !self.unknown.is_empty() {
            return Verdict::Unknown;
        }
        self.objects.values().fold(Verdict::InSync, |whole, object| whole.and(object.verdict))
    }
}

impl Plan {
    /// The verdicts over everything in this plan's scope.
    pub fn verdicts(&self, unmanaged: UnmanagedPolicy) -> Verdicts {
        let mut objects: BTreeMap<Key, ObjectVerdict> =
            self.changes.iter().filter_map(|change| Some((change.key.clone(), object(change)?))).collect();
        for entry in &self.blocked {
            // What is blocked has a definition that is not met: never in sync.
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

    /// How many objects of each list are in sync: nothing is live of them that their definitions do not name.
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

/// The endpoint of a note that counts as drift. Each kind is decided here.
fn drifted(note: &Note, unmanaged: UnmanagedPolicy) -> Option<&Key> {
    match note {
        // No apply deletes it, and nothing defines or names it: a person has to decide.
        Note::Outside { key, .. } | Note::OutsideKinds { key, .. } | Note::Unnamed { key, .. } => Some(key),
        // Live, and not defined.
        Note::Unmanaged { key } | Note::Orphan { key } | Note::Awaited { key, .. } | Note::Unsupported { key, .. } => {
            (unmanaged == UnmanagedPolicy::Fail).then_some(key)
        }
        // Defined, or another object's of the service; a copy without a definition is unmanaged as well.
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

/// The verdict over the endpoint of a change, without the drift that is accepted; no field means the
/// whole object.
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

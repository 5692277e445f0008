//! Notes: what a reviewer should know besides the changes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plan;
use crate::kind::KindName;
use crate::model::{Cause, Field, Key, Namespace, RelatedObject, Scope, ValueDigest};

/// Information for a reviewer that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Note {
    /// A live object without a definition and without ownership annotations.
    Unmanaged {
        /// Which.
        key: Key,
    },
    /// An object of this stack without a definition, where nothing may be deleted.
    Orphan {
        /// Which.
        key: Key,
    },
    /// In sync, but without ownership annotations; `--adopt` plans them.
    Unannotated {
        /// Which.
        key: Key,
    },
    /// In sync, but its ownership annotations are not written, because the write would lose or replace a hidden value,
    /// such as a secret.
    NotAnnotated {
        /// Which.
        key: Key,
        /// The place of the secret.
        path: String,
    },
    /// A write contains a hidden value, such as a secret, and whether the service has the same value is unknown.
    Unshown {
        /// Of which object.
        key: Key,
        /// Its place.
        path: String,
    },
    /// A rollback does not restore a field that the run wrote, because the settings ignore it.
    Ignored {
        /// Of which object.
        key: Key,
        /// Which.
        field: Field,
    },
    /// Equal to its definition, but owned by another stack.
    ForeignEqual {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// It belongs to another object of the service and is left alone.
    Owned {
        /// Which.
        key: Key,
        /// The kind, namespace and name of its owner.
        owner: String,
    },
    /// The model cannot represent it, so it is left alone.
    Unsupported {
        /// Which.
        key: Key,
        /// Why.
        reason: String,
    },
    /// A live field that the model does not know; a replace keeps it.
    UnknownField {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
    },
    /// A live value that the definition does not name: set outside, or filled by the service. A replace keeps it.
    Unnamed {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
        /// The whole live value of its field.
        value: ValueDigest,
    },
    /// A value that the definition names and the description does not have; live lacks it although it was applied.
    NotTaken {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
    },
    /// A live field that the model does not know, or that the definition does not name. The replace removes it together
    /// with the option, item or reference that contains it.
    DroppedField {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
    },
    /// No object of the namespace is live, and all of it would be created. The service gives the same response
    /// for a namespace that does not exist.
    EmptyNamespace {
        /// Which.
        namespace: Namespace,
    },
    /// The service does not offer a kind without definitions; nothing is concluded about it.
    NotOffered {
        /// Which, and where.
        scope: Scope,
    },
    /// A rollback creates it again: it gets a new uid, and references to it may be broken.
    Recreated {
        /// Which.
        key: Key,
        /// The objects that referred to it when it was deleted.
        referrers: Vec<RelatedObject>,
    },
    /// A delete planned from a snapshot without its referrers; an apply requests them.
    ReferrersNotAsked {
        /// Which.
        key: Key,
    },
    /// A note of the loader.
    Loaded {
        /// The text.
        text: String,
    },
    /// Its ownership annotations were written for another key: it is a copy, and has no owner.
    Copied {
        /// Which.
        key: Key,
        /// The key that they were written for, where that is known.
        of: Option<Key>,
    },
    /// In sync, but applied before the stack had a name: an apply assigns it to the stack.
    Unstacked {
        /// Which.
        key: Key,
    },
    /// Moved to this stack, which has not applied a definition of it yet, so it is not deleted.
    Awaited {
        /// Which.
        key: Key,
        /// The stack that had it.
        from: String,
    },
    /// Not moved: the new stack does not define it, and the directory of the old stack is unknown.
    Left {
        /// Which.
        key: Key,
        /// The old stack.
        stack: String,
    },
    /// Transferred to a stack that does not define it, or whose directory is unknown.
    NotDefined {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Transferred from a stack that still defines it.
    StillDefined {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Transferred although it differs from the definition of the new stack; a plan of that stack shows the difference.
    Differs {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Deleted here, and created with the same name and spec in another namespace.
    Renamed {
        /// The object that is deleted.
        key: Key,
        /// The object that is created.
        to: Key,
    },
    /// An object of this stack outside of `namespaces:`, in a namespace that the stack once had.
    Outside {
        /// Which.
        key: Key,
        /// The command that transfers it to another stack that defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<String>,
        /// Why it is unknown whether another stack defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown: Option<String>,
    },
    /// An object of this stack, of a kind that the stack once had and that `kinds:` does not list.
    OutsideKinds {
        /// Which.
        key: Key,
        /// The command that transfers it to another stack that defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<String>,
        /// Why it is unknown whether another stack defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown: Option<String>,
    },
    /// A list of a namespace or kind that the stack once had could not be read.
    OutsideUnread {
        /// Which.
        #[serde(rename = "namespace")]
        scope: Scope,
        /// Why.
        reason: String,
    },
    /// A defined object is missing live, and whether it was deleted outside is unknown.
    DeletesUnknown {
        /// Which.
        key: Key,
        /// Why.
        reason: String,
    },
    /// Objects change of a kind that only published schemas describe.
    Weak {
        /// Which kind.
        kind: KindName,
    },
}

impl Plan {
    /// The fields with live values that the definition does not name and could name now. Fields with pending values are
    /// left out: they are compared with what was applied, so if the definition named more, the pending value would
    /// count as an outside change.
    pub fn nameable(&self) -> BTreeSet<(&Key, Field)> {
        let fields = self.with_blocked().flat_map(|change| change.fields().iter().map(|field| (&change.key, field)));
        let waiting = fields.filter(|(_, field)| matches!(field.cause, Cause::Pending | Cause::Both));
        let waiting: BTreeSet<(&Key, &Field)> = waiting.map(|(key, field)| (key, &field.field)).collect();
        let unnamed = self.notes.iter().filter_map(Note::unnamed).map(|(key, field, _)| (key, field));
        unnamed.filter(|(key, field)| !waiting.contains(&(*key, field))).collect()
    }
}

impl Note {
    /// The field of an object with a live value that the definition does not name, and its whole live value.
    pub fn unnamed(&self) -> Option<(&Key, Field, &ValueDigest)> {
        match self {
            Note::Unnamed { key, path, value } => Some((key, Field::of_kind(key.kind, path)?, value)),
            _ => None,
        }
    }

    /// Its name in `hide_notes`, for notes that recur for the same objects and that a stack may hide in its reports.
    pub fn routine(&self) -> Option<&'static str> {
        Some(match self {
            Note::ForeignEqual { .. } => "foreign_equal",
            Note::NotOffered { .. } => "not_offered",
            Note::Owned { .. } => "owned",
            Note::Unannotated { .. } => "unannotated",
            Note::UnknownField { .. } => "unknown_field",
            Note::Unmanaged { .. } => "unmanaged",
            Note::Weak { .. } => "weak",
            _ => return None,
        })
    }

    /// Whether it reports that a question cannot be decided: every report of a check shows such notes.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Note::DeletesUnknown { .. } | Note::OutsideUnread { .. })
    }
}

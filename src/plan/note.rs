//! What a reviewer should know besides the changes: notes about objects that the plan leaves as they are.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plan;
use crate::kind::KindName;
use crate::model::{Cause, Field, Key, Namespace, RelatedObject, Scope, ValueDigest};

/// Something that a reviewer should know and that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Note {
    /// A live endpoint without a definition and without ownership annotations.
    Unmanaged {
        /// Which.
        key: Key,
    },
    /// Of this stack and without a definition, where nothing may be deleted.
    Orphan {
        /// Which.
        key: Key,
    },
    /// In sync, and without ownership annotations; `--adopt` plans them.
    Unannotated {
        /// Which.
        key: Key,
    },
    /// In sync, and its ownership annotations are not written: the write would lose or replace what no answer shows, such as a
    /// secret.
    NotAnnotated {
        /// Which.
        key: Key,
        /// The place of the secret.
        path: String,
    },
    /// A write contains what no answer shows, such as a secret, and whether the service has the same is not known.
    Unshown {
        /// Of which object.
        key: Key,
        /// Its place.
        path: String,
    },
    /// A rollback leaves a field that the run wrote as it is: the configuration leaves it out.
    Ignored {
        /// Of which object.
        key: Key,
        /// Which.
        field: Field,
    },
    /// Equal to its definition, and of another stack.
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
    /// The model cannot represent it; it is left alone.
    Unsupported {
        /// Which.
        key: Key,
        /// Why.
        reason: String,
    },
    /// A live field that the model does not know; a replace keeps it.
    UnknownField {
        /// Of which endpoint.
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
    /// A value that the definition names and no description knows, and that no answer has although it was applied.
    NotTaken {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
    },
    /// A live field that the model does not know, or that the definition does not name; the replace removes it with the
    /// option, the item or the reference that contains it.
    DroppedField {
        /// Of which object.
        key: Key,
        /// Its path.
        path: String,
    },
    /// The list was empty and the whole namespace would be created: the service answers the same for
    /// a namespace that does not exist.
    EmptyNamespace {
        /// Which.
        namespace: Namespace,
    },
    /// The service does not offer a kind of which nothing is defined; nothing is concluded about it.
    NotOffered {
        /// Which, and where.
        scope: Scope,
    },
    /// A rollback creates it again: it gets another uid, and what referred to it may dangle.
    Recreated {
        /// Which.
        key: Key,
        /// Who referred to it when it was deleted.
        referrers: Vec<RelatedObject>,
    },
    /// Planned to go against a snapshot that does not say who refers to it; an apply asks.
    ReferrersNotAsked {
        /// Which.
        key: Key,
    },
    /// Something that the loader dropped or noticed.
    Loaded {
        /// In words.
        text: String,
    },
    /// Its ownership annotations were written for another key: it was copied, and has no owner.
    Copied {
        /// Which.
        key: Key,
        /// The key that they were written for, where that is known.
        of: Option<Key>,
    },
    /// As defined, and applied before there was a stack: an apply makes it the stack's.
    Unstacked {
        /// Which.
        key: Key,
    },
    /// Moved to this stack, which has not applied a definition of it yet: never deleted.
    Awaited {
        /// Which.
        key: Key,
        /// The stack that had it.
        from: String,
    },
    /// Left with the old stack of a move, of which nothing is known here: the new one does not define it.
    Left {
        /// Which.
        key: Key,
        /// The old stack.
        stack: String,
    },
    /// Handed over to a stack that does not define it, as far as its directory is known.
    NotDefined {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Handed over by a stack that still defines it.
    StillDefined {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Handed over while it differs from the definition of the stack that gets it, which a plan of that stack shows.
    Differs {
        /// Which.
        key: Key,
        /// That stack.
        stack: String,
    },
    /// Created under the same name and with the same spec in another namespace, and deleted here.
    Renamed {
        /// Which is deleted.
        key: Key,
        /// Which is created.
        to: Key,
    },
    /// An object of this stack outside of `namespaces:`, in a namespace that the stack once had.
    Outside {
        /// Which.
        key: Key,
        /// The command that transfers it to another stack, which defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<String>,
        /// Why it is not known whether another stack defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown: Option<String>,
    },
    /// An object of this stack of a kind that the stack once had and that `kinds:` does not list.
    OutsideKinds {
        /// Which.
        key: Key,
        /// The command that transfers it to another stack, which defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<String>,
        /// Why it is not known whether another stack defines it.
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
    /// A definition is missing live, and whether it was deleted outside cannot be decided.
    DeletesUnknown {
        /// Which.
        key: Key,
        /// Why.
        reason: String,
    },
    /// Objects of a kind change of which only the published schemas are known.
    Weak {
        /// Which kind.
        kind: KindName,
    },
}

impl Plan {
    /// The fields in which something is live that no definition names, and that a definition can name now. Where a value of the
    /// file waits for its apply, what it names is compared with what was applied: if it named more, that value would be taken
    /// for one that was changed outside.
    pub fn nameable(&self) -> BTreeSet<(&Key, Field)> {
        let fields = self.with_blocked().flat_map(|change| change.fields().iter().map(|field| (&change.key, field)));
        let waiting = fields.filter(|(_, field)| matches!(field.cause, Cause::Pending | Cause::Both));
        let waiting: BTreeSet<(&Key, &Field)> = waiting.map(|(key, field)| (key, &field.field)).collect();
        let unnamed = self.notes.iter().filter_map(Note::unnamed).map(|(key, field, _)| (key, field));
        unnamed.filter(|(key, field)| !waiting.contains(&(*key, field))).collect()
    }
}

impl Note {
    /// The field of an object in which something is live that the definition does not name, with its whole live value.
    pub fn unnamed(&self) -> Option<(&Key, Field, &ValueDigest)> {
        match self {
            Note::Unnamed { key, path, value } => Some((key, Field::of_kind(key.kind, path)?, value)),
            _ => None,
        }
    }

    /// Its name, where it is said of the same objects again and again and a stack may leave it out of its reports.
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

    /// Whether it says that something cannot be decided: every report of a check shows it.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Note::DeletesUnknown { .. } | Note::OutsideUnread { .. })
    }
}

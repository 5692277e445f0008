//! Blocked changes, each with the reason why it is not made. The rest of the plan proceeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, ActionKind, Change, Conflict};
use crate::model::policy::KeyAllowance;
use crate::model::{Cause, Key, RelatedObject, SourceLocation};

/// A single change that is blocked; the rest of the plan proceeds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedChange {
    /// Which object.
    pub key: Key,
    /// Why it is blocked.
    pub reason: BlockReason,
    /// The change that would be made, where there is one.
    pub change: Option<Change>,
    /// Where the definition is.
    pub place: Option<SourceLocation>,
}

impl BlockedChange {
    /// The consent with which a plan would make the change, if there is one.
    pub fn consent(&self) -> Option<KeyAllowance> {
        match (&self.reason, self.change.as_ref().map(|change| &change.action)) {
            (BlockReason::ForeignStack { .. }, _) => Some(KeyAllowance::ForeignStack),
            (BlockReason::Protected, _) => Some(KeyAllowance::Protected),
            (BlockReason::Unverified, _) => Some(KeyAllowance::Unverified),
            (BlockReason::Referred { .. }, Some(Action::Replace { .. } | Action::Recreate { .. })) => None,
            (BlockReason::Referred { .. }, _) => Some(KeyAllowance::Referred),
            (BlockReason::Unchangeable(Unchangeable::Immutable { .. }), _) => Some(KeyAllowance::Recreate),
            _ => None,
        }
    }

    /// For a live object that cannot be represented: the reason, and the cause of its difference if that is known.
    pub fn unread(&self) -> Option<(&str, Option<Cause>)> {
        match &self.reason {
            BlockReason::Unchangeable(Unchangeable::Unsupported { reason, cause }) => Some((reason, *cause)),
            _ => None,
        }
    }

    /// A change that is blocked.
    pub fn new(key: Key, reason: BlockReason, change: Option<Change>) -> Self {
        Self { key, reason, change, place: None }
    }

    /// Whether some of its fields block it, so that a part without them may be made.
    pub(super) fn is_partly(&self) -> bool {
        self.is_fixed() || matches!(self.reason, BlockReason::Unchangeable(Unchangeable::SecretMissing { .. }))
    }

    /// Whether it is blocked until it may be recreated, or until no referrer prevents that.
    pub(super) fn is_fixed(&self) -> bool {
        let is_replace = self.change.as_ref().is_some_and(|change| change.action.kind() == ActionKind::Replace);
        match self.reason {
            BlockReason::Unchangeable(Unchangeable::Immutable { .. }) => true,
            BlockReason::Referred { .. } => is_replace,
            _ => false,
        }
    }
}

/// Why one change is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockReason {
    /// The live object belongs to another stack; `--allow foreign-stack=KEY`.
    ForeignStack {
        /// That stack.
        stack: String,
    },
    /// The object is protected from deletes; `--allow protected=KEY`.
    Protected,
    /// The annotations of the object to delete do not prove that they were written for it, so it may be a
    /// copy; `--allow unverified=KEY`.
    Unverified,
    /// Other objects refer to the object to delete; `--allow referred=KEY`.
    Referred {
        /// The referrers.
        by: Vec<RelatedObject>,
    },
    /// Another stack of the repository defines the object to delete. This cannot be allowed: that stack has to own the
    /// object, or its definition has to be removed.
    DefinedElsewhere {
        /// That stack, if it has a name.
        stack: Option<String>,
        /// Its directory.
        directory: String,
        /// Its environment, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<String>,
        /// It has the name of the stack of the plan.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        same_stack: bool,
        /// The command that transfers it, if both stacks have names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer: Option<String>,
    },
    /// The create of its possible replacement is blocked.
    Unreplaced {
        /// The object that is not created.
        create: Key,
    },
    /// A reference is broken.
    Reference(BrokenReference),
    /// A rollback would undo later changes.
    Moved(Conflict),
    /// It cannot be changed, and that cannot be allowed.
    Unchangeable(Unchangeable),
}

impl BlockReason {
    /// Whether the object of a blocked create stays missing. Not if it exists now, or if nothing is applied at all.
    pub fn leaves_missing(&self) -> bool {
        match self {
            BlockReason::Reference(broken) => !broken.is_error(),
            BlockReason::Unchangeable(_) => true,
            _ => false,
        }
    }
}

/// Why an object cannot be changed at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Unchangeable {
    /// It belongs to another object of the service.
    OwnerView(RelatedObject),
    /// It is being deleted.
    Deleting,
    /// The model cannot represent the live object.
    Unsupported {
        /// Why.
        reason: String,
        /// The cause of the difference, where its annotations can be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// It may have a secret, which responses do not show: a replace without the value would remove it.
    Secret {
        /// Where.
        path: String,
    },
    /// The service requires a secret that the definition leaves out, and none is live.
    SecretMissing {
        /// Where.
        path: String,
    },
    /// Every write contains a hidden value, such as a secret, and no definition has the one that was applied.
    Unapplied {
        /// Where.
        path: String,
    },
    /// It had a hidden value, such as a secret, that is no longer known, so it cannot be restored.
    SecretBefore {
        /// Where.
        path: String,
    },
    /// A field that a replace cannot change.
    Immutable {
        /// Its path.
        path: String,
    },
    /// A field that the model does not know may be the chosen option of a group.
    UnknownOption {
        /// Its path.
        path: String,
    },
    /// Another stack of the repository may define the object to delete, and cannot be read.
    DefinersUnknown {
        /// Why.
        reason: String,
    },
    /// The referrers of the object to delete could not be read.
    ReferrersUnknown {
        /// Why.
        reason: String,
    },
}

/// A reference that blocks a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BrokenReference {
    /// Its target is neither defined nor live.
    Missing(WrittenReference),
    /// A definition still refers to the object to delete.
    Deleted(WrittenReference),
    /// Each of these refers to the next, and the last to the first, so none of them can be created first.
    Circle(Vec<WrittenReference>),
    /// Each of these refers to the next, and the last to the first, so none of them can be deleted first.
    LiveCircle(Vec<WrittenReference>),
    /// The create of its target is blocked, or a filter leaves it out.
    LeftOut(WrittenReference),
    /// The list of its target could not be read.
    Unread(WrittenReference),
}

/// A reference as an object contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenReference {
    /// The object that refers.
    pub by: Key,
    /// The path of the reference, such as `spec.origin_pools[0].pool`.
    pub path: String,
    /// The object that it refers to.
    pub target: Key,
}

impl BrokenReference {
    /// Whether the definitions are wrong, so that none of them is applied.
    pub fn is_error(&self) -> bool {
        match self {
            BrokenReference::Missing(_)
            | BrokenReference::Deleted(_)
            | BrokenReference::Circle(_)
            | BrokenReference::LiveCircle(_) => true,
            BrokenReference::LeftOut(_) | BrokenReference::Unread(_) => false,
        }
    }
}

//! Whose a live object is, as its two annotations prove it.

use super::Plan;
use crate::model::{AppliedFields, Key, Object, Ownership, STACK, WrittenFor};

/// Whose a live object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'m> {
    /// This stack's (or, without a stack, trueup's), written for this very key.
    Ours,
    /// It names this stack and does not prove the key: version 1 of the annotation, or none that can
    /// be read. It may be a copy, so it is never enough for a delete.
    Unverified,
    /// This stack's by a move from the named one, and not applied by it yet. Its definition may still be on its
    /// way, so that there is none is never enough for a delete.
    Moved(&'m str),
    /// Written by trueup for this key before there was a stack.
    Unstacked,
    /// Another stack's.
    Foreign(&'m str),
    /// None: its annotations were written for another key and copied.
    Copied,
    /// None: it carries no annotations.
    Nobody,
}

impl<'m> Owner<'m> {
    /// Whose the object of this key and ownership annotations is, seen from `stack`.
    pub(crate) fn of(ownership: Option<&'m Ownership>, key: &Key, stack: Option<&str>) -> Self {
        let Some(ownership) = ownership else { return Owner::Nobody };
        let applied = ownership.applied.as_ref();
        let written_for = applied.map(|applied| applied.written_for(key));
        match (&ownership.stack, written_for) {
            (_, Some(WrittenFor::Another)) => Owner::Copied,
            (Some(theirs), _) if Some(theirs.as_str()) != stack => Owner::Foreign(theirs),
            (None, None) => Owner::Nobody,
            (None, Some(_)) if stack.is_some() => Owner::Unstacked,
            (_, Some(WrittenFor::This)) => {
                applied.and_then(AppliedFields::moved_from).map_or(Owner::Ours, Owner::Moved)
            }
            (_, Some(WrittenFor::Unnamed) | None) => Owner::Unverified,
        }
    }

    /// Whether a change of it takes nothing over from anybody.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Owner::Ours | Owner::Unverified | Owner::Moved(_))
    }

    /// What was applied to the object, where its annotations are its own.
    pub(crate) fn applied(self, ownership: Option<&'m Ownership>) -> Option<&'m AppliedFields> {
        match self {
            Owner::Copied => None,
            _ => ownership.and_then(|ownership| ownership.applied.as_ref()),
        }
    }
}

/// The stack that owns an object, where that is another one than `stack`.
pub fn foreign_stack<'o>(object: &'o Object, stack: Option<&str>) -> Option<&'o str> {
    let ownership = Ownership::read(&object.annotations);
    let is_foreign = matches!(Owner::of(ownership.as_ref(), &object.key, stack), Owner::Foreign(_));
    object.annotations.get(STACK).map(String::as_str).filter(|_| is_foreign)
}

impl Plan {
    /// Whether its stack owns an object, so that a change of it takes nothing over from anybody.
    pub fn owns(&self, object: &Object) -> bool {
        let ownership = Ownership::read(&object.annotations);
        Owner::of(ownership.as_ref(), &object.key, self.stack.as_deref()).is_ours()
    }
}

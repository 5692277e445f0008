//! The owner of a live object, as its two annotations prove it.

use super::Plan;
use crate::model::{AppliedFields, Key, Object, Ownership, STACK, WrittenFor};

/// The owner of a live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'m> {
    /// This stack (or, without a stack, trueup): the annotations were written for this key.
    Ours,
    /// It names this stack but does not prove the key: the annotation has version 1, or cannot be read. The
    /// object may be a copy, so this is never enough for a delete.
    Unverified,
    /// This stack, after a move from the named one, but not applied by it yet. The definition may follow later,
    /// so a missing definition is never enough for a delete.
    Moved(&'m str),
    /// No stack: trueup wrote it before the stack had a name.
    Unstacked,
    /// Another stack.
    Foreign(&'m str),
    /// None: its annotations were written for another key and copied.
    Copied,
    /// None: it has no annotations.
    Nobody,
}

impl<'m> Owner<'m> {
    /// The owner of the object with this key and these ownership annotations, from the view of `stack`.
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

    /// Whether the stack owns it, so that a change takes over nothing.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Owner::Ours | Owner::Unverified | Owner::Moved(_))
    }

    /// What was applied to the object; `None` where its annotations are copied.
    pub(crate) fn applied(self, ownership: Option<&'m Ownership>) -> Option<&'m AppliedFields> {
        match self {
            Owner::Copied => None,
            _ => ownership.and_then(|ownership| ownership.applied.as_ref()),
        }
    }
}

/// The stack that owns an object, if that is not `stack`.
pub fn foreign_stack<'o>(object: &'o Object, stack: Option<&str>) -> Option<&'o str> {
    let ownership = Ownership::read(&object.annotations);
    let is_foreign = matches!(Owner::of(ownership.as_ref(), &object.key, stack), Owner::Foreign(_));
    object.annotations.get(STACK).map(String::as_str).filter(|_| is_foreign)
}

impl Plan {
    /// Whether its stack owns an object, so that a change takes over nothing.
    pub fn owns(&self, object: &Object) -> bool {
        let ownership = Ownership::read(&object.annotations);
        Owner::of(ownership.as_ref(), &object.key, self.stack.as_deref()).is_ours()
    }
}

//! Plans a move: live endpoints of one stack get the ownership annotations of another, and nothing else of them
//! changes. Whether each stack defines them decides only what is noted, and whether the new stack may delete them
//! before it has applied a definition of its own: it may not. Pure.

use std::collections::BTreeMap;

use super::namespace::{blocked, unshown};
use super::rollback::lost;
use super::{
    Action, BeforeImage, BlockReason, BlockedChange, Change, MatchedFilters, Note, OwnershipAnnotations, Plan,
    ScopeRead, ScopeState, Selection, Unchangeable, UnmatchedFilter, owner::Owner,
};
use crate::diff::{self, CompareOptions};
use crate::model::{Desired, Key, ListRead, Live, LiveItem, LiveObject, Ownership, Scope};

/// What a move is made of.
#[derive(Clone, Copy)]
pub struct MoveInput<'a> {
    /// The stack that owns the endpoints.
    pub from: &'a str,
    /// The stack that gets them.
    pub to: &'a str,
    /// What the first one defines; nothing where its directory is not known.
    pub defined_before: Option<&'a Desired>,
    /// What the second one defines; nothing where its directory is not known.
    pub defined_after: Option<&'a Desired>,
    /// Which endpoints; where that is all, those that the second stack defines.
    pub selection: &'a Selection,
    /// What is live in the namespaces of both.
    pub live: &'a Live,
}

/// Adds to `plan`, which has its service, stack and settings, what `from` transfers to `to`.
///
/// # Guarantees
/// - Only ownership annotations change: no create, replace or delete is planned, and each endpoint keeps its uid.
/// - What `to` does not define, as far as that is known, it cannot delete before it has defined and applied it.
/// - What belongs to neither stack is left alone.
///
/// # Errors
/// A filter that matches nothing, or nothing that belongs to `from`, where every list was read.
pub fn hand_over(plan: Plan, input: MoveInput<'_>) -> Result<Plan, MoveError> {
    let (from_exists, others, matched) = (input.defined_before.is_some(), BTreeMap::new(), MatchedFilters::default());
    let mut handover = Handover { plan, input, in_sync: 0, from_exists, others, matched };
    let mut is_complete = true;
    for (scope, read) in &input.live.lists {
        handover.matched.add_namespaces([&scope.namespace]);
        handover.in_sync = 0;
        let may_move = handover.may_move_in(scope);
        if matches!(read, ListRead::NotOffered) && !may_move {
            handover.plan.notes.push(Note::NotOffered { scope: scope.clone() });
            continue;
        }
        let read = match read.known() {
            Ok(items) => {
                items.values().for_each(|item| handover.take(item));
                ScopeRead::Complete { live: items.len(), owned: 0, removable: 0 }
            }
            Err(reason) => {
                is_complete &= !may_move;
                ScopeRead::Unknown { reason: reason.to_owned() }
            }
        };
        let selected = may_move || matches!(read, ScopeRead::Complete { .. });
        let state = ScopeState { read, definitions: 0, in_sync: handover.in_sync, pruned: false, selected };
        handover.plan.scope.insert(scope.clone(), state);
    }
    let Handover { mut plan, matched, others, from_exists, .. } = handover;
    if let Some(unmatched) = input.selection.unmatched(&matched).filter(|_| is_complete) {
        return Err(MoveError::Unmatched(unmatched));
    }
    // The same call after the move is not an error, and a wrong name is one: two of three signs are enough.
    let nothing_moved = plan.scope.values().all(|scope| scope.in_sync == 0);
    let signs = [!from_exists, nothing_moved, !others.is_empty()].into_iter().filter(|sign| *sign).count();
    if is_complete && plan.changes.is_empty() && plan.blocked.is_empty() && signs >= 2 {
        return Err(MoveError::OfOthers { from: input.from.to_owned(), others });
    }
    plan.source.requests = input.live.requests;
    plan.sealed = input.defined_after.map(Desired::sealed).unwrap_or_default();
    Ok(plan.order())
}

/// Why nothing moves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// A filter matches nothing.
    #[error(transparent)]
    Unmatched(#[from] UnmatchedFilter),
    /// What would move belongs to neither stack.
    #[error("nothing that would move belongs to the stack `{from}`")]
    OfOthers {
        /// The stack that it was to belong to.
        from: String,
        /// The stacks that own it, each with one endpoint.
        others: BTreeMap<String, Key>,
    },
}

struct Handover<'a> {
    plan: Plan,
    input: MoveInput<'a>,
    /// The old stack is known here, or owns something live.
    from_exists: bool,
    /// Stacks that own what was to move and are neither of the two.
    others: BTreeMap<String, Key>,
    /// Endpoints of a namespace that the new stack has already.
    in_sync: usize,
    matched: MatchedFilters,
}

impl Handover<'_> {
    fn take(&mut self, item: &LiveItem) {
        let MoveInput { from, to, selection, defined_before, .. } = self.input;
        let key = item.key();
        let live = match item {
            LiveItem::Object(live) => live,
            LiveItem::Unsupported(unsupported) => {
                let stack = unsupported.ownership().and_then(|ownership| ownership.stack);
                if stack.as_deref() == Some(from) && self.selects(item) {
                    let (key, reason) = (key.clone(), unsupported.reason.clone());
                    self.plan.notes.push(Note::Unsupported { key, reason });
                }
                return;
            }
        };
        selection.note(&mut self.matched, key, (None, Some(item)));
        let ownership = Ownership::read(&live.endpoint.annotations);
        let is_of = |stack| Owner::of(ownership.as_ref(), key, Some(stack)).is_ours();
        self.from_exists |= is_of(from);
        match (self.selects(item), is_of(from)) {
            (true, true) => self.hand_over(live, ownership.as_ref()),
            (true, false) if is_of(to) => self.in_sync += 1,
            (true, false) => {
                let other = ownership.as_ref().and_then(|ownership| ownership.stack.clone());
                if let Some(other) = other.filter(|other| other != from) {
                    self.others.entry(other).or_insert_with(|| key.clone());
                }
            }
            (false, true) if !selection.is_all() => self.plan.left_out += 1,
            // Without a filter it is the new stack that does not define it.
            (false, true) if defined_before.is_none() => {
                self.plan.notes.push(Note::Left { key: key.clone(), stack: from.to_owned() });
            }
            (false, _) => {}
        }
    }

    /// Whether something of this list may be what moves.
    fn may_move_in(&self, scope: &Scope) -> bool {
        let MoveInput { selection, defined_after, .. } = self.input;
        match selection.is_all() {
            true => defined_after.is_some_and(|desired| desired.definitions.keys().any(|key| scope.contains(key))),
            false => selection.reaches(scope, &Desired::default()),
        }
    }

    fn selects(&self, item: &LiveItem) -> bool {
        let MoveInput { selection, defined_after, .. } = self.input;
        match selection.is_all() {
            true => defined_after.is_some_and(|desired| desired.definitions.contains_key(item.key())),
            false => selection.selects(item.key(), None, Some(item)),
        }
    }

    fn hand_over(&mut self, live: &LiveObject, ownership: Option<&Ownership>) {
        let MoveInput { from, to, defined_before, defined_after, .. } = self.input;
        let key = &live.endpoint.key;
        let definition = defined_after.and_then(|desired| desired.definitions.get(key));
        let annotations = OwnershipAnnotations::moved(&live.endpoint, to, definition.is_none().then_some(from));
        let action = Action::Annotate { before: BeforeImage::of(live) };
        let secrets = definition.map(|definition| unshown(definition, &live.endpoint)).unwrap_or_default();
        let change = Change { ownership: Some(annotations), secrets, ..Change::new(key.clone(), action) };
        // Every write of an object with a secret contains it.
        let secret = change.lost_secret(live).map(|path| Unchangeable::Secret { path: path.to_owned() });
        let applied = ownership.and_then(|ownership| ownership.applied.as_ref());
        let other = || change.unapplied().or_else(|| lost(&live.endpoint, applied, &change.secrets));
        let lost = secret.or_else(|| other().map(|path| Unchangeable::Unapplied { path }));
        if let Some(reason) = blocked(live, None).or(lost) {
            let blocked = BlockedChange::new(key.clone(), BlockReason::Unchangeable(reason), Some(change));
            return self.plan.blocked.push(blocked);
        }
        self.plan.changes.push(change);
        let mut note = |note: fn(Key, String) -> Note, stack: &str| {
            self.plan.notes.push(note(key.clone(), stack.to_owned()));
        };
        let applied = Owner::of(ownership, key, Some(from)).applied(ownership);
        match definition {
            None => note(|key, stack| Note::NotDefined { key, stack }, to),
            Some(definition) => {
                let options = CompareOptions { applied, ignored: &[], strict: false };
                if !diff::compare(&live.endpoint, &definition.endpoint, options).is_empty() {
                    note(|key, stack| Note::Differs { key, stack }, to);
                }
            }
        }
        if defined_before.is_some_and(|desired| desired.definitions.contains_key(key)) {
            note(|key, stack| Note::StillDefined { key, stack }, from);
        }
    }
}

#[cfg(test)]
#[path = "movement_tests.rs"]
mod tests;

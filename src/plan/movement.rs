//! Plans a move: live objects of one stack get the ownership annotations of another, and nothing else of them changes.
//! Whether each stack defines them affects only notes and later deletes: a stack that does not define an object may not
//! delete it before it has applied a definition of its own. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::namespace::{blocked, unshown};
use super::rollback::lost;
use super::{
    Action, BeforeImage, BlockReason, BlockedChange, Change, Ignore, MatchedFilters, Note, OwnershipAnnotations, Plan,
    ScopeRead, ScopeState, Selection, Unchangeable, UnmatchedFilter, owner::Owner,
};
use crate::diff::{self, CompareOptions};
use crate::kind::KindName;
use crate::model::{Desired, Key, ListRead, Live, LiveItem, LiveObject, Ownership, Scope};

/// The input of a move.
#[derive(Clone, Copy)]
pub struct MoveInput<'a> {
    /// The stack that owns the endpoints.
    pub from: &'a str,
    /// The stack that gets them.
    pub to: &'a str,
    /// The definitions of the old stack; `None` where its directory is unknown.
    pub defined_before: Option<&'a Desired>,
    /// The definitions of the new stack; `None` where its directory is unknown.
    pub defined_after: Option<&'a Desired>,
    /// The fields that the new stack ignores.
    pub ignore: &'a Ignore,
    /// The kinds in which the new stack removes undefined fields.
    pub strict: &'a BTreeSet<KindName>,
    /// Which objects move; without a filter, those that the new stack defines.
    pub selection: &'a Selection,
    /// The live objects in the namespaces of both.
    pub live: &'a Live,
}

/// Adds the transfers from `from` to `to` to `plan`, which already has its service, stack and settings.
///
/// # Guarantees
/// - Only ownership annotations change: no create, replace or delete is planned, and each endpoint keeps its uid.
/// - `to` cannot delete an object that it does not define (or may not define) before it has defined and applied it.
/// - Objects that belong to neither stack are left alone.
///
/// # Errors
/// A filter that matches nothing, or nothing that belongs to `from`, if every list was read.
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
    // Repeating the call after the move is not an error, but a wrong name is: two of three signs are enough.
    let nothing_moved = plan.scope.values().all(|scope| scope.in_sync == 0);
    let signs = [!from_exists, nothing_moved, !others.is_empty()].into_iter().filter(|sign| *sign).count();
    if is_complete && plan.changes.is_empty() && plan.blocked.is_empty() && signs >= 2 {
        return Err(MoveError::OfOthers { from: input.from.to_owned(), others });
    }
    plan.source.requests = input.live.requests;
    plan.sealed = input.defined_after.map(Desired::sealed).unwrap_or_default();
    Ok(plan.order())
}

/// Why a move is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// A filter matches nothing.
    #[error(transparent)]
    Unmatched(#[from] UnmatchedFilter),
    /// The selected objects do not belong to the old stack.
    #[error("nothing that would move belongs to the stack `{from}`")]
    OfOthers {
        /// The old stack.
        from: String,
        /// The stacks that own them, each with one object.
        others: BTreeMap<String, Key>,
    },
}

struct Handover<'a> {
    plan: Plan,
    input: MoveInput<'a>,
    /// The directory of the old stack is known, or the stack owns a live object.
    from_exists: bool,
    /// Other stacks that own selected objects.
    others: BTreeMap<String, Key>,
    /// The number of objects in a list that the new stack has already.
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
            // Without a filter, this means that the new stack does not define it.
            (false, true) if defined_before.is_none() => {
                self.plan.notes.push(Note::Left { key: key.clone(), stack: from.to_owned() });
            }
            (false, _) => {}
        }
    }

    /// Whether this list may contain objects that move.
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
        let MoveInput { from, to, defined_before, defined_after, ignore, strict, .. } = self.input;
        let key = &live.endpoint.key;
        let definition = defined_after.and_then(|desired| desired.definitions.get(key));
        let annotations = OwnershipAnnotations::moved(&live.endpoint, to, definition.is_none().then_some(from));
        let action = Action::Annotate { before: BeforeImage::of(live) };
        let secrets = definition.map(|definition| unshown(definition, &live.endpoint)).unwrap_or_default();
        let change = Change { ownership: Some(annotations), secrets, ..Change::new(key.clone(), action) };
        // A write of an object with a secret must contain the secret.
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
                let ignored = ignore.fields(key);
                let options = CompareOptions { applied, ignored: &ignored, strict: strict.contains(&key.kind) };
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

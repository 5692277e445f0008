//! Objects that get another name or namespace: the service cannot rename objects, so a plan creates the new one and
//! deletes the old one. A note connects the two, and where the create is blocked, so is the delete. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionKind, BlockReason, Change, Note, Plan};
use crate::diff::{self, CompareOptions};
use crate::kind::KindName;
use crate::model::{Key, Name, Object, gathered};

impl Plan {
    /// Blocks the deletes that a blocked create may replace: of the same kind, with the same name or in the same
    /// namespace. Returns whether it blocked any. In an apply, these deletes would wait for the create.
    pub(super) fn block_replaced(&mut self) -> bool {
        let creates = self.blocked.iter().filter(|blocked| {
            let is_create = matches!(blocked.change, Some(Change { action: Action::Create { .. }, .. }));
            is_create && blocked.reason.leaves_missing()
        });
        let creates: BTreeSet<Key> = creates.map(|blocked| blocked.key.clone()).collect();
        if creates.is_empty() {
            return false;
        }
        let created = self.of_kind(ActionKind::Create).map(|change| change.action.object());
        let created: BTreeMap<_, Vec<&Object>> =
            gathered(created.map(|object| ((object.key.kind, &object.key.name), object)));
        let unreplaced = |change: &Change| {
            let (key, gone) = (&change.key, change.action.object());
            let may_replace = |create: &&Key| {
                create.kind == key.kind && (create.name == key.name || create.namespace == key.namespace)
            };
            let create = creates.iter().find(may_replace)?;
            // An object that moves to a create of this plan is replaced by that one.
            let is_moved =
                created.get(&(key.kind, &key.name)).is_some_and(|all| all.iter().any(|one| is_move(gone, one)));
            (!is_moved).then(|| (key.clone(), create.clone()))
        };
        let unreplaced: BTreeMap<Key, Key> = self.of_kind(ActionKind::Delete).filter_map(unreplaced).collect();
        self.block_deletes(|key| Some(BlockReason::Unreplaced { create: unreplaced.get(key)?.clone() }))
    }

    /// Notes each delete whose object is created in another namespace, with the same name and spec. A name with a
    /// second create or delete is ambiguous, and is not noted.
    pub(super) fn note_renamed(&mut self) {
        let mut changed: BTreeMap<(KindName, &Name), [Vec<&Object>; 2]> = BTreeMap::new();
        for Change { key, action, .. } in self.with_blocked() {
            let (at, object) = match action {
                Action::Create { wanted } => (0, wanted),
                Action::Delete { before, .. } => (1, &before.endpoint),
                Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => continue,
            };
            changed.entry((key.kind, &key.name)).or_default()[at].push(object);
        }
        let notes: Vec<Note> =
            changed.into_values().filter_map(|[created, deleted]| note(&created, &deleted)).collect();
        self.notes.extend(notes);
    }
}

/// The note on objects that are created and deleted with the same name.
fn note(created: &[&Object], deleted: &[&Object]) -> Option<Note> {
    let ([wanted], [gone]) = (created, deleted) else { return None };
    is_move(gone, wanted).then(|| Note::Renamed { key: gone.key.clone(), to: wanted.key.clone() })
}

/// Whether both have the same spec, as far as responses show it.
fn is_move(gone: &Object, wanted: &Object) -> bool {
    let differences = diff::compare(gone, wanted, CompareOptions::default());
    !differences.iter().any(|difference| difference.field.is_of_spec())
}

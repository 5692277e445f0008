//! Objects that get another name or namespace: the service cannot rename one, so a plan creates it there and deletes
//! it here. A note says which belong together, and where the create is blocked, the delete is. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionKind, BlockReason, Change, Note, Plan};
use crate::diff::{self, CompareOptions};
use crate::kind::KindName;
use crate::model::{Key, Name, Object};

impl Plan {
    /// Blocks the deletes in whose place a blocked create may be meant: of the same name in another namespace, and of the
    /// same kind in its own; whether there are any. In an apply they would wait for it.
    pub(super) fn block_replaced(&mut self) -> bool {
        let creates = self.blocked.iter().filter(|blocked| {
            let is_create = matches!(blocked.change, Some(Change { action: Action::Create { .. }, .. }));
            is_create && blocked.reason.leaves_missing()
        });
        let creates: BTreeSet<Key> = creates.map(|blocked| blocked.key.clone()).collect();
        if creates.is_empty() {
            return false;
        }
        // What moves to a create of this plan has its place there.
        let moved: BTreeSet<(KindName, Name)> =
            self.of_kind(ActionKind::Create).map(|change| (change.key.kind, change.key.name.clone())).collect();
        let create = |key: &Key| {
            if moved.contains(&(key.kind, key.name.clone())) {
                return None;
            }
            let may_replace = |create: &&Key| {
                create.kind == key.kind && (create.name == key.name || create.namespace == key.namespace)
            };
            creates.iter().find(may_replace).cloned()
        };
        self.block_deletes(|key| create(key).map(|create| BlockReason::Unreplaced { create }))
    }

    /// Notes each delete whose endpoint is created in another namespace, under the same name and with the same spec. A
    /// name with a second create or delete is ambiguous, and is not noted.
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

/// The note on what is created and deleted under one name.
fn note(created: &[&Object], deleted: &[&Object]) -> Option<Note> {
    let ([wanted], [gone]) = (created, deleted) else { return None };
    let differences = diff::compare(gone, wanted, CompareOptions::default());
    let same_spec = !differences.iter().any(|difference| difference.field.is_of_spec());
    same_spec.then(|| Note::Renamed { key: gone.key.clone(), to: wanted.key.clone() })
}

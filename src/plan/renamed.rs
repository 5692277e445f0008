//! Endpoints that move to another namespace: the service cannot rename one, so a plan creates it there and deletes
//! it here. A note says which belong together; it changes nothing of what is planned. Pure.

use std::collections::BTreeMap;

use super::{Action, Change, Note, Plan};
use crate::diff::{self, CompareOptions};
use crate::kind::KindName;
use crate::model::{Name, Object};

impl Plan {
    /// Notes each delete whose endpoint is created in another namespace, under the same name and with the same spec. A
    /// name with a second create or delete is ambiguous, and is not noted.
    pub(super) fn note_renamed(&mut self) {
        let mut pairs: BTreeMap<(KindName, &Name), Pair<'_>> = BTreeMap::new();
        for Change { key, action, .. } in self.with_blocked() {
            match action {
                Action::Create { wanted } => pairs.entry((key.kind, &key.name)).or_default().created.push(wanted),
                Action::Delete { before, .. } => {
                    pairs.entry((key.kind, &key.name)).or_default().deleted.push(&before.endpoint);
                }
                Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => {}
            }
        }
        let notes: Vec<Note> = pairs.into_values().filter_map(Pair::note).collect();
        self.notes.extend(notes);
    }
}

/// What is created and deleted under one name.
#[derive(Default)]
struct Pair<'p> {
    created: Vec<&'p Object>,
    deleted: Vec<&'p Object>,
}

impl Pair<'_> {
    fn note(self) -> Option<Note> {
        let ([wanted], [gone]) = (self.created.as_slice(), self.deleted.as_slice()) else { return None };
        let differences = diff::compare(gone, wanted, CompareOptions::default());
        let same_spec = !differences.iter().any(|difference| difference.field.is_of_spec());
        same_spec.then(|| Note::Renamed { key: gone.key.clone(), to: wanted.key.clone() })
    }
}

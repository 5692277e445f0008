//! Endpoints that are defined and missing live (never applied yet, or applied and deleted outside), and
//! those that the stack owns where it no longer has a namespace.

use crate::model::{Key, LiveItem, Namespace, NamespaceRead, Ownership};
use crate::plan::{Action, Cause, Note, Owner, Plan};

/// What is known of an endpoint that is missing live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingCause {
    /// It was not applied yet.
    Pending,
    /// It was applied, so it was deleted outside, or its create failed.
    Deleted {
        /// The newest commit that was applied and has it, where git knows one.
        commit: Option<String>,
    },
    /// That cannot be decided.
    Unknown {
        /// Why; nothing where that needs no note.
        reason: Option<String>,
    },
}

impl Plan {
    /// The endpoints that are missing live, with those whose create is blocked.
    pub fn missing(&self) -> impl Iterator<Item = &Key> {
        let blocked = self.blocked.iter().filter_map(|entry| entry.change.as_ref());
        let creates =
            self.changes.iter().chain(blocked).filter(|change| matches!(change.action, Action::Create { .. }));
        creates.map(|change| &change.key)
    }

    /// Gives every create its cause, and notes where none can be given. It changes nothing of what an
    /// apply does.
    pub fn judge_missing(&mut self, mut judge: impl FnMut(&Key) -> MissingCause) {
        let blocked = self.blocked.iter_mut().filter_map(|entry| entry.change.as_mut());
        for change in self.changes.iter_mut().chain(blocked) {
            if !matches!(change.action, Action::Create { .. }) {
                continue;
            }
            match judge(&change.key) {
                MissingCause::Pending => change.cause = Some(Cause::Pending),
                MissingCause::Deleted { commit } => {
                    change.cause = Some(Cause::Drift);
                    change.applied_in = commit;
                }
                MissingCause::Unknown { reason } => {
                    change.cause = Some(Cause::Pending);
                    let note = reason.map(|reason| Note::DeletesUnknown { key: change.key.clone(), reason });
                    self.notes.extend(note);
                }
            }
        }
        self.notes.sort();
    }

    /// Notes what the stack owns in a namespace that it once had and that this plan is not about.
    pub fn note_outside(&mut self, namespace: &Namespace, read: &NamespaceRead) {
        match read {
            NamespaceRead::Unknown { reason } => {
                self.notes.push(Note::OutsideUnread { namespace: namespace.clone(), reason: reason.clone() });
            }
            NamespaceRead::Complete { items } => {
                let objects = items.values().filter_map(|item| match item {
                    LiveItem::Object(live) if !live.deleting && live.owner_view.is_none() => Some(&live.endpoint),
                    LiveItem::Object(_) | LiveItem::Unsupported(_) => None,
                });
                for endpoint in objects {
                    let ownership = Ownership::read(&endpoint.annotations);
                    if Owner::of(ownership.as_ref(), &endpoint.key, self.stack.as_deref()).is_ours() {
                        self.notes.push(Note::Outside { key: endpoint.key.clone() });
                    }
                }
            }
        }
        self.notes.sort();
    }
}

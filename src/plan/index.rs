//! The changes of a plan by their endpoint, for callers that look up many.

use std::collections::BTreeMap;

use super::{Change, Plan};
use crate::model::Key;

/// The changes of a plan by their endpoint, those that are blocked included. To ask the plan itself for
/// each of many endpoints would take a walk through all changes each time.
#[derive(Debug)]
pub struct ByKey<'p>(BTreeMap<&'p Key, &'p Change>);

impl Plan {
    /// The changes by their endpoint.
    pub fn by_key(&self) -> ByKey<'_> {
        let blocked = self.blocked.iter().filter_map(|entry| entry.change.as_ref());
        let mut changes = BTreeMap::new();
        for change in self.changes.iter().chain(blocked) {
            changes.entry(&change.key).or_insert(change);
        }
        ByKey(changes)
    }
}

impl<'p> ByKey<'p> {
    /// The change of an endpoint.
    pub fn get(&self, key: &Key) -> Option<&'p Change> {
        self.0.get(key).copied()
    }
}

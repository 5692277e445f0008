//! The order among the creates of a plan, and among its deletes: an object is created after those that it refers to, and
//! deleted after those that refer to it. The rest of the order is that of the phases: a reference to what is created
//! is set, and one to what is deleted is let go, by the replaces between them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionKind, Change};
use crate::kind::{self, KindName, Target};
use crate::model::{Endpoint, Json, Key, Namespace};

/// Changes of one kind of action, in waves: each waits for those before it.
pub struct Waves<'a> {
    /// The waves, each in the order of the plan.
    pub waves: Vec<Vec<&'a Change>>,
    /// What each change waits for.
    pub needs: BTreeMap<&'a Key, BTreeSet<&'a Key>>,
}

impl<'a> Waves<'a> {
    /// The waves of these changes, all of one phase. What refers to one another in a circle is in the last wave.
    #[must_use]
    pub fn of(changes: Vec<&'a Change>) -> Self {
        let keys: BTreeSet<&Key> = changes.iter().map(|change| &change.key).collect();
        let mut needs: BTreeMap<&Key, BTreeSet<&Key>> = BTreeMap::new();
        // Objects of one kind do not refer to one another: nothing to look for among endpoints.
        let is_mixed = keys.iter().any(|key| !key.kind.is_endpoint());
        for change in changes.iter().filter(|_| is_mixed) {
            let found = target_keys(written(change), &keys);
            for target in found.into_iter().filter(|target| *target != &change.key) {
                match change.action.kind() {
                    ActionKind::Delete => needs.entry(target).or_default().insert(&change.key),
                    ActionKind::Create | ActionKind::Replace | ActionKind::Annotate => {
                        needs.entry(&change.key).or_default().insert(target)
                    }
                };
            }
        }
        let mut waves = Vec::new();
        let mut left = changes;
        let mut done: BTreeSet<&Key> = BTreeSet::new();
        while !left.is_empty() {
            let is_free = |change: &&Change| needs.get(&change.key).is_none_or(|needs| needs.is_subset(&done));
            let (free, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_free);
            left = rest;
            if free.is_empty() {
                // A circle: no order is right, and the service takes a reference to what is not there yet.
                waves.push(std::mem::take(&mut left));
            } else {
                done.extend(free.iter().map(|change| &change.key));
                waves.push(free);
            }
        }
        Self { waves, needs }
    }
}

/// The object as the change knows it: what it creates, or what was there.
fn written(change: &Change) -> &Endpoint {
    match &change.action {
        Action::Create { wanted } => wanted,
        Action::Replace { before, .. } | Action::Annotate { before } | Action::Delete { before, .. } => {
            &before.endpoint
        }
    }
}

/// Those of `keys` that an object refers to.
fn target_keys<'k>(object: &Endpoint, keys: &BTreeSet<&'k Key>) -> Vec<&'k Key> {
    let named = targets(object);
    let candidates = named.iter().flat_map(|target| candidates(target, &object.key.namespace));
    candidates.filter_map(|key| keys.get(&key).copied()).collect()
}

/// What an object refers to.
#[must_use]
pub fn targets(object: &Endpoint) -> Vec<Target> {
    let spec = match object.spec.described() {
        Some(spec) => spec.json(),
        // Only a place refers to others, and an endpoint without one is the usual case.
        None if object.spec.endpoint().is_none_or(|spec| spec.place.is_none()) => return Vec::new(),
        None => serde_json::to_value(object).unwrap_or(Json::Null)["spec"].take(),
    };
    kind::references(object.key.kind.kind().spec, &spec)
}

/// The keys that a reference of an object in this namespace may mean.
pub fn candidates<'t>(target: &'t Target, own: &'t Namespace) -> impl Iterator<Item = Key> + 't {
    let namespace = target.namespace.as_deref().unwrap_or(own.as_str());
    target.kinds.iter().filter_map(move |kind| {
        let parse = |kind: KindName| format!("{kind}:{namespace}/{}", target.name);
        Key::parse(&parse(KindName::find(kind)?)).ok()
    })
}

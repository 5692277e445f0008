//! The order of the changes of a plan. A create or replace waits for the creates that it refers to; a delete for the deletes
//! of those that refer to it, for the replaces that let go of it, and for every create and replace of its namespace but
//! those that wait for it. A recreate is a create to those that will refer to its object, and a delete to those that let
//! go of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionKind, Change, FieldChange};
use crate::kind::{self, KindName, Target};
use crate::model::{Endpoint, Json, Key, Name, Namespace};

/// The changes of a plan in waves: each waits for those before it.
#[derive(Debug, Clone, Default)]
pub struct Waves<'a> {
    /// The waves, each in the order of the plan.
    pub waves: Vec<Vec<&'a Change>>,
    /// What each change waits for, beside what a delete waits for in its namespace.
    pub needs: BTreeMap<&'a Key, BTreeSet<&'a Key>>,
}

impl<'a> Waves<'a> {
    /// The waves of these changes, as wide as their references allow. What refers to one another in a circle is in the
    /// last wave: no order is right, and the service accepts a reference to what is not there yet.
    #[must_use]
    pub fn of(changes: &'a [Change]) -> Self {
        let needs = needs(changes);
        let (early, behind) = early_deletes(changes, &needs);
        let mut waves = Vec::new();
        let mut left: Vec<&Change> = changes.iter().collect();
        let mut done: BTreeSet<&Key> = BTreeSet::new();
        while !left.is_empty() {
            let namespace = |change: &&'a Change| &change.key.namespace;
            let writes = left.iter().filter(|change| !is_delete(change));
            let written: BTreeSet<&Namespace> = writes.clone().map(namespace).collect();
            let written_first: BTreeSet<&Namespace> =
                writes.filter(|change| !behind.contains(&change.key)).map(namespace).collect();
            let is_free = |change: &&Change| {
                let written = if early.contains(&change.key) { &written_first } else { &written };
                needs.get(&change.key).is_none_or(|needs| needs.is_subset(&done))
                    && !(is_delete(change) && written.contains(&change.key.namespace))
            };
            let (free, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_free);
            left = rest;
            if free.is_empty() {
                waves.push(std::mem::take(&mut left));
            } else {
                // Without references nobody asks.
                done.extend(free.iter().filter(|_| !needs.is_empty()).map(|change| &change.key));
                waves.push(free);
            }
        }
        Self { waves, needs }
    }
}

fn is_delete(change: &Change) -> bool {
    change.action.kind() == ActionKind::Delete
}

/// The deletes that a write waits for, as the recreate of what a deleted object refers to does, and the writes that wait
/// for a delete.
fn early_deletes<'a>(
    changes: &'a [Change],
    needs: &BTreeMap<&'a Key, BTreeSet<&'a Key>>,
) -> (BTreeSet<&'a Key>, BTreeSet<&'a Key>) {
    let deletes: BTreeSet<&Key> = changes.iter().filter(|change| is_delete(change)).map(|change| &change.key).collect();
    let waits = |key: &Key, keys: &BTreeSet<&Key>| needs.get(key).is_some_and(|needed| !needed.is_disjoint(keys));
    let behind = closed(&deletes, |behind| needs.keys().copied().filter(|key| waits(key, behind)).collect());
    let behind: BTreeSet<&Key> = behind.difference(&deletes).copied().collect();
    let needed = closed(&behind, |needed| needed.iter().filter_map(|key| needs.get(key)).flatten().copied().collect());
    (needed.intersection(&deletes).copied().collect(), behind)
}

/// The keys with all that `more` finds from them, step by step.
fn closed<'a>(keys: &BTreeSet<&'a Key>, more: impl Fn(&BTreeSet<&'a Key>) -> Vec<&'a Key>) -> BTreeSet<&'a Key> {
    let mut all = keys.clone();
    loop {
        let count = all.len();
        all.extend(more(&all));
        if all.len() == count {
            return all;
        }
    }
}

fn needs(changes: &[Change]) -> BTreeMap<&Key, BTreeSet<&Key>> {
    let keys_of = |kind| changes.iter().filter(move |change| change.action.kind() == kind).map(|change| &change.key);
    let mut creates: BTreeSet<&Key> = keys_of(ActionKind::Create).collect();
    let mut deletes: BTreeSet<&Key> = keys_of(ActionKind::Delete).collect();
    let mut needs: BTreeMap<&Key, BTreeSet<&Key>> = BTreeMap::new();
    // What moves to another namespace is there before it is gone here.
    let mut moved: BTreeMap<(KindName, &Name), Vec<&Key>> = BTreeMap::new();
    for key in creates.iter().filter(|_| !deletes.is_empty()) {
        moved.entry((key.kind, &key.name)).or_default().push(key);
    }
    for key in &deletes {
        if let Some(created) = moved.get(&(key.kind, &key.name)) {
            needs.entry(key).or_default().extend(created);
        }
    }
    // Endpoints do not refer to one another.
    if changes.iter().all(|change| change.key.kind.is_endpoint()) {
        return needs;
    }
    creates.extend(keys_of(ActionKind::Recreate));
    deletes.extend(keys_of(ActionKind::Recreate));
    for change in changes {
        let key = &change.key;
        let before = change.action.before().map(|before| &before.endpoint);
        let after = afterwards(change);
        let after: BTreeSet<Key> = after.as_deref().map(target_keys).unwrap_or_default();
        let created = after.iter().filter_map(|target| creates.get(target)).filter(|target| **target != key);
        let created: BTreeSet<&Key> = created.copied().collect();
        if !created.is_empty() {
            needs.entry(key).or_default().extend(created);
        }
        let let_go = before.filter(|_| !deletes.is_empty()).map(target_keys).unwrap_or_default();
        for target in
            let_go.difference(&after).filter_map(|target| deletes.get(target)).filter(|target| **target != key)
        {
            needs.entry(target).or_default().insert(key);
        }
    }
    needs
}

/// The object as the change leaves it; nothing where it deletes it.
#[must_use]
pub fn afterwards(change: &Change) -> Option<Cow<'_, Endpoint>> {
    match &change.action {
        Action::Create { wanted } => Some(Cow::Borrowed(wanted)),
        Action::Annotate { before } => Some(Cow::Borrowed(&before.endpoint)),
        Action::Replace { before, .. } | Action::Recreate { before, .. } => {
            let mut after = before.endpoint.clone();
            let set = |field: &FieldChange| field.field.assign(&mut after, &field.before, &field.after).is_ok();
            Some(if change.fields().iter().all(set) { Cow::Owned(after) } else { Cow::Borrowed(&before.endpoint) })
        }
        Action::Delete { .. } => None,
    }
}

/// The keys that the references of an object may mean.
pub(super) fn target_keys(object: &Endpoint) -> BTreeSet<Key> {
    targets(object).iter().flat_map(|target| candidates(target, &object.key.namespace)).collect()
}

/// What an object refers to.
#[must_use]
pub fn targets(object: &Endpoint) -> Vec<Target> {
    let id = object.key.kind.kind().spec;
    match object.spec.described() {
        Some(spec) => {
            spec.units().flat_map(|(unit, value)| kind::references(id, kind::keys_of(id, unit, Some(value)))).collect()
        }
        // Only a place refers to others, and an endpoint without one is the usual case.
        None if object.spec.endpoint().is_none_or(|spec| spec.place.is_none()) => Vec::new(),
        None => {
            let spec = serde_json::to_value(object).unwrap_or(Json::Null)["spec"].take();
            kind::references(id, kind::Keys::of(&spec))
        }
    }
}

/// The keys that a reference of an object in this namespace may mean.
pub fn candidates<'t>(target: &'t Target, own: &'t Namespace) -> impl Iterator<Item = Key> + 't {
    let namespace = target.namespace.as_deref().unwrap_or(own.as_str());
    target.kinds.iter().filter_map(move |kind| {
        let parse = |kind: KindName| format!("{kind}:{namespace}/{}", target.name);
        Key::parse(&parse(KindName::find(kind)?)).ok()
    })
}

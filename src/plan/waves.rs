//! The order of the changes of a plan. A create or replace waits for the creates that it refers to. A delete waits for
//! the deletes of its referrers, for replaces that drop references to it, and for every create and replace of its
//! namespace except those that wait for it. If two deletes would wait for each other, neither waits for writes that
//! wait for the other. A recreate is a create for its future referrers, and a delete for those that drop references to
//! it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionKind, Change, FieldChange};
use crate::kind::{self, KindName, Target};
use crate::model::{Json, Key, Name, Namespace, Object, RelatedObject, gathered};

/// The changes of a plan in waves: each wave waits for the previous ones.
#[derive(Debug, Clone, Default)]
pub struct Waves<'a> {
    /// The waves, each in the order of the plan.
    pub waves: Vec<Vec<&'a Change>>,
    /// The changes that each change waits for, without those that a delete waits for only because of its namespace.
    pub needs: BTreeMap<&'a Key, BTreeSet<&'a Key>>,
}

impl<'a> Waves<'a> {
    /// The waves of these changes, as wide as their references allow. Changes that wait for each other in a circle are
    /// in the last wave: no order is right, and the service accepts a reference to a missing object.
    pub fn of(changes: &'a [Change]) -> Self {
        let needs = needs(changes);
        let waves = in_order(changes, &needs);
        Self { waves, needs }
    }
}

fn in_order<'a>(changes: &'a [Change], needs: &BTreeMap<&'a Key, BTreeSet<&'a Key>>) -> Vec<Vec<&'a Change>> {
    let behind = behind_deletes(changes, needs);
    let behind_any: BTreeSet<&Key> = behind.values().flatten().copied().collect();
    let mut waves = Vec::new();
    let mut left: Vec<&Change> = changes.iter().collect();
    let mut done: BTreeSet<&Key> = BTreeSet::new();
    while !left.is_empty() {
        let written = left.iter().filter(|change| !is_delete(change)).map(|change| &change.key);
        let written: BTreeMap<&Namespace, Vec<&Key>> = gathered(written.map(|key| (&key.namespace, key)));
        let waits_for_write = |delete: &Change, behind: Option<&BTreeSet<&Key>>| {
            let mut writes = written.get(&delete.key.namespace).into_iter().flatten();
            writes.any(|key| behind.is_none_or(|behind| !behind.contains(key)))
        };
        let needs_are_done = |change: &Change| needs.get(&change.key).is_none_or(|needs| needs.is_subset(&done));
        let is_free = |change: &&Change| {
            needs_are_done(change) && !(is_delete(change) && waits_for_write(change, behind.get(&change.key)))
        };
        // Two deletes wait for each other's writes: let them ignore these writes.
        let is_early = |change: &&Change| {
            needs_are_done(change) && behind.contains_key(&change.key) && !waits_for_write(change, Some(&behind_any))
        };
        let is_stuck = !left.iter().any(is_free);
        let is_free = |change: &&Change| if is_stuck { is_early(change) } else { is_free(change) };
        let (free, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_free);
        left = rest;
        if free.is_empty() {
            waves.push(std::mem::take(&mut left));
        } else {
            // Without references, this set is not used.
            done.extend(free.iter().filter(|_| !needs.is_empty()).map(|change| &change.key));
            waves.push(free);
        }
    }
    waves
}

fn is_delete(change: &Change) -> bool {
    change.action.kind() == ActionKind::Delete
}

/// The deletes that a write waits for (such as the recreate of an object that the deleted one refers to), each with
/// everything that waits for it.
fn behind_deletes<'a>(
    changes: &'a [Change],
    needs: &BTreeMap<&'a Key, BTreeSet<&'a Key>>,
) -> BTreeMap<&'a Key, BTreeSet<&'a Key>> {
    let waiting = needs.iter().flat_map(|(key, needed)| needed.iter().map(|needed| (*needed, *key)));
    let waiting: BTreeMap<&Key, Vec<&Key>> = gathered(waiting);
    let deletes: BTreeSet<&Key> = changes.iter().filter(|change| is_delete(change)).map(|change| &change.key).collect();
    let behind = reached(&deletes, |key| waiting.get(key).into_iter().flatten().copied());
    let before =
        reached(&behind.difference(&deletes).copied().collect(), |key| needs.get(key).into_iter().flatten().copied());
    let early = deletes.intersection(&before);
    let all_behind =
        |key: &'a Key| reached(&BTreeSet::from([key]), |key| waiting.get(key).into_iter().flatten().copied());
    early.map(|key| (*key, all_behind(key))).collect()
}

/// All keys reachable from some keys, including these.
fn reached<'a, I: Iterator<Item = &'a Key>>(
    from: &BTreeSet<&'a Key>,
    next: impl Fn(&'a Key) -> I,
) -> BTreeSet<&'a Key> {
    let (mut all, mut new): (BTreeSet<_>, Vec<_>) = (from.clone(), from.iter().copied().collect());
    while let Some(key) = new.pop() {
        new.extend(next(key).filter(|key| all.insert(key)));
    }
    all
}

/// The recreates that wait for changes that wait for them, each with these changes: its delete follows the changes that
/// drop references to the object, and its create precedes those that will refer to it.
pub(super) fn recreated_in_circles<'a>(changes: &'a [Change]) -> BTreeMap<Key, Vec<RelatedObject>> {
    let recreates = || changes.iter().filter(|change| change.action.kind() == ActionKind::Recreate);
    if recreates().next().is_none() {
        return BTreeMap::new();
    }
    let needs = needs(changes);
    let needed = |key: &'a Key| needs.get(key).into_iter().flatten().copied();
    let circle = |change: &'a Change| {
        let is_behind = |one: &&'a Key| reached(&BTreeSet::from([*one]), needed).contains(&change.key);
        needed(&change.key).filter(is_behind).map(RelatedObject::from).collect()
    };
    let circles = recreates().map(|change| (change.key.clone(), circle(change)));
    circles.filter(|(_, by): &(Key, Vec<RelatedObject>)| !by.is_empty()).collect()
}

fn needs(changes: &[Change]) -> BTreeMap<&Key, BTreeSet<&Key>> {
    let keys_of = |kind| changes.iter().filter(move |change| change.action.kind() == kind).map(|change| &change.key);
    let mut creates: BTreeSet<&Key> = keys_of(ActionKind::Create).collect();
    let mut deletes: BTreeSet<&Key> = keys_of(ActionKind::Delete).collect();
    let mut needs: BTreeMap<&Key, BTreeSet<&Key>> = BTreeMap::new();
    // An object that moves to another namespace is created there before it is deleted here.
    let moved = creates.iter().filter(|_| !deletes.is_empty()).map(|key| ((key.kind, &key.name), *key));
    let moved: BTreeMap<(KindName, &Name), Vec<&Key>> = gathered(moved);
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

/// The object after the change; `None` where the change deletes it.
pub fn afterwards(change: &Change) -> Option<Cow<'_, Object>> {
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
pub(super) fn target_keys(object: &Object) -> BTreeSet<Key> {
    targets(object).iter().flat_map(|target| candidates(target, &object.key.namespace)).collect()
}

/// The targets of the references of an object.
pub fn targets(object: &Object) -> Vec<Target> {
    let message = object.key.kind.message();
    let of_unit = |(unit, value): (&str, Json)| kind::references(message, kind::keys_of(message, unit, &value));
    object.spec.referring().flat_map(of_unit).collect()
}

/// The keys that a reference of an object in this namespace may mean.
pub fn candidates<'t>(target: &'t Target, own: &Namespace) -> impl Iterator<Item = Key> + use<'t> {
    let namespace = Namespace::parse(target.namespace.as_deref().unwrap_or(own.as_str()));
    // The vendor's own objects belong to another tenant, even if a reference leaves that out.
    let is_vendors = target.namespace.as_deref() == Some("shared") && target.name.starts_with("ves-io-");
    target.kinds.iter().filter(move |_| !is_vendors).filter_map(move |kind| {
        let (namespace, kind) = (namespace.clone().ok()?, KindName::find(kind)?);
        Some(Key { namespace, kind, name: Name::of_kind(kind, &target.name).ok()? })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::BeforeImage;
    use crate::tests::world::{endpoint, live};

    fn changes(kinds: &[(bool, bool)]) -> Vec<Change> {
        let change = |(at, (is_delete, is_shop)): (usize, &(bool, bool))| {
            let mut object = endpoint(&format!("e{at}"), 80);
            let namespace = if *is_shop { "shop" } else { "pay" };
            object.key.namespace = Namespace::parse(namespace).expect("a namespace");
            let before = BeforeImage::of(&live(object.clone()));
            let action = match is_delete {
                true => Action::Delete { before, referrers: Vec::new() },
                false => Action::Create { wanted: object.clone() },
            };
            Change::new(object.key, action)
        };
        kinds.iter().enumerate().map(change).collect()
    }

    #[test]
    fn what_waits_for_one_another_in_a_circle_comes_last() {
        let changes = changes(&[(false, true), (false, true), (true, true), (true, false)]);
        let key = |at: usize| &changes[at].key;
        let needs = BTreeMap::from([(key(0), BTreeSet::from([key(1)])), (key(1), BTreeSet::from([key(0)]))]);
        let waves = in_order(&changes, &needs);
        let keys: Vec<Vec<&Key>> = waves.iter().map(|wave| wave.iter().map(|change| &change.key).collect()).collect();
        assert_eq!(keys, [vec![key(3)], vec![key(0), key(1), key(2)]]);
    }

    #[test]
    fn of_deletes_whose_writes_wait_for_one_another_those_go_first_that_a_write_waits_for() {
        let kinds = [true, true, false, false, true, true, false].map(|is_delete| (is_delete, true));
        let changes = changes(&kinds);
        let key = |at: usize| &changes[at].key;
        let needs =
            [(2, 0), (3, 1), (5, 0), (6, 5)].map(|(later, earlier)| (key(later), BTreeSet::from([key(earlier)])));
        let waves = in_order(&changes, &BTreeMap::from(needs));
        let keys: Vec<Vec<&Key>> = waves.iter().map(|wave| wave.iter().map(|change| &change.key).collect()).collect();
        assert_eq!(keys, [vec![key(0), key(1)], vec![key(2), key(3)], vec![key(5)], vec![key(6)], vec![key(4)]]);
    }

    proptest! {
        /// Where no circle is, each change comes after what it needs, and a delete after the writes of its namespace but
        /// those that wait for a delete themselves; for its own sake it lets no other pass.
        #[test]
        fn a_change_comes_after_what_it_needs_and_a_delete_after_the_writes_of_its_namespace(
            kinds in prop::collection::vec(any::<(bool, bool)>(), 1..12),
            pairs in prop::collection::vec((0..12usize, 0..12usize), 0..14),
        ) {
            let changes = changes(&kinds);
            let mut needs: BTreeMap<&Key, BTreeSet<&Key>> = BTreeMap::new();
            for (later, earlier) in pairs.into_iter().filter(|(later, earlier)| earlier < later && *later < kinds.len()) {
                needs.entry(&changes[later].key).or_default().insert(&changes[earlier].key);
            }
            let waves = in_order(&changes, &needs);
            let wave = |key: &Key| waves.iter().position(|wave| wave.iter().any(|change| change.key == *key));
            prop_assert_eq!(waves.iter().map(Vec::len).sum::<usize>(), changes.len());
            let deletes = || changes.iter().filter(|change| is_delete(change));
            for change in &changes {
                let needed = needs.get(&change.key).into_iter().flatten();
                for needed in needed {
                    prop_assert!(wave(needed) < wave(&change.key), "{} and {needed} in {waves:#?}", change.key);
                }
            }
            for delete in deletes() {
                let is_beside = |write: &&Change| !is_delete(write) && write.key.namespace == delete.key.namespace;
                for write in changes.iter().filter(is_beside).filter(|write| wave(&write.key) >= wave(&delete.key)) {
                    let before = reached(&BTreeSet::from([&write.key]), |key| needs.get(key).into_iter().flatten().copied());
                    prop_assert!(deletes().any(|delete| before.contains(&delete.key)), "{} and {}", delete.key, write.key);
                    let has_one_delete = deletes().count() == 1;
                    prop_assert!(!has_one_delete || before.contains(&delete.key));
                }
            }
        }
    }
}

//! Merges a partial endpoint of an environment onto the definition of the same key: mappings are
//! merged, `null` removes, lists and scalars replace, and choosing an option of an exclusive group
//! removes the other options.

use std::collections::{HashMap, HashSet};

use super::item::{Item, MapEntry, Value};
use crate::model::shape::{ENDPOINT, NodeKind, ShapeNode, snake};

/// `base` with `overlay` merged onto it.
pub(super) fn merge<'s>(base: &mut Item<'s>, overlay: &Item<'s>) {
    merge_at(base, overlay, Some(&ENDPOINT));
}

/// Merges one level; nothing is known of a level that the shape does not have.
fn merge_at<'s>(base: &mut Item<'s>, overlay: &Item<'s>, level: Option<&ShapeNode>) {
    let (Value::Map(entries), Value::Map(changes)) = (&mut base.value, &overlay.value) else {
        *base = overlay.clone();
        return;
    };
    drop_rivals(entries, level, changes);
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        places.entry(spelled(level, &entry.key)).or_default().push(at);
    }
    let mut removed = HashSet::new();
    for change in changes {
        let key = spelled(level, &change.key);
        // The name selects the definition and changes nothing.
        if level.is_some_and(|level| level.key == "metadata") && matches!(&*key, "name" | "namespace") {
            continue;
        }
        if change.item.is_null() {
            removed.extend(places.remove(&key).unwrap_or_default());
            continue;
        }
        match places.get(&key).and_then(|places| places.first()) {
            Some(at) => {
                let entry = &mut entries[*at];
                if !matches!((&entry.item.value, &change.item.value), (Value::Map(_), Value::Map(_))) {
                    entry.key_at = change.key_at;
                }
                merge_at(&mut entry.item, &change.item, level.and_then(|level| level.child(&key)));
            }
            None => {
                places.insert(key, vec![entries.len()]);
                entries.push(change.clone());
            }
        }
    }
    if !removed.is_empty() {
        let mut at = 0..;
        entries.retain(|_| at.next().is_some_and(|at| !removed.contains(&at)));
    }
}

/// The key as the API writes it; those of labels and annotations are free.
fn spelled(level: Option<&ShapeNode>, key: &str) -> String {
    let is_free = level.is_some_and(|level| level.kind == NodeKind::TextMap);
    if is_free { key.to_owned() } else { snake(key).into_owned() }
}

/// Removes the options of an exclusive group where the overlay chooses another one. Two that it chooses stay, for an
/// error.
fn drop_rivals(entries: &mut Vec<MapEntry<'_>>, level: Option<&ShapeNode>, changes: &[MapEntry<'_>]) {
    let options = level.map_or(&[][..], ShapeNode::options);
    let chosen: HashSet<_> =
        changes.iter().filter(|change| !change.item.is_null()).map(|change| snake(&change.key)).collect();
    if options.iter().any(|option| chosen.iter().any(|key| key == option)) {
        entries.retain(|entry| {
            let key = snake(&entry.key);
            chosen.contains(&key) || !options.contains(&&*key)
        });
    }
}

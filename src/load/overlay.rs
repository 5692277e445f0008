//! Merges a partial object of an environment onto the definition of the same key: mappings are
//! merged, `null` removes, lists and scalars replace, and choosing an option of an exclusive group
//! removes the other options.

use std::collections::{HashMap, HashSet};

use super::item::{Item, MapEntry, Value};
use super::level::Level;

/// `base` with `overlay` merged onto it.
pub(super) fn merge<'s>(base: &mut Item<'s>, overlay: &Item<'s>) {
    merge_at(base, overlay, Level::root(base.described()));
}

/// Merges one level.
fn merge_at<'s>(base: &mut Item<'s>, overlay: &Item<'s>, level: Level) {
    let (Value::Map(entries), Value::Map(changes)) = (&mut base.value, &overlay.value) else {
        *base = overlay.clone();
        return;
    };
    drop_rivals(entries, level, changes);
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        places.entry(level.spelled(&entry.key).into_owned()).or_default().push(at);
    }
    let (mut removed, mut seen) = (HashSet::new(), HashSet::new());
    for change in changes {
        let key = level.spelled(&change.key).into_owned();
        // Two spellings of one key stay, to be reported.
        if !seen.insert(key.clone()) {
            entries.push(change.clone());
            continue;
        }
        // Keys that select the definition change nothing.
        let selects = match level {
            Level::Metadata => matches!(&*key, "name" | "namespace"),
            Level::Object(_) => key == "kind",
            _ => false,
        };
        if selects {
            continue;
        }
        let at = places.get(&key);
        // An unknown key that removes nothing stays, to be reported.
        if change.item.is_null() && (at.is_some() || level.knows(&key)) {
            removed.extend(places.remove(&key).unwrap_or_default());
            continue;
        }
        match at.and_then(|places| places.first()) {
            Some(at) => {
                let (entry, below) = (&mut entries[*at], level.below(&key));
                let is_merged = matches!((&entry.item.value, &change.item.value), (Value::Map(_), Value::Map(_)));
                // A secret is one value, however it is written.
                let is_secret = matches!(below, Level::Secret);
                if !is_merged || is_secret {
                    entry.key_at = change.key_at;
                }
                merge_at(&mut entry.item, &change.item, below);
                if is_secret {
                    (entry.item.span, entry.item.compact) = (change.item.span, change.item.compact);
                }
            }
            None => {
                let (mut change, below) = (change.clone(), level.below(&key));
                // In a mapping that the definition lacks, a `null` removes nothing.
                if let (Value::Map(_), false) = (&change.item.value, matches!(below, Level::Secret)) {
                    let changes = change.item.clone();
                    change.item.value = Value::Map(Vec::new());
                    merge_at(&mut change.item, &changes, below);
                }
                places.insert(key, vec![entries.len()]);
                entries.push(change);
            }
        }
    }
    if !removed.is_empty() {
        let mut at = 0..;
        entries.retain(|_| at.next().is_some_and(|at| !removed.contains(&at)));
    }
}

/// Removes the options of exclusive groups for which the overlay chooses another one. Two options that it chooses stay,
/// to be reported.
fn drop_rivals(entries: &mut Vec<MapEntry<'_>>, level: Level, changes: &[MapEntry<'_>]) {
    let is_set = |change: &&MapEntry<'_>| !change.item.is_null();
    let chosen: HashSet<_> = changes.iter().filter(is_set).map(|change| level.spelled(&change.key)).collect();
    let options: HashSet<&str> = chosen.iter().flat_map(|key| level.options(key)).copied().collect();
    if !options.is_empty() {
        entries.retain(|entry| {
            let key = level.spelled(&entry.key);
            chosen.contains(&key) || !options.contains(&*key)
        });
    }
}

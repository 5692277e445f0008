//! Groups values by their keys.

use std::collections::BTreeMap;

/// The values of each key, in the order in which the keys first occur.
pub(crate) fn grouped<K: Ord + Clone, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        let at = *places.entry(key).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(value);
    }
    groups
}

/// The values of each key, by the key.
pub(crate) fn gathered<K: Ord, V, C: Default + Extend<V>>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, C> {
    let mut groups: BTreeMap<K, C> = BTreeMap::new();
    pairs.into_iter().for_each(|(key, value)| groups.entry(key).or_default().extend([value]));
    groups
}

/// The number of occurrences of each value.
pub(crate) fn counted<K: Ord>(values: impl IntoIterator<Item = K>) -> BTreeMap<K, usize> {
    let mut numbers = BTreeMap::new();
    values.into_iter().for_each(|value| *numbers.entry(value).or_default() += 1);
    numbers
}

//! Merges a partial endpoint of an environment onto the definition of the same key: mappings are
//! merged, `null` removes, lists and scalars replace, and choosing an option of an exclusive group
//! takes the other options away.

use super::definition::canonical_key;
use super::item::{Item, MapEntry, Value};

/// The options of each exclusive group, by the path of the mapping that holds them.
const GROUPS: [(&[&str], &[&str]); 6] = [
    (&["spec"], &["dns_name", "dns_name_advanced", "ip", "service_info"]),
    (&["spec", "service_info"], &["service_name", "service_selector"]),
    (&["spec", "snat_pool"], &["no_snat_pool", "snat_pool"]),
    (&["spec", "where"], &["site", "virtual_network", "virtual_site"]),
    (&["spec", "where", "site"], &["disable_internet_vip", "enable_internet_vip"]),
    (&["spec", "where", "virtual_site"], &["disable_internet_vip", "enable_internet_vip"]),
];

/// `base` with `overlay` merged onto it.
pub(super) fn merge<'s>(base: &mut Item<'s>, overlay: &Item<'s>) {
    merge_at(base, overlay, &mut Vec::new());
}

fn merge_at<'s>(base: &mut Item<'s>, overlay: &Item<'s>, path: &mut Vec<String>) {
    let (Value::Map(entries), Value::Map(changes)) = (&mut base.value, &overlay.value) else {
        *base = overlay.clone();
        return;
    };
    for change in changes {
        let key = spelled(path, &change.key);
        // The name says which definition is meant and changes nothing.
        if matches!((path.as_slice(), &*key), ([first], "name" | "namespace") if first == "metadata") {
            continue;
        }
        if change.item.is_null() {
            entries.retain(|entry| spelled(path, &entry.key) != key);
            continue;
        }
        drop_rivals(entries, path, &key);
        match entries.iter_mut().find(|entry| spelled(path, &entry.key) == key) {
            Some(entry) => {
                if !matches!((&entry.item.value, &change.item.value), (Value::Map(_), Value::Map(_))) {
                    entry.key_at = change.key_at;
                }
                path.push(key);
                merge_at(&mut entry.item, &change.item, path);
                path.pop();
            }
            None => entries.push(change.clone()),
        }
    }
}

/// The key as the API writes it; labels and annotations are texts of their own.
fn spelled(path: &[String], key: &str) -> String {
    let own = matches!(path, [first, second] if first == "metadata" && (second == "labels" || second == "annotations"));
    if own { key.to_owned() } else { canonical_key(key) }
}

fn drop_rivals(entries: &mut Vec<MapEntry<'_>>, path: &[String], chosen: &str) {
    let group = GROUPS.iter().find(|(at, options)| *at == path && options.contains(&chosen));
    if let Some((_, options)) = group {
        entries.retain(|entry| {
            let key = canonical_key(&entry.key);
            key == chosen || !options.contains(&key.as_str())
        });
    }
}

//! Which namespaces are whose, where several checkers share a fleet: every namespace of every tenant is
//! one checker's, whatever the others do. Each is given by a hash of its own, so that a new namespace
//! moves no other, and another number of checkers moves no more than it must.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::args::Shard;
use crate::model::Namespace;

/// The namespaces of `shard`; all of them where there is none.
pub fn namespaces(all: BTreeSet<Namespace>, shard: Option<Shard>, base_url: &str) -> BTreeSet<Namespace> {
    let Some(Shard { index, of }) = shard else { return all };
    all.into_iter().filter(|namespace| owner(namespace, of, base_url) == index).collect()
}

/// The checker, from 1, with the highest weight for this namespace (rendezvous hashing).
fn owner(namespace: &Namespace, of: u32, base_url: &str) -> u32 {
    let key = Sha256::new().chain_update(base_url).chain_update([0]).chain_update(namespace.as_str()).chain_update([0]);
    let weight = |index: &u32| key.clone().chain_update(index.to_be_bytes()).finalize();
    (1..=of).max_by_key(weight).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URLS: [&str; 2] = ["https://a.example.net", "https://b.example.net"];

    fn names(count: usize) -> BTreeSet<Namespace> {
        (0..count).map(|n| Namespace::parse(&format!("n{n}")).expect("a name")).collect()
    }

    #[test]
    fn every_namespace_is_in_exactly_one_shard() {
        let all = names(20);
        for of in 1..=25 {
            for url in URLS {
                let shards = (1..=of).map(|index| namespaces(all.clone(), Some(Shard { index, of }), url));
                let mut together: Vec<Namespace> = shards.flatten().collect();
                together.sort();
                assert_eq!(together, all.iter().cloned().collect::<Vec<_>>(), "{of}");
            }
        }
        assert_eq!(namespaces(all.clone(), None, ""), all);
    }

    #[test]
    fn a_new_namespace_moves_no_other() {
        let (few, more) = (names(40), names(41));
        for of in 1..=7 {
            for index in 1..=of {
                let shard = |all: &BTreeSet<Namespace>| namespaces(all.clone(), Some(Shard { index, of }), URLS[0]);
                let kept: BTreeSet<Namespace> = shard(&more).intersection(&few).cloned().collect();
                assert_eq!(kept, shard(&few), "{index}/{of}");
            }
        }
    }

    #[test]
    fn one_more_checker_takes_namespaces_and_moves_none_between_the_others() {
        for namespace in names(200) {
            let (before, after) = (owner(&namespace, 4, URLS[0]), owner(&namespace, 5, URLS[0]));
            assert!(after == before || after == 5, "{namespace}: {before} -> {after}");
        }
    }

    #[test]
    fn many_namespaces_are_shared_about_evenly() {
        for url in URLS {
            for index in 1..=5 {
                let share = namespaces(names(500), Some(Shard { index, of: 5 }), url).len();
                assert!((70..=130).contains(&share), "{index}: {share}");
            }
        }
    }
}

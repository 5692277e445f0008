//! Which namespaces are whose, where several checkers share a fleet: every namespace of every tenant is
//! one checker's, whatever the others do, and a tenant's namespaces are dealt out evenly.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::args::Shard;
use crate::model::Namespace;

/// The namespaces of `shard`; all of them where there is none. Tenants begin with different checkers,
/// so that many small ones do not all fall to the first.
pub fn namespaces(all: BTreeSet<Namespace>, shard: Option<Shard>, base_url: &str) -> BTreeSet<Namespace> {
    let Some(Shard { index, of }) = shard else { return all };
    let hash = Sha256::digest(base_url.as_bytes());
    let first = hash.iter().take(4).fold(0u64, |number, byte| number * 256 + u64::from(*byte));
    let mut turn = first % u64::from(of);
    all.into_iter()
        .filter(|_| {
            turn = turn % u64::from(of) + 1;
            turn == u64::from(index)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_namespace_is_in_exactly_one_shard_and_they_are_dealt_out_evenly() {
        let all: BTreeSet<Namespace> = (0..20).map(|n| Namespace::parse(&format!("n{n}")).expect("a name")).collect();
        for of in 1..=25 {
            for url in ["https://a.example.net", "https://b.example.net"] {
                let shards: Vec<_> =
                    (1..=of).map(|index| namespaces(all.clone(), Some(Shard { index, of }), url)).collect();
                let mut together: Vec<_> = shards.iter().flatten().cloned().collect();
                together.sort();
                assert_eq!(together, all.iter().cloned().collect::<Vec<_>>(), "{of}");
                let sizes: BTreeSet<usize> = shards.iter().map(BTreeSet::len).collect();
                assert!(sizes.len() <= 2, "{of}: {sizes:?}");
            }
        }
        assert_eq!(namespaces(all.clone(), None, ""), all);
    }
}

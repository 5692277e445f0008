//! Counts the comparisons of keys with each other and with scopes, so that a test sees work that grows with the
//! square of the number of endpoints without measuring time. Only unit tests have it: elsewhere a key derives its
//! comparisons, and a scope has its own.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::model::{Key, Scope};

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// How many keys `work` compares on this thread.
pub fn count(work: impl FnOnce()) -> u64 {
    let before = COMPARISONS.get();
    work();
    COMPARISONS.get() - before
}

/// Fails where four times as many endpoints take much more than four times as many comparisons.
/// Indexes and sorting grow with `n log n`, here 4.8 times; a search through all grows 16 times.
///
/// # Panics
/// They do.
#[track_caller]
pub fn assert_no_search_through_all(what: &str, comparisons: impl Fn(usize) -> u64) {
    let (few, many) = (comparisons(1_000), comparisons(4_000));
    assert!(many <= 6 * few.max(1_000), "{what}: {few} comparisons of 1,000 endpoints, {many} of 4,000");
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        (&self.namespace, self.kind, &self.name).cmp(&(&other.namespace, other.kind, &other.name))
    }
}

impl Scope {
    /// Whether an object of this key is among them.
    pub fn contains(&self, key: &Key) -> bool {
        COMPARISONS.set(COMPARISONS.get() + 1);
        key.namespace == self.namespace && key.kind == self.kind
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.namespace, self.kind, &self.name).hash(state);
    }
}

#[test]
fn a_search_through_all_is_found() {
    let keys = |n: usize| -> Vec<Key> {
        (0..n).map(|number| Key::parse(&format!("shop/e{number:05}")).expect("a key")).collect()
    };
    let searched = |n: usize| {
        let keys = keys(n);
        count(|| assert!(keys.iter().all(|key| keys.contains(key))))
    };
    let indexed = |n: usize| {
        let keys = keys(n);
        count(|| {
            let index: std::collections::BTreeSet<&Key> = keys.iter().rev().collect();
            assert!(keys.iter().all(|key| index.contains(key)));
        })
    };
    assert_no_search_through_all("an index", indexed);
    let found = std::panic::catch_unwind(|| assert_no_search_through_all("a search", searched));
    assert!(found.is_err());
}

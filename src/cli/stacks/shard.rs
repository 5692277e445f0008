//! How several checkers share a fleet: each stack of a list belongs to one checker, and so does each namespace of a
//! single stack. The hash of each decides alone, so that a new one moves no other, and another number of checkers moves
//! as few as possible.

use sha2::{Digest as _, Sha256};

use crate::cli::prelude::*;
use crate::cli::{ProcessEnvironment, Result};
use crate::drift::{MOST_SHARDS, Shard};

/// A shard of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardArg {
    /// This one.
    Given(Shard),
    /// The one that the environment names.
    Environment,
}

/// Reads `I/N` or `env`.
pub fn argument(text: &str) -> Result<ShardArg, &'static str> {
    if text == "env" { Ok(ShardArg::Environment) } else { parse(text).map(ShardArg::Given) }
}

fn parse(text: &str) -> Result<Shard, &'static str> {
    let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((_, of)) if of > MOST_SHARDS => Err("there are at most 4096 shards"),
        // Counting from 0, as Kubernetes does, leaves out N: so 0 means the N-th.
        Some((0, of)) if of > 0 => Ok(Shard { index: of, of }),
        Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
        _ => Err("write it as I/N with I from 1 to N, such as 2/5"),
    }
}

/// The variables of `--shard env`: the index, as Kubernetes sets it in the pods of an Indexed Job, and the number.
const VARIABLES: [&str; 2] = ["JOB_COMPLETION_INDEX", "TRUEUP_SHARDS"];

/// The shard of the call, which the environment may name.
///
/// # Errors
/// The environment does not name one.
pub fn given(environment: &ProcessEnvironment, argument: Option<ShardArg>) -> Result<Option<Shard>> {
    match argument {
        None => Ok(None),
        Some(ShardArg::Given(shard)) => Ok(Some(shard)),
        Some(ShardArg::Environment) => {
            let [index, of] = VARIABLES.map(|name| environment.variable(name).unwrap_or_default());
            parse(&format!("{index}/{of}")).map(Some).map_err(|_| {
                let [index_name, of_name] = VARIABLES;
                error!(Usage, "`--shard env` needs {index_name} and {of_name}, which are `{index}` and `{of}`")
                    .hint("an Indexed Job of Kubernetes sets the first; set the second to its `completions`")
            })
        }
    }
}

/// The namespaces of a service that a checker reads: all of them without a shard.
pub fn namespaces(shard: Option<Shard>, all: BTreeSet<Namespace>, base_url: &str) -> BTreeSet<Namespace> {
    let Some(Shard { index, of }) = shard else { return all };
    all.into_iter().filter(|namespace| owner([base_url, namespace.as_str()], of) == index).collect()
}

/// The checker, from 1, of the stack with this identity.
pub fn of_stack(identity: &[String], of: u32) -> u32 {
    owner(identity.iter().map(String::as_str), of)
}

/// The checker, from 1, with the highest weight for these words (rendezvous hashing).
fn owner<'w>(words: impl IntoIterator<Item = &'w str>, of: u32) -> u32 {
    let key = words.into_iter().fold(Sha256::new(), |key, word| key.chain_update(word).chain_update([0]));
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
    fn shards_counted_from_0_are_those_counted_from_1() {
        let index = |text: &str| parse(text).map(|shard| shard.index);
        let mut from_0: Vec<u32> = (0..5).map(|n| index(&format!("{n}/5")).expect("a shard")).collect();
        from_0.sort_unstable();
        assert_eq!(from_0, [1, 2, 3, 4, 5]);
        assert_eq!(index("5/5"), Ok(5));
        assert!(["0/0", "6/5", "5", "-1/5", "a/5"].iter().all(|text| index(text).is_err()));
    }

    #[test]
    fn every_namespace_is_in_exactly_one_shard() {
        let all = names(20);
        for of in 1..=25 {
            for url in URLS {
                let shards = (1..=of).map(|index| namespaces(Some(Shard { index, of }), all.clone(), url));
                let mut together: Vec<Namespace> = shards.flatten().collect();
                together.sort();
                assert_eq!(together, all.iter().cloned().collect::<Vec<_>>(), "{of}");
            }
        }
    }

    #[test]
    fn a_new_namespace_moves_no_other() {
        let (few, more) = (names(40), names(41));
        for of in 1..=7 {
            for index in 1..=of {
                let shard = |all: &BTreeSet<Namespace>| namespaces(Some(Shard { index, of }), all.clone(), URLS[0]);
                let kept: BTreeSet<Namespace> = shard(&more).intersection(&few).cloned().collect();
                assert_eq!(kept, shard(&few), "{index}/{of}");
            }
        }
    }

    #[test]
    fn one_more_checker_takes_namespaces_and_moves_none_between_the_others() {
        for namespace in names(200) {
            let (before, after) = (owner([URLS[0], namespace.as_str()], 4), owner([URLS[0], namespace.as_str()], 5));
            assert!(after == before || after == 5, "{namespace}: {before} -> {after}");
        }
    }

    #[test]
    fn the_environment_names_a_shard_as_kubernetes_counts() {
        let shard = |environment: &[(&str, &str)]| {
            given(&ProcessEnvironment::with(environment), Some(ShardArg::Environment))
                .map_err(|error| error.to_string())
        };
        let index = |index| shard(&[("JOB_COMPLETION_INDEX", index), ("TRUEUP_SHARDS", "5")]);
        assert_eq!(index("2"), Ok(Some(Shard { index: 2, of: 5 })));
        assert_eq!(index("0"), Ok(Some(Shard { index: 5, of: 5 })));
        let error = shard(&[("JOB_COMPLETION_INDEX", "2")]).expect_err("no number");
        assert!(error.contains("TRUEUP_SHARDS"), "{error}");
    }

    #[test]
    fn each_stack_is_in_one_shard_and_another_shard_takes_its_share_alone() {
        let stacks = |count: usize| (0..count).map(|n| [URLS[n % 2].to_owned(), format!("stack-{n}"), String::new()]);
        for of in 1..=9 {
            let shards: Vec<u32> = stacks(1000).map(|stack| of_stack(&stack, of)).collect();
            assert!(shards.iter().all(|shard| (1..=of).contains(shard)));
            let (share, even) = (shards.iter().filter(|shard| **shard == 1).count(), 1000 / of as usize);
            assert!(share * 4 > even * 3 && share * 4 < even * 5 + 40, "{of}: {share}");
            let more: Vec<u32> = stacks(1000).map(|stack| of_stack(&stack, of + 1)).collect();
            let moved = shards.iter().zip(&more).filter(|(before, after)| before != after);
            assert!(moved.clone().all(|(_, after)| *after == of + 1), "stacks move only to the new shard");
            assert!(moved.count() <= 1250 / (of as usize + 1), "{of}");
        }
        // A new stack moves no other, because nothing but a stack's own identity decides.
        let before: Vec<u32> = stacks(40).map(|stack| of_stack(&stack, 5)).collect();
        let after: Vec<u32> = stacks(41).map(|stack| of_stack(&stack, 5)).collect();
        assert_eq!(before, after[..40]);
    }

    #[test]
    fn many_namespaces_are_shared_about_evenly() {
        for url in URLS {
            for index in 1..=5 {
                let share = namespaces(Some(Shard { index, of: 5 }), names(500), url).len();
                assert!((70..=130).contains(&share), "{index}: {share}");
            }
        }
    }
}

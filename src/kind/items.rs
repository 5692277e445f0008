//! Which item of a live list is which of a definition's. Never by position alone: what a definition does not name would
//! move from one item to another.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use serde_json::Value as Json;

use super::walk::is_zero;

/// Whether a live item is one of a definition.
type Test<'t> = &'t dyn Fn(&Json, &Json) -> bool;

/// Pairs of equal content beyond which those are one that come in one order: which it is makes no difference of what is named.
const EQUAL: usize = 1 << 12;

/// Pairs that are compared at most: those beyond are found by their neighbours, or not.
const COMPARED: usize = 1 << 16;

/// How many values of a live item an item of a definition does not name: those of others, and those that the service fills.
type Unnamed = (usize, usize);

/// For each live item the item of the definition that it is: of the same name, then of the same content as far as the
/// definition names it, then those that are alone between the same neighbours. Of several that are the same, it is the one
/// that names most of it, as `unnamed` counts what an item does not name of a live one. Items of one `content` are nearly
/// always the same: by it most of a long list are found, in whatever order. The content of a live item has every value
/// in the content of an item that is the same.
pub(super) fn align(
    live: &[Json],
    wanted: &[Json],
    content: &dyn Fn(&Json) -> Json,
    is_same: Test<'_>,
    unnamed: &dyn Fn(&Json, &Json) -> Unnamed,
) -> Vec<Option<usize>> {
    if let ([one], [other]) = (live, wanted) {
        return vec![(!are_named_apart(one, other)).then_some(0)];
    }
    let mut to = vec![None; live.len()];
    let mut is_taken = vec![false; wanted.len()];
    let names = unique_names(wanted);
    for (name, index) in unique_names(live) {
        if let Some(of) = names.get(&name) {
            to[index] = Some(*of);
            is_taken[*of] = true;
        }
    }
    let left = left(&to, &is_taken);
    let contents = |items: &[Json], left: &[usize]| left.iter().map(|at| content(&items[*at])).collect::<Vec<Json>>();
    let (lives, wants) = (contents(live, &left[0]), contents(wanted, &left[1]));
    let candidates = Candidates::new(&left, &lives, &wants);
    let distance =
        |index: usize, of: usize| is_same(&live[index], &wanted[of]).then(|| unnamed(&live[index], &wanted[of]));
    let mut of_content: HashMap<String, [Vec<usize>; 2]> = HashMap::new();
    for (side, contents) in [lives, wants].iter().enumerate() {
        for (at, content) in left[side].iter().zip(contents) {
            of_content.entry(content.to_string()).or_default()[side].push(*at);
        }
    }
    let mut unclear = HashSet::new();
    for [lives, wants] in of_content.into_values() {
        if lives.len() * wants.len() > EQUAL {
            let pairs = lives.iter().zip(&wants).filter(|(index, of)| is_same(&live[**index], &wanted[**of]));
            pairs.for_each(|(index, of)| (to[*index], is_taken[*of]) = (Some(*of), true));
        } else {
            fill_closest(&mut to, &mut is_taken, &wants, &|_| &lives, &distance);
        }
        unclear.extend(lives.iter().filter(|_| lives.len() > 1 || wants.len() > 1));
    }
    unclear.extend(left[0].iter().filter(|index| to[**index].is_none()));
    fill_closest(&mut to, &mut is_taken, &left[1], &|of| candidates.of(of), &distance);
    keep_order(&mut to, &unclear, &candidates, &|index, of| is_same(&live[index], &wanted[of]));
    fill_gaps(&mut to, &mut is_taken, &|index, of| !are_named_apart(&live[index], &wanted[of]));
    to
}

/// For each item of a list the item of the list before that it is, however it changed.
pub fn alike(now: &[Json], before: &[Json]) -> Vec<Option<usize>> {
    align(now, before, &Json::clone, &|now, before| now == before, &|_, _| (0, 0))
}

/// The live items that are not paired, and the items of the definition.
fn left(to: &[Option<usize>], is_taken: &[bool]) -> [Vec<usize>; 2] {
    let lives = (0..to.len()).filter(|index| to[*index].is_none());
    [lives.collect(), (0..is_taken.len()).filter(|of| !is_taken[*of]).collect()]
}

/// The live items that may be an item of a definition: a comparison of each with each takes too long.
struct Candidates<'c> {
    lives: &'c [usize],
    /// The live items that have a value.
    having: HashMap<u64, Vec<usize>>,
    /// For each item of the definition that of its values which the fewest live items have.
    rarest: HashMap<usize, Option<u64>>,
}

impl<'c> Candidates<'c> {
    fn new([lives, wants]: &'c [Vec<usize>; 2], live: &[Json], wanted: &[Json]) -> Self {
        let mut having: HashMap<u64, Vec<usize>> = HashMap::new();
        for (index, content) in lives.iter().zip(live) {
            for value in values_in(content) {
                having.entry(value).or_default().push(*index);
            }
        }
        let number = |value: &u64| having.get(value).map_or(0, Vec::len);
        let rarest = |content: &Json| values_in(content).into_iter().min_by_key(number);
        let rarest = wants.iter().copied().zip(wanted.iter().map(rarest)).collect();
        Self { lives, having, rarest }
    }

    /// In their order.
    fn of(&self, of: usize) -> &[usize] {
        match self.rarest.get(&of) {
            Some(Some(value)) => self.having.get(value).map(Vec::as_slice).unwrap_or_default(),
            Some(None) => self.lives,
            None => &[],
        }
    }
}

/// The values in the content of an item with the keys above each, as hashes.
fn values_in(content: &Json) -> HashSet<u64> {
    fn add(value: &Json, above: &DefaultHasher, found: &mut HashSet<u64>) {
        let below = |key: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = above.clone();
            key(&mut hasher);
            hasher
        };
        match value {
            Json::Object(keys) => keys.iter().for_each(|(key, value)| add(value, &below(&|at| key.hash(at)), found)),
            Json::Array(items) => items.iter().for_each(|item| add(item, above, found)),
            value if is_zero(value) => {}
            value => _ = found.insert(below(&|at| value.hash(at)).finish()),
        }
    }
    let mut found = HashSet::new();
    add(content, &DefaultHasher::new(), &mut found);
    found
}

/// Pairs what is the same among these items of the definition and their candidates that are not paired, the closest first;
/// what is left is paired where others can change partners for it. `distance` is nothing for what is not the same.
fn fill_closest<'c>(
    to: &mut [Option<usize>],
    is_taken: &mut [bool],
    wants: &[usize],
    candidates: &dyn Fn(usize) -> &'c [usize],
    distance: &dyn Fn(usize, usize) -> Option<Unnamed>,
) {
    let wants: Vec<usize> = wants.iter().copied().filter(|of| !is_taken[*of]).collect();
    let each = wants.iter().flat_map(|of| candidates(*of).iter().map(|index| (*index, *of)));
    let each = each.filter(|(index, _)| to[*index].is_none());
    let each = each.take(COMPARED);
    let mut pairs: Vec<_> = each.filter_map(|(index, of)| Some((distance(index, of)?, index, of))).collect();
    pairs.sort_unstable();
    let mut same: HashMap<usize, Vec<usize>> = HashMap::new();
    for (_, index, of) in pairs {
        same.entry(of).or_default().push(index);
        if to[index].is_none() && !is_taken[of] {
            to[index] = Some(of);
            is_taken[of] = true;
        }
    }
    let mut tried = HashSet::new();
    for of in &wants {
        // What found no other partner finds none for the next one either, until somebody changes partners.
        if !is_taken[*of] && find_partner(to, *of, &same, &mut tried) {
            is_taken[*of] = true;
            tried.clear();
        }
    }
}

/// Pairs an item of the definition with a live one that is the `same`: a free one, or that of an item which finds another.
fn find_partner(
    to: &mut [Option<usize>],
    of: usize,
    same: &HashMap<usize, Vec<usize>>,
    tried: &mut HashSet<usize>,
) -> bool {
    for index in same.get(&of).into_iter().flatten() {
        if tried.insert(*index) && to[*index].is_none_or(|other| find_partner(to, other, same, tried)) {
            to[*index] = Some(of);
            return true;
        }
    }
    false
}

/// Swaps the partners of two live items that are not in order, one of them `unclear`, where they are the same the other
/// way, too: nothing moved.
fn keep_order(
    to: &mut [Option<usize>],
    unclear: &HashSet<usize>,
    candidates: &Candidates<'_>,
    is_same: &dyn Fn(usize, usize) -> bool,
) {
    if to.iter().flatten().is_sorted() {
        return;
    }
    for first in 0..to.len() {
        let mut last = first;
        while let Some(of) = to[first] {
            let is_swapped = |second: &usize| {
                let is_either = *second > last && (unclear.contains(&first) || unclear.contains(second));
                let other = to[*second].filter(|other| is_either && *other < of);
                other.is_some_and(|other| is_same(first, other) && is_same(*second, of))
            };
            let Some(second) = candidates.of(of).iter().copied().find(is_swapped) else { break };
            to.swap(first, second);
            last = second;
        }
    }
}

/// Pairs each item that is left with the one that was in its place, of `count`: of references, which are what they name.
pub fn fill_places(of: &mut [Option<usize>], count: usize) {
    let is_paired: HashSet<usize> = of.iter().flatten().copied().collect();
    for at in (0..of.len().min(count)).filter(|at| !is_paired.contains(at)) {
        of[at].get_or_insert(at);
    }
}

/// Pairs what is left between two neighbours that belong together, where both sides have as many.
fn fill_gaps(to: &mut [Option<usize>], is_taken: &mut [bool], may_be: &dyn Fn(usize, usize) -> bool) {
    let mut begin = 0;
    while begin < to.len() {
        if to[begin].is_some() {
            begin += 1;
            continue;
        }
        let end = (begin..to.len()).find(|index| to[*index].is_some()).unwrap_or(to.len());
        let after = begin.checked_sub(1).map_or(Some(0), |index| to[index].map(|of| of + 1));
        let before = to.get(end).map_or(Some(is_taken.len()), |of| *of);
        if let (Some(after), Some(before)) = (after, before)
            && after <= before
            && before - after == end - begin
            && !is_taken[after..before].contains(&true)
        {
            for (index, of) in (begin..end).zip(after..before).filter(|(index, of)| may_be(*index, *of)) {
                to[index] = Some(of);
                is_taken[of] = true;
            }
        }
        begin = end;
    }
}

/// Whether two items have names, and not the same. A namespace that one leaves out may be that of the other.
fn are_named_apart(one: &Json, other: &Json) -> bool {
    let Some(((key, namespace, name), other)) = name(one).zip(name(other)) else { return false };
    let is_elsewhere = !namespace.is_empty() && !other.1.is_empty() && namespace != other.1;
    (key, name) != (other.0, other.2) || is_elsewhere
}

/// The names of items that no other item of the list has.
fn unique_names(items: &[Json]) -> HashMap<ItemName<'_>, usize> {
    let mut names: HashMap<_, Option<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(name) = name(item) {
            names.entry(name).and_modify(|seen| *seen = None).or_insert(Some(index));
        }
    }
    names.into_iter().filter_map(|(name, index)| Some((name, index?))).collect()
}

/// The key at which an item refers to an object, none where it has a name itself, and namespace and name: objects of one
/// name in two namespaces are two.
type ItemName<'i> = (&'i str, &'i str, &'i str);

/// What an item is called: its own name, or that of the object that it refers to.
fn name(item: &Json) -> Option<ItemName<'_>> {
    fn named<'i>(key: &'i str, item: &'i Json) -> Option<ItemName<'i>> {
        let text = |part: &str| item.get(part).and_then(Json::as_str).filter(|text| !text.is_empty());
        Some((key, text("namespace").unwrap_or_default(), text("name")?))
    }
    named("", item).or_else(|| named("", item.get("metadata")?)).or_else(|| {
        // An item that is about one other object, such as a weight for a pool.
        let mut refs = item.as_object()?.iter().filter_map(|(key, value)| named(key, value));
        let first = refs.next()?;
        refs.next().is_none().then_some(first)
    })
}

/// Whether a list has only objects.
pub(super) fn is_of_messages(items: &[Json]) -> bool {
    items.iter().all(Json::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_item_that_is_live_is_found_though_one_that_is_closer_to_another_comes_first() {
        let live = [json!({"a": 1, "x": 0, "y": 0}), json!({"a": 1, "b": 1}), json!({"a": 1, "b": 1, "c": 1, "z": 0})];
        let wanted = [json!({"a": 1}), json!({"b": 1}), json!({"c": 1})];
        let names = |live: &Json, wanted: &Json| {
            let named = wanted.as_object().expect("an item").iter().filter(|(key, value)| live.get(key) == Some(value));
            (named.count(), wanted.as_object().map_or(0, serde_json::Map::len))
        };
        let is_same = |live: &Json, wanted: &Json| names(live, wanted).0 == names(live, wanted).1;
        let unnamed =
            |live: &Json, wanted: &Json| (live.as_object().map_or(0, |all| all.len() - names(live, wanted).0), 0);
        for turn in 0..3 {
            let (mut live, mut wanted) = (live.clone(), wanted.clone());
            live.rotate_left(turn);
            wanted.rotate_left(turn);
            let aligned = align(&live, &wanted, &Json::clone, &is_same, &unnamed);
            let fits = (0..3).all(|at| aligned[at].is_some_and(|of| is_same(&live[at], &wanted[of])));
            assert!(fits, "{aligned:?}");
        }
    }

    #[test]
    fn a_long_list_of_other_items_is_not_compared_each_with_each() {
        const COUNT: usize = 500;
        let items = |version: usize| -> Vec<Json> {
            (0..COUNT).map(|at| json!({"path": format!("/v{version}/{at}"), "methods": ["GET"], "port": 80})).collect()
        };
        for wanted in [items(2), items(1).into_iter().rev().chain(items(2)).collect()] {
            let compared = std::cell::Cell::new(0);
            let is_same = |live: &Json, wanted: &Json| {
                compared.set(compared.get() + 1);
                live == wanted
            };
            // What an item has in common with all others does not tell what it is.
            align(&items(1), &wanted, &Json::clone, &is_same, &|_, _| (0, 0));
            assert!(compared.get() <= 2 * COUNT, "{} comparisons", compared.get());
        }
    }

    #[test]
    fn a_long_list_of_items_that_are_alike_is_not_compared_each_with_each() {
        const COUNT: usize = 2_000;
        let is_named = |live: &Json, wanted: &Json| {
            wanted.as_object().expect("an item").iter().all(|(key, value)| live.get(key) == Some(value))
        };
        let equal = || vec![json!({"type": "A"}); COUNT];
        let numbered: Vec<Json> = (0..COUNT).map(|at| json!({"type": "A", "id": at})).collect();
        let with = |mut items: Vec<Json>, at: usize, item: Json| {
            items.insert(at, item);
            items
        };
        for (live, wanted, at_least) in [
            (with(equal(), 700, json!({"type": "B"})), with(equal(), 900, json!({"type": "C"})), COUNT),
            (equal(), equal()[1..].to_vec(), COUNT - 1),
            (numbered.clone(), equal(), COUNT),
            (numbered, equal()[1..].to_vec(), 1),
        ] {
            let compared = std::cell::Cell::new(0);
            let is_same = |live: &Json, wanted: &Json| {
                compared.set(compared.get() + 1);
                is_named(live, wanted)
            };
            let unnamed = |live: &Json, wanted: &Json| (usize::from(live != wanted), 0);
            let aligned = align(&live, &wanted, &Json::clone, &is_same, &unnamed);
            assert!(aligned.iter().flatten().count() >= at_least, "{}", aligned.iter().flatten().count());
            assert!(compared.get() <= COMPARED + 2 * COUNT, "{} comparisons", compared.get());
        }
    }

    #[test]
    fn items_that_are_the_same_as_the_live_ones_in_their_places_have_not_moved_whatever_is_closer() {
        let (live, wanted) = ([json!({"a": 2}), json!({"a": 1})], [json!({"a": 1}), json!({})]);
        let unnamed = |live: &Json, wanted: &Json| (usize::from(live != wanted), 0);
        let aligned = align(&live, &wanted, &Json::clone, &|_, _| true, &unnamed);
        assert_eq!(aligned, [Some(0), Some(1)]);
    }

    #[test]
    fn items_of_other_names_are_others_wherever_they_are() {
        let of = |name: &str| json!({"metadata": {"name": name}, "action": "DENY"});
        let aligned = |live: &[&str], wanted: &[&str]| {
            let [live, wanted] = [live, wanted].map(|names| names.iter().map(|name| of(name)).collect::<Vec<_>>());
            alike(&live, &wanted)
        };
        assert_eq!(aligned(&["a"], &["b"]), [None]);
        assert_eq!(aligned(&["a", "x", "c"], &["a", "y", "c"]), [Some(0), None, Some(2)]);
        // Without names what is left at the same place is the same.
        assert_eq!(alike(&[json!({"n": 1})], &[json!({"n": 2})]), [Some(0)]);
    }
}

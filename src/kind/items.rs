//! Which item of a live list is which of a definition's. Never by position alone: what a definition does not name would
//! move from one item to another.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use serde_json::Value as Json;

/// Whether a live item is one of a definition.
type Test<'t> = &'t dyn Fn(&Json, &Json) -> bool;

/// For each live item the item of the definition that it is: of the same name, then of the same content as far as the
/// definition names it, then those that are alone between the same neighbours. Of several that are the same, it is the one
/// that names most of it, as `unnamed` counts what an item does not name of a live one. `content` says of what is nearly
/// always the same that it may be.
pub(super) fn align(
    live: &[Json],
    wanted: &[Json],
    content: &dyn Fn(&Json) -> String,
    is_same: Test<'_>,
    unnamed: &dyn Fn(&Json, &Json) -> usize,
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
    let is_same = |index: usize, of: usize| is_same(&live[index], &wanted[of]);
    fill_equal(&mut to, &mut is_taken, &|index| content(&live[index]), &|of| content(&wanted[of]), &is_same);
    fill_same(&mut to, &mut is_taken, &is_same);
    let distance = |index: usize, of: usize| is_same(index, of).then(|| unnamed(&live[index], &wanted[of]));
    exchange(&mut to, &mut is_taken, &distance);
    fill_same(&mut to, &mut is_taken, &is_same);
    fill_gaps(&mut to, &mut is_taken, &|index, of| !are_named_apart(&live[index], &wanted[of]));
    keep_order(&mut to, &|of| wanted[of].to_string());
    to
}

/// For each item of a list the item of the list before that it is, however it changed.
pub fn alike(now: &[Json], before: &[Json]) -> Vec<Option<usize>> {
    align(now, before, &Json::to_string, &|now, before| now == before, &|_, _| 0)
}

/// Pairs what is left and the same, and has one content: in a long list that is nearly all, in whatever order.
fn fill_equal(
    to: &mut [Option<usize>],
    is_taken: &mut [bool],
    content: &dyn Fn(usize) -> String,
    content_of: &dyn Fn(usize) -> String,
    is_same: &dyn Fn(usize, usize) -> bool,
) {
    let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
    for of in (0..is_taken.len()).filter(|of| !is_taken[*of]) {
        places.entry(content_of(of)).or_default().push_back(of);
    }
    for (index, place) in to.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
        let free = places.get_mut(&content(index));
        *place = free.and_then(|free| free.pop_front_if(|of| is_same(index, *of)));
        place.iter().for_each(|of| is_taken[*of] = true);
    }
}

/// Pairs what is left and the same.
fn fill_same(to: &mut [Option<usize>], is_taken: &mut [bool], is_same: &dyn Fn(usize, usize) -> bool) {
    let mut next = 0;
    for (index, place) in to.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
        // Behind the last that was found first, so that equal items keep their order.
        let is_free = |of: &usize| !is_taken[*of] && is_same(index, *of);
        if let Some(of) = (next..is_taken.len()).find(is_free).or_else(|| (0..next).find(is_free)) {
            *place = Some(of);
            is_taken[of] = true;
            next = of + 1;
        }
    }
}

/// Gives the items of a definition that are equal, by their `text`, their live ones in order: to exchange two would say that
/// they moved.
fn keep_order(to: &mut [Option<usize>], text: &dyn Fn(usize) -> String) {
    let texts: Vec<Option<String>> = to.iter().map(|of| of.map(text)).collect();
    let mut places: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for (text, of) in texts.iter().zip(&*to).filter_map(|(text, of)| text.as_deref().zip(*of)) {
        places.entry(text).or_default().insert(of);
    }
    for (text, of) in texts.iter().zip(to) {
        *of = text.as_deref().and_then(|text| places.get_mut(text)?.pop_first());
    }
}

/// Parts what is paired for one that is left, on either side, and closer. `distance` is nothing for what is not the same.
fn exchange(to: &mut [Option<usize>], is_taken: &mut [bool], distance: &dyn Fn(usize, usize) -> Option<usize>) {
    if !to.contains(&None) && !is_taken.contains(&false) {
        return;
    }
    for index in 0..to.len() {
        let paired = to[index].and_then(|of| Some((of, distance(index, of)?)));
        let Some((of, now)) = paired.filter(|(_, now)| *now > 0) else { continue };
        let is_closer = |index, of| distance(index, of).is_some_and(|distance| distance < now);
        if let Some(closer) = (0..to.len()).find(|other| to[*other].is_none() && is_closer(*other, of)) {
            to[index] = None;
            to[closer] = Some(of);
        } else if let Some(closer) = (0..is_taken.len()).find(|of| !is_taken[*of] && is_closer(index, *of)) {
            is_taken[of] = false;
            is_taken[closer] = true;
            to[index] = Some(closer);
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

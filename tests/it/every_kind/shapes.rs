//! The shapes of values that are hard to compare and to write: which kinds have them, by the description, and that the
//! generator makes them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trueup::kind::{self, Field, FieldKind, Flag, Kind};

use super::{kinds, specs};
use crate::support::objects;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// A list of messages, of which one has a list of messages at any depth.
    ListInList,
    /// A message with options of several groups.
    SeveralGroups,
    MapOfMessages,
    /// A message with one of its own kind at any depth.
    Itself,
}

/// The fields of a message that a person writes in full.
fn written(id: &str) -> impl Iterator<Item = &'static Field> {
    let is_written =
        |field: &&Field| ![Flag::ReadOnly, Flag::ReplaceOnly, Flag::Secret].iter().any(|flag| field.is(*flag));
    kind::message(id).fields.iter().filter(is_written)
}

/// The messages below one, of which it may be one itself.
fn below(id: &'static str) -> BTreeSet<&'static str> {
    let (mut open, mut seen) = (vec![id], BTreeSet::new());
    while let Some(id) = open.pop() {
        open.extend(written(id).filter_map(Field::below).filter(|id| seen.insert(*id)));
    }
    seen
}

fn has_list(id: &str) -> bool {
    written(id).any(|field| field.is_list && field.below().is_some_and(|id| !kind::is_reference(id)))
}

/// The shapes that objects of a kind can have.
fn described(kind: &Kind) -> BTreeSet<Shape> {
    let mut shapes = BTreeSet::new();
    for id in below(kind.spec).into_iter().chain([kind.spec]) {
        let groups = &kind::message(id).groups;
        let is_free = |group: &&kind::Group| written(id).any(|field| group.members.contains(&field.name));
        shapes.extend((groups.iter().filter(is_free).count() > 1).then_some(Shape::SeveralGroups));
        shapes.extend(below(id).contains(id).then_some(Shape::Itself));
        for field in written(id) {
            let Some(id) = field.below() else { continue };
            let is_nested = || has_list(id) || below(id).into_iter().any(has_list);
            shapes.extend(matches!(field.kind, FieldKind::Map(_)).then_some(Shape::MapOfMessages));
            shapes.extend((field.is_list && is_nested()).then_some(Shape::ListInList));
        }
    }
    shapes
}

/// The shapes of a message; `above` has those around it, and one of them may be in a list.
fn made(id: &'static str, value: &Value, above: &mut Vec<&'static str>, in_list: bool, into: &mut BTreeSet<Shape>) {
    let Value::Object(entries) = value else { return };
    let is_chosen = |group: &&kind::Group| group.members.iter().any(|name| entries.contains_key(*name));
    let chosen = kind::message(id).groups.iter().filter(is_chosen).count();
    into.extend((chosen > 1).then_some(Shape::SeveralGroups));
    into.extend(above.contains(&id).then_some(Shape::Itself));
    above.push(id);
    for field in written(id) {
        let (Some(below), Some(value)) = (field.below(), entries.get(field.name)) else { continue };
        match (&field.kind, value) {
            (FieldKind::Map(_), Value::Object(values)) => {
                into.insert(Shape::MapOfMessages);
                values.values().for_each(|value| made(below, value, above, in_list, into));
            }
            (_, Value::Array(items)) => {
                into.extend((in_list && !kind::is_reference(below)).then_some(Shape::ListInList));
                items.iter().for_each(|item| made(below, item, above, true, into));
            }
            (_, value) => made(below, value, above, in_list, into),
        }
    }
    above.pop();
}

#[test]
fn the_generator_makes_every_shape_that_a_kind_has() {
    let seed = objects::seed();
    let mut all: BTreeMap<Shape, Vec<&str>> = BTreeMap::new();
    let mut missing = Vec::new();
    for kind in kinds() {
        let (described, mut specs) = (described(kind), specs(seed, kind));
        let mut found = BTreeSet::new();
        // As the round trip makes them.
        let messages = kind.messages();
        for (id, _) in messages.iter().cycle().take(200.max(8 * messages.len())) {
            if !described.is_subset(&found) {
                made(kind.spec, &specs.towards(kind, id), &mut Vec::new(), false, &mut found);
            }
        }
        described.iter().for_each(|shape| all.entry(*shape).or_default().push(kind.name));
        missing.extend(described.difference(&found).map(|shape| (kind.name, *shape)));
    }
    for (shape, kinds) in &all {
        eprintln!("{shape:?}: {} kinds: {}", kinds.len(), kinds.join(", "));
    }
    assert_eq!(missing, Vec::new());
    // The day a description has a message within itself, this says so.
    let of_no_kind = [Shape::ListInList, Shape::SeveralGroups, Shape::MapOfMessages, Shape::Itself];
    let of_no_kind = of_no_kind.into_iter().filter(|shape| !all.contains_key(shape));
    assert_eq!(of_no_kind.collect::<Vec<_>>(), [Shape::Itself]);
}

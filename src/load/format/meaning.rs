//! Compares two texts apart from the order and the spelling of their keys, and lists their comments: formatting must
//! change neither the meaning nor the comments.

use std::iter::zip;

use granit_parser::{Event, Options, Parser};

use crate::kind::camel;
use crate::load::tree::{AliasTarget, NodeId, NodeShape, TextStyle, Tree};

/// The text of a scalar.
pub(super) fn text<'t>(tree: &'t Tree<'_>, id: NodeId) -> Option<&'t str> {
    match &tree.node(id).shape {
        NodeShape::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// A document, and its anchors in the order of the text.
struct Document<'t, 's> {
    tree: &'t Tree<'s>,
    anchors: Vec<NodeId>,
}

/// Whether the documents differ only in the order and the spelling of keys.
pub(super) fn same(before: &[Tree<'_>], after: &[Tree<'_>]) -> bool {
    let is_same = |(before, after): (&Tree<'_>, &Tree<'_>)| match (before.root, after.root) {
        (Some(one), Some(other)) => {
            let [before, after] = [before, after].map(|tree| Document { tree, anchors: tree.anchored().collect() });
            is_same((&before, one), (&after, other))
        }
        (one, other) => one == other,
    };
    before.len() == after.len() && zip(before, after).all(is_same)
}

fn is_same((before, one): (&Document<'_, '_>, NodeId), (after, other): (&Document<'_, '_>, NodeId)) -> bool {
    let all = |ones: &[NodeId], others: &[NodeId]| {
        ones.len() == others.len() && zip(ones, others).all(|(one, other)| is_same((before, *one), (after, *other)))
    };
    match (&before.tree.node(one).shape, &after.tree.node(other).shape) {
        (NodeShape::Scalar { text, style }, NodeShape::Scalar { text: now, style: of_now }) => {
            text == now && (*style == TextStyle::Plain) == (*of_now == TextStyle::Plain)
        }
        (NodeShape::Alias { target }, NodeShape::Alias { target: now }) => before.anchor(target) == after.anchor(now),
        (NodeShape::List { items }, NodeShape::List { items: now }) => all(items, now),
        (NodeShape::Map { entries }, NodeShape::Map { entries: now }) => {
            let ((keys, values), (keys_now, values_now)) = (content(before.tree, entries), content(after.tree, now));
            keys == keys_now && all(&values, &values_now)
        }
        _ => false,
    }
}

impl Document<'_, '_> {
    /// The number of the anchor that an alias names.
    fn anchor(&self, target: &AliasTarget<'_>) -> Option<usize> {
        let AliasTarget::Node(target) = target else { return None };
        self.anchors.binary_search(target).ok()
    }
}

/// The sorted keys of a mapping and their values. A mapping with a key that is not a text is not formatted: all nodes.
fn content(tree: &Tree<'_>, entries: &[(NodeId, NodeId)]) -> (Vec<String>, Vec<NodeId>) {
    let named = entries.iter().map(|(key, value)| Some((camel(text(tree, *key)?), *value)));
    let Some(mut named) = named.collect::<Option<Vec<_>>>() else {
        return (Vec::new(), entries.iter().flat_map(|(key, value)| [*key, *value]).collect());
    };
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named.into_iter().unzip()
}

/// Every comment, sorted.
pub(super) fn comments(text: &str) -> Vec<String> {
    let mut options = Options::default();
    options.emit_comments = true;
    options.emit_unresolved_aliases = true;
    let mut found = Vec::new();
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((Event::Comment(comment, _), _)) => found.push(comment.trim_end().to_owned()),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    found.sort();
    found
}

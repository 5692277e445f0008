//! What a text means apart from the order and the spelling of its keys, and which comments it contains: what must be the
//! same before and after a text is formatted.

use granit_parser::{Event, Options, Parser};

use crate::kind::snake;
use crate::load::tree::{AliasTarget, NodeId, NodeShape, TextStyle, Tree};

/// The meaning of a node.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Meaning>),
    /// Sorted by the keys.
    Map(Vec<(String, Meaning)>),
    /// The number of the anchor, in the order of the text.
    Alias(Option<usize>),
    /// A mapping with a key that is no text, which nobody formats.
    Other(Vec<Meaning>),
    Empty,
}

/// The text of a scalar.
pub(super) fn text<'t>(tree: &'t Tree<'_>, id: NodeId) -> Option<&'t str> {
    match &tree.node(id).shape {
        NodeShape::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// Whether the documents differ only in the order and the spelling of keys.
pub(super) fn same(before: &[Tree<'_>], after: &[Tree<'_>]) -> bool {
    let whole = |tree: &Tree<'_>| tree.root.map_or(Meaning::Empty, |root| of(tree, root, &anchors(tree)));
    before.len() == after.len() && before.iter().zip(after).all(|(before, after)| whole(before) == whole(after))
}

/// The anchored nodes in the order of the text.
fn anchors(tree: &Tree<'_>) -> Vec<NodeId> {
    fn collect(tree: &Tree<'_>, id: NodeId, into: &mut Vec<NodeId>) {
        let node = tree.node(id);
        if node.anchored {
            into.push(id);
        }
        match &node.shape {
            NodeShape::List { items } => items.iter().for_each(|item| collect(tree, *item, into)),
            NodeShape::Map { entries } => entries.iter().for_each(|(key, value)| {
                collect(tree, *key, into);
                collect(tree, *value, into);
            }),
            NodeShape::Scalar { .. } | NodeShape::Alias { .. } => {}
        }
    }
    let mut found = Vec::new();
    if let Some(root) = tree.root {
        collect(tree, root, &mut found);
    }
    found
}

fn of(tree: &Tree<'_>, id: NodeId, anchors: &[NodeId]) -> Meaning {
    match &tree.node(id).shape {
        NodeShape::Scalar { text, style } => {
            Meaning::Scalar { text: text.to_string(), is_plain: *style == TextStyle::Plain }
        }
        NodeShape::Alias { target: AliasTarget::Node(target) } => {
            Meaning::Alias(anchors.iter().position(|anchor| anchor == target))
        }
        NodeShape::Alias { .. } => Meaning::Alias(None),
        NodeShape::List { items } => Meaning::List(items.iter().map(|item| of(tree, *item, anchors)).collect()),
        NodeShape::Map { entries } => {
            let named = entries
                .iter()
                .map(|(key, value)| Some((snake(text(tree, *key)?).into_owned(), of(tree, *value, anchors))));
            match named.collect::<Option<Vec<_>>>() {
                Some(mut named) => {
                    named.sort_by(|one, other| one.0.cmp(&other.0));
                    Meaning::Map(named)
                }
                None => Meaning::Other(
                    entries
                        .iter()
                        .flat_map(|(key, value)| [of(tree, *key, anchors), of(tree, *value, anchors)])
                        .collect(),
                ),
            }
        }
    }
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

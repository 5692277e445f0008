//! What an object of the service is, as one constant tree of nodes: key, kind, rule, default, exclusive
//! group and meaning. Everything that lists fields derives from it: known keys and "did you mean", the
//! careful reader, places and edits in files, `explain`, the JSON Schema and what is written over a live
//! object. Rules that need values work on the typed [`super::Endpoint`].

mod endpoint;
mod order;
pub mod words;
mod write;

pub use crate::kind::snake;
pub use endpoint::{ENDPOINT, SERVICE_KEYS, SPEC, UNITS, UnitFacts};
pub use order::{order, says_something};

/// One key of an object: what it contains and what is allowed there.
#[derive(Debug, Clone, Copy)]
pub struct ShapeNode {
    /// Its key in snake case; empty for the root.
    pub key: &'static str,
    /// What is written there.
    pub kind: NodeKind,
    /// What is allowed.
    pub rule: FieldRule,
    /// What leaving it out means; empty where it is required or means nothing.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Whether the vendor still recommends it.
    pub status: FieldStatus,
    /// The keys below it that a definition needs.
    pub needs: &'static [&'static str],
    /// The keys below it, in the order of a file; for a list of references those of a reference.
    pub children: &'static [ShapeNode],
}

/// What is written at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A mapping of the keys below.
    Mapping,
    /// A mapping of texts with free keys.
    TextMap,
    /// A text.
    Text,
    /// One of some words.
    Word,
    /// A whole number.
    Integer,
    /// A whole number of seconds.
    Seconds,
    /// `true` or `false`.
    Flag,
    /// An option without fields, written `{}`.
    Empty,
    /// A list of texts.
    TextList,
    /// A list of references to objects of the service.
    References,
}

impl NodeKind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            NodeKind::Mapping => "mapping",
            NodeKind::TextMap => "mapping of texts",
            NodeKind::Text => "text",
            NodeKind::Word => "word",
            NodeKind::Integer => "whole number",
            NodeKind::Seconds => "seconds, a whole number",
            NodeKind::Flag => "true or false",
            NodeKind::Empty => "{}",
            NodeKind::TextList => "list of texts",
            NodeKind::References => "list of references",
        }
    }
}

/// Whether the vendor still recommends a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldStatus {
    /// It does.
    Current,
    /// It does not; the field is still read, sent and compared.
    Deprecated,
}

/// What is allowed in a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldRule {
    /// Anything of its kind.
    Free,
    /// A DNS-1035 label.
    Label,
    /// From and to.
    Range(u64, u64),
    /// At most so many bytes.
    Bytes(usize),
    /// At least and at most so many characters.
    Characters(usize, usize),
    /// Keys and values of a map, each 1 to so many characters.
    Map(usize, usize),
    /// At least and at most so many items.
    Items(usize, usize),
    /// One of these words.
    Words(&'static [&'static str]),
    /// An exclusive group: exactly one of these keys, or at most one.
    Options(GroupRule, &'static [&'static str]),
}

/// Whether an exclusive group needs one of its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRule {
    /// One must be given.
    One,
    /// One may be given.
    AtMostOne,
}

impl FieldRule {
    /// The rule in words; empty where there is none.
    pub fn words(self) -> String {
        match self {
            FieldRule::Free => String::new(),
            FieldRule::Label => {
                "lower-case letters, digits and `-`, a letter first, a letter or digit last, at most 63".to_owned()
            }
            FieldRule::Range(least, most) => format!("{least} to {most}"),
            FieldRule::Bytes(most) => format!("at most {most} bytes"),
            FieldRule::Characters(least, most) => format!("{least} to {most} characters"),
            FieldRule::Map(key, value) => format!("keys of 1 to {key} and values of 1 to {value} characters"),
            FieldRule::Items(1, 1) => "exactly one item".to_owned(),
            FieldRule::Items(0, most) => format!("at most {most} items"),
            FieldRule::Items(least, most) => format!("{least} to {most} items"),
            FieldRule::Words(words) => format!("one of {}", words.join(", ")),
            FieldRule::Options(GroupRule::One, options) => format!("exactly one of {}", options.join(", ")),
            FieldRule::Options(GroupRule::AtMostOne, options) => format!("at most one of {}", options.join(", ")),
        }
    }
}

impl ShapeNode {
    /// The node with this key directly below, in snake case.
    pub fn child(&self, key: &str) -> Option<&'static ShapeNode> {
        self.children.iter().find(|child| child.key == key)
    }

    /// The node at a path such as `spec.where.site.ref.name`; items of a list have no step of their own.
    pub fn at(&'static self, path: &str) -> Option<&'static ShapeNode> {
        path.split('.').try_fold(self, ShapeNode::child)
    }

    /// The first node with this key, at any depth.
    pub fn find(&self, key: &str) -> Option<&'static ShapeNode> {
        self.child(key).or_else(|| self.children.iter().find_map(|child| child.find(key)))
    }

    /// Every node below with its path from here, each before what is below it.
    pub fn below(&self) -> Vec<(String, &'static ShapeNode)> {
        let mut found = Vec::new();
        for child in self.children {
            found.push((child.key.to_owned(), child));
            found.extend(child.below().into_iter().map(|(path, node)| (format!("{}.{path}", child.key), node)));
        }
        found
    }

    /// The key of the first mapping, level by level, that contains `key`; the root and references aside.
    pub fn home(&self, key: &str) -> Option<&'static str> {
        let mut level: Vec<&'static ShapeNode> = self.children.iter().collect();
        while !level.is_empty() {
            if let Some(home) = level.iter().find(|node| node.child(key).is_some()) {
                return Some(home.key);
            }
            let inner = level.iter().filter(|node| node.kind == NodeKind::Mapping).flat_map(|node| node.children);
            level = inner.filter(|node| node.kind == NodeKind::Mapping).collect();
        }
        None
    }

    /// The options of its exclusive group.
    pub fn options(&self) -> &'static [&'static str] {
        match self.rule {
            FieldRule::Options(_, options) => options,
            _ => &[],
        }
    }

    /// The child with this key, where it is a mapping or a list of mappings with known keys.
    pub fn level(&self, key: &str) -> Option<&'static ShapeNode> {
        let is_level =
            |node: &&ShapeNode| matches!(node.kind, NodeKind::Mapping | NodeKind::Empty | NodeKind::References);
        self.child(key).filter(is_level)
    }

    /// The child with this key, looked up at compile time.
    ///
    /// # Panics
    /// There is no such key: the program does not compile.
    pub const fn get(&'static self, key: &str) -> &'static ShapeNode {
        let mut at = 0;
        while at < self.children.len() {
            if is_same(self.children[at].key.as_bytes(), key.as_bytes()) {
                return &self.children[at];
            }
            at += 1;
        }
        panic!("the shape has no such key")
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// `dns_name` as `dnsName`, the other spelling of a key.
pub fn camel(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => camel.push(c.to_ascii_uppercase()),
            c => camel.push(c),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_one_key() {
        assert_eq!(camel("dns_name_advanced"), "dnsNameAdvanced");
        assert_eq!(snake("dnsNameAdvanced"), "dns_name_advanced");
        assert_eq!(snake("Name"), "Name");
    }

    #[test]
    fn a_node_is_found_by_its_path_and_by_where_it_belongs() {
        let node = ENDPOINT.at("spec.where.site.ref.name").expect("part of a reference");
        assert_eq!((node.key, node.kind), ("name", NodeKind::Text));
        assert!(ENDPOINT.at("metadata.labels.tier").is_none());
        assert_eq!(ENDPOINT.home("port"), Some("spec"));
        assert_eq!(ENDPOINT.home("ipv6_prefixes"), Some("snat_pool"));
        assert_eq!(ENDPOINT.home("network_type"), Some("site"));
        assert_eq!((ENDPOINT.home("spec"), ENDPOINT.home("tenant")), (None, None));
    }

    #[test]
    fn every_option_of_a_group_is_a_key_below_it() {
        for (path, node) in ENDPOINT.below() {
            for option in node.options() {
                assert!(node.child(option).is_some(), "`{path}` has no `{option}`");
            }
        }
    }
}

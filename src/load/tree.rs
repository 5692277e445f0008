//! Turns parser events into a tree in which every node has its range of bytes. One document is in memory at a
//! time; after a syntax error reading resumes at the next document. Nesting and node counts are bounded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle, Tag};

use super::diagnostic::Diagnostic;
use super::splice::line_start;
use super::syntax::{self, Finished};
use super::text::SourceText;

/// The most levels of nesting; an endpoint needs seven.
const DEEPEST: usize = 64;
/// The most nodes of one document.
const MOST_NODES: usize = 200_000;

/// A node's index in its tree.
pub(super) type NodeId = usize;

/// What a node is.
#[derive(Debug)]
pub(super) enum NodeShape<'s> {
    /// A scalar with its text, escapes resolved.
    Scalar { text: Cow<'s, str>, style: TextStyle },
    /// A sequence.
    List { items: Vec<NodeId> },
    /// A mapping, in the order of the text.
    Map { entries: Vec<(NodeId, NodeId)> },
    /// An alias.
    Alias { target: AliasTarget<'s> },
}

/// What an alias names.
#[derive(Debug)]
pub(super) enum AliasTarget<'s> {
    Node(NodeId),
    /// The value that contains the alias itself.
    Around,
    /// The document has no anchor with this name.
    Missing(Cow<'s, str>),
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// Without quotes: may be a number, a boolean or null.
    Plain,
    /// In quotes, or tagged as a text.
    Quoted,
    /// `|` or `>`
    Block,
}

/// One node.
#[derive(Debug)]
pub(super) struct TreeNode<'s> {
    pub(super) shape: NodeShape<'s>,
    pub(super) range: Range<usize>,
    pub(super) anchored: bool,
    pub(super) flow: bool,
    /// A tag that is not one of the core schema's.
    pub(super) unknown_tag: Option<String>,
}

/// One document.
#[derive(Debug)]
pub(super) struct Tree<'s> {
    nodes: Vec<TreeNode<'s>>,
    /// `None` where the document is empty.
    pub(super) root: Option<NodeId>,
}

impl<'s> Tree<'s> {
    pub(super) fn node(&self, id: NodeId) -> &TreeNode<'s> {
        &self.nodes[id]
    }

    /// The text of a scalar with its style, with aliases resolved.
    pub(super) fn scalar(&self, id: NodeId) -> Option<(&Cow<'s, str>, TextStyle)> {
        match &self.node(id).shape {
            NodeShape::Scalar { text, style } => Some((text, *style)),
            NodeShape::Alias { target: AliasTarget::Node(target) } => self.scalar(*target),
            NodeShape::Alias { .. } | NodeShape::List { .. } | NodeShape::Map { .. } => None,
        }
    }

    /// The nodes with an anchor, in the order of the text.
    pub(super) fn anchored(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).filter(|id| self.nodes[*id].anchored)
    }
}

/// The documents of a text, one after the other.
pub(super) struct Documents<'s> {
    source: &'s SourceText,
    parser: Parser<'s, StrInput<'s>>,
    ended: bool,
    may_have_secret: bool,
}

impl<'s> Documents<'s> {
    pub(super) fn new(source: &'s SourceText) -> Self {
        let mut options = Options::default();
        options.emit_unresolved_aliases = true;
        options.emit_comments = false;
        options.flow_nesting_limit = DEEPEST;
        options.block_nesting_limit = DEEPEST;
        Self {
            source,
            parser: Parser::new_from_str_with_options(source.as_str(), options),
            ended: false,
            may_have_secret: true,
        }
    }

    /// The documents of settings, which do not contain secrets.
    pub(super) fn of_settings(source: &'s SourceText) -> Self {
        Self { may_have_secret: false, ..Self::new(source) }
    }

    fn refuse(&mut self, error: &ScanError, finished: &Finished) -> Diagnostic {
        let marker = error.marker();
        let at = marker.byte_offset().unwrap_or_else(|| self.source.as_str().len());
        let text = self.source.as_str();
        let at = self.source.floor(at);
        // The end of the text is not on a line; mark the last character instead.
        let at = if at >= text.len() { self.source.floor(text.trim_end().len().saturating_sub(1)) } else { at };
        self.ended = !matches!(self.parser.proceed_next_document(), Ok(true));
        let end = text[at..].chars().next().filter(|c| *c != '\n').map_or(at, |c| at + c.len_utf8());
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let what = format!("the nesting is deeper than the allowed {DEEPEST} levels");
            return Diagnostic::error(what, self.source, at..end, "here");
        }
        let said = match syntax::cause(self.source, at, error.kind(), finished) {
            Some(cause) => {
                Diagnostic::error(format!("syntax error: {}", cause.message), self.source, cause.range, cause.label)
            }
            None => {
                // `here` means nothing beside a hidden line.
                let label = if self.may_have_secret { "" } else { "here" };
                Diagnostic::error(format!("syntax error: {}", error.kind()), self.source, at..end, label)
            }
        };
        if self.may_have_secret { said.of_unparsed(self.source) } else { said }
    }
}

impl<'s> Iterator for Documents<'s> {
    type Item = Result<Tree<'s>, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut builder = Builder { text: self.source.as_str(), ..Builder::default() };
        while !self.ended {
            match self.parser.next_event() {
                None => self.ended = true,
                Some(Err(error)) => return Some(Err(self.refuse(&error, &builder.finished()))),
                Some(Ok((Event::StreamEnd, _))) => self.ended = true,
                Some(Ok((Event::DocumentEnd, _))) => {
                    return Some(Ok(Tree { root: builder.root, nodes: builder.nodes }));
                }
                Some(Ok((_, span))) if builder.nodes.len() >= MOST_NODES => {
                    self.ended = !matches!(self.parser.proceed_next_document(), Ok(true));
                    let what = format!("the document has more than {MOST_NODES} nodes");
                    return Some(Err(Diagnostic::error(what, self.source, range(&span), "split it")));
                }
                Some(Ok((event, span))) => builder.event(event, &span),
            }
        }
        None
    }
}

fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or_default()
}

/// A collection that is not closed yet.
struct Open {
    id: NodeId,
    key: Option<NodeId>,
}

#[derive(Default)]
struct Builder<'s> {
    text: &'s str,
    /// Where the last event ends.
    end: usize,
    nodes: Vec<TreeNode<'s>>,
    root: Option<NodeId>,
    open: Vec<Open>,
    anchors: HashMap<usize, NodeId>,
}

impl<'s> Builder<'s> {
    fn event(&mut self, event: Event<'s>, span: &Span) {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain if tag.as_deref().is_some_and(is_of_text) => TextStyle::Quoted,
                    ScalarStyle::Plain => TextStyle::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => TextStyle::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => TextStyle::Block,
                };
                let text = if style == TextStyle::Block { self.ended(text, &range(span)) } else { text };
                let range = match style {
                    TextStyle::Block => self.block(&range(span)),
                    TextStyle::Plain if range(span).is_empty() => {
                        let at = self.empty(range(span).start);
                        at..at
                    }
                    TextStyle::Plain | TextStyle::Quoted => range(span),
                };
                self.add(NodeShape::Scalar { text, style }, range, anchor, tag.as_deref());
            }
            Event::SequenceStart(style, anchor, tag) => {
                let id = self.add(NodeShape::List { items: Vec::new() }, range(span), anchor, tag.as_deref());
                self.open(id, style);
            }
            Event::MappingStart(style, anchor, tag) => {
                let id = self.add(NodeShape::Map { entries: Vec::new() }, range(span), anchor, tag.as_deref());
                self.open(id, style);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => {
                let target = match self.anchors.get(&anchor) {
                    Some(target) if self.open.iter().any(|open| open.id == *target) => AliasTarget::Around,
                    Some(target) => AliasTarget::Node(*target),
                    None => AliasTarget::Missing(Cow::Borrowed("")),
                };
                self.add(NodeShape::Alias { target }, range(span), 0, None);
            }
            Event::UnresolvedAlias(name) => {
                self.add(NodeShape::Alias { target: AliasTarget::Missing(name) }, range(span), 0, None);
            }
            _ => {}
        }
        self.end = self.end.max(range(span).end);
    }

    fn finished(&self) -> Finished {
        let mut open = self.open.iter().rev().map(|open| self.nodes[open.id].range.start);
        let bracket = open.find(|at| self.text[*at..].starts_with(['[', '{']));
        Finished { end: self.end, bracket }
    }

    fn open(&mut self, id: NodeId, style: StructureStyle) {
        self.nodes[id].flow = style == StructureStyle::Flow;
        self.open.push(Open { id, key: None });
    }

    fn close(&mut self, span: &Span) {
        let Some(Open { id, .. }) = self.open.pop() else { return };
        let end = if self.nodes[id].flow { range(span).end } else { self.nodes[id].range.end };
        self.nodes[id].range.end = end;
        self.grow(end);
    }

    /// Extends the open collection to contain `end`.
    fn grow(&mut self, end: usize) {
        if let Some(open) = self.open.last() {
            let node = &mut self.nodes[open.id];
            node.range.end = node.range.end.max(end);
        }
    }

    /// The text of a block scalar without the line break that the parser adds where the file ends without one.
    fn ended(&self, text: Cow<'s, str>, content: &Range<usize>) -> Cow<'s, str> {
        let last = &self.text[line_start(self.text, self.text.len())..];
        if content.end < self.text.len() || last.ends_with('\r') || last.trim_matches(' ').is_empty() {
            return text;
        }
        text.strip_suffix('\n').map(|text| Cow::Owned(text.to_owned())).unwrap_or(text)
    }

    /// The bytes of a block scalar, from its header to its last character. The range of the parser begins after the
    /// header and extends to what follows.
    fn block(&self, content: &Range<usize>) -> Range<usize> {
        let slice = |range| self.text.get(range).unwrap_or_default();
        let above = slice(self.end..content.start).trim_end();
        let line = line_start(above, above.len());
        let header = above[line..].split(" #").next().unwrap_or_default();
        let indicator = header.rfind(['|', '>']);
        let start = indicator.map_or(content.start, |at| self.end + line + at);
        let text = slice(content.clone());
        // With `+`, the blank lines at its end are a part of it.
        let keeps = indicator.is_some_and(|at| header[at..].contains('+'));
        let text = if keeps { text.trim_end_matches(' ') } else { text.trim_end() };
        let text = text.strip_suffix('\n').unwrap_or(text);
        start..content.start + text.strip_suffix('\r').unwrap_or(text).len()
    }

    /// The place of an empty value: after its colon. The parser reports the place before the colon.
    fn empty(&self, at: usize) -> usize {
        let behind_colon = || {
            let key = self.nodes[self.open.last()?.key?].range.end;
            let rest = self.text.get(key..)?;
            let colon = rest.trim_start().strip_prefix(':')?;
            Some(key + rest.len() - colon.len())
        };
        behind_colon().unwrap_or(at)
    }

    fn add(&mut self, shape: NodeShape<'s>, range: Range<usize>, anchor: usize, tag: Option<&Tag>) -> NodeId {
        let id = self.nodes.len();
        let end = range.end;
        let unknown_tag = tag.and_then(unknown_tag);
        self.nodes.push(TreeNode { shape, range, anchored: anchor != 0, flow: false, unknown_tag });
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        match self.open.last_mut() {
            None => self.root = Some(id),
            Some(open) => match (&mut self.nodes[open.id].shape, open.key.take()) {
                (NodeShape::List { items }, _) => items.push(id),
                (NodeShape::Map { entries }, Some(key)) => entries.push((key, id)),
                (_, _) => open.key = Some(id),
            },
        }
        self.grow(end);
        id
    }
}

/// A tag that is not one of the core schema's.
fn unknown_tag(tag: &Tag) -> Option<String> {
    Some(tag.original()).filter(|written| tag.core_suffix().is_none() && written != "!")
}

/// Whether a tag turns a plain scalar into a text.
fn is_of_text(tag: &Tag) -> bool {
    tag.core_suffix().map_or_else(|| tag.original() == "!", |suffix| suffix == "str")
}

//! Finds the secrets of a document. It searches the tree before the document is validated, because its kind or the
//! secret itself may be wrong. Messages never contain any part of a secret, and no line of a document with a secret is
//! shown.

use std::ops::Range;
use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::item::is_null;
use super::level::Level;
use super::secret_names::may_be_in;
use super::suggestion::nearest;
use super::text::SourceText;
use super::tree::{AliasTarget, Documents, NodeId, NodeShape, TextStyle, Tree};
use super::variable;
use crate::kind::{self, Flag, KindName, snake};

/// The most values that are searched, with aliases resolved; further values count as secret.
const MOST_VALUES: usize = 200_000;
/// The most levels that are searched, with aliases resolved.
const DEEPEST: usize = 128;

/// The secrets of one document.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    file: Arc<str>,
    /// The bytes of each secret.
    places: Vec<Range<usize>>,
    /// The texts in them that messages could quote.
    texts: Vec<String>,
    /// The variables in them.
    variables: Vec<String>,
}

impl Secrets {
    /// The secrets of a document.
    pub(super) fn of(tree: &Tree<'_>, source: &SourceText) -> Self {
        let secrets = Self { file: source.path.clone(), ..Self::default() };
        let mut search = Search { tree, secrets, values: 0 };
        if let Some(root) = tree.root {
            search.value(root, root_level(tree, root), 0);
        }
        search.secrets
    }

    /// Whether any document of a text has a secret.
    pub(super) fn are_in(source: &SourceText) -> bool {
        Documents::new(source).flatten().any(|tree| !Self::of(&tree, source).is_empty())
    }

    /// The names of the variables in the secrets of a text; of all variables, if it cannot be parsed and may have one.
    pub(super) fn variables_in(source: &SourceText) -> Vec<String> {
        let of_text = || variable::names(source.as_str()).into_iter().map(str::to_owned).collect();
        let of_document = |tree: Result<Tree<'_>, Diagnostic>| match tree {
            Ok(tree) => Self::of(&tree, source).variables,
            Err(_) if source.names_secret() => of_text(),
            Err(_) => Vec::new(),
        };
        Documents::new(source).flat_map(of_document).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Removes these secrets, and the lines of the documents that have them, from diagnostics about the documents.
pub(super) fn conceal<'a, 'd>(
    secrets: impl IntoIterator<Item = &'a Secrets>,
    said: impl IntoIterator<Item = &'d mut Diagnostic>,
) {
    let secrets: Vec<&Secrets> = secrets.into_iter().filter(|secrets| !secrets.is_empty()).collect();
    for diagnostic in said.into_iter().filter(|_| !secrets.is_empty()) {
        diagnostic.hide_source();
        for secrets in &secrets {
            if secrets.places.iter().any(|place| diagnostic.is_about(&secrets.file, place)) {
                diagnostic.conceal(&secrets.texts);
                diagnostic.conceal(&secrets.variables);
            }
        }
    }
}

/// The level of a document, judged by its root alone.
fn root_level(tree: &Tree<'_>, root: NodeId) -> Level {
    let NodeShape::Map { entries } = &tree.node(root).shape else { return Level::root(None) };
    let is_of_kind = |(key, _): &&(NodeId, NodeId)| matches!(scalar(tree, *key), Some(("kind" | "<<", _)));
    let of_kind: Vec<_> = entries.iter().filter(is_of_kind).collect();
    let [(key, value)] = of_kind.as_slice() else {
        return if of_kind.is_empty() { Level::root(None) } else { Level::Unknown };
    };
    match (scalar(tree, *key), scalar(tree, *value)) {
        (Some(("kind", _)), Some((kind::ENDPOINT, _))) => Level::root(None),
        (Some(("kind", _)), Some((name, TextStyle::Plain))) if is_null(name) => Level::root(None),
        (Some(("kind", _)), Some((name, _))) => KindName::find(name).map_or(Level::Unknown, Level::Object),
        _ => Level::Unknown,
    }
}

/// A text with its style, with aliases resolved.
fn scalar<'t>(tree: &'t Tree<'_>, id: NodeId) -> Option<(&'t str, TextStyle)> {
    tree.scalar(id).map(|(text, style)| (text.as_ref(), style))
}

/// The level of a key. An unknown key that has, or resembles, the name of a secret counts as a secret.
fn below(level: Level, key: &str) -> Level {
    let spelled = level.spelled(key);
    let known = level.below(&spelled);
    if !matches!(known, Level::Unknown) {
        return known;
    }
    let is_near = match level {
        Level::Message(message) => {
            let secrets = message.fields.iter().filter(|field| field.is(Flag::Secret));
            nearest(&snake(key), secrets.map(|field| field.name)).is_some()
        }
        Level::Unknown => nearest(&snake(key), kind::sealed::names().iter().copied()).is_some(),
        _ => false,
    };
    // For example, a name after a stray character.
    let has_words = || !key.chars().all(|c| c.is_alphanumeric() || c == '_') && may_be_in(&format!("{key}:"));
    if is_near || kind::sealed::is_name(&snake(key)) || has_words() { Level::Secret } else { known }
}

struct Search<'t, 's> {
    tree: &'t Tree<'s>,
    secrets: Secrets,
    values: usize,
}

impl Search<'_, '_> {
    fn value(&mut self, id: NodeId, level: Level, depth: usize) {
        self.values += 1;
        let node = self.tree.node(id);
        if self.values > MOST_VALUES || depth > DEEPEST {
            self.secrets.places.push(node.range.clone());
            return;
        }
        let is_secret = matches!(level, Level::Secret);
        if let (true, Some(tag)) = (is_secret, &node.unknown_tag) {
            self.secrets.texts.push(tag.clone());
        }
        match &node.shape {
            NodeShape::Scalar { text, .. } if is_secret => self.text(text),
            // `private_key:text` is one text.
            NodeShape::Scalar { text, .. } => {
                if text.split_once(':').is_some_and(|(key, _)| kind::sealed::is_name(&snake(key.trim()))) {
                    self.secrets.places.push(node.range.clone());
                    self.text(text);
                }
            }
            // On other levels the anchored value itself is searched: aliases can expand to very many values.
            NodeShape::Alias { target: AliasTarget::Node(target) } => match level {
                Level::Metadata | Level::Value | Level::Empty | Level::Unknown => {}
                _ => self.part(*target, level, depth),
            },
            NodeShape::Alias { target: AliasTarget::Missing(name) } if is_secret => self.text(&format!("*{name}")),
            NodeShape::Alias { .. } => {}
            NodeShape::List { items } => items.iter().for_each(|item| self.part(*item, level.below(""), depth)),
            NodeShape::Map { entries } => {
                for (key, value) in entries {
                    let at = match scalar(self.tree, *key) {
                        Some(("<<", TextStyle::Plain)) => {
                            self.merged(*value, level, depth);
                            continue;
                        }
                        Some((key, _)) => {
                            if is_secret && !kind::sealed::is_name(&snake(key)) {
                                self.text(key);
                            }
                            below(level, key)
                        }
                        // A mapping as a key.
                        None => {
                            self.part(*key, level.below(""), depth);
                            level.below("")
                        }
                    };
                    self.part(*value, at, depth);
                }
            }
        }
    }

    /// A value inside of another one, recorded if it is a secret.
    fn part(&mut self, id: NodeId, level: Level, depth: usize) {
        let node = self.tree.node(id);
        let is_null = matches!(&node.shape, NodeShape::Scalar { text, style: TextStyle::Plain } if is_null(text));
        // A scalar instead of a mapping that contains a secret may be the secret.
        let is_instead = match &node.shape {
            NodeShape::Scalar { text, .. } => level.hides() && !matches!(text.as_ref(), "true" | "false"),
            NodeShape::List { .. } => level.hides() && !matches!(level, Level::Several(_)),
            _ => false,
        };
        let level = if is_instead { Level::Secret } else { level };
        if matches!(level, Level::Secret) && !is_null {
            self.secrets.places.push(node.range.clone());
        }
        self.value(id, level, depth + 1);
    }

    /// The values of a merge key have the level of the mapping around it.
    fn merged(&mut self, id: NodeId, level: Level, depth: usize) {
        let target = match &self.tree.node(id).shape {
            NodeShape::Alias { target: AliasTarget::Node(target) } => *target,
            _ => id,
        };
        match &self.tree.node(target).shape {
            NodeShape::List { items } => items.iter().for_each(|item| self.part(*item, level, depth)),
            _ => self.part(target, level, depth),
        }
    }

    fn text(&mut self, text: &str) {
        self.secrets.texts.push(text.to_owned());
        self.secrets.variables.extend(variable::names(text).into_iter().map(str::to_owned));
    }
}

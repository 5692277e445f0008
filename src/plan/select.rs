//! The filters of a call (`--only`, `--selector`, `--namespace`): which changes of a plan remain, and which
//! filters matched nothing.

use std::collections::BTreeSet;

use super::pattern::{Pattern, PatternError};
use crate::kind;
use crate::model::{Definition, Desired, Key, LiveItem, Namespace, Scope, Selector, SelectorError, StringMap};

/// The filters of a call. They select changes and never narrow what is loaded or read, so that objects
/// that a narrower call leaves out never look removed.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    paths: Vec<String>,
    only: Vec<Pattern>,
    except: Vec<Pattern>,
    namespaces: BTreeSet<Namespace>,
    selector: Selector,
}

/// Which filters of a selection have matched an object so far.
#[derive(Debug, Clone, Default)]
pub struct MatchedFilters {
    only: Vec<bool>,
    except: Vec<bool>,
    selector: bool,
    all_together: bool,
    namespaces: BTreeSet<Namespace>,
}

/// A filter that matches nothing is a mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnmatchedFilter {
    /// `--only`
    #[error("`{0}` matches nothing")]
    Only(String),
    /// `--except`
    #[error("`--except {0}` matches nothing")]
    Except(String),
    /// `--selector`
    #[error("`--selector` matches nothing")]
    Selector,
    /// Each filter matches something, but together they match nothing.
    #[error("the filters of this call select nothing")]
    Together,
}

impl MatchedFilters {
    /// Which globs of each flag matched an object; empty where no object was recorded.
    pub fn globs(&self) -> [(&'static str, &[bool]); 2] {
        [("only", &self.only), ("except", &self.except)]
    }

    /// Adds the matches of the same filters in another stack of the call.
    pub fn add(&mut self, other: &MatchedFilters) {
        for (ours, others) in [(&mut self.only, &other.only), (&mut self.except, &other.except)] {
            ours.resize(ours.len().max(others.len()), false);
            ours.iter_mut().zip(others).for_each(|(one, other)| *one |= other);
        }
        self.selector |= other.selector;
        self.all_together |= other.all_together;
        self.namespaces.extend(other.namespaces.iter().cloned());
    }

    /// Adds namespaces that the call is about, even if they are empty.
    pub fn add_namespaces<'n>(&mut self, namespaces: impl IntoIterator<Item = &'n Namespace>) {
        self.namespaces.extend(namespaces.into_iter().cloned());
    }
}

impl Selection {
    /// A selection without filters.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects only definitions in this file, in files below this folder, or changed by an overlay there, relative to
    /// the stack's directory. Several add up.
    pub fn add_path(&mut self, path: &str) {
        self.paths.push(path.trim_end_matches('/').to_owned());
    }

    /// Selects only objects whose `namespace/name` the glob matches. Several add up.
    ///
    /// # Errors
    /// The text is not a glob, or names an unknown kind.
    pub fn add_only(&mut self, glob: &str) -> Result<(), PatternError> {
        self.only.push(Pattern::of_call(glob)?);
        Ok(())
    }

    /// Leaves out objects whose `namespace/name` the glob matches.
    ///
    /// # Errors
    /// The text is not a glob, or names an unknown kind.
    pub fn add_except(&mut self, glob: &str) -> Result<(), PatternError> {
        self.except.push(Pattern::of_call(glob)?);
        Ok(())
    }

    /// Selects only objects of this namespace. Several add up.
    pub fn add_namespace(&mut self, namespace: Namespace) {
        self.namespaces.insert(namespace);
    }

    /// Selects only objects whose live or defined labels match the selector.
    ///
    /// # Errors
    /// The text is not a label selector.
    pub fn set_selector(&mut self, selector: &str) -> Result<(), SelectorError> {
        self.selector = Selector::parse(selector)?;
        Ok(())
    }

    /// Whether it has no filters.
    pub fn is_all(&self) -> bool {
        self.paths.is_empty()
            && self.only.is_empty()
            && self.except.is_empty()
            && self.namespaces.is_empty()
            && self.selector.is_empty()
    }

    /// Whether a change of this object is selected. An object without a definition has no path.
    pub fn selects(&self, key: &Key, definition: Option<&Definition>, item: Option<&LiveItem>) -> bool {
        (self.paths.is_empty() || definition.is_some_and(|definition| self.in_paths(definition)))
            && (self.only.is_empty() || self.only.iter().any(|one| one.matches(key)))
            && !self.except.iter().any(|one| one.matches(key))
            && (self.namespaces.is_empty() || self.namespaces.contains(&key.namespace))
            && self.meets(definition, item)
    }

    /// Whether labels of the definition or of the item match the selector. Without a definition, unreadable live labels
    /// count as a match.
    fn meets(&self, definition: Option<&Definition>, item: Option<&LiveItem>) -> bool {
        if self.selector.is_empty() {
            return true;
        }
        let defined = definition.map(|definition| &definition.endpoint.labels);
        let live = item.map(LiveItem::labels);
        let meets = |labels: &StringMap| self.selector.matches(|key| labels.get(key));
        matches!((defined, &live), (None, Some(None)))
            || defined.into_iter().chain(live.flatten().as_deref()).any(meets)
    }

    /// Records which filters match an object.
    pub fn note(
        &self,
        matched: &mut MatchedFilters,
        key: &Key,
        (definition, item): (Option<&Definition>, Option<&LiveItem>),
    ) {
        for (seen, patterns) in [(&mut matched.only, &self.only), (&mut matched.except, &self.except)] {
            seen.resize(patterns.len(), false);
            seen.iter_mut().zip(patterns).for_each(|(seen, one)| *seen = *seen || one.matches(key));
        }
        matched.selector = matched.selector || self.meets(definition, item);
        matched.all_together = matched.all_together || self.selects(key, definition, item);
    }

    /// The first filter that matched nothing, after every object and namespace was recorded. A glob of `--except` may
    /// be for objects that do not exist yet.
    pub fn unmatched(&self, matched: &MatchedFilters) -> Option<UnmatchedFilter> {
        if self.is_all() {
            return None;
        }
        let first = |patterns: &[Pattern], seen: &[bool], is_wrong: &dyn Fn(&Pattern) -> bool| {
            let seen = seen.iter().copied().chain(std::iter::repeat(false));
            let mut unseen = patterns.iter().zip(seen).filter(|(_, seen)| !seen).map(|(one, _)| one);
            unseen.find(|one| is_wrong(one)).map(|one| one.text.clone())
        };
        if let Some(glob) = first(&self.only, &matched.only, &|_| true) {
            return Some(UnmatchedFilter::Only(glob));
        }
        let is_wrong = |one: &Pattern| {
            let may_match = matched.namespaces.iter().any(|namespace| one.reach.may_match_in(namespace));
            !may_match || !one.text.contains(kind::GLOB)
        };
        if let Some(glob) = first(&self.except, &matched.except, &is_wrong) {
            return Some(UnmatchedFilter::Except(glob));
        }
        if !self.selector.is_empty() && !matched.selector {
            return Some(UnmatchedFilter::Selector);
        }
        (!self.leaves_some(matched)).then_some(UnmatchedFilter::Together)
    }

    /// Whether all filters together select a recorded object; always true with only namespaces and paths as filters.
    pub fn leaves_some(&self, matched: &MatchedFilters) -> bool {
        let by_namespace = self.except.is_empty() && self.only.is_empty() && self.selector.is_empty();
        by_namespace || matched.all_together
    }

    /// Whether the call names no namespace, or one of these.
    pub fn names_one_of(&self, known: &BTreeSet<Namespace>) -> bool {
        self.namespaces.is_empty() || !self.namespaces.is_disjoint(known)
    }

    /// The first namespace that the call names and that is not among `known`.
    pub fn unknown_namespace(&self, known: &BTreeSet<Namespace>) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| !known.contains(*namespace))
    }

    /// The first path of the call that contains no definition.
    pub fn empty_path(&self, desired: &Desired) -> Option<&str> {
        let defined = |path: &&String| {
            let one = Selection { paths: vec![(*path).clone()], ..Selection::default() };
            desired.definitions.values().any(|definition| one.in_paths(definition))
        };
        self.paths.iter().find(|path| !defined(path)).map(String::as_str)
    }

    /// Whether the definition or an overlay that changed it is in one of the paths.
    fn in_paths(&self, definition: &Definition) -> bool {
        let is_below = |path: &str, file: &str| {
            path.is_empty()
                || path == "."
                || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut files = std::iter::once(&definition.file).chain(&definition.overlays);
        files.any(|file| self.paths.iter().any(|path| is_below(path, file)))
    }

    /// Whether changes of this kind in this namespace may be selected, so that an apply must have read the list.
    pub fn reaches(&self, scope: &Scope, desired: &Desired) -> bool {
        let Scope { namespace, .. } = scope;
        let is_of = |definition: &&Definition| scope.contains(&definition.endpoint.key);
        let by_path = self.paths.is_empty()
            || desired.definitions.values().filter(is_of).any(|definition| self.in_paths(definition));
        by_path
            && (self.namespaces.is_empty() || self.namespaces.contains(namespace))
            && (self.only.is_empty()
                || self.only.iter().any(|one| one.is_of(scope.kind) && one.reach.may_match_in(namespace)))
            && !self.except.iter().any(|one| one.is_of(scope.kind) && one.reach.matches_all_of(namespace))
    }
}

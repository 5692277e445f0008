//! The filters of a call (`--only`, `--selector`, `--namespace`): which changes of a plan remain, and which
//! filters matched nothing.

use std::collections::BTreeSet;

use super::pattern::{Pattern, PatternError};
use crate::model::{
    Definition, Desired, Key, Namespace, Object, Requirement, Scope, Selector, SelectorError, StringMap,
};

/// The filters of a call. They choose among the changes and never narrow what is loaded or read, so
/// that a narrower call can never look like a removal.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    paths: Vec<String>,
    only: Vec<Pattern>,
    except: Vec<Pattern>,
    namespaces: BTreeSet<Namespace>,
    selector: Vec<Requirement>,
}

/// Which filters of a selection have matched something so far.
#[derive(Debug, Clone, Default)]
pub struct MatchedFilters {
    only: Vec<bool>,
    selector: bool,
    all_together: bool,
}

/// A filter that matches nothing is a mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnmatchedFilter {
    /// `--only`
    #[error("`{glob}` matches nothing")]
    Only {
        /// The glob.
        glob: String,
    },
    /// `--selector`
    #[error("`--selector` matches nothing")]
    Selector,
    /// Each matches something, and together they match nothing.
    #[error("the filters of this call leave nothing in")]
    Together,
}

impl MatchedFilters {
    /// Which globs of `--only` matched something; empty where nothing was noted.
    pub fn only(&self) -> &[bool] {
        &self.only
    }

    /// What these or the others matched: the filters of one call in several stacks.
    pub fn add(&mut self, other: &MatchedFilters) {
        let count = self.only.len().max(other.only.len());
        self.only.resize(count, false);
        for (one, other) in self.only.iter_mut().zip(&other.only) {
            *one |= other;
        }
        self.selector |= other.selector;
        self.all_together |= other.all_together;
    }
}

impl Selection {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only definitions in this file, or in files below this folder, relative to the stack's
    /// directory. Several add up.
    pub fn add_path(&mut self, path: &str) {
        self.paths.push(path.trim_end_matches('/').to_owned());
    }

    /// Only endpoints whose `namespace/name` the glob matches. Several add up.
    ///
    /// # Errors
    /// The text is not a glob, or names an unknown kind.
    pub fn add_only(&mut self, glob: &str) -> Result<(), PatternError> {
        self.only.push(Pattern::of_call(glob)?);
        Ok(())
    }

    /// No endpoints whose `namespace/name` the glob matches.
    ///
    /// # Errors
    /// The text is not a glob, or names an unknown kind.
    pub fn add_except(&mut self, glob: &str) -> Result<(), PatternError> {
        self.except.push(Pattern::of_call(glob)?);
        Ok(())
    }

    /// Only endpoints of this namespace. Several add up.
    pub fn add_namespace(&mut self, namespace: Namespace) {
        self.namespaces.insert(namespace);
    }

    /// Only endpoints whose live or desired labels meet the selector.
    ///
    /// # Errors
    /// The text is not a label selector.
    pub fn set_selector(&mut self, selector: &str) -> Result<(), SelectorError> {
        self.selector = Selector::parse(selector)?;
        Ok(())
    }

    /// Whether it leaves everything in.
    pub fn is_all(&self) -> bool {
        self.paths.is_empty()
            && self.only.is_empty()
            && self.except.is_empty()
            && self.namespaces.is_empty()
            && self.selector.is_empty()
    }

    /// Whether a change of this endpoint is left in. What has no definition has no path.
    pub fn selects(&self, key: &Key, definition: Option<&Definition>, live: Option<&Object>) -> bool {
        if self.is_all() {
            return true;
        }
        let labels: [Option<&StringMap>; 2] =
            [definition.map(|definition| &definition.endpoint.labels), live.map(|live| &live.labels)];
        let meets = |labels: &StringMap| self.selector.iter().all(|one| one.matches(|key| labels.get(key)));
        (self.paths.is_empty() || definition.is_some_and(|definition| self.in_paths(&definition.file)))
            && (self.only.is_empty() || self.only.iter().any(|one| one.matches(key)))
            && !self.except.iter().any(|one| one.matches(key))
            && (self.namespaces.is_empty() || self.namespaces.contains(&key.namespace))
            && (self.selector.is_empty() || labels.into_iter().flatten().any(meets))
    }

    /// Notes which filters an endpoint that is defined, live or both matches.
    pub fn note(
        &self,
        matched: &mut MatchedFilters,
        key: &Key,
        definition: Option<&Definition>,
        live: Option<&Object>,
    ) {
        if self.is_all() {
            return;
        }
        matched.only.resize(self.only.len(), false);
        for (seen, one) in matched.only.iter_mut().zip(&self.only) {
            *seen = *seen || one.matches(key);
        }
        let labels = [definition.map(|definition| &definition.endpoint.labels), live.map(|live| &live.labels)];
        let meets = |labels: &&StringMap| self.selector.iter().all(|one| one.matches(|key| labels.get(key)));
        matched.selector = matched.selector || labels.into_iter().flatten().any(|labels| meets(&labels));
        matched.all_together = matched.all_together || self.selects(key, definition, live);
    }

    /// The first filter that matched nothing, after every endpoint was noted.
    pub fn unmatched(&self, matched: &MatchedFilters) -> Option<UnmatchedFilter> {
        if self.is_all() {
            return None;
        }
        let mut seen = matched.only.iter().copied().chain(std::iter::repeat(false));
        if let Some(one) = self.only.iter().find(|_| seen.next() == Some(false)) {
            return Some(UnmatchedFilter::Only { glob: one.text.clone() });
        }
        if !self.selector.is_empty() && !matched.selector {
            return Some(UnmatchedFilter::Selector);
        }
        (!matched.all_together && (!self.except.is_empty() || !self.only.is_empty() || !self.selector.is_empty()))
            .then_some(UnmatchedFilter::Together)
    }

    /// Whether something is left in that was noted, or is of one of these namespaces where only namespaces are named.
    pub fn leaves_some(&self, matched: &MatchedFilters) -> bool {
        let by_namespace = self.except.is_empty() && self.only.is_empty() && self.selector.is_empty();
        by_namespace || matched.all_together
    }

    /// Whether the call names none or one of these namespaces.
    pub fn names_one_of(&self, known: &BTreeSet<Namespace>) -> bool {
        self.namespaces.is_empty() || !self.namespaces.is_disjoint(known)
    }

    /// The first namespace that the call names and that is not among `known`.
    pub fn unknown_namespace(&self, known: &BTreeSet<Namespace>) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| !known.contains(*namespace))
    }

    /// The first path that the call names and that no definition is in.
    pub fn empty_path(&self, desired: &Desired) -> Option<&str> {
        let defined = |path: &&String| {
            let one = Selection { paths: vec![(*path).clone()], ..Selection::default() };
            desired.definitions.values().any(|definition| one.in_paths(&definition.file))
        };
        self.paths.iter().find(|path| !defined(path)).map(String::as_str)
    }

    fn in_paths(&self, file: &str) -> bool {
        self.paths.iter().any(|path| {
            path.is_empty()
                || path == "."
                || file.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether changes of this kind in this namespace may be left in at all: what an apply must have read.
    pub fn reaches(&self, scope: &Scope, desired: &Desired) -> bool {
        let Scope { namespace, .. } = scope;
        let is_of = |definition: &&Definition| scope.contains(&definition.endpoint.key);
        let by_path = self.paths.is_empty()
            || desired.definitions.values().filter(is_of).any(|definition| self.in_paths(&definition.file));
        by_path
            && (self.namespaces.is_empty() || self.namespaces.contains(namespace))
            && (self.only.is_empty()
                || self.only.iter().any(|one| one.is_of(scope.kind) && one.reach.may_match_in(namespace)))
            && !self.except.iter().any(|one| one.is_of(scope.kind) && one.reach.matches_all_of(namespace))
    }
}

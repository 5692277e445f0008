use std::collections::BTreeSet;

use globset::GlobMatcher;

use super::settings::{PatternError, pattern};
use crate::model::{Definition, Desired, Endpoint, Key, Namespace, Requirement, Selector, SelectorError, Texts};

/// The filters of a call. They choose among the changes and never narrow what is loaded or read, so
/// that a narrower call can never look like a removal.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    paths: Vec<String>,
    only: Vec<GlobMatcher>,
    except: Vec<GlobMatcher>,
    namespaces: BTreeSet<Namespace>,
    selector: Vec<Requirement>,
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
    /// The text is no glob.
    pub fn add_only(&mut self, glob: &str) -> Result<(), PatternError> {
        self.only.push(pattern(glob)?);
        Ok(())
    }

    /// No endpoints whose `namespace/name` the glob matches.
    ///
    /// # Errors
    /// The text is no glob.
    pub fn add_except(&mut self, glob: &str) -> Result<(), PatternError> {
        self.except.push(pattern(glob)?);
        Ok(())
    }

    /// Only endpoints of this namespace. Several add up.
    pub fn add_namespace(&mut self, namespace: Namespace) {
        self.namespaces.insert(namespace);
    }

    /// Only endpoints whose live or desired labels meet the selector.
    ///
    /// # Errors
    /// The text is no label selector.
    pub fn set_selector(&mut self, selector: &str) -> Result<(), SelectorError> {
        self.selector = Selector::parse(selector)?;
        Ok(())
    }

    /// Whether it leaves everything in.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.paths.is_empty()
            && self.only.is_empty()
            && self.except.is_empty()
            && self.namespaces.is_empty()
            && self.selector.is_empty()
    }

    /// Whether a change of this endpoint is left in. What has no definition has no path.
    #[must_use]
    pub fn selects(&self, key: &Key, definition: Option<&Definition>, live: Option<&Endpoint>) -> bool {
        if self.is_all() {
            return true;
        }
        let text = key.to_string();
        let labels: [Option<&Texts>; 2] =
            [definition.map(|definition| &definition.endpoint.labels), live.map(|live| &live.labels)];
        let meets = |labels: &Texts| self.selector.iter().all(|one| one.holds(labels));
        (self.paths.is_empty() || definition.is_some_and(|definition| self.in_paths(&definition.file)))
            && (self.only.is_empty() || self.only.iter().any(|glob| glob.is_match(&text)))
            && !self.except.iter().any(|glob| glob.is_match(&text))
            && (self.namespaces.is_empty() || self.namespaces.contains(&key.namespace))
            && (self.selector.is_empty() || labels.into_iter().flatten().any(meets))
    }

    fn in_paths(&self, file: &str) -> bool {
        self.paths.iter().any(|path| {
            path.is_empty()
                || path == "."
                || file.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether changes may be left in this namespace at all: what an apply must have read.
    #[must_use]
    pub fn reaches(&self, namespace: &Namespace, desired: &Desired) -> bool {
        let by_path = self.paths.is_empty()
            || desired
                .definitions
                .values()
                .any(|definition| definition.endpoint.key.namespace == *namespace && self.in_paths(&definition.file));
        let in_namespace = |glob: &GlobMatcher| {
            let pattern = glob.glob().glob();
            pattern.split_once('/').is_none_or(|(part, _)| {
                globset::Glob::new(part).is_ok_and(|glob| glob.compile_matcher().is_match(namespace.as_str()))
            })
        };
        by_path
            && (self.namespaces.is_empty() || self.namespaces.contains(namespace))
            && (self.only.is_empty() || self.only.iter().any(in_namespace))
    }
}

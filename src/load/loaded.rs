//! A stack as it was loaded: settings, definitions, notes, and the origin of its files, so that places can
//! be found later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::diagnostic::Diagnostic;
use super::options::LoadOptions;
use super::source::{FileFilter, FileOrigin, StackFile};
use crate::kind::KindName;
use crate::model::{Desired, Key, Namespace, SourceLocation, gathered};

/// A fully loaded stack.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its settings.
    pub config: Config,
    /// Its directory; empty where it was loaded from memory.
    pub root: PathBuf,
    /// Whether a `trueup.yaml` was found.
    pub stack: StackFile,
    /// Its definitions.
    pub desired: Desired,
    /// The definitions that overlays remove, and where they do so.
    pub removed: BTreeMap<Key, SourceLocation>,
    /// Notes about values that were read differently from how they were written.
    pub notes: Vec<Diagnostic>,
    /// The variables of the call that this stack does not use, but another stack or a base may.
    pub unused: BTreeSet<String>,
    pub(super) origin: Arc<FileOrigin>,
    pub(super) options: LoadOptions,
}

impl Loaded {
    /// Whether a file at this path below the stack's directory would be read, as definitions or as an
    /// overlay; of a directory, whether any file below it could be.
    pub fn reads(&self, path: &str, is_directory: bool) -> bool {
        self.filter().reads(path, is_directory)
    }

    /// The kinds that must be read: those of definitions, and those that the settings list.
    pub fn kinds(&self) -> BTreeSet<KindName> {
        &self.config.kinds_with_endpoint() | &self.desired.definitions.keys().map(|key| key.kind).collect()
    }

    /// The namespaces that must be read: those of definitions, and those that the settings list.
    pub fn namespaces(&self) -> BTreeSet<Namespace> {
        let defined = self.desired.definitions.keys().map(|key| key.namespace.clone());
        defined.chain(self.config.namespaces.iter().cloned()).collect()
    }

    /// The overlay files that change definitions of a file.
    pub(super) fn overlays(&self) -> BTreeMap<&Arc<str>, BTreeSet<&Arc<str>>> {
        let changed = self.desired.definitions.values();
        gathered(changed.flat_map(|changed| changed.overlays.iter().map(|overlay| (&changed.file, overlay))))
    }

    /// Classifies its files.
    pub(super) fn filter(&self) -> FileFilter {
        FileFilter::new(&self.config, self.options.environment.as_deref())
    }

    /// The options that it was loaded with.
    pub fn options(&self) -> &LoadOptions {
        &self.options
    }
}

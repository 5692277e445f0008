use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::diagnostic::Diagnostic;
use super::source::{FileFilter, FileOrigin};
use crate::model::Desired;

/// What a load has to know beside the directory.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Variables given by name, over those of the configuration.
    pub variables: BTreeMap<String, String>,
    /// The environment of `trueup.yaml` to load.
    pub environment: Option<String>,
    /// The settings file, where it is not to be looked for.
    pub config: Option<PathBuf>,
    /// What hostile input may cost.
    pub limits: LoadLimits,
    /// Threads that read and parse; as many as there are processors where nothing is said.
    pub threads: Option<usize>,
}

/// What hostile input may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Documents of one file.
    pub documents: usize,
    /// Problems that are told of one file.
    pub problems: usize,
    /// Files of one stack.
    pub files: usize,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { file_bytes: 16 * 1024 * 1024, documents: 20_000, problems: 200, files: 1_000_000 }
    }
}

/// A file that is already in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, relative to the stack's directory, with `/` between parts.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A stack, loaded whole.
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
    /// The file or folder that was asked for, where it lies below the stack's directory: it selects
    /// changes and never narrows what is loaded.
    pub selection: Option<PathFilter>,
    /// What was read otherwise than it was written.
    pub notes: Vec<Diagnostic>,
    pub(super) origin: Arc<FileOrigin>,
    pub(super) options: LoadOptions,
}

impl Loaded {
    /// Whether a file at this path below the stack's directory would be read, as definitions or as an
    /// overlay; of a directory, whether any file below it could be.
    #[must_use]
    pub fn reads(&self, path: &str, is_directory: bool) -> bool {
        FileFilter::new(&self.config, self.options.environment.as_deref()).reads(path, is_directory)
    }

    /// What it was loaded with.
    #[must_use]
    pub fn options(&self) -> &LoadOptions {
        &self.options
    }
}

/// Whether a directory is a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackFile {
    /// It holds a `trueup.yaml`.
    Found,
    /// It does not: the directory is the whole, and nothing is ever deleted.
    Missing,
}

/// A file or folder of a stack, relative to its directory, with `/` between parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFilter(pub(super) String);

impl PathFilter {
    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

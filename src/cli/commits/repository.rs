//! The git repository of a stack, which everything in one command shares: it is searched for and opened
//! at the first question, and most questions of a command are the same.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::cli::Context;
use crate::git::{GitEnvironment, GitError, Repository};

/// The repository that a directory is in. A clone is the same one.
#[derive(Clone)]
pub struct LazyRepository {
    directory: PathBuf,
    machine: GitEnvironment,
    opened: Arc<OnceLock<Result<Repository, Arc<GitError>>>>,
}

impl LazyRepository {
    /// The repository of `directory`, which is not searched for yet.
    pub fn new(context: &Context, directory: &Path) -> Self {
        let search_path = context.environment.path("PATH").map(Into::into);
        let machine = GitEnvironment { search_path, temporary: std::env::temp_dir() };
        Self { directory: directory.to_owned(), machine, opened: Arc::default() }
    }

    /// Opens it, or returns what was opened before.
    ///
    /// # Errors
    /// There is none that can be used.
    pub fn open(&self) -> Result<&Repository, Arc<GitError>> {
        let opened = self.opened.get_or_init(|| Repository::open(&self.directory, &self.machine).map_err(Arc::new));
        opened.as_ref().map_err(Arc::clone)
    }
}

//! Which files a stack reads in any of its environments: a change of another file is not a change of the stack.

use std::path::Path;

use super::config::{self, Config};
use super::source::{FileFilter, is_source, relative};
use crate::file::{MOST_ENTRIES, Walk, WalkError};

/// The files of a stack in any of its environments.
#[derive(Debug, Default)]
pub struct StackFiles {
    filters: Vec<FileFilter>,
}

/// A file below a stack's directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackPath {
    /// Its path from the directory, with `/` between parts.
    pub path: String,
    /// It is a symbolic link.
    pub is_link: bool,
}

impl StackFiles {
    /// The files of a stack with these settings, to which no environment is applied.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut filters = vec![FileFilter::new(config, None)];
        for (name, environment) in &config.environments {
            let config = Config {
                files: environment.files.clone(),
                environments: config.environments.clone(),
                ..Config::default()
            };
            filters.push(FileFilter::new(&config, Some(name)));
        }
        Self { filters }
    }

    /// Whether the stack reads a file at this path in any of its environments.
    pub fn reads(&self, path: &str) -> bool {
        path == config::FILE || is_source(path) && self.filters.iter().any(|filter| filter.reads(path, false))
    }

    /// Every file and link below `directory` that the stack reads, sorted, as far as it can be read.
    ///
    /// # Errors
    /// There is more than a walk may visit.
    pub fn below(&self, directory: &Path) -> Result<Vec<StackPath>, WalkError> {
        let mut paths = StackPath::below(directory)?;
        paths.retain(|file| self.reads(&file.path));
        Ok(paths)
    }
}

impl StackPath {
    /// Every file and link below `directory` that is not git's, sorted, as far as it can be read.
    ///
    /// # Errors
    /// There is more than a walk may visit.
    pub fn below(directory: &Path) -> Result<Vec<Self>, WalkError> {
        Self::within(directory, MOST_ENTRIES)
    }

    fn within(directory: &Path, limit: usize) -> Result<Vec<Self>, WalkError> {
        let mut paths = Vec::new();
        for entry in Walk::new(directory, limit, |entry| entry.depth() > 0 && entry.file_name() == ".git") {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => {
                    paths.push(Self { path: relative(directory, entry.path()), is_link: entry.path_is_symlink() });
                }
                Err(WalkError::Entry(_)) => {}
                Err(error @ WalkError::TooMany { .. }) => return Err(error),
            }
        }
        paths.sort();
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_an_error_and_not_a_part_of_it() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a.yaml", "b.yaml"] {
            std::fs::write(directory.path().join(name), "").expect("a file");
        }
        let within = |limit| StackPath::within(directory.path(), limit).map(|paths| paths.len());
        assert!(matches!(within(3), Ok(2)));
        assert!(matches!(within(2), Err(WalkError::TooMany { .. })));
    }
}

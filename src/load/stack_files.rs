//! Which files a stack reads in any of its environments: a change of another file is not a change of the stack.

use std::path::Path;

use walkdir::WalkDir;

use super::config::{self, Config};
use super::source::{FileFilter, is_source, relative};

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

    /// Every file and link below `directory` that the stack reads, sorted; nothing where it cannot be read.
    pub fn below(&self, directory: &Path) -> Vec<StackPath> {
        let mut paths = StackPath::below(directory);
        paths.retain(|file| self.reads(&file.path));
        paths
    }
}

impl StackPath {
    /// Every file and link below `directory` that is not git's, sorted; nothing where it cannot be read.
    pub fn below(directory: &Path) -> Vec<Self> {
        let is_own = |entry: &walkdir::DirEntry| entry.depth() == 0 || entry.file_name() != ".git";
        let entries = WalkDir::new(directory).into_iter().filter_entry(is_own).filter_map(Result::ok);
        let files = entries.filter(|entry| !entry.file_type().is_dir());
        let mut paths: Vec<Self> = files
            .map(|entry| Self { path: relative(directory, entry.path()), is_link: entry.path_is_symlink() })
            .collect();
        paths.sort();
        paths
    }
}

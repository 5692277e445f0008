//! Which files a stack reads in any of its environments: a change of another file is not a change of the stack.

use std::path::Path;

use walkdir::WalkDir;

use super::config::{self, Config};
use super::source::{FileFilter, is_hidden, is_source, relative};

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
    #[must_use]
    pub fn reads(&self, path: &str) -> bool {
        path == config::FILE || is_source(path) && self.may_read(path)
    }

    /// The same for a file of any name: a link can lead to it.
    #[must_use]
    pub fn may_read(&self, path: &str) -> bool {
        self.filters.iter().any(|filter| filter.reads(path, false))
    }

    /// Every file and link below `directory` that the stack may read, sorted; nothing where it cannot be read.
    #[must_use]
    pub fn below(&self, directory: &Path) -> Vec<StackPath> {
        let is_shown =
            |entry: &walkdir::DirEntry| entry.depth() == 0 || !is_hidden(&entry.file_name().to_string_lossy());
        let entries = WalkDir::new(directory).into_iter().filter_entry(is_shown).filter_map(Result::ok);
        let mut paths: Vec<StackPath> = entries
            .filter(|entry| !entry.file_type().is_dir())
            .map(|entry| StackPath { path: relative(directory, entry.path()), is_link: entry.path_is_symlink() })
            .filter(|file| self.may_read(&file.path))
            .collect();
        paths.sort();
        paths
    }
}

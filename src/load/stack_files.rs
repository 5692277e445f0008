//! Which files a stack reads in any of its environments: changes to other files do not change the stack.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::config::{self, Config};
use super::source::{FileFilter, is_source, relative, walk};
use crate::file::{self, MOST_ENTRIES, Walk, WalkError};

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
    /// The files of a stack with these settings, which are those without an environment.
    pub fn new(config: &Config) -> Self {
        let overlays = FileFilter::overlays(config);
        // Nearly all environments of a stack have the same globs.
        let mut by_globs = BTreeMap::from([(&config.files, Vec::new())]);
        for environment in config.environments.values() {
            by_globs.entry(&environment.files).or_default().extend(&environment.overlays);
        }
        let filters = by_globs.into_iter().map(|(globs, chosen)| FileFilter::of(globs, &overlays, chosen));
        Self { filters: filters.collect() }
    }

    /// The files of one environment, or without an environment; `config` has the settings of that environment.
    pub fn of_environment(config: &Config, environment: Option<&str>) -> Self {
        Self { filters: vec![FileFilter::new(config, environment)] }
    }

    /// Whether the stack reads a file at this path in any of its environments.
    pub fn reads(&self, path: &str) -> bool {
        path == config::FILE || is_source(path) && self.filters.iter().any(|filter| filter.reads(path, false))
    }

    /// Whether the stack can read a file below a directory at this path in any of its environments.
    pub fn reads_below(&self, directory: &str) -> bool {
        let file = format!("{directory}/_");
        self.filters.iter().any(|filter| filter.reads(&file, true))
    }

    /// Every file and link below `directory` that the stack reads, sorted; unreadable directories are left out.
    ///
    /// # Errors
    /// The directory has more entries than a walk may visit.
    pub fn below(&self, directory: &Path) -> Result<Vec<StackPath>, WalkError> {
        let mut paths = StackPath::below(directory)?;
        paths.retain(|file| self.reads(&file.path));
        Ok(paths)
    }

    /// Every file below `directory` that a load reads, through links too, and every path that is a problem for it.
    pub(super) fn loaded(&self, directory: &Path) -> BTreeSet<Arc<str>> {
        let directory = file::real_path_or_given(directory);
        let mut loaded = BTreeSet::new();
        for filter in &self.filters {
            let mut problems = Vec::new();
            let found = walk(&directory, filter, &mut problems);
            loaded.extend(found.into_iter().filter(|path| filter.reads(path, false)));
            loaded.extend(problems.iter().map(|problem| problem.file().unwrap_or_default().into()));
        }
        loaded
    }
}

impl StackPath {
    /// Every file and link below `directory` outside of `.git`, sorted; unreadable directories are left out.
    ///
    /// # Errors
    /// The directory has more entries than a walk may visit.
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
    use crate::load::config::FileGlobs;
    use crate::model::growth_tests::assert_at_most_linear;

    /// Settings of so many environments, each with an overlay of its own.
    fn many(environments: usize) -> Config {
        let one = |at: usize| (format!("e{at}"), Config { overlays: vec![format!("o/e{at}")], ..Config::default() });
        Config { environments: (0..environments).map(one).collect(), ..Config::default() }
    }

    #[test]
    fn the_files_of_many_environments_are_found_in_linear_time() {
        assert_at_most_linear("environments", 50, many, |config| {
            let files = StackFiles::new(&config);
            for at in 0..config.environments.len() {
                assert!(files.reads(&format!("o/e{at}/a.yaml")) && files.reads(&format!("a{at}.yaml")));
            }
        });
    }

    #[test]
    fn each_environment_reads_what_its_own_globs_leave_in_its_own_overlays() {
        let environment = |overlay: &str, excluded: &str| Config {
            overlays: vec![overlay.to_owned()],
            files: FileGlobs { exclude: vec![excluded.to_owned()], ..FileGlobs::default() },
            ..Config::default()
        };
        let environments = [("a", "o/a", "**/x.yaml"), ("b", "o/b", "**/y.yaml"), ("c", "o/c", "**/x.yaml")];
        let environments = environments.map(|(name, overlay, glob)| (name.to_owned(), environment(overlay, glob)));
        let config = Config {
            files: FileGlobs { include: vec!["only".to_owned()], ..FileGlobs::default() },
            environments: environments.into(),
            ..Config::default()
        };
        let files = StackFiles::new(&config);
        let read = ["x.yaml", "only/x.yaml", "o/a/y.yaml", "o/b/x.yaml", "o/c/y.yaml"];
        let unread = ["o/a/x.yaml", "o/b/y.yaml", "o/c/x.yaml", "only/x.txt"];
        assert_eq!(read.map(|path| files.reads(path)), [true; 5]);
        assert_eq!(unread.map(|path| files.reads(path)), [false; 4]);
    }

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

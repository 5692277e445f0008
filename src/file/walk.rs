//! A walk of a directory that ends, however many entries a hostile tree has.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, IntoIter, WalkDir};

/// Entries that a walk visits at most.
pub const MOST_ENTRIES: usize = 1_000_000;

/// Why an entry of a walk is not known.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// The walk ended before all was visited.
    #[error("`{}` has more than the allowed {limit} files", directory.display())]
    TooMany {
        /// Where it began.
        directory: PathBuf,
        /// How many are allowed.
        limit: usize,
    },
    /// One entry cannot be read; the walk goes on.
    #[error(transparent)]
    Entry(#[from] walkdir::Error),
}

/// The entries in and below a directory, but for those that are left out with all that is below them.
pub struct Walk<F> {
    directory: PathBuf,
    entries: IntoIter,
    limit: usize,
    visited: usize,
    is_left_out: F,
}

impl<F: FnMut(&DirEntry) -> bool> Walk<F> {
    /// Follows no link.
    pub fn new(directory: &Path, limit: usize, is_left_out: F) -> Self {
        let entries = WalkDir::new(directory).into_iter();
        Self { directory: directory.to_owned(), entries, limit, visited: 0, is_left_out }
    }

    /// Follows links, and reports those that lead back to a directory above them.
    pub fn through_links(directory: &Path, limit: usize, is_left_out: F) -> Self {
        let entries = WalkDir::new(directory).follow_links(true).into_iter();
        Self { entries, ..Self::new(directory, limit, is_left_out) }
    }

    /// Leaves out what is below the directory that was visited last.
    pub fn skip_directory(&mut self) {
        self.entries.skip_current_dir();
    }
}

impl<F: FnMut(&DirEntry) -> bool> Iterator for Walk<F> {
    type Item = Result<DirEntry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.visited <= self.limit {
            let entry = self.entries.next()?;
            self.visited += 1;
            match entry {
                // What is left out takes time as well.
                _ if self.visited > self.limit => {
                    let directory = self.directory.clone();
                    return Some(Err(WalkError::TooMany { directory, limit: self.limit }));
                }
                Ok(entry) if (self.is_left_out)(&entry) => {
                    if entry.file_type().is_dir() {
                        self.skip_directory();
                    }
                }
                entry => return Some(entry.map_err(WalkError::from)),
            }
        }
        None
    }
}

/// Whether what a walk meets is hidden; where the walk begins is not.
pub fn is_hidden_entry(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_ends_however_much_of_a_tree_is_left_out() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in [".a", ".b", "c", "d"] {
            std::fs::write(directory.path().join(name), "").expect("a file");
        }
        let walked = |limit| Walk::new(directory.path(), limit, is_hidden_entry).collect::<Result<Vec<_>, _>>();
        assert_eq!(walked(5).expect("the whole tree").len(), 3);
        assert!(matches!(walked(4), Err(WalkError::TooMany { limit: 4, .. })));
    }
}

//! A walk of a directory that ends even if a hostile tree has any number of entries.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, IntoIter, WalkDir};

/// The most entries that a walk visits.
pub const MOST_ENTRIES: usize = 1_000_000;

/// Why an entry of a walk cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// The walk reached its limit before its end.
    #[error("`{}` has more than the allowed {limit} files", directory.display())]
    TooMany {
        /// The directory of the walk.
        directory: PathBuf,
        /// How many are allowed.
        limit: usize,
    },
    /// One entry cannot be read; the walk continues.
    #[error(transparent)]
    Entry(#[from] walkdir::Error),
}

/// The entries in and below a directory, without excluded ones and everything below those.
pub struct Walk<F> {
    directory: PathBuf,
    entries: IntoIter,
    limit: usize,
    visited: usize,
    is_left_out: F,
}

impl<F: FnMut(&DirEntry) -> bool> Walk<F> {
    /// A walk that follows no links.
    pub fn new(directory: &Path, limit: usize, is_left_out: F) -> Self {
        let entries = WalkDir::new(directory).into_iter();
        Self { directory: directory.to_owned(), entries, limit, visited: 0, is_left_out }
    }

    /// A walk that follows links, and reports links to a directory above them.
    pub fn through_links(directory: &Path, limit: usize, is_left_out: F) -> Self {
        let entries = WalkDir::new(directory).follow_links(true).into_iter();
        Self { entries, ..Self::new(directory, limit, is_left_out) }
    }

    /// Skips the content of the directory that was returned last.
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
                // Excluded entries count too, because they cost time.
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

/// Whether an entry is hidden; the directory of the walk itself never is.
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

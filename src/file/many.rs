//! Reads many files of one directory tree and resolves each directory only once.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::directory::{Directory, bounded};
use super::error::FileError;
use super::platform;

/// Reads many files of a [`Directory`], mostly several in a row from the same subdirectory. That subdirectory stays
/// open, so that the system resolves only one name per file instead of its whole path.
#[derive(Debug)]
pub struct ManyFiles<'d> {
    directory: &'d Directory,
    /// The directory of the last file.
    last: PathBuf,
    /// That directory, open once a second file in it was read.
    opened: Option<Directory>,
}

impl<'d> ManyFiles<'d> {
    /// Reads files beneath `directory`.
    pub fn new(directory: &'d Directory) -> Self {
        Self { directory, last: PathBuf::new(), opened: None }
    }

    /// Like [`Directory::read`].
    ///
    /// # Errors
    /// Those of [`Directory::read`].
    pub fn read(&mut self, below: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, length) = match self.beside(below) {
            Some(file) => self.directory.regular_file(file, below)?,
            // A link or an error: its meaning depends on the whole path.
            None => self.directory.open_regular(below)?,
        };
        bounded(file, length, &self.directory.path().join(below), limit)
    }

    /// Opens the file through its open directory; `None` if that is not open, or if the file is a link or cannot be
    /// opened.
    fn beside(&mut self, below: &Path) -> Option<File> {
        let (parent, name) = (below.parent()?, below.file_name()?);
        if parent.as_os_str().is_empty() {
            return platform::open_entry(&self.directory.dir, name).ok();
        }
        if self.last != parent {
            self.last = parent.to_owned();
            self.opened = None;
            return None;
        }
        if self.opened.is_none() {
            self.opened = Some(self.directory.below(parent).ok()?);
        }
        platform::open_entry(&self.opened.as_ref()?.dir, name).ok()
    }
}

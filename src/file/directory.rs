//! A directory that is opened once. Its files are read and written by name relative to it, so that replacing the
//! directory by a link cannot redirect a write.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::error::FileError;
use super::platform;

/// How many names are tried for a temporary file before the directory counts as broken.
const NAMES: usize = 16;

/// How many bytes are written at a time.
const BUFFER: usize = 64 * 1024;

/// Who may read a written file, and whether it is flushed to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Only the owner may read it. It is on the disk when the write returns.
    Private,
    /// Others may read it as the umask allows. It is on the disk when the write returns.
    Shared,
    /// As [`FileMode::Shared`] but not flushed, because the same command can write it again.
    Reproducible,
}

/// The edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The content that the edit is based on, which the file must still have; empty for a new file.
    pub before: Vec<u8>,
    /// The new content.
    pub now: Vec<u8>,
}

/// A directory whose files are opened beneath it: a link cannot lead out of it.
#[derive(Debug)]
pub struct Directory {
    pub(super) dir: Dir,
    path: PathBuf,
}

impl Directory {
    /// Opens a directory that the caller named; links on the way to it are followed.
    ///
    /// # Errors
    /// The directory does not exist or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(FileError::io("read", path))?;
        Ok(Self { dir, path: path.to_owned() })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory beneath this one.
    ///
    /// # Errors
    /// It is missing, or a link leads out of this directory.
    pub fn below(&self, below: &Path) -> Result<Self, FileError> {
        let dir = self.dir.open_dir(below).map_err(|error| self.error("read", below, error))?;
        Ok(Self { dir, path: self.path.join(below) })
    }

    /// A directory beneath this one, created if it is missing.
    pub(super) fn create(&self, below: &Path) -> Result<Self, FileError> {
        self.dir.create_dir_all(below).map_err(|error| self.error("create", below, error))?;
        self.below(below)
    }

    /// The bytes of a regular file beneath the directory, at most `limit`.
    ///
    /// # Errors
    /// It is missing, too large, not a regular file, or a link leads out.
    pub fn read(&self, below: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, FileError> {
        let below = below.as_ref();
        let (file, length) = self.open_regular(below)?;
        bounded(file, length, &self.path.join(below), limit)
    }

    /// A regular file beneath the directory, open for reading, and its length.
    pub(super) fn open_regular(&self, below: &Path) -> Result<(File, u64), FileError> {
        let file = self.open_file(below)?;
        self.regular_file(file, below)
    }

    /// An open file and its length, if it is a regular file.
    pub(super) fn regular_file(&self, file: File, below: &Path) -> Result<(File, u64), FileError> {
        let metadata = file.metadata().map_err(|error| self.error("read", below, error))?;
        if metadata.is_file() { Ok((file, metadata.len())) } else { Err(FileError::NotRegular(self.path.join(below))) }
    }

    /// Opens a file for reading, without waiting for the writer of a pipe.
    pub(super) fn open_file(&self, below: &Path) -> Result<File, FileError> {
        let mut options = OpenOptions::new();
        options.read(true);
        platform::without_waiting(&mut options);
        let file = self.dir.open_with(below, &options).map_err(|error| self.error("read", below, error))?;
        Ok(file.into_std())
    }

    /// Replaces a file atomically, and creates the directories above it. A link or anything else that is not a regular
    /// file is left alone.
    ///
    /// # Errors
    /// The target is a link or not a regular file, a link leads out, or the disk refuses.
    pub fn replace(&self, below: impl AsRef<Path>, bytes: &[u8], content: FileMode) -> Result<(), FileError> {
        self.replace_with(below, content, |out| out.write_all(bytes))
    }

    /// Like [`Directory::replace`] with the content that `write` writes. If that fails, the file is unchanged.
    ///
    /// # Errors
    /// Those of [`Directory::replace`], and what `write` returns.
    pub fn replace_with(
        &self,
        below: impl AsRef<Path>,
        content: FileMode,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        self.put(below.as_ref(), content, write, || Ok(()))
    }

    /// Replaces a file by its edited content, unless another process edited the file meanwhile.
    ///
    /// # Errors
    /// [`FileError::Edited`], and those of [`Directory::replace`].
    pub fn edit(&self, below: impl AsRef<Path>, edit: &FileEdit, content: FileMode) -> Result<(), FileError> {
        let below = below.as_ref();
        let check = || self.check_edit(below, edit);
        self.put(below, content, |out| out.write_all(&edit.now), check)
    }

    /// Whether [`Directory::edit`] may write this file, as far as that can be known before.
    ///
    /// # Errors
    /// Those of [`Directory::edit`].
    pub fn check_edit(&self, below: impl AsRef<Path>, edit: &FileEdit) -> Result<(), FileError> {
        let below = below.as_ref();
        self.check_replace(below)?;
        let longest = edit.before.len().max(edit.now.len());
        let is_same = match self.read(below, longest as u64) {
            // One file may have two paths with the same edit, so the new content is accepted too.
            Ok(now) => now == edit.before || now == edit.now,
            Err(error) if error.is_missing() => edit.before.is_empty(),
            Err(FileError::TooLarge { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_same { Ok(()) } else { Err(FileError::Edited(self.path.join(below))) }
    }

    /// Writes a temporary file and renames it to its name if `check` succeeds.
    fn put(
        &self,
        below: &Path,
        content: FileMode,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        check: impl FnOnce() -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let failed = |error| self.error("write", below, error);
        let parent = below.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            self.dir.create_dir_all(parent).map_err(failed)?;
        }
        let before = self.regular(below)?;
        let (temporary, file) = self.temporary(below, content)?;
        let is_flushed = content != FileMode::Reproducible;
        let written = || {
            let mut out = BufWriter::with_capacity(BUFFER, &file);
            write(&mut out)?;
            out.flush()?;
            if let Some(before) = before.filter(|_| content != FileMode::Private) {
                platform::keep_access(&file, &before)?;
            }
            if is_flushed { file.sync_all() } else { Ok(()) }
        };
        let renamed = || self.dir.rename(&temporary, &self.dir, below).map_err(failed);
        if let Err(error) = written().map_err(failed).and_then(|()| check()).and_then(|()| renamed()) {
            // A temporary file that remains is hidden, and the first error is the one that matters.
            let _ = self.dir.remove_file(&temporary);
            return Err(error);
        }
        if is_flushed { self.sync(parent.unwrap_or(Path::new("."))).map_err(failed) } else { Ok(()) }
    }

    /// Whether [`Directory::replace`] may write this file, as far as that can be known before.
    ///
    /// # Errors
    /// The target is a link or not a regular file, or a link leads out.
    pub fn check_replace(&self, below: impl AsRef<Path>) -> Result<(), FileError> {
        self.regular(below.as_ref()).map(drop)
    }

    /// The regular file with this name; `None` if there is none.
    fn regular(&self, below: &Path) -> Result<Option<Metadata>, FileError> {
        let path = || self.path.join(below);
        match self.dir.symlink_metadata(below) {
            Ok(metadata) if metadata.is_symlink() => Err(FileError::Link(path())),
            Ok(metadata) if !metadata.is_file() => Err(FileError::NotRegular(path())),
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error("write", below, error)),
        }
    }

    /// A new file beside the target, with an unpredictable name.
    fn temporary(&self, below: &Path, content: FileMode) -> Result<(PathBuf, File), FileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        platform::readable_by_others(&mut options, content != FileMode::Private);
        for _ in 0..NAMES {
            let name = below.with_file_name(format!(".trueup-{}.tmp", uuid::Uuid::new_v4().simple()));
            match self.dir.open_with(&name, &options) {
                Ok(file) => return Ok((name, file.into_std())),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.error("write", below, error)),
            }
        }
        Err(self.error("write", below, io::ErrorKind::AlreadyExists.into()))
    }

    /// Creates a private file to append to, which must not exist yet.
    ///
    /// # Errors
    /// The name exists already, or the disk refuses.
    pub fn append_new(&self, name: &str) -> Result<File, FileError> {
        let failed = |error| self.error("create", Path::new(name), error);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        platform::readable_by_others(&mut options, false);
        let file = self.dir.open_with(name, &options).map_err(failed)?.into_std();
        Ok(file)
    }

    /// Opens a private file to append to, and creates it if it is missing; a link is refused.
    ///
    /// # Errors
    /// It is a link or not a regular file, or the disk refuses.
    pub(super) fn append(&self, below: impl AsRef<Path>) -> Result<File, FileError> {
        self.open_private(below.as_ref(), OpenOptions::new().append(true).create(true))
    }

    /// Opens a private file to read and write, and creates it if it is missing; a link is refused.
    ///
    /// # Errors
    /// It is a link or not a regular file, or the disk refuses.
    pub fn open_or_create(&self, below: impl AsRef<Path>) -> Result<File, FileError> {
        self.open_private(below.as_ref(), OpenOptions::new().read(true).write(true).create(true).truncate(false))
    }

    fn open_private(&self, below: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
        self.regular(below)?;
        platform::readable_by_others(options, false);
        platform::without_links(options);
        let file = self.dir.open_with(below, options).map_err(|error| self.error("open", below, error))?;
        Ok(file.into_std())
    }

    /// Waits until no other process has the lock of this name, and keeps it until the file is dropped. The lock is a
    /// file of its own, because replacing the protected file would remove a lock on it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn lock(&self, below: impl AsRef<Path>) -> Result<File, FileError> {
        let below = below.as_ref();
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let lock = below.with_file_name(format!(".{name}.lock"));
        let file = self.open_or_create(&lock)?;
        file.lock().map_err(|error| self.error("lock", &lock, error))?;
        Ok(file)
    }

    /// The names in the directory.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        let failed = FileError::io("read", &self.path);
        let entries = self.dir.entries().map_err(&failed)?;
        entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(&failed)).collect()
    }

    /// Removes a file; if it is a link, only the link.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn remove(&self, name: &Path) -> Result<(), FileError> {
        self.dir.remove_file(name).map_err(|error| self.error("remove", name, error))
    }

    /// Flushes the names in the directory to the disk.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn flush(&self) -> Result<(), FileError> {
        self.sync(Path::new(".")).map_err(FileError::io("write", &self.path))
    }

    fn sync(&self, directory: &Path) -> io::Result<()> {
        platform::sync_directory(&self.dir, directory)
    }

    fn error(&self, action: &'static str, below: &Path, source: io::Error) -> FileError {
        let path = self.path.join(below);
        // `cap-std` reports a path that leads out with this kind and without an error number of the system.
        if source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
            return FileError::Outside { path, directory: self.path.clone() };
        }
        FileError::Io { action, path, source }
    }
}

/// Reads a regular file of this length; it may grow meanwhile.
pub(super) fn bounded(mut file: File, length: u64, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let too_large = || FileError::TooLarge { path: path.to_owned(), limit };
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0) + 1];
    let read = match file.read(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
        read => read.map_err(FileError::io("read", path))?,
    };
    bytes.truncate(read);
    // The buffer has one byte more than the file, so everything was read.
    if read > 0 && read as u64 == length {
        return Ok(bytes);
    }
    file.take((limit + 1).saturating_sub(read as u64)).read_to_end(&mut bytes).map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

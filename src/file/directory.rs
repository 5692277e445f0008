//! A directory that is opened once. Files in it are read and written by name, so that nothing can lead a
//! write elsewhere by exchanging the directory for a link.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::error::FileError;
use super::platform;

/// Names that are tried for a temporary file before the directory is taken for broken.
const NAMES: usize = 16;

/// Bytes that are written at a time.
const BUFFER: usize = 64 * 1024;

/// What is written, which decides who may read it and whether it is flushed to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Only the owner may read it. It is on the disk when the write returns.
    Private,
    /// Others may read it as the umask allows. It is on the disk when the write returns.
    Shared,
    /// As [`FileMode::Shared`], and not flushed, because the same command can write it again.
    Reproducible,
}

/// The edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// What it was made from, which the file still has to have; empty where there is none.
    pub before: Vec<u8>,
    /// What the file becomes.
    pub now: Vec<u8>,
}

/// A directory whose files are opened beneath it: no link on the way leads out.
#[derive(Debug)]
pub struct Directory {
    pub(super) dir: Dir,
    path: PathBuf,
}

impl Directory {
    /// Opens a directory that the caller named; links on the way to it are followed.
    ///
    /// # Errors
    /// There is no such directory, or it cannot be opened.
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
    /// It is absent, or leads out.
    pub fn below(&self, below: &Path) -> Result<Self, FileError> {
        let dir = self.dir.open_dir(below).map_err(|error| self.error("read", below, error))?;
        Ok(Self { dir, path: self.path.join(below) })
    }

    /// A directory beneath this one, which is created where it is absent.
    pub(super) fn create(&self, below: &Path) -> Result<Self, FileError> {
        self.dir.create_dir_all(below).map_err(|error| self.error("create", below, error))?;
        self.below(below)
    }

    /// The bytes of a regular file beneath the directory, at most `limit`.
    ///
    /// # Errors
    /// It is absent, too large, not a regular file, or leads out.
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

    /// An open file and its length, if it is a regular one.
    pub(super) fn regular_file(&self, file: File, below: &Path) -> Result<(File, u64), FileError> {
        let metadata = file.metadata().map_err(|error| self.error("read", below, error))?;
        if metadata.is_file() { Ok((file, metadata.len())) } else { Err(FileError::NotRegular(self.path.join(below))) }
    }

    /// Opens for reading, without waiting for the writer of a pipe.
    pub(super) fn open_file(&self, below: &Path) -> Result<File, FileError> {
        let mut options = OpenOptions::new();
        options.read(true);
        platform::without_waiting(&mut options);
        let file = self.dir.open_with(below, &options).map_err(|error| self.error("read", below, error))?;
        Ok(file.into_std())
    }

    /// Puts a file in its place in one step, with the directories above it. A link and what is not a
    /// regular file are left alone.
    ///
    /// # Errors
    /// The target is a link or not a regular file, leads out, or the disk refuses.
    pub fn replace(&self, below: impl AsRef<Path>, bytes: &[u8], content: FileMode) -> Result<(), FileError> {
        self.replace_with(below, content, |out| out.write_all(bytes))
    }

    /// The same with a content that `write` writes piece by piece. Where it fails, the file stays as it was.
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

    /// Puts what became of a file in its place, unless somebody edited it meanwhile.
    ///
    /// # Errors
    /// [`FileError::Edited`], and those of [`Directory::replace`].
    pub fn edit(&self, below: impl AsRef<Path>, edit: &FileEdit, content: FileMode) -> Result<(), FileError> {
        let below = below.as_ref();
        let check = || self.check_edit(below, edit);
        self.put(below, content, |out| out.write_all(&edit.now), check)
    }

    /// Whether [`Directory::edit`] may put a file there, as far as that can be known before.
    ///
    /// # Errors
    /// Those of [`Directory::edit`].
    pub fn check_edit(&self, below: impl AsRef<Path>, edit: &FileEdit) -> Result<(), FileError> {
        let below = below.as_ref();
        self.check_replace(below)?;
        let longest = edit.before.len().max(edit.now.len());
        let is_same = match self.read(below, longest as u64) {
            // One file may have two paths, and both the same edit.
            Ok(now) => now == edit.before || now == edit.now,
            Err(error) if error.is_missing() => edit.before.is_empty(),
            Err(FileError::TooLarge { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_same { Ok(()) } else { Err(FileError::Edited(self.path.join(below))) }
    }

    /// Writes a file and puts it in its place after a `check`.
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
            // What is left is hidden, and the error that matters is the first one.
            let _ = self.dir.remove_file(&temporary);
            return Err(error);
        }
        if is_flushed { self.sync(parent.unwrap_or(Path::new("."))).map_err(failed) } else { Ok(()) }
    }

    /// Whether [`Directory::replace`] may put a file there, as far as that can be known before.
    ///
    /// # Errors
    /// The target is a link or not a regular file, or leads out.
    pub fn check_replace(&self, below: impl AsRef<Path>) -> Result<(), FileError> {
        self.regular(below.as_ref()).map(drop)
    }

    /// The regular file with this name; nothing where there is none.
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

    /// Creates a private file to append to, which must not be there yet.
    ///
    /// # Errors
    /// Something with this name is there, or the disk refuses.
    pub fn append_new(&self, name: &str) -> Result<File, FileError> {
        let failed = |error| self.error("create", Path::new(name), error);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        platform::readable_by_others(&mut options, false);
        let file = self.dir.open_with(name, &options).map_err(failed)?.into_std();
        Ok(file)
    }

    /// Opens a private file to append to, and creates it where it is absent; a link is refused.
    ///
    /// # Errors
    /// It is a link or not a regular file, or the disk refuses.
    pub(super) fn append(&self, below: impl AsRef<Path>) -> Result<File, FileError> {
        self.open_private(below.as_ref(), OpenOptions::new().append(true).create(true))
    }

    /// Opens a private file to read and write, and creates it where it is absent; a link is refused.
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

    /// Waits until no other process has the lock of this name, and keeps it until the file is dropped. It is a file beside
    /// the one that it protects, because a replaced file takes its own lock with it.
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

    /// Removes a file; of a link, the link.
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
        // `cap-std` gives this kind without a number of the system to a path that leads out.
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
    // The file had room for one byte more, so this is all of it.
    if read > 0 && read as u64 == length {
        return Ok(bytes);
    }
    file.take((limit + 1).saturating_sub(read as u64)).read_to_end(&mut bytes).map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

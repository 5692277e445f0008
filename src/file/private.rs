//! Directories for the program's own files. A user who can write there could forge a run, so owner and mode are checked
//! before anything is read or written.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::directory::Directory;
use super::error::FileError;
use super::platform;

impl Directory {
    /// The directory `name` in the state directory `state`, accessible only to us; both are created if they are
    /// missing.
    ///
    /// # Errors
    /// [`FileError::Exposed`] if others can change its content; a link; the disk.
    pub fn private(state: &Path, name: &str) -> Result<Self, FileError> {
        platform::create_private_directories(state).map_err(FileError::io("create", state))?;
        let parent = shared(state)?;
        match platform::create_private_directory(&parent.dir, name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FileError::io("create", &state.join(name))(error));
            }
            _ => own(&parent, name),
        }
    }

    /// Like [`Directory::private`], but `None` if the directory does not exist.
    ///
    /// # Errors
    /// Those of [`Directory::private`].
    pub fn find_private(state: &Path, name: &str) -> Result<Option<Self>, FileError> {
        let found = shared(state).and_then(|parent| own(&parent, name));
        match found {
            Err(error) if error.is_missing() => Ok(None),
            found => found.map(Some),
        }
    }
}

/// The bytes of one of our files, two levels below the state directory.
///
/// # Errors
/// Those of [`Directory::private`] and of [`Directory::read`].
pub fn read_own(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let (directory, name) = around(path)?;
    directory.read(name, limit)
}

/// Such a file, open for reading.
///
/// # Errors
/// Those of [`read_own`].
pub fn open_own(path: &Path) -> Result<File, FileError> {
    let (directory, name) = around(path)?;
    directory.open_regular(Path::new(name)).map(|(file, _)| file)
}

fn around(path: &Path) -> Result<(Directory, &OsStr), FileError> {
    let missing = || FileError::io("read", path)(io::ErrorKind::NotFound.into());
    let directory = path.parent().ok_or_else(missing)?;
    let (Some(state), Some(name), Some(file)) = (directory.parent(), directory.file_name(), path.file_name()) else {
        return Err(missing());
    };
    Ok((own(&shared(state)?, name)?, file))
}

/// The directory around ours: others may read it, but may write it only if they cannot rename our files.
fn shared(path: &Path) -> Result<Directory, FileError> {
    let directory = Directory::open(path)?;
    let metadata = metadata(&directory)?;
    if let Some(problem) = platform::exposed_around(&metadata) {
        return Err(FileError::Exposed { path: path.to_owned(), problem });
    }
    Ok(directory)
}

/// Our own directory. If our group can write it, its mode is changed: some systems open every directory of a volume to
/// a group.
fn own(parent: &Directory, name: impl AsRef<Path>) -> Result<Directory, FileError> {
    let name = name.as_ref();
    let path = parent.path().join(name);
    let link = parent.dir.symlink_metadata(name).map_err(FileError::io("read", &path))?;
    if link.is_symlink() {
        return Err(FileError::Link(path));
    }
    let directory = parent.below(name)?;
    let metadata = metadata(&directory)?;
    if let Some(problem) = platform::exposed(&metadata) {
        return Err(FileError::Exposed { path, problem });
    }
    platform::close_to_group(&parent.dir, name, &metadata).map_err(FileError::io("close to the group", &path))?;
    Ok(directory)
}

fn metadata(directory: &Directory) -> Result<Metadata, FileError> {
    let failed = FileError::io("read", directory.path());
    directory.dir.try_clone().map_err(&failed)?.into_std_file().metadata().map_err(&failed)
}

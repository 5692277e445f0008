//! Files whose path the caller gives. A path inside of a stack or a repository is opened beneath that
//! directory, because a change of the repository can put a link there; any other path is followed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

use super::directory::{Directory, FileMode, bounded};
use super::error::FileError;
use super::{platform, stream};

/// What makes a directory a stack or the top of a repository.
const MARKERS: [&str; 2] = ["trueup.yaml", ".git"];

/// The bytes of a file that the caller named, at most `limit`. It may be a pipe; inside of a stack or a
/// repository no link leads out.
///
/// # Errors
/// It is absent, too large, too slow, a directory or a device of blocks, or leads out.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    match beneath(path, "read")? {
        Some((directory, below)) => take(directory.open_file(&below).map_err(|error| named(error, path))?, path, limit),
        None => read_secret(path, limit),
    }
}

/// The same for a file that usually lies elsewhere and is reached through links: a token, a key.
///
/// # Errors
/// Those of [`read`].
pub fn read_secret(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = platform::open_now(path).map_err(FileError::io("read", path))?;
    take(file, path, limit)
}

fn take(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let metadata = file.metadata().map_err(FileError::io("read", path))?;
    if metadata.is_file() {
        bounded(file, metadata.len(), path, limit)
    } else if platform::is_stream(metadata.file_type()) {
        stream::read(platform::waiting(file).map_err(FileError::io("read", path))?, path, limit)
    } else {
        Err(FileError::NotRegular(path.to_owned()))
    }
}

/// Puts a file that the caller named in its place in one step, with the directories above it; `write` writes
/// its content. Links are never followed out of a stack or a repository, and never as the last part of the path.
///
/// # Errors
/// The target is a link or not a regular file, leads out, or the disk refuses.
pub fn replace(
    path: &Path,
    content: FileMode,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let (directory, below) = target(path)?;
    directory.replace_with(below, content, write).map_err(|error| named(error, path))
}

/// Whether [`replace`] may put a file there, as far as its name says.
///
/// # Errors
/// The target is a link or not a regular file.
pub fn check_replace(path: &Path) -> Result<(), FileError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(FileError::Link(path.to_owned())),
        Ok(metadata) if !metadata.is_file() => Err(FileError::NotRegular(path.to_owned())),
        _ => Ok(()),
    }
}

/// Opens a file that the caller named, to read and write, and creates it where it is absent. Only its owner may read it
/// once `accept` has found that it is what the caller meant; one that is refused keeps its mode.
///
/// # Errors
/// Those of [`replace`] and of `accept`.
pub fn open_private<T, E: From<FileError>>(path: &Path, accept: impl FnOnce(File) -> Result<T, E>) -> Result<T, E> {
    let (directory, below) = target(path)?;
    let file = directory.open_or_create(below).map_err(|error| named(error, path))?;
    let same = file.try_clone().map_err(FileError::io("open", path))?;
    let accepted = accept(file)?;
    platform::close_to_others(&same).map_err(FileError::io("open", path))?;
    Ok(accepted)
}

/// Opens a file that the caller named, to append to it, and creates it where it is absent. Only its owner
/// may read it from then on.
///
/// # Errors
/// Those of [`replace`].
pub fn append_private(path: &Path) -> Result<File, FileError> {
    let (directory, below) = target(path)?;
    let file = directory.append(below).map_err(|error| named(error, path))?;
    platform::close_to_others(&file).map_err(FileError::io("open", path))?;
    Ok(file)
}

/// Waits until no other process changes a file that the caller named, and keeps others from it until the lock is dropped.
///
/// # Errors
/// Those of [`replace`].
pub fn lock(path: &Path) -> Result<File, FileError> {
    let (directory, below) = target(path)?;
    directory.lock(below).map_err(|error| named(error, path))
}

/// Opens a directory that the caller named, and creates it where it is absent.
///
/// # Errors
/// It leads out of its stack or repository, or cannot be created.
pub fn create_directory(path: &Path) -> Result<Directory, FileError> {
    match beneath(path, "create")? {
        Some((directory, below)) => directory.create(&below).map_err(|error| named(error, path)),
        None => {
            std::fs::create_dir_all(path).map_err(FileError::io("create", path))?;
            Directory::open(path)
        }
    }
}

/// The directory that a file is written to, which is created, and the file beneath it.
fn target(path: &Path) -> Result<(Directory, PathBuf), FileError> {
    let (directory, below) = match beneath(path, "write")? {
        Some(beneath) => beneath,
        None => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = path.file_name().ok_or_else(|| FileError::NotRegular(path.to_owned()))?;
            (create_directory(parent)?, PathBuf::from(name))
        }
    };
    if let Some(parent) = below.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        directory.create(parent).map_err(|error| named(error, path))?;
    }
    Ok((directory, below))
}

/// The path without links, and on Windows in the form that people type and other programs take.
///
/// # Errors
/// Nothing is there, or it cannot be read.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// The same, and of what is not there its place in its directory; or the path as it was given.
pub fn real_path_or_given(path: &Path) -> PathBuf {
    let place = || {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(real_path(directory).ok()?.join(path.file_name()?))
    };
    real_path(path).ok().or_else(place).unwrap_or_else(|| path.to_owned())
}

/// A path as files, globs and git write it, with `/` on every system.
pub fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace(MAIN_SEPARATOR, "/") }
}

/// The same path, as reports and documents name it.
pub fn with_slashes(path: PathBuf) -> PathBuf {
    if MAIN_SEPARATOR == '/' { path } else { slashed(&path).into() }
}

/// Whether something is at a path that the caller named; a link counts wherever it leads.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The stack or repository that a path lies in by its name and leads out of through a link.
///
/// # Errors
/// The path cannot be resolved.
pub fn leads_out(path: &Path) -> io::Result<Option<PathBuf>> {
    // In one form, however long they are.
    let full = path.canonicalize()?;
    for directory in marked(&absolute(path)?) {
        if !full.starts_with(directory.canonicalize()?) {
            return Ok(Some(directory));
        }
    }
    Ok(None)
}

/// The innermost directory with a marker above the path, and the path beneath it; nothing where there is none. It is opened
/// beneath the outermost one, so that it is not reached by a link that leads out.
fn beneath(path: &Path, action: &'static str) -> Result<Option<(Directory, PathBuf)>, FileError> {
    let absolute = absolute(path).map_err(FileError::io(action, path))?;
    let marked = marked(&absolute);
    let (Some(outer), Some(inner)) = (marked.first(), marked.last()) else { return Ok(None) };
    let between = |above: &Path, below: &Path| below.strip_prefix(above).map(Path::to_owned).unwrap_or_default();
    let mut directory = Directory::open(outer).map_err(|error| named(error, path))?;
    if inner != outer {
        directory = directory.below(&between(outer, inner)).map_err(|error| named(error, path))?;
    }
    Ok(Some((directory, between(inner, &absolute))))
}

/// Directories above the path that contain a marker, the outermost first.
fn marked(absolute: &Path) -> Vec<PathBuf> {
    let holds = |directory: &&Path| MARKERS.iter().any(|marker| directory.join(marker).symlink_metadata().is_ok());
    let mut found: Vec<PathBuf> = absolute.ancestors().skip(1).filter(holds).map(Path::to_owned).collect();
    found.reverse();
    found
}

/// The path from the root, without `.` and `..`; what is before a `..` is resolved as the system does.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let parts: Vec<Component<'_>> = absolute.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else { return Ok(absolute) };
    let before: PathBuf = parts[..=last].iter().collect();
    Ok(real_path(&before)?.join(parts[last + 1..].iter().collect::<PathBuf>()))
}

/// The error with the path as the caller wrote it.
fn named(error: FileError, path: &Path) -> FileError {
    let path = path.to_owned();
    match error {
        FileError::Io { action, source, .. } => FileError::Io { action, path, source },
        FileError::Outside { directory, .. } => FileError::Outside { path, directory },
        FileError::Link(_) => FileError::Link(path),
        FileError::NotRegular(_) => FileError::NotRegular(path),
        // What is opened and written below a directory has no other errors.
        other => other,
    }
}

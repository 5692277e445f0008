//! Files whose path the caller gives. A path inside a stack or a repository is opened beneath that directory, because a
//! change to the repository can add a link; any other path is followed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

use super::directory::{Directory, FileMode, bounded};
use super::error::FileError;
use super::{platform, stream};

/// Files that mark a directory as a stack or the top of a repository.
const MARKERS: [&str; 2] = ["trueup.yaml", ".git"];

/// The bytes of a file that the caller named, at most `limit`. It may be a pipe; a link out of a stack or repository is
/// not followed.
///
/// # Errors
/// It is missing, too large, too slow, a directory or a block device, or a link leads out.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    match beneath(path, "read")? {
        Some((directory, below)) => take(directory.open_file(&below).map_err(|error| named(error, path))?, path, limit),
        None => read_secret(path, limit),
    }
}

/// Like [`read`], but follows every link: a token or a key is usually outside of the repository.
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

/// Replaces a file that the caller named atomically, with the content that `write` writes, and creates the directories
/// above it. A link out of a stack or repository is not followed, and neither is one as the last part of the path.
///
/// # Errors
/// The target is a link or not a regular file, a link leads out, or the disk refuses.
pub fn replace(
    path: &Path,
    content: FileMode,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let (directory, below) = target(path)?;
    directory.replace_with(below, content, write).map_err(|error| named(error, path))
}

/// Whether [`replace`] may write this file, as far as its last name shows.
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

/// Opens a file that the caller named to read and write, and creates it if it is missing. If `accept` finds it to be
/// what the caller meant, only its owner may read it from then on; a refused file keeps its mode.
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

/// Opens a file that the caller named to append to it, and creates it if it is missing. Only its owner may read it from
/// then on.
///
/// # Errors
/// Those of [`replace`].
pub fn append_private(path: &Path) -> Result<File, FileError> {
    let (directory, below) = target(path)?;
    let file = directory.append(below).map_err(|error| named(error, path))?;
    platform::close_to_others(&file).map_err(FileError::io("open", path))?;
    Ok(file)
}

/// Locks a file that the caller named against other processes, waiting for them if needed, until the result is dropped.
///
/// # Errors
/// Those of [`replace`].
pub fn lock(path: &Path) -> Result<File, FileError> {
    let (directory, below) = target(path)?;
    directory.lock(below).map_err(|error| named(error, path))
}

/// Opens a directory that the caller named, and creates it if it is missing.
///
/// # Errors
/// A link leads out of its stack or repository, or it cannot be created.
pub fn create_directory(path: &Path) -> Result<Directory, FileError> {
    match beneath(path, "create")? {
        Some((directory, below)) => directory.create(&below).map_err(|error| named(error, path)),
        None => {
            std::fs::create_dir_all(path).map_err(FileError::io("create", path))?;
            Directory::open(path)
        }
    }
}

/// The directory of a file to write, created if it is missing, and the path of the file beneath it.
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

/// The path without links, on Windows in its usual form without the prefix `\\?\`.
///
/// # Errors
/// The path does not exist or cannot be read.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// Like [`real_path`]; for a missing file, its name in its real directory; else the path as given.
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

/// The path with `/` on every system, as reports and documents name it.
pub fn with_slashes(path: PathBuf) -> PathBuf {
    if MAIN_SEPARATOR == '/' { path } else { slashed(&path).into() }
}

/// Whether a path that the caller named exists; a link counts even if its target is missing.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The stack or repository that contains a path by its name, but not after following its links.
///
/// # Errors
/// The path cannot be resolved.
pub fn leads_out(path: &Path) -> io::Result<Option<PathBuf>> {
    // Both in canonical form, so that prefixes can be compared.
    let full = path.canonicalize()?;
    for directory in marked(&absolute(path)?) {
        if !full.starts_with(directory.canonicalize()?) {
            return Ok(Some(directory));
        }
    }
    Ok(None)
}

/// The innermost directory with a marker above the path, and the path beneath it; `None` if there is none. It is opened
/// beneath the outermost one, so that a link cannot lead out of that.
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

/// The path from the root, without `.` and `..`; the part before a `..` is resolved as the system does.
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
        // Opening and writing below a directory cause no other errors.
        other => other,
    }
}

//! Files as Windows has them. There are no modes, no owners by number and no pipes that a path can name
//! by accident: who may read a file follows from the directory that it is in, and the state directory is
//! in the profile of its user.

#![expect(clippy::unnecessary_wraps, reason = "on other systems the same functions fail")]

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

/// Opens for reading.
pub(super) fn open_now(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens what a directory has under this name for reading; no link leads out.
pub(super) fn open_entry(directory: &Dir, name: &OsStr) -> io::Result<File> {
    Ok(directory.open(name)?.into_std())
}

/// Nothing has to be said: no file waits for its writer.
pub(super) fn without_waiting(_: &mut OpenOptions) {}

/// Nothing has to be said: a link was refused before, and needs a privilege to be made.
pub(super) fn without_links(_: &mut OpenOptions) {}

/// The directory decides.
pub(super) fn readable_by_others(_: &mut OpenOptions, _: bool) {}

/// The end of what a file of this kind gives is decided elsewhere.
pub(super) fn is_stream(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

/// The same pipe.
pub(super) fn waiting(file: File) -> io::Result<File> {
    Ok(file)
}

/// The directory decides.
pub(super) fn keep_access(_: &File, _: &cap_std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// The directory decides.
pub(super) fn close_to_others(_: &File) -> io::Result<()> {
    Ok(())
}

/// Creates a directory with those above it.
pub(super) fn create_private_directories(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// The same beneath a directory.
pub(super) fn create_private_directory(parent: &Dir, name: &str) -> io::Result<()> {
    parent.create_dir(name)
}

/// The profile is closed to others.
pub(super) fn exposed_around(_: &Metadata) -> Option<&'static str> {
    None
}

/// The profile is closed to others.
pub(super) fn exposed(_: &Metadata) -> Option<&'static str> {
    None
}

/// There is no group.
pub(super) fn close_to_group(_: &Dir, _: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The file system keeps a journal of names, and a directory cannot be flushed.
pub(super) fn sync_directory(_: &Dir, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Owners have no numbers: what is there counts as the system's own.
pub fn owner(path: &Path) -> Option<u32> {
    path.exists().then_some(0)
}

/// Whether a file can be started: its name says so, and the caller gave the name.
pub fn is_program(path: &Path) -> bool {
    path.is_file()
}

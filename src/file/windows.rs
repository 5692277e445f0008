//! The Windows side of file access. Windows has no modes, no owners by number and no pipes that a path can name by
//! accident: the directory of a file decides who may read it, and the state directory is in the profile of its user.

#![expect(clippy::unnecessary_wraps, reason = "on other systems the same functions fail")]

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

/// Opens a file for reading.
pub(super) fn open_now(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens an entry of a directory for reading; a link cannot lead out.
pub(super) fn open_entry(directory: &Dir, name: &OsStr) -> io::Result<File> {
    Ok(directory.open(name)?.into_std())
}

/// Does nothing: opening a file never waits for a writer.
pub(super) fn without_waiting(_: &mut OpenOptions) {}

/// Does nothing: links were refused before, and creating one needs a privilege.
pub(super) fn without_links(_: &mut OpenOptions) {}

/// Does nothing: the directory decides.
pub(super) fn readable_by_others(_: &mut OpenOptions, _: bool) {}

/// Whether a file of this kind is a stream, whose end another process or a user decides.
pub(super) fn is_stream(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

/// Returns the pipe, which waits for its writer already.
pub(super) fn waiting(file: File) -> io::Result<File> {
    Ok(file)
}

/// Does nothing: the directory decides.
pub(super) fn keep_access(_: &File, _: &cap_std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Does nothing: the directory decides.
pub(super) fn close_to_others(_: &File) -> io::Result<()> {
    Ok(())
}

/// Creates a directory and those above it.
pub(super) fn create_private_directories(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Creates a directory beneath `parent`.
pub(super) fn create_private_directory(parent: &Dir, name: &str) -> io::Result<()> {
    parent.create_dir(name)
}

/// Always fine: the profile is closed to others.
pub(super) fn exposed_around(_: &Metadata) -> Option<&'static str> {
    None
}

/// Always fine: the profile is closed to others.
pub(super) fn exposed(_: &Metadata) -> Option<&'static str> {
    None
}

/// Does nothing: Windows has no group of a file.
pub(super) fn close_to_group(_: &Dir, _: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Does nothing: a directory cannot be flushed, and the file system journals names.
pub(super) fn sync_directory(_: &Dir, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Owners have no numbers: an existing path counts as owned by the system.
pub fn owner(path: &Path) -> Option<u32> {
    path.exists().then_some(0)
}

/// Whether the file exists: its name, which the caller gave, makes it executable.
pub fn is_program(path: &Path) -> bool {
    path.is_file()
}

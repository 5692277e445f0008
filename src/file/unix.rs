//! The Unix side of file access: modes, owners, named pipes.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, FileType, Metadata};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};

const PRIVATE_FILE: u32 = 0o600;
const SHARED_FILE: u32 = 0o666;
const PRIVATE_DIRECTORY: u32 = 0o700;
const NOT_OWNER: u32 = 0o077;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;
const RUNS: u32 = 0o111;

/// Opens a file for reading, without waiting for the writer of a pipe.
pub(super) fn open_now(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY)).open(path)
}

/// Like [`open_now`], for options that open a file beneath a directory.
pub(super) fn without_waiting(options: &mut OpenOptions) {
    cap_std::fs::OpenOptionsExt::custom_flags(options, flags(OFlags::NONBLOCK | OFlags::NOCTTY));
}

/// Opens an entry of a directory for reading, unless it is a link, without waiting for the writer of a pipe. A name
/// without a separator cannot lead out of the directory.
pub(super) fn open_entry(directory: &Dir, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::empty())?.into())
}

/// Options that refuse a link and do not wait for the writer of a pipe.
pub(super) fn without_links(options: &mut OpenOptions) {
    cap_std::fs::OpenOptionsExt::custom_flags(options, flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
}

/// Sets the mode of a new file: readable by its owner only, or by others as the umask allows.
pub(super) fn readable_by_others(options: &mut OpenOptions, shared: bool) {
    cap_std::fs::OpenOptionsExt::mode(options, if shared { SHARED_FILE } else { PRIVATE_FILE });
}

/// Whether a file of this kind is a stream, whose end another process or a user decides.
pub(super) fn is_stream(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir() && !kind.is_block_device()
}

/// Changes an open pipe to wait for its writer.
pub(super) fn waiting(file: File) -> io::Result<File> {
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Gives a file the owner, the group and the mode of the file that it replaces.
pub(super) fn keep_access(file: &File, before: &cap_std::fs::Metadata) -> io::Result<()> {
    let (owner, group) = (cap_std::fs::MetadataExt::uid(before), cap_std::fs::MetadataExt::gid(before));
    let mut mode = cap_std::fs::PermissionsExt::mode(&before.permissions()) & 0o777;
    let now = file.metadata()?;
    // Only root may change the owner, and only a member of a group may give a file to it.
    if (now.uid(), now.gid()) != (owner, group)
        && fchown(file, Some(owner), Some(group)).is_err()
        && fchown(file, None, Some(group)).is_err()
    {
        // The group that it has instead gets the permissions of everyone.
        mode = (mode & !0o070) | ((mode & 0o007) << 3);
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// Makes an existing file accessible to its owner only.
pub(super) fn close_to_others(file: &File) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & NOT_OWNER == 0 {
        return Ok(());
    }
    file.set_permissions(std::fs::Permissions::from_mode(PRIVATE_FILE))
}

/// Creates a directory and those above it, accessible to the owner only.
pub(super) fn create_private_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path)
}

/// Creates a directory beneath `parent`, accessible to the owner only.
pub(super) fn create_private_directory(parent: &Dir, name: &str) -> io::Result<()> {
    let mut builder = cap_std::fs::DirBuilder::new();
    cap_std::fs::DirBuilderExt::mode(&mut builder, PRIVATE_DIRECTORY);
    parent.create_dir_with(name, &builder)
}

/// What is wrong with a directory around ours: others may read it, but may write it only if they cannot rename our
/// files.
pub(super) fn exposed_around(metadata: &Metadata) -> Option<&'static str> {
    let user = rustix::process::geteuid().as_raw();
    if user != 0 && metadata.uid() != user && metadata.uid() != 0 {
        Some("belongs to another user")
    } else if metadata.mode() & OTHERS_WRITE != 0 && metadata.mode() & STICKY == 0 {
        Some("can be written by everyone")
    } else {
        None
    }
}

/// What is wrong with the owner or mode of our directory.
pub(super) fn exposed(metadata: &Metadata) -> Option<&'static str> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        Some("belongs to another user")
    } else if metadata.mode() & OTHERS_WRITE != 0 {
        Some("can be written by everyone")
    } else {
        None
    }
}

/// Closes a directory to its group: some systems open every directory of a volume to a group.
pub(super) fn close_to_group(parent: &Dir, name: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.mode() & GROUP_WRITES == 0 {
        return Ok(());
    }
    parent.set_permissions(name, cap_std::fs::PermissionsExt::from_mode(PRIVATE_DIRECTORY))
}

/// Flushes the names in a directory to the disk.
pub(super) fn sync_directory(parent: &Dir, below: &Path) -> io::Result<()> {
    // A handle that was opened only for path lookup cannot be flushed.
    parent.open(below)?.sync_all()
}

/// The user id of the owner of a path, if it can be read.
pub fn owner(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().map(|metadata| metadata.uid())
}

/// Whether a file is executable.
pub fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & RUNS != 0)
}

/// Flags in the type that the standard library and `cap-std` take.
fn flags(flags: OFlags) -> i32 {
    // The flags of `open` are small positive numbers on every system.
    i32::try_from(flags.bits()).unwrap_or_default()
}

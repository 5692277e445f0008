//! Files that the caller names: inputs are bounded, and outputs never follow a link.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context as _;

use crate::cli::{CommandResult as _, ExitStatus, Result};
use crate::file::{self, FileMode};

/// The bytes of an input, at most `limit`.
///
/// # Errors
/// The file cannot be read, is too large, or leads out of its repository.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    file::read(path, limit).with_status(ExitStatus::Invalid)
}

/// The text of an input in YAML, at most `limit` bytes.
///
/// # Errors
/// Those of [`read`]; it is not UTF-8, or nested too deep.
pub fn read_yaml(path: &Path, limit: u64) -> Result<String> {
    file::read_yaml(path, limit).with_status(ExitStatus::Invalid)
}

/// The same for a secret, which usually lies elsewhere and is reached through links.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn read_secret(path: &Path, limit: u64) -> Result<Vec<u8>> {
    file::read_secret(path, limit).with_status(ExitStatus::Invalid)
}

/// Writes a file that only its owner may read, whatever was there before. `write` writes its content.
///
/// # Errors
/// The file cannot be written.
pub fn write_private(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    file::replace(path, FileMode::Private, write).with_status(ExitStatus::Failed)
}

/// Writes a file that others may read, with the directories above it. `write` writes its content.
///
/// # Errors
/// The file cannot be written.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    file::replace(path, FileMode::Shared, write).with_status(ExitStatus::Failed)
}

/// Removes a file, if it is there.
///
/// # Errors
/// It is there and cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", path.display())).with_status(ExitStatus::Failed)
        }
        _ => Ok(()),
    }
}

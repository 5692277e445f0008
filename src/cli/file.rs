//! Files that the caller names: inputs are bounded, and outputs never follow a link.

use std::io::{self, Write};
use std::path::Path;

use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::file::{self, FileError, FileMode};

/// The bytes of an input, at most `limit`.
///
/// # Errors
/// The file cannot be read, is too large, or leads out of its repository.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, CommandError> {
    file::read(path, limit).map_err(|error| hinted(ExitStatus::Invalid, error))
}

/// The text of an input in YAML, at most `limit` bytes.
///
/// # Errors
/// Those of [`read`]; it is not UTF-8, or nested too deep.
pub fn read_yaml(path: &Path, limit: u64) -> Result<String, CommandError> {
    file::read_yaml(path, limit).map_err(|error| hinted(ExitStatus::Invalid, error))
}

/// The same for a secret, which usually lies elsewhere and is reached through links.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn read_secret(path: &Path, limit: u64) -> Result<Vec<u8>, CommandError> {
    file::read_secret(path, limit).map_err(|error| hinted(ExitStatus::Invalid, error))
}

/// Writes a file that only its owner may read, whatever was there before. `write` writes its content.
///
/// # Errors
/// The file cannot be written.
pub fn write_private(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    file::replace(path, FileMode::Private, write).map_err(|error| hinted(ExitStatus::Failed, error))
}

/// Writes a file that others may read, with the directories above it. `write` writes its content.
///
/// # Errors
/// The file cannot be written.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    file::replace(path, FileMode::Shared, write).map_err(|error| hinted(ExitStatus::Failed, error))
}

/// Removes a file, if it is there.
///
/// # Errors
/// It is there and cannot be removed.
pub fn remove(path: &Path) -> Result<(), CommandError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let failure = anyhow::Error::from(error).context(format!("cannot remove `{}`", path.display()));
            Err(CommandError::new(ExitStatus::Failed, failure))
        }
        _ => Ok(()),
    }
}

/// The error as a command ends with it.
pub fn hinted(ending: ExitStatus, error: FileError) -> CommandError {
    let hint = error.hint();
    let error = CommandError::new(ending, error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

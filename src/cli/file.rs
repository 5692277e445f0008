//! Files that commands write for people.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use super::ending::{Ending, Error};

/// Writes a file that only its owner may read, whatever was there before.
///
/// # Errors
/// The file cannot be written.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // A file that was there keeps its mode unless it is set.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error: std::io::Error| {
        let told = anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()));
        Error::new(Ending::Failed, told)
    })
}

/// Writes a file that others may read, with the directories above it.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let write = || {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text)
    };
    write().map_err(|error: std::io::Error| {
        let told = anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()));
        Error::new(Ending::Failed, told)
    })
}

/// Writes a file in one step: a reader, or a power cut, finds the old text or the new one.
///
/// # Errors
/// The file cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let write = || {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory)?;
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let beside = path.with_file_name(name);
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error: std::io::Error| {
        let told = anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()));
        Error::new(Ending::Failed, told)
    })
}

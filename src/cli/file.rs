//! Files that the caller names: inputs are bounded, and outputs never follow a link.

use std::io::{self, Write};
use std::path::Component;

use crate::cli::prelude::*;
use crate::cli::{CommandResult as _, ExitStatus, Result};
use crate::file::{self, Directory, FileEdit, FileMode};

/// The maximum number of written files that the error of a later one names.
const MOST_NAMED: usize = 20;

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

/// The bytes of a secret, which is usually outside of the repository and reached through links.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn read_secret(path: &Path, limit: u64) -> Result<Vec<u8>> {
    file::read_secret(path, limit).with_status(ExitStatus::Invalid)
}

/// Rejects an output that would replace settings or definitions, because the next plan would delete what they define; a
/// link or a directory, which would fail only after the work; and `-`, by which users mean standard output.
///
/// # Errors
/// The output is one of these.
pub fn check_output(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Err(error!(Usage, "`-` is not a file").hint("for standard output leave it out, and give --format"));
    }
    file::check_replace(path).with_status(ExitStatus::Failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !load::is_source(&name) || !path.is_file() {
        return Ok(());
    }
    let bytes = || file::read(path, limit::DEFINITIONS);
    let what = match name == config::FILE {
        true => "settings",
        false if bytes().is_ok_and(|bytes| load::is_definitions(&name, &bytes)) => "definitions",
        false => return Ok(()),
    };
    Err(error!(Usage, "the {what} in `{}` would be replaced", path.display()).hint("name another file"))
}

/// Writes a file that only its owner may read, replacing an earlier output. `write` writes its content.
///
/// # Errors
/// Those of [`check_output`]; the file cannot be written.
pub fn write_private(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    replace(path, FileMode::Private, write)
}

/// Writes a file, with the directories above it. `write` writes its content.
///
/// # Errors
/// Those of [`check_output`]; the file cannot be written.
pub fn replace(path: &Path, mode: FileMode, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    check_output(path)?;
    file::replace(path, mode, write).with_status(ExitStatus::Failed)
}

/// Makes the edits of files in a directory. Each is checked before the first one is written.
///
/// # Errors
/// A file cannot be replaced: then nothing was written. A write fails: then the error names what was written before.
pub fn edit_all<'e>(
    directory: &Directory,
    edits: impl Iterator<Item = (&'e str, &'e FileEdit)> + Clone,
    content: FileMode,
) -> Result<()> {
    for (path, edit) in edits.clone() {
        directory.check_edit(path, edit).with_status(ExitStatus::Failed).hint("nothing was written")?;
    }
    for (at, (path, edit)) in edits.clone().enumerate() {
        let Err(error) = directory.edit(path, edit, content) else { continue };
        return match at {
            0 => Err(error).with_status(ExitStatus::Failed).hint("nothing was written"),
            _ => {
                let written: Vec<String> = edits.take(at).map(|(path, _)| path.to_owned()).collect();
                let written = text::some_of(&written, MOST_NAMED);
                Err(error).with_status(ExitStatus::Partly).hint(format!("already written: {written}"))
            }
        };
    }
    Ok(())
}

/// The path of an output directory, without links as far as it exists.
///
/// # Errors
/// The path has `..` after a directory that does not exist, or what exists cannot be read.
pub fn full(directory: &Path) -> Result<PathBuf> {
    let there = directory.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    let rest = directory.strip_prefix(there).unwrap_or(directory);
    if rest.components().any(|part| part == Component::ParentDir) {
        let problem = error!(Usage, "`{}` goes up from a directory that does not exist", directory.display());
        return Err(problem.hint("give it without `..`").hint("nothing was written"));
    }
    let full = file::real_path(there)
        .with_context(|| format!("cannot read `{}`", directory.display()))
        .with_status(ExitStatus::Failed)?;
    // `.` adds nothing to the path.
    Ok(rest.components().fold(full, |path, part| match part {
        Component::Normal(name) => path.join(name),
        _ => path,
    }))
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

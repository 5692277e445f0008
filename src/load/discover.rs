//! Finds the stacks below a directory: each directory with a `trueup.yaml`. Links are not followed, so that a stack
//! has one directory, and hidden directories are left out, as they are when a stack is loaded.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::config;
use super::diagnostic::Diagnostic;
use super::options::LoadLimits;

/// The directories of all stacks in and below `directory`, sorted; each begins with `directory` as it was given.
///
/// # Errors
/// A directory that cannot be read, or more files than a load may have.
pub fn stacks_below(directory: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let limit = LoadLimits::default().files;
    let is_hidden =
        |entry: &walkdir::DirEntry| entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
    let mut found = Vec::new();
    for (number, entry) in WalkDir::new(directory).into_iter().filter_entry(|entry| !is_hidden(entry)).enumerate() {
        let entry = entry.map_err(|error| {
            let what = format!("`{}` cannot be searched for stacks: {error}", directory.display());
            Diagnostic::without_place(what, "give the directories of the stacks")
        })?;
        if number >= limit {
            let what = format!("`{}` has more than the allowed {limit} files", directory.display());
            return Err(Diagnostic::without_place(what, "is this the right directory?"));
        }
        if entry.file_name() == config::FILE && !entry.file_type().is_dir() {
            found.extend(entry.path().parent().map(Path::to_owned));
        }
    }
    found.sort();
    Ok(found)
}

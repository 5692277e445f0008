//! Finds the stacks below a directory: each directory with a `trueup.yaml`. A link is followed only to a stack that the
//! search does not find otherwise, so that a stack has one directory. Hidden directories are left out, as they are when
//! a stack is loaded, except where a call may have named one.

use std::path::{Path, PathBuf};

use walkdir::DirEntry;

use super::config;
use super::diagnostic::Diagnostic;
use crate::file::{self, MOST_ENTRIES, Walk, WalkError, is_hidden_entry, limit};

/// The directories of all stacks in and below `directory`, sorted; each begins with `directory` as it was given. They
/// include stacks whose settings file is misnamed: loading these fails, but skipping them would look like success.
///
/// # Errors
/// A directory that cannot be read, or that has more entries than a walk may visit.
pub fn stacks_below(directory: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let top = file::real_path_or_given(directory);
    let is_elsewhere = |entry: &DirEntry| {
        let is_met = |target: PathBuf| target.starts_with(&top) && !is_below_hidden(&target, &top);
        let is_stack = || entry.path().join(config::FILE).is_file();
        entry.path_is_symlink() && is_stack() && !file::real_path(entry.path()).is_ok_and(is_met)
    };
    below(directory, is_hidden_entry, |entry| {
        entry.file_name() == config::FILE || is_misnamed(entry) || is_elsewhere(entry)
    })
}

/// Whether a file is named almost like the settings and sets `stack`: other programs have files with such names too.
fn is_misnamed(entry: &DirEntry) -> bool {
    let names_stack =
        |line: &str| line.starts_with("stack:") || line.trim_start_matches(['{', ' ', '\t']).starts_with("\"stack\":");
    entry.file_name().to_str().and_then(config::wrong_name).is_some()
        && file::read(entry.path(), limit::SETTINGS)
            .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).lines().any(names_stack))
}

/// All stacks of the repository at `top`, also those below hidden directories, which a call can name; repositories in
/// hidden directories are left out.
///
/// # Errors
/// Those of [`stacks_below`].
pub fn stacks_of_repository(top: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let is_left_out = |entry: &DirEntry| {
        let is_repository = || entry.file_name() == ".git" || entry.path().join(".git").exists();
        entry.file_type().is_dir() && is_below_hidden(entry.path(), top) && is_repository()
    };
    below(top, is_left_out, |entry| entry.file_name() == config::FILE || is_misnamed(entry))
}

/// Whether a directory is another working tree of the repository that contains it: its stacks are the same ones again.
fn is_own_worktree(entry: &DirEntry, top: &Path) -> bool {
    let repository = || {
        let link = Some(entry.path().join(".git")).filter(|link| link.is_file())?;
        let link = String::from_utf8(file::read(&link, limit::SETTINGS).ok()?).ok()?;
        let (repository, _) = link.strip_prefix("gitdir: ")?.split_once("/.git/worktrees/")?;
        // A relative path in the link starts at this directory.
        file::real_path(&entry.path().join(repository)).ok()
    };
    let is_within = |directory: &Path| file::real_path_or_given(entry.path()).starts_with(directory);
    entry.depth() > 0
        && entry.file_type().is_dir()
        && repository().is_some_and(|repository| repository.starts_with(top) && is_within(&repository))
}

fn is_below_hidden(path: &Path, top: &Path) -> bool {
    path.strip_prefix(top).is_ok_and(|path| path.iter().any(|part| part.as_encoded_bytes().starts_with(b".")))
}

fn below(
    directory: &Path,
    is_left_out: impl Fn(&DirEntry) -> bool,
    is_settings: impl Fn(&DirEntry) -> bool,
) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut found = Vec::new();
    let top = file::real_path_or_given(directory);
    let is_left_out = |entry: &DirEntry| is_left_out(entry) || is_own_worktree(entry, &top);
    for entry in Walk::new(directory, MOST_ENTRIES, is_left_out) {
        let entry = entry.map_err(|error| match error {
            WalkError::TooMany { .. } => Diagnostic::without_place(error.to_string(), "is this the right directory?"),
            WalkError::Entry(error) => {
                let what = format!("`{}` cannot be searched for stacks: {error}", directory.display());
                Diagnostic::without_place(what, "give the directories of the stacks")
            }
        })?;
        if !entry.file_type().is_dir() && is_settings(&entry) {
            let stack = if entry.path().is_dir() { Some(entry.path()) } else { entry.path().parent() };
            let stack = stack.unwrap_or(directory);
            // git would print a different name.
            if stack.strip_prefix(directory).is_ok_and(|below| below.to_str().is_none()) {
                let what = format!("rename `{}`: its name is not valid UTF-8", stack.display());
                return Err(Diagnostic::without_place(what, "no document can name it"));
            }
            // Reports and documents show this path.
            found.push(file::with_slashes(stack.to_owned()));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

//! Where a repository is. trueup searches for it itself: only a directory that contains `.git` is the
//! top of one, so that no directory of committed files can pass for a repository.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::GitError;
use crate::file::{self, owner};

/// Bytes of a file that only points to a directory.
const LARGEST_POINTER: u64 = 8 * 1024;

/// A repository on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryPaths {
    /// The directory that contains `.git`, without symbolic links.
    pub(super) top: PathBuf,
    /// The git directory of this working tree.
    pub(super) directory: PathBuf,
    /// The git directory that contains the objects; another one for a linked working tree.
    pub(super) common: PathBuf,
    /// The searched directory, below the top, with a final `/` unless it is the top.
    pub(super) prefix: String,
}

impl RepositoryPaths {
    /// The repository that `directory` is in.
    pub(super) fn search(directory: &Path) -> Result<Self, GitError> {
        let none = || GitError::NoRepository(directory.to_owned());
        let start = file::real_path(directory).map_err(|_| none())?;
        for top in start.ancestors() {
            let marker = top.join(".git");
            let Ok(metadata) = std::fs::metadata(&marker) else { continue };
            let git = if metadata.is_file() {
                let target = pointer(&marker, "gitdir:").ok_or_else(none)?;
                top.join(target)
            } else {
                marker
            };
            let common = match pointer(&git.join("commondir"), "") {
                Some(common) => git.join(common),
                None => git.clone(),
            };
            if git.join("HEAD").symlink_metadata().is_err() || !common.join("objects").is_dir() {
                // An empty `.git` directory is no repository, for git neither.
                if metadata.is_file() {
                    return Err(none());
                }
                continue;
            }
            let below = start.strip_prefix(top).ok().filter(|below| below.to_str().is_some()).ok_or_else(none)?;
            let below = file::slashed(below);
            let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
            let real = |path: PathBuf| file::real_path(&path).map_err(|_| none());
            return Ok(Self { top: top.to_owned(), directory: real(git)?, common: real(common)?, prefix });
        }
        Err(none())
    }

    /// Refuses a repository that another user put above the definitions. It must belong to whom the
    /// definitions belong, to the user `me`, or to root: git's own check asks for the user alone, which
    /// fails in containers, and protects programs that a configuration names; here it names none.
    pub(super) fn check_owner(&self, definitions: &Path, me: Option<u32>) -> Result<(), GitError> {
        let trusted = [Some(0), me, owner(definitions)];
        for path in [self.top.join(".git"), self.directory.clone(), self.common.clone()] {
            let owner = owner(&path);
            if owner.is_none() || !trusted.contains(&owner) {
                return Err(GitError::OtherOwner(path));
            }
        }
        Ok(())
    }
}

/// The path in a file that only points elsewhere.
fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(LARGEST_POINTER).read_to_string(&mut text).ok()?;
    let path = text.strip_prefix(word)?.trim_start_matches(' ').trim_end_matches(['\n', '\r']);
    (!path.is_empty()).then(|| PathBuf::from(path))
}

//! Finds the repository of a directory. trueup searches itself: only a directory that contains `.git` is the top of a
//! repository, so that a directory of committed files cannot pass for one.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use walkdir::DirEntry;

use super::GitError;
use super::index::Index;
use crate::file::{self, FileError, MOST_ENTRIES, Walk, WalkError, owner};

/// The largest file that only points to a directory, in bytes.
const LARGEST_POINTER: u64 = 8 * 1024;
/// The largest file of packed references, in bytes.
const LARGEST_REFERENCES: u64 = 64 * 1024 * 1024;
/// The largest settings of a repository, in bytes.
const LARGEST_SETTINGS: u64 = 1024 * 1024;
/// The longest chain of symbolic references that is followed.
const MOST_NAMES: usize = 5;

/// A repository on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryPaths {
    /// The directory that contains `.git`, without symbolic links.
    pub(super) top: PathBuf,
    /// The git directory of this working tree.
    pub(super) directory: PathBuf,
    /// The git directory that contains the objects; for a linked working tree, not [`Self::directory`].
    pub(super) common: PathBuf,
    /// The searched directory, below the top, with a final `/` unless it is the top.
    pub(super) prefix: String,
}

/// The position of a repository's `HEAD` by its files; each change of `HEAD` makes a different mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadMark {
    git: PathBuf,
    branch: Option<PathBuf>,
    commit: Vec<u8>,
    /// The lists of reference tables, which every change of a reference changes.
    tables: [Vec<u8>; 2],
}

impl RepositoryPaths {
    /// The repository that `directory` is in.
    pub(super) fn search(directory: &Path) -> Result<Self, GitError> {
        let none = || GitError::NoRepository(directory.to_owned());
        let start = file::real_path(directory).map_err(|_| none())?;
        for top in start.ancestors() {
            let marker = top.join(".git");
            let out_of_reach = || GitError::OutOfReach(marker.clone());
            let metadata = match std::fs::metadata(&marker) {
                Ok(metadata) => metadata,
                // A dangling link.
                Err(_) if file::exists(&marker) => return Err(out_of_reach()),
                Err(_) => continue,
            };
            let git = if metadata.is_file() {
                let target = pointer(&marker, "gitdir:").ok_or_else(out_of_reach)?;
                top.join(target)
            } else {
                marker.clone()
            };
            let common = match pointer(&git.join("commondir"), "") {
                Some(common) => git.join(common),
                None => git.clone(),
            };
            let (head, objects) = (git.join("HEAD").symlink_metadata(), common.join("objects"));
            if head.is_err() || !objects.is_dir() {
                // An empty `.git` directory is not a repository for git either.
                let leads_nowhere = file::exists(&objects) && !objects.is_dir();
                let is_closed = head.is_err_and(|error| error.kind() != ErrorKind::NotFound) || leads_nowhere;
                if metadata.is_file() || is_closed {
                    return Err(out_of_reach());
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

    /// Refuses a repository that another user put above the definitions. It must belong to the owner of the
    /// definitions, to the user `me`, or to root. git's own check accepts only the user, which fails in containers; it
    /// protects programs that a configuration names, but here the configuration is not used.
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

    /// Why the working tree may lack files of its commit below a directory: it is sparse, a file that git was told to
    /// skip is missing, a symbolic link is a file, or an empty directory may be that of a submodule, if
    /// `can_be_submodule` accepts its path.
    pub(super) fn may_lack(
        &self,
        below: &str,
        index: &Index,
        can_be_submodule: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let start = self.top.join(below);
        let reason = |entry: Result<DirEntry, WalkError>| {
            let entry = match entry {
                Ok(entry) if entry.file_type().is_dir() => entry,
                Ok(_) => return None,
                Err(error) => return Some(error.to_string()),
            };
            let path = file::slashed(entry.path().strip_prefix(&start).ok()?);
            let may_lack = is_empty_directory(entry.path()) && can_be_submodule(&path);
            may_lack.then(|| format!("`{below}{path}` is empty, as the place of a submodule is: remove or exclude it"))
        };
        if self.is_sparse() {
            return Some("the settings of the repository say that it is sparse".to_owned());
        }
        if index.is_unclear {
            return Some("its index cannot be read".to_owned());
        }
        if let Some(path) = index.unseen_below(below).find(|path| !file::exists(&self.top.join(path))) {
            return Some(format!("`{path}` is not there, and the index says that git is not to look for it"));
        }
        let is_file = |link: &&String| link.starts_with(below) && self.is_file_for_link(link);
        if let Some(path) = index.links.iter().find(is_file) {
            return Some(format!("`{path}` is a file in the place of a symbolic link"));
        }
        Walk::new(&start, MOST_ENTRIES, file::is_hidden_entry).find_map(reason)
    }

    /// Whether its branch certainly has no commit yet, by its files.
    pub(super) fn is_unborn(&self) -> bool {
        let Some(branch) = pointer(&self.directory.join("HEAD"), "ref:") else { return false };
        let is_packed = || self.packed(&branch).map_or(true, |commit| commit.is_some());
        // `.invalid` marks references that are stored in another way, which files do not show.
        !branch.ends_with(".invalid") && !file::exists(&self.common.join(&branch)) && !is_packed()
    }

    /// The commit of a packed reference.
    fn packed(&self, name: &Path) -> Result<Option<Vec<u8>>, FileError> {
        let packed = match file::read(&self.common.join("packed-refs"), LARGEST_REFERENCES) {
            Err(error) if error.is_missing() => return Ok(None),
            packed => packed?,
        };
        let name = [b" ", name.as_os_str().as_encoded_bytes()].concat();
        Ok(packed.split(|byte| *byte == b'\n').find_map(|line| line.strip_suffix(&*name)).map(<[u8]>::to_vec))
    }

    /// The current position of its `HEAD`.
    pub(super) fn head_mark(&self) -> HeadMark {
        let read = |path: PathBuf| file::read(&path, LARGEST_POINTER).ok().map(|text| text.trim_ascii().to_vec());
        let (mut place, mut branch) = (self.directory.join("HEAD"), None);
        for _ in 0..MOST_NAMES {
            let Some(name) = pointer(&place, "ref:") else { break };
            place = self.common.join(&name);
            branch = Some(name);
        }
        let packed = || self.packed(branch.as_ref()?).ok().flatten();
        let commit = read(place).or_else(packed).unwrap_or_default();
        let tables =
            [&self.directory, &self.common].map(|git| read(git.join("reftable/tables.list")).unwrap_or_default());
        HeadMark { git: self.directory.clone(), branch, commit, tables }
    }

    /// Whether this path from the top is a regular file, which a checkout without symbolic links writes for a link.
    pub(super) fn is_file_for_link(&self, path: &str) -> bool {
        self.top.join(path).symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// Whether the settings make it sparse; git writes a boolean in several ways.
    pub(super) fn is_sparse(&self) -> bool {
        self.setting("sparsecheckout").is_some_and(|value| !["", "false", "no", "off", "0"].contains(&value.as_str()))
    }

    /// Its index.
    pub(super) fn index(&self) -> Index {
        let is_longer = self.setting("objectformat").is_some_and(|format| format == "sha256");
        Index::read(&self.directory, if is_longer { 32 } else { 20 })
    }

    /// The last value of a setting, in lower case.
    fn setting(&self, name: &str) -> Option<String> {
        let files = [self.common.join("config"), self.directory.join("config.worktree")];
        let texts = files.map(|file| file::read(&file, LARGEST_SETTINGS).unwrap_or_default());
        let value = |line: &str| {
            let setting = line.rsplit(']').next()?.split(['#', ';']).next()?;
            let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
            (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
        };
        String::from_utf8_lossy(&texts.join(&b'\n')).to_lowercase().lines().filter_map(value).next_back()
    }
}

/// Whether a directory is empty: git creates one only for a submodule, whether `.gitmodules` names it or not.
pub(super) fn is_empty_directory(path: &Path) -> bool {
    path.read_dir().is_ok_and(|mut found| found.next().is_none())
}

/// Whether the directory of a submodule has no checkout of it, whatever else it contains: it has no `.git`, or a
/// repository without an index, as after a clone whose commit could not be fetched.
pub(super) fn is_not_checked_out(place: &Path) -> bool {
    let is_directory = place.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_directory
        && match RepositoryPaths::search(place) {
            _ if !file::exists(&place.join(".git")) => true,
            Ok(found) => !found.prefix.is_empty() || !file::exists(&found.directory.join("index")),
            Err(_) => false,
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

//! What git knows of a directory: the trees of commits, the bytes of files in them, and how commits
//! follow each other. In goes a directory and a revision, out come entries and bytes.
//!
//! # Guarantees
//! The `git` program is the only one that is started, and it starts no other: it is called on a git
//! directory of our own (`view`), which has the objects and references of the repository and none of
//! its configuration, with an environment that is written out in `process`. Only commands that read
//! objects are called, no working tree is known to them, and nothing is fetched. Output and time of
//! each call are bounded.

mod find;
mod history;
mod index;
mod object;
mod process;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub use find::HeadMark;
use find::{RepositoryPaths, is_not_checked_out};
pub use history::{ChangedFile, HistoryCommit};
use index::Index;
use process::{CallLimits, CallOutput, Program};
use view::PrivateView;

use crate::file::limit;

/// The largest list of entries or commits, in bytes.
const LARGEST_LIST: u64 = 512 * 1024 * 1024;
/// The errors of git for a tree that the clone lacks.
const LACKING: [&str; 3] = ["fatal: not a tree object", "error: Could not read ", "fatal: unable to read tree "];
/// The commit of the working tree.
const HEAD: &str = "HEAD^{commit}";

/// Why the repository could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program is not found.
    #[error("the `git` program cannot be run: {0}")]
    NoProgram(std::io::Error),
    /// The directory is in no repository.
    #[error("`{}` is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// The repository of the working tree cannot be reached.
    #[error("`{}` points to a repository that cannot be read here", .0.display())]
    OutOfReach(PathBuf),
    /// The repository belongs to another user.
    #[error(
        "`{}` belongs neither to the owner of the definitions nor to the current user, so its history is not used: \
         give both the same owner",
        .0.display()
    )]
    OtherOwner(PathBuf),
    /// The temporary directory cannot be used.
    #[error("`{}` cannot contain a temporary directory ({reason}): set TMPDIR to one that can", directory.display())]
    NoTemporary {
        /// Where it should be.
        directory: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// Another program changed `HEAD`.
    #[error("`HEAD` changed while the definitions were read: run it again")]
    Moved,
    /// The clone has no history to judge from.
    #[error(
        "the clone is shallow, so the source of a difference is unknown: fetch the history \
         (`git fetch --unshallow`, or `fetch-depth: 0` in the pipeline)"
    )]
    Shallow,
    /// A revision that does not exist.
    #[error("`{0}` is not a commit in this clone: fetch it, or name another base")]
    NoRevision(String),
    /// A revision that several references have as their names.
    #[error("`{0}` names several references here: give the whole name of one, such as `refs/remotes/origin/main`")]
    SeveralReferences(String),
    /// Two commits without a common ancestor.
    #[error("`{0}` and the working tree have no common ancestor")]
    NoMergeBase(String),
    /// Two commits whose histories were merged into each other.
    #[error(
        "`{0}` and the working tree have several merge bases, so the source of a difference is unknown: merge \
         `{0}` into this branch"
    )]
    SeveralMergeBases(String),
    /// An object that the clone does not have.
    #[error("the clone lacks an object of `{0}`: fetch it, or clone without `--filter`")]
    NoObject(String),
    /// The data are larger than the limit.
    #[error("{0} is larger than what trueup reads")]
    TooLarge(String),
    /// The program failed, or its answer is unexpected.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// Its first argument.
        command: String,
        /// Its first line of complaint.
        message: String,
    },
}

/// How to run git on this machine.
#[derive(Debug, Clone)]
pub struct GitEnvironment {
    /// The search path of programs.
    pub search_path: Option<OsString>,
    /// Where temporary directories are made.
    pub temporary: PathBuf,
}

/// One repository, as it is seen from a directory in it.
#[derive(Debug)]
pub struct Repository {
    program: Program,
    machine: GitEnvironment,
    view: PrivateView,
    found: RepositoryPaths,
    /// Where its `HEAD` has to be, if that is known.
    expected: Option<HeadMark>,
    /// Whether `HEAD` was there when it was first read.
    is_there: OnceLock<bool>,
    /// The index of the working tree, once it was read.
    index: OnceLock<Index>,
    /// The answers by question: a command asks each question only once, so that all answers are of one state.
    answers: Mutex<BTreeMap<Vec<String>, String>>,
    /// The last list of entries: it can be long, and the same one is asked for again.
    listed: Mutex<Option<Listed>>,
    /// The last file that was read by itself, by its object: the settings of a stack.
    read: Mutex<Option<(String, Vec<u8>)>>,
}

/// The entries of a commit below a directory.
#[derive(Debug)]
struct Listed {
    commit: String,
    below: String,
    entries: Arc<[TreeEntry]>,
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// An entry of a commit's tree, directories aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path from the repository's top; lossy if it is not valid UTF-8.
    pub path: String,
    /// Whether [`TreeEntry::path`] is its path to the letter.
    pub is_utf8: bool,
    /// What it is.
    pub kind: EntryKind,
    /// Its object.
    pub object: String,
    /// Its size in bytes; `None` for a submodule, and if the clone lacks the object.
    pub size: Option<u64>,
}

/// Why the working tree may lack what its commit has below `directory`, as far as that is known without git; an empty
/// directory below it is a reason if its path from there can be a submodule's.
pub fn may_lack_files(directory: &Path, can_be_submodule: impl Fn(&str) -> bool) -> Option<String> {
    match RepositoryPaths::search(directory) {
        Ok(found) => found.may_lack(&found.prefix, &found.index(), can_be_submodule),
        Err(GitError::OutOfReach(marker)) => Some(format!(
            "make that repository readable here; or remove `{}`, if the directory has all its files",
            marker.display()
        )),
        Err(_) => None,
    }
}

/// The position of the `HEAD` of the repository around `directory`, if there is one. It is read from a few small files.
pub fn head_mark(directory: &Path) -> Option<HeadMark> {
    RepositoryPaths::search(directory).ok().map(|found| found.head_mark())
}

impl Repository {
    /// The repository that contains `directory`.
    ///
    /// # Errors
    /// There is none that can be trusted, or no `git` program.
    pub fn open(directory: &Path, machine: &GitEnvironment) -> Result<Self, GitError> {
        let found = RepositoryPaths::search(directory)?;
        let program = Program::find(machine.search_path.as_deref(), &found.top)?;
        let view = PrivateView::new(&found, &machine.temporary)?;
        found.check_owner(directory, view.owner())?;
        let machine = machine.clone();
        let (answers, listed, read) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (expected, is_there, index) = (None, OnceLock::new(), OnceLock::new());
        let repository = Self { program, machine, view, found, expected, is_there, index, answers, listed, read };
        if repository.view.has_extensions(&repository.found) {
            repository.view.take_settings(&repository.found, &repository.program)?;
        }
        Ok(repository)
    }

    /// The same repository, whose `HEAD` has to be where it was when something else was read.
    #[must_use]
    pub fn expecting(self, expected: Option<HeadMark>) -> Self {
        Self { expected, ..self }
    }

    /// The directory that contains `.git`.
    pub fn top(&self) -> &Path {
        &self.found.top
    }

    /// The path of the directory from the top, with a final `/` unless it is the top.
    pub fn prefix(&self) -> &str {
        &self.found.prefix
    }

    /// Whether its settings say that the working tree is sparse.
    pub fn is_sparse(&self) -> bool {
        self.found.is_sparse()
    }

    /// What the last commit has below a directory (as for [`Repository::entries`]) and the working tree lacks without a
    /// deletion: files that git leaves out (`git sparse-checkout`, `git update-index --skip-worktree`), symbolic links
    /// that were checked out as files with the path in them, submodules that are not fetched, and the same in fetched
    /// ones.
    ///
    /// # Errors
    /// Those of [`Repository::entries`], or the repository of a submodule is out of reach.
    pub fn left_out(&self, below: &str) -> Result<Vec<TreeEntry>, GitError> {
        let is_sparse = self.found.is_sparse();
        let index = self.index.get_or_init(|| self.found.index());
        let may_lack = crate::file::exists(&self.top().join(".gitmodules"))
            || self.found.may_lack(below, index, |_| true).is_some();
        let head = match may_lack.then(|| self.ask(&question(HEAD))) {
            Some(Err(error)) if !self.found.is_unborn() => return Err(error),
            Some(Ok(_)) => self.head()?,
            _ => return Ok(Vec::new()),
        };
        let entries = self.entries(&head, below)?;
        let texts = self.texts_of_links(&entries)?;
        let mut lacking = Vec::new();
        for entry in entries.iter() {
            let (place, is_submodule) = (self.top().join(&entry.path), entry.kind == EntryKind::Submodule);
            let is_unseen = || place.symlink_metadata().is_err() && (is_sparse || index.hides(&entry.path));
            if is_submodule && is_not_checked_out(&place) || is_unseen() || texts.contains(entry.path.as_str()) {
                lacking.push(entry.clone());
            } else if is_submodule {
                let inner = self.submodule(&entry.path)?;
                let lacks = inner.map(|inner| inner.left_out("")).transpose()?.unwrap_or_default();
                let path = |below: &str| format!("{}/{below}", entry.path);
                lacking.extend(lacks.into_iter().map(|inner| TreeEntry { path: path(&inner.path), ..inner }));
            }
        }
        Ok(lacking)
    }

    /// The paths of symbolic links that are files with their targets in the working tree.
    fn texts_of_links<'e>(&self, entries: &'e [TreeEntry]) -> Result<BTreeSet<&'e str>, GitError> {
        let is_file = |entry: &&TreeEntry| entry.kind == EntryKind::Link && self.found.is_file_for_link(&entry.path);
        let files: Vec<&TreeEntry> = entries.iter().filter(is_file).collect();
        let text = |path: &str| crate::file::read(&self.top().join(path), limit::DEFINITIONS).ok();
        let targets = files.iter().map(|file| file.path.as_str()).zip(self.contents(&files)?);
        Ok(targets.filter(|(path, target)| text(path).as_ref() == Some(target)).map(|(path, _)| path).collect())
    }

    /// The repository of a submodule at this path from the top, if it is checked out.
    fn submodule(&self, path: &str) -> Result<Option<Self>, GitError> {
        let inner = match Self::open(&self.top().join(path), &self.machine) {
            // Its directory was deleted.
            Err(GitError::NoRepository(_)) => return Ok(None),
            inner => inner?,
        };
        // A directory without a repository of its own is in this one; a link may lead to a repository around it.
        let is_own = inner.top().starts_with(self.top()) && inner.top() != self.top();
        Ok(is_own.then_some(inner))
    }

    /// The repositories of its checked-out submodules, and of theirs, each with its path from the top and a final `/`.
    ///
    /// # Errors
    /// Those of [`Repository::entries`], or one of them is out of reach.
    pub fn submodules(&self) -> Result<Vec<(String, Self)>, GitError> {
        let mut found = Vec::new();
        let entries = self.entries(&self.head()?, "")?;
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Submodule) {
            if is_not_checked_out(&self.top().join(&entry.path)) {
                continue;
            }
            let Some(inner) = self.submodule(&entry.path)? else { continue };
            let below = format!("{}/", entry.path);
            let deeper = inner.submodules()?;
            found.extend(deeper.into_iter().map(|(path, deeper)| (format!("{below}{path}"), deeper)));
            found.push((below, inner));
        }
        Ok(found)
    }

    /// The commit of the working tree.
    ///
    /// # Errors
    /// There is no commit yet, or another program moved `HEAD` since.
    pub fn head(&self) -> Result<String, GitError> {
        let head = self.resolve("HEAD")?;
        let is_there = || self.expected.as_ref().is_none_or(|expected| *expected == self.found.head_mark());
        // Later it may move: this commit is remembered.
        if *self.is_there.get_or_init(is_there) { Ok(head) } else { Err(GitError::Moved) }
    }

    /// The full id of the commit that `revision` names, in any way that git knows.
    ///
    /// # Errors
    /// It does not name one.
    pub fn resolve(&self, revision: &str) -> Result<String, GitError> {
        let none = || GitError::NoRevision(revision.to_owned());
        if revision.contains(char::is_control) {
            return Err(none());
        }
        if revision.contains("@{") {
            // Only `@{upstream}` and similar revisions need the settings.
            self.view.take_settings(&self.found, &self.program)?;
        }
        match self.ask(&question(&format!("{revision}^{{commit}}"))) {
            Err(GitError::Failed { .. }) => Err(none()),
            Err(GitError::SeveralReferences(_)) => Err(GitError::SeveralReferences(revision.to_owned())),
            answer => answer,
        }
    }

    /// The full id of a commit by its own id, whole or abbreviated to at least 7 digits. Unlike a
    /// revision it can come from anywhere: no branch or search is understood.
    ///
    /// # Errors
    /// It is not an id, or the clone does not have the commit.
    pub fn commit(&self, id: &str) -> Result<String, GitError> {
        let none = || GitError::NoRevision(id.to_owned());
        let is_id =
            (7..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_id {
            return Err(none());
        }
        // A branch of this name takes precedence over an abbreviated id.
        self.resolve(id).ok().filter(|full| full.starts_with(id)).ok_or_else(none)
    }

    /// Whether the history is cut off; git creates this file then, and checks nothing else.
    pub fn is_shallow(&self) -> bool {
        crate::file::exists(&self.found.common.join("shallow"))
    }

    /// The best common ancestor of `base` and the working tree's commit.
    ///
    /// # Errors
    /// The clone is shallow, the base names no commit, or there is no common ancestor.
    pub fn merge_base(&self, base: &str) -> Result<String, GitError> {
        if self.is_shallow() {
            return Err(GitError::Shallow);
        }
        let commit = self.resolve(base)?;
        match self.head().and_then(|head| self.ask(&["merge-base", "--all", &commit, &head])) {
            Err(GitError::Failed { .. } | GitError::NoRevision(_)) => Err(GitError::NoMergeBase(base.to_owned())),
            Ok(found) if found.contains('\n') => Err(GitError::SeveralMergeBases(base.to_owned())),
            answer => answer,
        }
    }

    /// Whether `ancestor` is `descendant` or comes before it; both are full ids.
    ///
    /// # Errors
    /// The program failed, or the clone is shallow and the answer may lie beyond its end.
    pub fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, GitError> {
        let arguments = ["merge-base", "--is-ancestor", ancestor, descendant];
        let said = self.program.run(&self.view.directory, &arguments, Vec::new(), CallLimits::bytes(LARGEST_LIST))?;
        match said.status.code() {
            Some(0) => Ok(true),
            Some(1) if self.is_shallow() => Err(GitError::Shallow),
            Some(1) => Ok(false),
            _ => Err(GitError::Failed { command: arguments[0].to_owned(), message: said.complaint }),
        }
    }

    /// Those of `commits` (full ids) that are not ancestors of another one, in the order given: a single one if all of
    /// them are in one line.
    ///
    /// # Errors
    /// The program failed, or the clone is shallow and there is more than one.
    pub fn newest(&self, commits: &[String]) -> Result<Vec<String>, GitError> {
        let mut distinct: Vec<&str> = Vec::new();
        commits.iter().filter(|commit| !commit.is_empty()).for_each(|commit| {
            if !distinct.contains(&commit.as_str()) {
                distinct.push(commit);
            }
        });
        if distinct.len() < 2 {
            return Ok(distinct.into_iter().map(str::to_owned).collect());
        }
        let arguments: Vec<&str> =
            ["merge-base", "--independent"].into_iter().chain(distinct.iter().copied()).collect();
        let said = self.ask(&arguments)?;
        let heads: Vec<String> =
            distinct.into_iter().filter(|commit| said.lines().any(|line| line == *commit)).map(str::to_owned).collect();
        if heads.len() > 1 && self.is_shallow() { Err(GitError::Shallow) } else { Ok(heads) }
    }

    /// Every entry of a commit whose path begins with `below`, a directory with a final `/` or nothing
    /// for the whole tree; sorted by path.
    ///
    /// # Errors
    /// The program failed, or the clone lacks a part of the tree.
    pub fn entries(&self, commit: &str, below: &str) -> Result<Arc<[TreeEntry]>, GitError> {
        let has_all = |listed: &&Listed| listed.commit == commit && below.starts_with(&listed.below);
        if let Some(listed) = locked(&self.listed).as_ref().filter(has_all) {
            return Ok(match listed.below == below {
                true => Arc::clone(&listed.entries),
                false => listed.entries.iter().filter(|entry| entry.path.starts_with(below)).cloned().collect(),
            });
        }
        let mut arguments = vec!["ls-tree", "-r", "-z", "--long", "--full-tree", "--end-of-options", commit];
        if !below.is_empty() {
            arguments.extend(["--", below]);
        }
        let listed =
            self.run(&arguments, Vec::new(), CallLimits::bytes(LARGEST_LIST)).map_err(|error| match error {
                GitError::Failed { message, .. } if LACKING.iter().any(|lacks| message.starts_with(lacks)) => {
                    GitError::NoObject(if below.is_empty() { commit } else { below }.to_owned())
                }
                error => error,
            })?;
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let mut entries = Vec::new();
        for line in lines {
            let entry = entry_of(line).ok_or_else(|| unexpected("ls-tree"))?;
            // If a link or a submodule is in the place of the directory, git lists that itself.
            entries.extend(entry.path.starts_with(below).then_some(entry));
        }
        let entries: Arc<[TreeEntry]> = entries.into();
        let (commit, below) = (commit.to_owned(), below.to_owned());
        *locked(&self.listed) = Some(Listed { commit, below, entries: Arc::clone(&entries) });
        Ok(entries)
    }

    fn run(&self, arguments: &[&str], input: Vec<u8>, bounds: CallLimits) -> Result<Vec<u8>, GitError> {
        let CallOutput { status, output, complaint } =
            self.program.run(&self.view.directory, arguments, input, bounds)?;
        let command = arguments.first().copied().unwrap_or_default().to_owned();
        if status.success() {
            // git chooses one of several references, and warns; a quiet question names only one.
            let is_asked = command == "rev-parse" && !arguments.contains(&"--quiet");
            let is_one = !is_asked || !complaint.ends_with("is ambiguous.");
            let revision = || arguments.last().copied().unwrap_or_default().to_owned();
            return if is_one { Ok(output) } else { Err(GitError::SeveralReferences(revision())) };
        }
        Err(GitError::Failed { command, message: complaint })
    }

    /// Remembers an answer.
    fn answered(&self, arguments: &[&str], answer: &str) {
        let asked = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        locked(&self.answers).insert(asked, answer.to_owned());
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, GitError> {
        let asked: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        if let Some(answer) = locked(&self.answers).get(&asked) {
            return Ok(answer.clone());
        }
        let output = self.run(arguments, Vec::new(), CallLimits::bytes(LARGEST_LIST))?;
        let answer = String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned();
        self.answered(arguments, &answer);
        Ok(answer)
    }
}

/// The question for the object that a revision names. git has to warn if several references have the name, unless it is
/// a full name or an id.
fn question(revision: &str) -> [&str; 5] {
    let id = revision.strip_suffix("^{commit}").unwrap_or(revision);
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_whole = is_id || revision == HEAD || revision.starts_with("refs/");
    ["rev-parse", "--verify", if is_whole { "--quiet" } else { "--verify" }, "--end-of-options", revision]
}

/// The data of a thread that panicked are consistent: each value is set in one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unexpected(command: &str) -> GitError {
    GitError::Failed { command: command.to_owned(), message: "its answer cannot be read".to_owned() }
}

/// The entry in a line of `ls-tree --long`.
fn entry_of(line: &[u8]) -> Option<TreeEntry> {
    let tab = memchr::memchr(b'\t', line)?;
    let (about, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut parts = about.split_ascii_whitespace();
    let (mode, _, object, size) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let kind = match mode {
        "120000" => EntryKind::Link,
        "160000" => EntryKind::Submodule,
        _ => EntryKind::File,
    };
    Some(TreeEntry {
        path: String::from_utf8_lossy(path).into_owned(),
        is_utf8: std::str::from_utf8(path).is_ok(),
        kind,
        object: object.to_owned(),
        size: size.parse().ok(),
    })
}

#[cfg(all(test, unix))]
mod tests;

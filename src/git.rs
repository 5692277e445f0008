//! Definitions at another commit, read through the `git` program. No checkout is touched: a tree is
//! listed by `ls-tree` and its files come from one `cat-file --batch`. In goes a directory and a
//! revision, out come file names with their bytes.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::model::Key;
use crate::plan::Commit;

/// The largest file that is read from a commit, in bytes.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Why the repository could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program is not there.
    #[error("the `git` program cannot be run: {source}")]
    NoProgram {
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory is in no repository.
    #[error("`{}` is in no git repository", directory.display())]
    NoRepository {
        /// The directory.
        directory: PathBuf,
    },
    /// The clone has no history to judge from.
    #[error(
        "the clone is shallow, so whose change a difference is cannot be told: fetch the history \
         (`git fetch --unshallow`, or `fetch-depth: 0` in the pipeline)"
    )]
    Shallow,
    /// A revision that does not exist.
    #[error("`{revision}` names no commit here: fetch it, or name another base")]
    NoRevision {
        /// As it was given.
        revision: String,
    },
    /// Two commits without a common ancestor.
    #[error("`{base}` and the working tree have no common ancestor")]
    NoMergeBase {
        /// As it was given.
        base: String,
    },
    /// The program failed or answered something else.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// Its first argument.
        command: String,
        /// Its first line of complaint.
        message: String,
    },
}

/// One repository, seen from a directory in it.
#[derive(Debug, Clone)]
pub struct Repository {
    directory: PathBuf,
    /// The directory's path from the repository's top, with a final `/` unless it is the top.
    prefix: String,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, relative to the directory of the [`Repository`].
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Repository {
    /// The repository that holds `directory`.
    ///
    /// # Errors
    /// There is none, or no `git` program.
    pub fn open(directory: &Path) -> Result<Self, GitError> {
        let mut repository = Self { directory: directory.to_owned(), prefix: String::new() };
        let prefix = repository.ask(["rev-parse", "--show-prefix"]).map_err(|error| match error {
            GitError::Failed { .. } => GitError::NoRepository { directory: directory.to_owned() },
            other => other,
        })?;
        repository.prefix = prefix;
        Ok(repository)
    }

    /// The commit of the working tree.
    ///
    /// # Errors
    /// There is no commit yet.
    pub fn head(&self) -> Result<String, GitError> {
        self.resolve("HEAD")
    }

    /// The full id of the commit that `revision` names.
    ///
    /// # Errors
    /// It names none.
    pub fn resolve(&self, revision: &str) -> Result<String, GitError> {
        let commit = format!("{revision}^{{commit}}");
        self.ask(["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).map_err(|error| match error {
            GitError::Failed { .. } => GitError::NoRevision { revision: revision.to_owned() },
            other => other,
        })
    }

    /// The best common ancestor of `base` and the working tree's commit.
    ///
    /// # Errors
    /// The clone is shallow, the base names no commit, or there is no common ancestor.
    pub fn merge_base(&self, base: &str) -> Result<String, GitError> {
        if self.ask(["rev-parse", "--is-shallow-repository"])? == "true" {
            return Err(GitError::Shallow);
        }
        let commit = self.resolve(base)?;
        self.ask(["merge-base", &commit, "HEAD"]).map_err(|error| match error {
            GitError::Failed { .. } => GitError::NoMergeBase { base: base.to_owned() },
            other => other,
        })
    }

    /// The regular files below the directory at `commit`, sorted by path; symbolic links and
    /// submodules are left out, as are files beyond 16 MiB.
    ///
    /// # Errors
    /// The program failed.
    pub fn files(&self, commit: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<File>, GitError> {
        let tree = format!("{commit}:{}", self.prefix);
        let listed = self.run(["ls-tree", "-r", "-z", "--long", "--full-tree", "--end-of-options", &tree]);
        let listed = match listed {
            Ok(listed) => listed,
            // The directory does not exist at that commit: it held nothing.
            Err(GitError::Failed { message, .. }) if message.contains("Not a valid object name") => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let entries: Vec<(String, String)> =
            listed.split(|byte| *byte == 0).filter_map(entry_of).filter(|(_, path)| wanted(path)).collect();
        self.read(&entries)
    }

    /// The contents of `(object, path)` pairs, through one process.
    fn read(&self, entries: &[(String, String)]) -> Result<Vec<File>, GitError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |message: &str| GitError::Failed { command: "cat-file".to_owned(), message: message.to_owned() };
        let mut child = self
            .command(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| GitError::NoProgram { source })?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("its pipes are missing"));
        };
        let objects: Vec<u8> = entries.iter().flat_map(|(object, _)| format!("{object}\n").into_bytes()).collect();
        // Written beside the reading: both pipes are bounded.
        let writer = std::thread::spawn(move || input.write_all(&objects));
        let mut output = BufReader::new(output);
        let mut files = Vec::with_capacity(entries.len());
        for (_, path) in entries {
            let mut header = String::new();
            output.read_line(&mut header).map_err(|error| failed(&error.to_string()))?;
            let size: usize = header
                .trim_end()
                .rsplit(' ')
                .next()
                .and_then(|size| size.parse().ok())
                .ok_or_else(|| failed("an object is missing"))?;
            let mut bytes = vec![0; size + 1];
            output.read_exact(&mut bytes).map_err(|error| failed(&error.to_string()))?;
            bytes.pop();
            files.push(File { path: path.clone(), bytes });
        }
        drop(output);
        let written = writer.join().map_err(|_| failed("its input could not be written"))?;
        written.map_err(|error| failed(&error.to_string()))?;
        child.wait().map_err(|source| GitError::NoProgram { source })?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The commit that took the definition of `key` out of the directory: the last one that changed
    /// the number of lines which name it. Nothing where history does not say.
    #[must_use]
    pub fn removal(&self, key: &Key) -> Option<Commit> {
        let line = format!("name[\"']?:[[:space:]]*[\"']?{}[\"']?[[:space:],}}]*$", key.name);
        let told = self.ask(["log", "-1", "--format=%H %cs", "-G", &line, "--", "."]).ok()?;
        let (id, date) = told.split_once(' ')?;
        Some(Commit { id: id.to_owned(), date: date.to_owned() })
    }

    fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new("git");
        // Nothing of the caller's environment may point elsewhere or ask a question.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"] {
            command.env_remove(variable);
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        command.arg("-C").arg(&self.directory).args(["-c", "core.quotePath=false"]).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    fn run<const N: usize>(&self, arguments: [&str; N]) -> Result<Vec<u8>, GitError> {
        let output = self.command(arguments).output().map_err(|source| GitError::NoProgram { source })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(GitError::Failed {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            message: complaint.lines().next().unwrap_or("it said nothing").to_owned(),
        })
    }

    fn ask<const N: usize>(&self, arguments: [&str; N]) -> Result<String, GitError> {
        let output = self.run(arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }
}

/// The object and path of a regular file in a line of `ls-tree --long`.
fn entry_of(entry: &[u8]) -> Option<(String, String)> {
    let entry = std::str::from_utf8(entry).ok()?;
    let (about, path) = entry.split_once('\t')?;
    let mut parts = about.split_ascii_whitespace();
    let (mode, kind, object, size) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let regular = kind == "blob" && matches!(mode, "100644" | "100755");
    (regular && size.parse::<u64>().ok()? <= LARGEST_FILE).then(|| (object.to_owned(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").arg("-C").arg(directory).args(identity).args(arguments).output();
        assert!(done.is_ok_and(|output| output.status.success()), "git {arguments:?}");
    }

    fn repository() -> (tempfile::TempDir, Repository) {
        let directory = tempfile::tempdir().expect("a directory");
        let stack = directory.path().join("stack");
        std::fs::create_dir(&stack).expect("a directory");
        git(directory.path(), &["init", "-q", "-b", "main"]);
        std::fs::write(stack.join("a.yaml"), "metadata:\n  name: a\n").expect("a file");
        std::fs::write(stack.join("b \"ü\".yaml"), "metadata:\n  name: b\n").expect("a file");
        std::fs::write(directory.path().join("outside.yaml"), "x").expect("a file");
        git(directory.path(), &["add", "-A"]);
        git(directory.path(), &["commit", "-qm", "one"]);
        let repository = Repository::open(&stack).expect("a repository");
        (directory, repository)
    }

    #[test]
    fn the_files_of_a_commit_are_read_below_the_directory_only() {
        let (_directory, repository) = repository();
        let files = repository.files("HEAD", |path| path.ends_with(".yaml")).expect("files");
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.yaml", "b \"ü\".yaml"]);
        assert_eq!(files[0].bytes, b"metadata:\n  name: a\n");
    }

    #[test]
    fn a_removal_is_known_by_its_commit() {
        let (directory, repository) = repository();
        std::fs::remove_file(directory.path().join("stack/a.yaml")).expect("removed");
        git(directory.path(), &["commit", "-qam", "two"]);
        let key = Key::parse("shop/a").expect("a key");
        assert_eq!(repository.removal(&key).map(|commit| commit.id), repository.head().ok());
        assert_eq!(repository.removal(&Key::parse("shop/never").expect("a key")), None);
    }

    #[test]
    fn what_cannot_be_answered_is_an_error_that_says_what_to_do() {
        let (directory, repository) = repository();
        let told = |error: GitError| error.to_string();
        assert_eq!(
            repository.merge_base("nowhere").map_err(told),
            Err("`nowhere` names no commit here: fetch it, or name another base".to_owned())
        );
        assert!(repository.resolve("--help").is_err());
        let clone = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("c"), "c").expect("a file");
        git(directory.path(), &["add", "-A"]);
        git(directory.path(), &["commit", "-qm", "two"]);
        let url = format!("file://{}", directory.path().display());
        git(clone.path(), &["clone", "-q", "--depth", "1", &url, "."]);
        let shallow = Repository::open(&clone.path().join("stack")).expect("a repository");
        assert!(matches!(shallow.merge_base("HEAD"), Err(GitError::Shallow)));
        let nowhere = tempfile::tempdir().expect("a directory");
        assert!(matches!(Repository::open(nowhere.path()), Err(GitError::NoRepository { .. })));
    }
}

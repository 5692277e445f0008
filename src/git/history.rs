//! Commits that changed a directory, newest first, with the files that each of them changed. Only trees are compared:
//! the caller reads what changed inside a file.

use std::iter;
use std::time::Duration;

use super::object::Objects;
use super::process::CallLimits;
use super::{GitError, HEAD, Repository, question, unexpected};

/// How long one walk through the history may take.
const TIME: Duration = Duration::from_secs(5);
/// The limits of a list of changes.
const CHANGES: CallLimits = CallLimits { bytes: 64 * 1024 * 1024, time: TIME };
/// How many moves of a file are followed.
const MOVES: usize = 8;
/// How many versions of a file are read with one call.
const AT_ONCE: usize = 200;
/// The limit for all versions of a file together, in bytes.
const LARGEST_VERSIONS: usize = 16 * 1024 * 1024;
/// The limits of reading changed files with one call.
const BLOBS: CallLimits = CallLimits { bytes: 64 * 1024 * 1024, time: TIME };

/// The arguments for git's output of differences.
const RAW: [&str; 6] = ["-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];

/// A parent and a commit that follows it.
type WithParent = (String, String);

/// A commit that changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCommit {
    /// Its full id.
    pub id: String,
    /// Its date, `2026-11-21`.
    pub date: String,
    /// When it was committed, in seconds since the epoch.
    pub seconds: i64,
    /// Its parents.
    pub parents: Vec<String>,
}

/// A file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path from the repository's top.
    pub path: String,
    /// Its object before; `None` if it was added, or was not a file.
    pub before: Option<String>,
    /// Its object after; `None` if it was removed, or is not a file.
    pub after: Option<String>,
}

impl Repository {
    /// The commits up to that of the working tree that changed something below the directory, each before its
    /// ancestors; at most `most`.
    ///
    /// # Errors
    /// The program failed, or took too long.
    pub fn steps(&self, most: usize) -> Result<Vec<HistoryCommit>, GitError> {
        self.walk(&[&self.head()?], &[self.prefix()], most)
    }

    /// The commits since `commit` (a full id) that changed something below one of `directories`, which are paths from
    /// the top: its descendants up to the working tree's commit. If `commit` is not in the past of that one, as after a
    /// rebase or a squashed merge, all commits that are not in the past of `commit`: any of them may be newer.
    ///
    /// # Errors
    /// The program failed or took too long, or a shallow clone does not show whether `commit` is in the past.
    pub fn steps_since(&self, commit: &str, directories: &[&str], most: usize) -> Result<Vec<HistoryCommit>, GitError> {
        let head = self.head()?;
        let range = format!("{commit}..{head}");
        match self.is_ancestor(commit, &head)? {
            true => self.walk(&["--ancestry-path", &range], directories, most),
            false => self.walk(&[&range], directories, most),
        }
    }

    fn walk(&self, range: &[&str], directories: &[&str], most: usize) -> Result<Vec<HistoryCommit>, GitError> {
        let most = format!("--max-count={most}");
        let mut arguments = vec!["rev-list", "--topo-order", "--full-history", "--format=%H %cs %ct %P", &most];
        arguments.extend(range);
        arguments.push("--");
        if directories.iter().all(|directory| !directory.is_empty()) {
            arguments.extend(directories);
        }
        let listed = self.run(&arguments, Vec::new(), CHANGES)?;
        let listed = String::from_utf8(listed).map_err(|_| unexpected("rev-list"))?;
        let step = |line: &str| {
            let mut words = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
            let (id, date, seconds) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
            Some(HistoryCommit { id, date, seconds, parents: words.collect() })
        };
        Ok(listed.lines().filter(|line| !line.starts_with("commit ")).filter_map(step).collect())
    }

    /// Passes `take` each version of a file of the directory that a commit wrote. The file is followed to its former
    /// path if a commit added it and removed a file of the same name that `is_it` accepts.
    ///
    /// # Errors
    /// The program failed or took too long, or a limit was reached: then older versions are unknown.
    pub fn versions(
        &self,
        file: &str,
        is_it: impl Fn(&[u8]) -> bool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), GitError> {
        let mut places = vec![("HEAD".to_owned(), format!("{}{file}", self.prefix()))];
        let (too_large, mut left) = (|| GitError::TooLarge(format!("the history of `{file}`")), LARGEST_VERSIONS);
        let mut at = 0;
        while let Some((from, path)) = places.get(at).cloned() {
            if at == MOVES {
                return Err(too_large());
            }
            let (objects, added) = self.objects_of(&from, &path)?;
            for objects in objects.chunks(AT_ONCE) {
                for bytes in self.blobs_and_head(objects)? {
                    left = left.checked_sub(bytes.len()).ok_or_else(too_large)?;
                    take(&bytes);
                }
            }
            for (parent, commit) in added {
                let before = self.moved_from(file, &path, (&parent, &commit), &is_it)?.map(|before| (parent, before));
                places.extend(before.filter(|before| !places.contains(before)));
            }
            at += 1;
        }
        Ok(())
    }

    /// The objects of a file in the commits up to `from` that changed it, newest first; and the commits that added it,
    /// each with the parent that lacks it.
    fn objects_of(&self, from: &str, path: &str) -> Result<(Vec<String>, Vec<WithParent>), GitError> {
        // `--ignore-missing`: there may be no commit yet.
        let mut arguments = vec!["log", "--ignore-missing", "-m", "--format=%H %P"];
        arguments.extend(RAW);
        arguments.extend([from, "--", path]);
        let listed = self.run(&arguments, Vec::new(), CHANGES)?;
        let (mut objects, mut added) = (Vec::new(), Vec::new());
        for (commit, changed) in changes("log", &listed)? {
            let mut ids = commit.split(' ').filter(|id| !id.is_empty()).map(str::to_owned);
            let commit = ids.next().unwrap_or_default();
            if changed.iter().any(|one| one.before.is_none()) {
                added.extend(ids.map(|parent| (parent, commit.clone())));
            }
            objects.extend(changed.into_iter().filter_map(|one| one.after));
        }
        // For a merge git lists the difference to each parent.
        objects.dedup();
        Ok((objects, added))
    }

    /// The bytes of files by their objects.
    fn blobs_and_head(&self, objects: &[String]) -> Result<Vec<Vec<u8>>, GitError> {
        // `HEAD` is needed soon, and reading it here saves a call.
        let names: Vec<&str> = iter::once(HEAD).chain(objects.iter().map(String::as_str)).collect();
        let output = self.batch(&names, BLOBS)?;
        let mut read = Objects(&output);
        if let Some(head) = read.next().transpose()?.flatten() {
            self.answered(&question(HEAD), head.id);
        }
        read.take(objects.len()).map(|object| object?.map(|object| object.bytes.to_vec()).ok_or_else(lacking)).collect()
    }

    /// The path of a file before the commit that moved it to `path`.
    fn moved_from(
        &self,
        file: &str,
        path: &str,
        (before, after): (&str, &str),
        is_it: &impl Fn(&[u8]) -> bool,
    ) -> Result<Option<String>, GitError> {
        let changed = self.changed(&[(Some(before), after)])?.pop().unwrap_or_default();
        if !changed.iter().any(|one| one.path == path && one.before.is_none()) {
            return Ok(None);
        }
        for one in changed.into_iter().filter(|one| one.after.is_none() && one.path.rsplit('/').next() == Some(file)) {
            let Some(object) = &one.before else { continue };
            if self.blobs(&[object])?.first().is_some_and(|bytes| is_it(bytes)) {
                // A lossy path cannot be used to find the file.
                let is_known = !one.path.contains(char::REPLACEMENT_CHARACTER);
                return if is_known { Ok(Some(one.path)) } else { Err(unexpected("diff-tree")) };
            }
        }
        Ok(None)
    }

    /// The files that differ between pairs of commits, each pair with the older one first, or `None` for an empty tree.
    ///
    /// # Errors
    /// The program failed, or took too long.
    pub fn changed(&self, pairs: &[(Option<&str>, &str)]) -> Result<Vec<Vec<ChangedFile>>, GitError> {
        let line = |(before, after): &(Option<&str>, &str)| match before {
            Some(before) => format!("{after} {before}\n"),
            None => format!("{after}\n"),
        };
        let input: String = pairs.iter().map(line).collect();
        let mut arguments = vec!["diff-tree", "--stdin", "--always", "--root", "-r"];
        arguments.extend(RAW);
        let output = self.run(&arguments, input.into_bytes(), CHANGES)?;
        let changed: Vec<_> = changes("diff-tree", &output)?.into_iter().map(|(_, changed)| changed).collect();
        if changed.len() == pairs.len() { Ok(changed) } else { Err(unexpected("diff-tree")) }
    }

    /// The bytes of changed files, by their objects and in the same order.
    ///
    /// # Errors
    /// The clone lacks one, they are too large together, or the call took too long.
    pub fn blobs(&self, objects: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
        let contents = self.objects(objects, BLOBS)?;
        contents.into_iter().collect::<Option<_>>().ok_or_else(lacking)
    }
}

fn lacking() -> GitError {
    let message = "the clone lacks a file of that commit: fetch it, or clone without `--filter`".to_owned();
    GitError::Failed { command: "cat-file".to_owned(), message }
}

/// The commit lines in an output with [`RAW`], each with its changed files.
fn changes<'o>(command: &str, output: &'o [u8]) -> Result<Vec<(&'o str, Vec<ChangedFile>)>, GitError> {
    let mut commits: Vec<(&str, Vec<ChangedFile>)> = Vec::new();
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        // `log` writes a line break before the first file.
        let part = part.trim_ascii_start();
        let read = match part.strip_prefix(b":") {
            None => std::str::from_utf8(part).ok().map(|line| commits.push((line, Vec::new()))),
            Some(about) => parts
                .next()
                .and_then(|path| change_of(about, path))
                .and_then(|change| commits.last_mut().map(|(_, changed)| changed.push(change))),
        };
        read.ok_or_else(|| unexpected(command))?;
    }
    Ok(commits)
}

/// The change in a raw line of `diff-tree`, whose part between `:` and the path is `about`.
fn change_of(about: &[u8], path: &[u8]) -> Option<ChangedFile> {
    let mut words = std::str::from_utf8(about).ok()?.split(' ');
    let (mode_before, mode_after) = (words.next()?, words.next()?);
    let (before, after) = (words.next()?, words.next()?);
    // Links and submodules do not count as files.
    let file = |mode: &str, object: &str| mode.starts_with("100").then(|| object.to_owned());
    let path = String::from_utf8_lossy(path).into_owned();
    Some(ChangedFile { path, before: file(mode_before, before), after: file(mode_after, after) })
}

//! A git directory of our own: it has the objects, references and logs of the real one, but none of its configuration,
//! attributes, hooks, grafts or index. So no program that the configuration of a repository names can be started, not
//! even by later versions of git.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::find::RepositoryPaths;
use super::process::{CallLimits, Program};
use super::{GitError, locked};
#[cfg(windows)]
use crate::file::{MOST_ENTRIES, Walk};

/// The largest `HEAD`, in bytes.
const LARGEST_HEAD: u64 = 8 * 1024;
/// The largest settings that are copied, in bytes.
const LARGEST_SETTINGS: u64 = 4 * 1024 * 1024;
/// The files that all working trees of a repository share.
const SHARED: [&str; 6] = ["objects", "refs", "packed-refs", "reftable", "logs", "shallow"];
/// The files that each working tree has for itself.
const OWN: [&str; 4] = ["FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "logs"];
/// The settings that are copied from a configuration: how objects and references are stored, and what `@{upstream}`
/// means. None of them names a program.
const SETTINGS: &str = r"^(extensions\.(objectformat|refstorage)|branch\..*\.(remote|merge)|remote\..*\.fetch)$";

/// The section with the settings of how objects and references are stored. Its letters may have any case, but git
/// accepts no other spelling.
const EXTENSIONS: &[u8] = b"extensions";
/// The settings of every view.
const PLAIN: &str = "[core]\n\tbare = true\n\tlogAllRefUpdates = false\n\trepositoryFormatVersion = 0\n";

/// The directory, which is removed on drop.
#[derive(Debug)]
pub(super) struct PrivateView {
    root: PathBuf,
    /// The git directory that git is called on.
    pub(super) directory: PathBuf,
    /// Whether the settings of the repository were copied.
    has_settings: Mutex<bool>,
}

impl PrivateView {
    /// A view of `found` in a new directory below `temporary`, without any of its settings.
    pub(super) fn new(found: &RepositoryPaths, temporary: &Path) -> Result<Self, GitError> {
        let failed = |reason: std::io::Error| GitError::NoTemporary { directory: temporary.to_owned(), reason };
        let root = temporary.join(format!("trueup-git-{}", uuid::Uuid::new_v4().simple()));
        create_private(&root).map_err(failed)?;
        let linked = found.common != found.directory;
        let directory = root.join(if linked { "tree" } else { "git" });
        let view = Self { directory, root, has_settings: Mutex::new(false) };
        view.fill(found, linked).map_err(failed)?;
        Ok(view)
    }

    /// Whether the repository may store its objects or references in an unusual way, so that reading needs its
    /// settings. git is asked only if the file contains the word.
    pub(super) fn has_extensions(&self, found: &RepositoryPaths) -> bool {
        let Some(file) = configuration(found) else { return false };
        let mut text = Vec::new();
        let read = std::fs::File::open(file).and_then(|file| file.take(LARGEST_SETTINGS).read_to_end(&mut text));
        // If the file cannot be read, git itself reports the error.
        read.map_or(true, |length| length as u64 == LARGEST_SETTINGS)
            || text.windows(EXTENSIONS.len()).any(|word| word.eq_ignore_ascii_case(EXTENSIONS))
    }

    /// Copies the settings that matter from the repository, once.
    pub(super) fn take_settings(&self, found: &RepositoryPaths, program: &Program) -> Result<(), GitError> {
        let mut has_settings = locked(&self.has_settings);
        if !*has_settings {
            let settings = settings(&self.directory, found, program)?;
            let written = std::fs::write(self.root.join("git/config"), settings);
            written.map_err(|reason| GitError::NoTemporary { directory: self.root.clone(), reason })?;
            *has_settings = true;
        }
        Ok(())
    }

    /// The user who owns the view: the current user.
    pub(super) fn owner(&self) -> Option<u32> {
        crate::file::owner(&self.root)
    }

    fn fill(&self, found: &RepositoryPaths, linked: bool) -> std::io::Result<()> {
        let main = self.root.join("git");
        std::fs::create_dir(&main)?;
        link(&found.common, &main, &SHARED)?;
        std::fs::write(main.join("config"), PLAIN)?;
        // git treats a symbolic link as an old kind of reference, so `HEAD` is copied.
        copy_head(&found.common, &main)?;
        if linked {
            std::fs::create_dir(&self.directory)?;
            link(&found.directory, &self.directory, &OWN)?;
            link(&found.directory, &self.directory, &["refs", "reftable"])?;
            copy_head(&found.directory, &self.directory)?;
            std::fs::write(self.directory.join("commondir"), "../git\n")?;
        } else {
            link(&found.directory, &main, &OWN)?;
        }
        Ok(())
    }
}

impl Drop for PrivateView {
    fn drop(&mut self) {
        // Links are removed, not followed. If that fails, only a few links remain in a private directory.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn link(from: &Path, to: &Path, names: &[&str]) -> std::io::Result<()> {
    for name in names {
        let (from, to) = (from.join(name), to.join(name));
        if from.symlink_metadata().is_ok() && to.symlink_metadata().is_err() {
            share(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(directory)
}

#[cfg(unix)]
fn share(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

/// The temporary directory is in the user's profile, which is closed to others.
#[cfg(windows)]
fn create_private(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir(directory)
}

/// On Windows links need a privilege. Objects are added as alternates; the rest is a few small files, which are copied.
#[cfg(windows)]
fn share(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.file_name().is_some_and(|name| name == "objects") {
        // git does not understand verbatim paths (`\\?\`).
        let plain = from.to_string_lossy().trim_start_matches(r"\\?\").replace('\\', "/");
        std::fs::create_dir_all(to.join("info"))?;
        return std::fs::write(to.join("info").join("alternates"), format!("{plain}\n"));
    }
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop);
    }
    for entry in Walk::new(from, MOST_ENTRIES, |_| false) {
        let entry = entry.map_err(std::io::Error::other)?;
        let target = entry.path().strip_prefix(from).map_or_else(|_| to.to_owned(), |below| to.join(below));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target)?;
        } else if entry.file_type().is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn copy_head(from: &Path, to: &Path) -> std::io::Result<()> {
    let head = from.join("HEAD");
    if !std::fs::metadata(&head).is_ok_and(|metadata| metadata.is_file()) {
        // The oldest kind of reference is a symbolic link whose target may not exist yet.
        let target = std::fs::read_link(&head)?;
        return std::fs::write(to.join("HEAD"), format!("ref: {}\n", target.display()));
    }
    let mut text = Vec::new();
    std::fs::File::open(head)?.take(LARGEST_HEAD).read_to_end(&mut text)?;
    std::fs::write(to.join("HEAD"), text)
}

/// The configuration of the repository, if it is a file: reading anything else could block forever.
fn configuration(found: &RepositoryPaths) -> Option<PathBuf> {
    let file = found.common.join("config");
    std::fs::metadata(&file).is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// The configuration of the view.
fn settings(view: &Path, found: &RepositoryPaths, program: &Program) -> Result<String, GitError> {
    let mut text = PLAIN.to_owned();
    let Some(file) = configuration(found) else { return Ok(text) };
    let file = file.to_str().ok_or_else(|| GitError::NoRepository(found.top.clone()))?;
    // No includes: they could read any file of the machine.
    let arguments = ["config", "--file", file, "--no-includes", "-z", "--get-regexp", SETTINGS];
    let said = program.run(view, &arguments, Vec::new(), CallLimits::bytes(LARGEST_SETTINGS))?;
    // Status 1 means that none of the settings is set.
    if !said.status.success() && said.status.code() != Some(1) {
        return Err(GitError::Failed { command: "config".to_owned(), message: said.complaint });
    }
    let mut format = 0;
    for entry in said.output.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok()) {
        let Some((key, value)) = entry.split_once('\n') else { continue };
        let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else { continue };
        if key.contains(char::is_control) || value.contains(char::is_control) {
            continue;
        }
        format = if section == "extensions" { 1 } else { format };
        let between = key.get(section.len() + 1..key.len() - name.len()).unwrap_or_default();
        let quoted = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"");
        match between.strip_suffix('.') {
            Some(part) => text.push_str(&format!("[{section} \"{}\"]\n", quoted(part))),
            None => text.push_str(&format!("[{section}]\n")),
        }
        text.push_str(&format!("\t{name} = \"{}\"\n", quoted(value)));
    }
    text.push_str(&format!("[core]\n\trepositoryFormatVersion = {format}\n"));
    Ok(text)
}

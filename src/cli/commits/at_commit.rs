//! A stack as it was at a commit, loaded from memory with the settings that it had there. What git
//! cannot show (a link, a submodule, a file beyond the limits, a directory whose new name is not
//! known) is an error and never an absence.

use crate::cli::prelude::*;
use crate::cli::stacks::declared;
use crate::file::{Directory, real_path};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::{Diagnostics, Loaded, SourceFile, StackFile, UndefinedEnvironment, is_hidden, is_source};

/// The name of the settings file.
const SETTINGS: &str = load::config::FILE;

/// The result of a lookup.
pub type Result<T, E = LookupError> = std::result::Result<T, E>;

/// Why the definitions at a commit are not known.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// git cannot show the commit, or not all of it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files do not load.
    #[error("the definitions do not load: {}", .0.summary())]
    Wrong(Diagnostics),
    /// An entry cannot be read as a file.
    #[error("`{path}` {why}, so its definitions cannot be read there")]
    Unreadable {
        /// Its path from the repository's top.
        path: String,
        /// What it is.
        why: String,
    },
    /// The stack, or a definition, could have been in several places.
    #[error("{what} is ambiguous: {}", quoted(.places))]
    Ambiguous {
        /// What was moved, and which fact about it is unknown.
        what: String,
        /// The paths from the repository's top.
        places: Vec<String>,
    },
    /// A definition may have come from a file that cannot be read.
    #[error("`{key}` may have been in `{path}`, which does not load: {}", .problem.summary())]
    Moved {
        /// The endpoint.
        key: Key,
        /// The path from the repository's top.
        path: String,
        /// What is wrong.
        problem: Box<Diagnostics>,
    },
    /// The stack did not exist.
    #[error("there was no such stack")]
    Absent,
    /// Its settings did not have the environment.
    #[error("its settings do not define the environment `{environment}`")]
    NoEnvironment {
        /// Its name.
        environment: String,
    },
}

fn quoted(places: &[String]) -> String {
    places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(", ")
}

/// A stack at a commit, and where it was, if it or a part of it existed.
#[derive(Debug, Clone, Default)]
pub struct StackAtCommit {
    /// The stack with its settings of then; `None` if it did not exist or lacked the environment that is loaded now.
    pub loaded: Option<Loaded>,
    /// Where it was.
    pub root: Option<StackRoot>,
}

/// Where a stack was, and whether it had settings there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackRoot {
    /// Its directory from the repository's top, with a final `/` unless it is the top.
    pub prefix: String,
    /// The git object of its settings file.
    pub settings: Option<String>,
}

impl StackRoot {
    /// The error for problems in its files, with paths from the repository's top.
    fn wrong(&self, found: Diagnostics) -> LookupError {
        LookupError::Wrong(found.below(self.prefix.clone().into()))
    }
}

/// A commit that a stack is looked up in.
pub struct CommitLookup<'a> {
    pub(super) stack: &'a Loaded,
    pub(super) repository: &'a Repository,
    pub(super) commit: &'a str,
}

impl<'a> CommitLookup<'a> {
    /// The stack as it is now, and the commit.
    pub fn new(stack: &'a Loaded, repository: &'a Repository, commit: &'a str) -> Self {
        Self { stack, repository, commit }
    }

    /// Loads the stack as it was.
    pub fn load(&self) -> Result<StackAtCommit> {
        let Some(root) = self.root()? else { return Ok(StackAtCommit::default()) };
        let mut options = self.stack.options().clone();
        if let Some(environment) = &options.environment {
            let then = self.config(&root, None)?.unwrap_or_default();
            let Some(name) = self.environment_then(environment, &then) else {
                return Ok(StackAtCommit { loaded: None, root: Some(root) });
            };
            options.environment = Some(name);
        }
        let loaded = match self.load_from(&root, None, &options) {
            // The files may need settings that were added later.
            Err(LookupError::Wrong(problems)) if root.settings.is_none() => {
                self.load_with_settings_of_now(&root).map_err(|_| LookupError::Wrong(problems))?
            }
            loaded => loaded?,
        };
        Ok(StackAtCommit { loaded: Some(loaded), root: Some(root) })
    }

    /// The name that an environment had: the same, or that of the only environment of the same stack that is gone now.
    fn environment_then(&self, environment: &str, then: &Config) -> Option<String> {
        let now = &self.stack.config;
        let is_it = |(name, config): &(&String, &Config)| {
            let is_same = config.stack.is_some() && (&config.stack, &config.base_url) == (&now.stack, &now.base_url);
            is_same && !now.environments.contains_key(*name)
        };
        if then.environments.contains_key(environment) {
            return Some(environment.to_owned());
        }
        let mut renamed = then.environments.iter().filter(is_it).map(|(name, _)| name.clone());
        renamed.next().filter(|_| renamed.next().is_none())
    }

    /// Loads the files of the commit with the settings of now.
    pub fn load_with_settings_of_now(&self, root: &StackRoot) -> Result<Loaded> {
        let now = match self.stack.stack {
            StackFile::Found => self.read_now(&format!("{}{SETTINGS}", self.repository.prefix())),
            StackFile::Missing => None,
        };
        self.load_from(root, now, self.stack.options())
    }

    /// The settings that the stack had, and where; `None` if it did not exist or had none. For an environment that they
    /// did not define, the settings that every environment had.
    pub fn settings(&self) -> Result<Option<(Config, StackRoot)>> {
        let Some(root) = self.root()? else { return Ok(None) };
        let config = self.config(&root, self.stack.options().environment.as_ref())?;
        Ok(config.map(|config| (config, root)))
    }

    /// Where the stack was.
    fn root(&self) -> Result<Option<StackRoot>> {
        let here = self.repository.prefix();
        let entries = self.repository.entries(self.commit, here)?;
        let settings = self.settings_entry(&entries, here)?;
        let name = self.stack.config.stack.as_ref();
        if let Some(root) = &settings {
            let then = self.config(root, None)?.unwrap_or_default();
            // Another stack may have had this directory.
            if name.is_none_or(|name| names(&then).contains(name.as_str())) {
                return Ok(settings);
            }
        }
        let all = self.repository.entries(self.commit, "")?;
        check_above(&all, here)?;
        if let Some(root) = self.moved_from(&all)? {
            return Ok(Some(root));
        }
        if settings.is_some() {
            // The stack got another name in the same directory.
            return Ok(settings);
        }
        // The files of the directory belonged to a stack above it.
        let above = here.trim_end_matches('/').rmatch_indices('/').map(|(at, _)| &here[..=at]);
        let above = above.chain((!here.is_empty()).then_some(""));
        for prefix in above {
            if let Some(root) = self.settings_entry(&all, prefix)? {
                return Ok(Some(root));
            }
        }
        let single = self.single();
        let is_wanted = |entry: &TreeEntry| match &single {
            Some(single) => entry.path[here.len()..] == **single,
            None => is_source(&entry.path[here.len()..]) || entry.kind != EntryKind::File,
        };
        let root = StackRoot { prefix: here.to_owned(), settings: None };
        Ok(entries.iter().any(is_wanted).then_some(root))
    }

    /// The path of the only file, if the stack is a single file without settings.
    pub(super) fn single(&self) -> Option<String> {
        let Loaded { stack, desired, .. } = self.stack;
        match (stack, desired.files) {
            (StackFile::Missing, 1) => Some(desired.definitions.values().next()?.file.to_string()),
            _ => None,
        }
    }

    /// The settings file in a directory.
    pub(super) fn settings_entry(&self, entries: &[TreeEntry], prefix: &str) -> Result<Option<StackRoot>> {
        let path = format!("{prefix}{SETTINGS}");
        match entries.iter().find(|entry| entry.path == path) {
            Some(entry) if entry.kind == EntryKind::File => {
                Ok(Some(StackRoot { prefix: prefix.to_owned(), settings: Some(entry.object.clone()) }))
            }
            Some(entry) => Err(unreadable(entry)),
            None => Ok(None),
        }
    }

    /// Another directory in which the stack was, if it is no longer there.
    fn moved_from(&self, all: &[TreeEntry]) -> Result<Option<StackRoot>> {
        let Some(name) = &self.stack.config.stack else { return Ok(None) };
        let top = self.repository.top();
        let mut found = Vec::new();
        for (entry, prefix) in all.iter().filter_map(|entry| Some((entry, declared::prefix(&entry.path)?))) {
            let there = top.join(&entry.path);
            if entry.kind != EntryKind::File {
                if self.is_gone(&entry.path) {
                    return Err(unreadable(entry));
                }
                continue;
            }
            let root = StackRoot { prefix: prefix.to_owned(), settings: Some(entry.object.clone()) };
            let then = match self.config(&root, None) {
                Ok(then) => then.unwrap_or_default(),
                Err(error) => {
                    let bytes = self.repository.contents(&[entry])?.pop().unwrap_or_default();
                    let names_it = memchr::memmem::find(&bytes, name.as_str().as_bytes()).is_some();
                    if names_it && (!there.is_file() || self.is_gone(&entry.path)) {
                        let LookupError::Wrong(problems) = error else { return Err(error) };
                        let why = format!("names the stack and does not load ({})", problems.summary());
                        return Err(LookupError::Unreadable { path: entry.path.clone(), why });
                    }
                    continue;
                }
            };
            let now = self.stack.config.base_url.as_deref();
            let is_elsewhere =
                urls(&then).zip(now).is_some_and(|(urls, now)| !urls.iter().any(|url| BaseUrl::is_same(url, now)));
            if names(&then).contains(name.as_str()) && !is_elsewhere && !self.is_still(&entry.path, name.as_str()) {
                found.push(root);
            }
        }
        // A submodule that is gone may have contained the stack.
        let gone = |entry: &&TreeEntry| entry.kind == EntryKind::Submodule && self.is_gone(&entry.path);
        if let Some(gone) = all.iter().find(gone).filter(|_| found.is_empty()) {
            return Err(unreadable(gone));
        }
        if found.len() > 1 {
            let places = found.into_iter().map(|root| format!("{}{SETTINGS}", root.prefix)).collect();
            let what = "the stack was moved, and its earlier directory".to_owned();
            return Err(LookupError::Ambiguous { what, places });
        }
        Ok(found.pop())
    }

    /// A file of the working tree, by its path from the top.
    pub(super) fn read_now(&self, path: &str) -> Option<Vec<u8>> {
        Directory::open(self.repository.top()).and_then(|top| top.read(path, limit::DEFINITIONS)).ok()
    }

    /// Whether the settings file of now still names the stack: then it is another stack of the same name.
    fn is_still(&self, file: &str, name: &str) -> bool {
        let Some(bytes) = self.read_now(file).filter(|_| !self.is_linked(Path::new(file).parent())) else {
            return false;
        };
        let options = LoadOptions { environment: None, ..self.stack.options().clone() };
        load::settings_of(Some(bytes), &options).map_or(true, |config| names(&config).contains(name))
    }

    /// Whether the path from the top leads through a link now: a moved file may be linked to from its old path.
    pub(super) fn is_linked(&self, path: Option<&Path>) -> bool {
        let there = path.map(|path| self.repository.top().join(path));
        there.is_some_and(|there| real_path(&there).is_ok_and(|real| real != there))
    }

    /// Whether nothing is at this path from the top now, except through a link above it.
    pub(super) fn is_gone(&self, path: &str) -> bool {
        let there = self.repository.top().join(path);
        there.symlink_metadata().is_err() || self.is_linked(Path::new(path).parent())
    }

    pub(super) fn config(&self, root: &StackRoot, environment: Option<&String>) -> Result<Option<Config>> {
        let Some(object) = &root.settings else { return Ok(None) };
        let bytes = self.repository.blobs(&[object])?.pop().unwrap_or_default();
        let options = LoadOptions {
            environment: environment.cloned(),
            undefined_environment: UndefinedEnvironment::Defaults,
            ..self.stack.options().clone()
        };
        load::settings_of(Some(bytes), &options).map(Some).map_err(|wrong| root.wrong(wrong))
    }

    /// Loads a directory of the commit, with `settings` instead of its own if they are given.
    pub(super) fn load_from(
        &self,
        root: &StackRoot,
        settings: Option<Vec<u8>>,
        options: &LoadOptions,
    ) -> Result<Loaded> {
        let entries = self.repository.entries(self.commit, &root.prefix)?;
        let single = self.single().filter(|_| root.settings.is_none());
        let below = |entry: &TreeEntry| entry.path[root.prefix.len()..].to_owned();
        let is_wanted = |entry: &&TreeEntry| single.as_ref().is_none_or(|single| below(entry) == *single);
        let (mut readable, mut others) = (Vec::new(), Vec::new());
        for entry in entries.iter().filter(is_wanted).filter(|entry| !is_hidden(&below(entry))) {
            let fits = entry.size.is_none_or(|size| size <= limit::DEFINITIONS);
            match entry.kind {
                EntryKind::File if !is_source(&entry.path) => {}
                EntryKind::File if entry.is_utf8 && fits => readable.push(entry),
                EntryKind::Link if !self.may_define(entry, &entries, root)? => {}
                _ => others.push(entry),
            }
        }
        let contents = self.repository.contents(&readable)?;
        let file = |(entry, bytes): (&&TreeEntry, Vec<u8>)| SourceFile { path: below(entry), bytes };
        let settings = settings.map(|bytes| SourceFile { path: SETTINGS.to_owned(), bytes });
        // If two files have the same path, the last one counts.
        let files = readable.iter().zip(contents).map(file).chain(settings).collect();
        let loaded = load::sources(files, options).map_err(|wrong| root.wrong(wrong))?;
        // The settings say which paths are left out.
        match others.into_iter().find(|entry| loaded.reads(&below(entry), entry.kind != EntryKind::File)) {
            Some(entry) => Err(unreadable(entry)),
            None => Ok(loaded),
        }
    }

    /// Whether definitions could be reached through a link: by its name, or because it leads to more
    /// than a file of the same commit.
    fn may_define(&self, link: &TreeEntry, entries: &[TreeEntry], root: &StackRoot) -> Result<bool> {
        if is_source(&link.path) {
            return Ok(true);
        }
        let target = self.repository.contents(&[link])?.pop().unwrap_or_default();
        let target = declared::target(link, &target);
        let is_file = |target: String| {
            target.starts_with(&root.prefix)
                && entries.iter().any(|entry| entry.kind == EntryKind::File && entry.path == target)
        };
        Ok(!target.is_some_and(is_file))
    }
}

/// Rejects a commit in which a part of the directory's path was not a directory.
fn check_above(all: &[TreeEntry], here: &str) -> Result<()> {
    let above = |entry: &&TreeEntry| here.strip_prefix(&entry.path).is_some_and(|rest| rest.starts_with('/'));
    all.iter().find(above).map_or(Ok(()), |entry| Err(unreadable(entry)))
}

pub(super) fn unreadable(entry: &TreeEntry) -> LookupError {
    let why = match entry.kind {
        EntryKind::Link => "was a symbolic link",
        EntryKind::Submodule => "was a submodule",
        EntryKind::File if !entry.is_utf8 => "has a name that is not valid UTF-8",
        EntryKind::File if is_source(&entry.path) => "was larger than allowed",
        EntryKind::File => "was a file",
    };
    LookupError::Unreadable { path: entry.path.clone(), why: why.to_owned() }
}

/// Every name that settings give a stack.
fn names(config: &Config) -> BTreeSet<String> {
    let environments = config.environments.values().filter_map(|environment| environment.stack.as_ref());
    config.stack.iter().chain(environments).map(ToString::to_string).collect()
}

/// Every service that the settings name; `None` if one of their environments names none.
fn urls(config: &Config) -> Option<BTreeSet<&str>> {
    let environments: Vec<Option<&str>> =
        config.environments.values().map(|environment| environment.base_url.as_deref()).collect();
    let all = if environments.is_empty() { vec![config.base_url.as_deref()] } else { environments };
    all.into_iter().collect()
}

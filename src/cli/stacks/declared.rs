//! Every stack that a repository declares, in the working tree or at a commit: the settings of each directory with a
//! `trueup.yaml`, or why they cannot be read. All searches for other stacks of a repository use it, but for `move`,
//! which looks for one stack with the variables of its call.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use crate::cli::prelude::*;
use crate::file::{self, Directory, slashed};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::{Diagnostics, DirectoryKeys, StackFiles};
use crate::model::Desired;
use crate::plan;

/// The directories of one repository, which all stacks of a command share.
pub type Declared = Rc<[DeclaredDirectory]>;

/// A directory with settings.
#[derive(Debug)]
pub struct DeclaredDirectory {
    /// Its path from the top of the repository, with a final `/` unless it is the top.
    pub prefix: String,
    /// Its path in the working tree; empty at a commit.
    pub path: PathBuf,
    /// The bytes of its settings, or why they cannot be read.
    file: Result<Vec<u8>, String>,
    /// Parsed from the bytes on first use.
    settings: OnceCell<Result<Config, String>>,
    texts: OnceCell<DirectoryKeys>,
    defined: RefCell<BTreeMap<Option<String>, Defined>>,
}

/// What a stack defines, or why it does not load.
pub type Defined = Rc<Result<DefinedObjects, Diagnostics>>;

/// What refers to an object, and the tenant that the reference names.
pub type Referrer = (Key, Option<String>);

/// What a stack defines, by key.
#[derive(Debug)]
pub struct DefinedObjects {
    /// The keys of its definitions.
    pub keys: BTreeSet<Key>,
    /// Who refers to what.
    pub referrers: BTreeMap<Key, BTreeSet<Referrer>>,
    /// Why it does not load with the variables of the call, if it loads without them.
    pub problem: Option<String>,
}

impl DefinedObjects {
    fn of(desired: Desired) -> Self {
        let mut referrers: BTreeMap<Key, BTreeSet<_>> = BTreeMap::new();
        for (key, definition) in &desired.definitions {
            for target in &plan::targets(&definition.endpoint) {
                for candidate in plan::candidates(target, &key.namespace) {
                    referrers.entry(candidate).or_default().insert((key.clone(), target.tenant.clone()));
                }
            }
        }
        Self { referrers, problem: None, keys: desired.definitions.into_keys().collect() }
    }
}

impl DeclaredDirectory {
    fn new(prefix: String, path: PathBuf, file: Result<Vec<u8>, String>) -> Self {
        Self { prefix, path, file, settings: OnceCell::new(), texts: OnceCell::new(), defined: RefCell::default() }
    }

    /// The path of its settings file from the top.
    pub fn file(&self) -> String {
        format!("{}{}", self.prefix, config::FILE)
    }

    /// Its settings without an environment.
    ///
    /// # Errors
    /// The settings cannot be read; with the reason.
    pub fn config(&self) -> Result<&Config, &str> {
        let settings = self.settings.get_or_init(|| {
            let wrong = |problems: Diagnostics| format!("{}: {}", config::FILE, problems.summary());
            load::settings_of(Some(self.file.clone()?), &LoadOptions::default()).map_err(wrong)
        });
        settings.as_ref().map_err(String::as_str)
    }

    /// Its stacks: first without an environment, then each environment, with the settings that a call for it gets.
    ///
    /// # Errors
    /// The settings cannot be read; with the reason.
    pub fn stacks(&self) -> Result<impl Iterator<Item = (Option<&str>, &Config)>, &str> {
        let config = self.config()?;
        let environments = config.environments.iter().map(|(name, config)| (Some(name.as_str()), config));
        Ok([(None, config)].into_iter().chain(environments))
    }

    /// What its files in the working tree may define by their texts alone.
    pub fn texts(&self) -> &DirectoryKeys {
        let files = || self.config().map_or_else(|_| StackFiles::new(&Config::default()), StackFiles::new);
        self.texts.get_or_init(|| DirectoryKeys::read(&self.path, &files()))
    }

    /// What its files define in an environment with these variables of the call, and without them, as for another call.
    /// Each stack of a call may ask; the files are loaded once.
    pub fn defined(&self, environment: Option<&str>, variables: &BTreeMap<String, String>) -> Defined {
        let load = |variables: BTreeMap<String, String>| {
            let environment = environment.map(str::to_owned);
            let options = LoadOptions { environment, variables, shares_variables: true, ..LoadOptions::default() };
            load::directory(&self.path, &options).map(|loaded| DefinedObjects::of(loaded.desired))
        };
        let load_all = || match (variables.is_empty(), load(BTreeMap::new())) {
            (true, defined) => defined,
            (false, Err(_)) => load(variables.clone()),
            (false, Ok(mut defined)) => {
                match load(variables.clone()) {
                    Ok(of_call) => {
                        defined.keys.extend(of_call.keys);
                        for (key, by) in of_call.referrers {
                            defined.referrers.entry(key).or_default().extend(by);
                        }
                    }
                    Err(problems) => defined.problem = Some(problems.summary()),
                }
                Ok(defined)
            }
        };
        let mut all = self.defined.borrow_mut();
        Rc::clone(all.entry(environment.map(str::to_owned)).or_insert_with(|| Rc::new(load_all())))
    }

    /// Whether the text of its settings can name this stack: only if it contains the name or an escape.
    pub fn may_name(&self, stack: &str) -> bool {
        let Ok(bytes) = &self.file else { return true };
        let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        let is_whole = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            !is_part(before) && !is_part(bytes.get(at + stack.len()))
        };
        memchr::memchr(b'\\', bytes).is_some() || memchr::memmem::find_iter(bytes, stack).any(is_whole)
    }
}

/// Where the stacks beside `directory` are searched for: the top of its repository (for a submodule, of the repository
/// around it), or the directory itself if there is none.
pub fn top(directory: &Path) -> PathBuf {
    let tops = || directory.ancestors().filter(|above| above.join(".git").exists());
    tops().find(|top| !is_submodule(top)).or(tops().last()).unwrap_or(directory).to_owned()
}

/// Whether the repository is a submodule, by its `.git` file. That of a worktree names `worktrees/NAME`.
fn is_submodule(top: &Path) -> bool {
    let kept = file::read(&top.join(".git"), limit::SETTINGS).unwrap_or_default();
    let text = String::from_utf8_lossy(&kept);
    let names: Vec<&str> = text.trim().split('/').collect();
    names.contains(&"modules") && names.iter().nth_back(1) != Some(&"worktrees")
}

/// The directories with settings in and below `top` in the working tree.
///
/// # Errors
/// The directory cannot be searched; with the reason.
pub fn in_tree(top: &Path) -> Result<Vec<DeclaredDirectory>, String> {
    let found = load::stacks_of_repository(top).map_err(|problem| problem.message)?;
    let declared = found.into_iter().map(|path| {
        // A link that leads out of the stack's directory does not count as a settings file.
        let read = || Directory::open(&path)?.read(config::FILE, limit::DEFINITIONS);
        let file = match path.join(config::FILE).symlink_metadata() {
            Ok(_) => read().map_err(|error| format!("{}: {error}", config::FILE)),
            Err(error) => {
                let mut names = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name());
                let wrong = names.find_map(|name| config::wrong_name(name.to_str()?));
                Err(wrong.unwrap_or_else(|| format!("{}: {error}", config::FILE)))
            }
        };
        let below = slashed(path.strip_prefix(top).unwrap_or(&path));
        let prefix = if below.is_empty() { below } else { format!("{below}/") };
        DeclaredDirectory::new(prefix, path, file)
    });
    Ok(declared.collect())
}

/// The directories with settings at a commit.
///
/// # Errors
/// git cannot show the commit, or not all of it.
pub fn at_commit(repository: &Repository, commit: &str) -> Result<Vec<DeclaredDirectory>, GitError> {
    let all = repository.entries(commit, "")?;
    let mut declared = Vec::new();
    let (mut read, mut readable) = (Vec::new(), Vec::new());
    for (entry, prefix) in all.iter().filter_map(|entry| Some((entry, prefix(&entry.path)?.to_owned()))) {
        let target = match entry.kind {
            EntryKind::File => Some(entry),
            EntryKind::Link => {
                let path = target(entry, &repository.contents(&[entry])?.pop().unwrap_or_default());
                // One that leads out of the stack's directory was never read.
                let Some(path) = path.filter(|path| path.starts_with(&prefix)) else { continue };
                all.iter().find(|entry| entry.path == path && entry.kind == EntryKind::File)
            }
            EntryKind::Submodule => continue,
        };
        match target.filter(|target| target.size.is_none_or(|size| size <= limit::DEFINITIONS)) {
            Some(target) => {
                read.push(target);
                readable.push(prefix);
            }
            None => {
                let why = format!("{}: it is a link or larger than allowed", config::FILE);
                declared.push(DeclaredDirectory::new(prefix, PathBuf::new(), Err(why)));
            }
        }
    }
    let contents = repository.contents(&read)?;
    let files = readable.into_iter().zip(contents);
    declared.extend(files.map(|(prefix, bytes)| DeclaredDirectory::new(prefix, PathBuf::new(), Ok(bytes))));
    declared.sort_by(|one, other| one.prefix.cmp(&other.prefix));
    Ok(declared)
}

/// The directory of a settings file, as a prefix of what is in it; `None` for another file.
pub fn prefix(path: &str) -> Option<&str> {
    path.strip_suffix(config::FILE).filter(|prefix| prefix.is_empty() || prefix.ends_with('/'))
}

/// The target of a link with these contents, from the repository's top; `None` if it leads out.
pub fn target(link: &TreeEntry, contents: &[u8]) -> Option<String> {
    let directory = link.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let target = std::str::from_utf8(contents).ok()?;
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

//! Definitions that were in a file outside of the stack and are in the stack now: moving a file
//! does not change what it defines, so a commit that has them elsewhere knows them, too.

use crate::cli::commits::at_commit::{CommitLookup, LookupError, Result, StackRoot, unreadable};
use crate::cli::prelude::*;
use crate::cli::stacks::declared;
use crate::git::{EntryKind, TreeEntry};
use crate::load::{Diagnostics, Loaded, SourceFile, WantedKeys, is_hidden, is_source};
use crate::model::{Definition, Desired};

impl CommitLookup<'_> {
    /// What the commit defines in the stack, and those of `keys` that it defines in files outside of it which do not
    /// exist or do not define them any more: a file that was moved into the stack is not new.
    pub fn with_moved_in(
        &self,
        mut desired: Desired,
        root: Option<&StackRoot>,
        keys: &BTreeSet<Key>,
    ) -> Result<Desired> {
        let missing = keys.iter().filter(|key| !desired.definitions.contains_key(*key));
        let missing: BTreeSet<Key> = missing.cloned().collect();
        if missing.is_empty() {
            return Ok(desired);
        }
        let mut found: BTreeMap<Key, Definition> = BTreeMap::new();
        let all = self.repository.entries(self.commit, "")?;
        let files = self.changed_outside(&all, root)?;
        let wanted = WantedKeys::new(&missing);
        self.check_links(&wanted, &all, root)?;
        let contents = self.repository.contents(&files)?;
        let settings: Vec<TreeEntry> =
            all.iter().filter(|entry| declared::prefix(&entry.path).is_some()).cloned().collect();
        let mut stacks: BTreeMap<String, Result<Loaded, Diagnostics>> = BTreeMap::new();
        for (entry, bytes) in files.iter().zip(&contents) {
            let mut defined = wanted.defined_in(&entry.path, bytes);
            if !defined.is_empty() {
                let still = self.defined_now(&entry.path, &wanted);
                defined.retain(|key, _| still.get(key) != Some(&true));
            }
            for key in defined.into_keys() {
                let loaded = self.around(entry, bytes, &settings, &mut stacks)?;
                let definition = match loaded {
                    Ok(loaded) if self.is_another_service(&loaded.config) => None,
                    Ok(loaded) => loaded.desired.definitions.get(key),
                    Err(problem) => {
                        let (key, path, problem) = (key.clone(), entry.path.clone(), problem.clone());
                        return Err(LookupError::Moved { key, path, problem: Box::new(problem) });
                    }
                };
                let Some(definition) = definition else { continue };
                match found.get(key) {
                    Some(other) if other.endpoint != definition.endpoint => {
                        let places = vec![other.file.to_string(), entry.path.clone()];
                        let what = format!("`{key}` was moved, and its earlier file");
                        return Err(LookupError::Ambiguous { what, places });
                    }
                    _ => {
                        found.insert(key.clone(), Definition { file: entry.path.as_str().into(), ..definition.clone() })
                    }
                };
            }
        }
        desired.definitions.extend(found);
        Ok(desired)
    }

    /// Files outside of the stack that the working tree has changed or lacks.
    fn changed_outside<'e>(&self, all: &'e [TreeEntry], root: Option<&StackRoot>) -> Result<Vec<&'e TreeEntry>> {
        let top = self.repository.top();
        let head = self.repository.head()?;
        let now = self.repository.entries(&head, "")?;
        let now: BTreeMap<&str, &str> = now.iter().map(|entry| (entry.path.as_str(), entry.object.as_str())).collect();
        let same = |entry: &TreeEntry| {
            let length = std::fs::symlink_metadata(top.join(&entry.path)).ok().map(|metadata| metadata.len());
            now.get(entry.path.as_str()) == Some(&entry.object.as_str()) && length == entry.size
        };
        let could = |entry: &TreeEntry| {
            entry.kind == EntryKind::File
                && entry.is_utf8
                && is_source(&entry.path)
                && entry.size.is_none_or(|size| size <= limit::DEFINITIONS)
        };
        Ok(all.iter().filter(|entry| could(entry) && self.is_outside(entry, root) && !same(entry)).collect())
    }

    fn is_outside(&self, entry: &TreeEntry, root: Option<&StackRoot>) -> bool {
        match (self.single(), root) {
            (Some(single), _) => entry.path.strip_prefix(self.repository.prefix()) != Some(single.as_str()),
            (None, Some(root)) => !entry.path.starts_with(&root.prefix),
            (None, None) => true,
        }
    }

    /// Rejects links and submodules outside of the stack that are gone now if they could have led to one of the keys.
    fn check_links(&self, wanted: &WantedKeys<'_>, all: &[TreeEntry], root: Option<&StackRoot>) -> Result<()> {
        let top = self.repository.top();
        // A stack may be below a hidden directory.
        let could = |entry: &&TreeEntry| !is_hidden(&entry.path) || is_source(&entry.path);
        let others = all.iter().filter(|entry| entry.kind != EntryKind::File).filter(could);
        for entry in others.filter(|entry| self.is_outside(entry, root)) {
            let there = top.join(&entry.path);
            if entry.kind == EntryKind::Submodule {
                if there.is_dir() && !self.is_gone(&entry.path) {
                    continue;
                }
                return Err(unreadable(entry));
            }
            let target = self.repository.contents(&[entry])?.pop().unwrap_or_default();
            let is_same = there.read_link().is_ok_and(|now| now.as_os_str().as_encoded_bytes() == target);
            if is_same && !self.is_gone(&entry.path) {
                continue;
            }
            let target = declared::target(entry, &target).ok_or_else(|| unreadable(entry))?;
            let is_reached = |other: &&TreeEntry| {
                let rest = other.path.strip_prefix(&target);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || target.is_empty())
            };
            let reached: Vec<&TreeEntry> = all.iter().filter(is_reached).collect();
            if reached.is_empty() || reached.iter().any(|other| other.kind != EntryKind::File) {
                return Err(unreadable(entry));
            }
            // The target of the link counts under the link's name.
            let name = |other: &TreeEntry| if other.path == target { entry.path.clone() } else { other.path.clone() };
            let reached: Vec<&TreeEntry> = reached.into_iter().filter(|other| is_source(&name(other))).collect();
            let contents = self.repository.contents(&reached)?;
            let defines = |(other, bytes): (&&TreeEntry, &Vec<u8>)| wanted.defined_in(&name(other), bytes);
            if reached.iter().zip(&contents).any(|file| !defines(file).is_empty()) {
                return Err(unreadable(entry));
            }
        }
        Ok(())
    }

    /// What the file defines now, so that it was not moved.
    fn defined_now<'k>(&self, path: &str, wanted: &WantedKeys<'k>) -> BTreeMap<&'k Key, bool> {
        let bytes = self.read_now(path).filter(|_| !self.is_linked(Some(Path::new(path))));
        bytes.map(|bytes| wanted.defined_in(path, &bytes)).unwrap_or_default()
    }

    fn is_another_service(&self, config: &Config) -> bool {
        let now = self.stack.config.base_url.as_deref();
        now.zip(config.base_url.as_deref()).is_some_and(|(now, then)| !BaseUrl::is_same(now, then))
    }

    /// What a file was loaded as: a part of the stack around it, or alone if there was none.
    fn around<'s>(
        &self,
        entry: &TreeEntry,
        bytes: &[u8],
        settings: &[TreeEntry],
        stacks: &'s mut BTreeMap<String, Result<Loaded, Diagnostics>>,
    ) -> Result<&'s Result<Loaded, Diagnostics>> {
        let mut root = None;
        for (at, _) in entry.path.rmatch_indices('/') {
            root = root.or(self.settings_entry(settings, &entry.path[..=at])?);
        }
        let root = root.or(self.settings_entry(settings, "")?);
        let place = root.as_ref().map_or(entry.path.clone(), |root| root.prefix.clone());
        if !stacks.contains_key(&place) {
            let mut options = self.stack.options().clone();
            let loaded = match &root {
                Some(root) => {
                    let then = self.config(root, None).ok().flatten().unwrap_or_default();
                    options.environment = options.environment.filter(|name| then.environments.contains_key(name));
                    match self.load_from(root, None, &options) {
                        Err(LookupError::Wrong(problems)) => Err(problems),
                        loaded => Ok(loaded?),
                    }
                }
                None => {
                    options.environment = None;
                    // Its name alone: a load leaves out what is below a hidden directory.
                    let name = entry.path.rsplit('/').next().unwrap_or_default();
                    load::sources(vec![SourceFile { path: name.to_owned(), bytes: bytes.to_vec() }], &options)
                }
            };
            stacks.insert(place.clone(), loaded);
        }
        // It was inserted just now, or earlier.
        stacks.get(&place).ok_or(LookupError::Absent)
    }
}

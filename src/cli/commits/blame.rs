//! Which commit removed a definition, for the deletes of a plan. Only commits that are certain are
//! named: a file that was moved, a definition that was added again, a name that comes from a variable,
//! a removal that is not committed, or a history that is too long leave it open.

use std::time::{Duration, Instant};

use crate::cli::prelude::*;
use crate::git::{ChangedFile, GitError, HistoryCommit, Repository};
use crate::load::{WantedKeys, is_definition_path};
use crate::plan::Commit;

/// The maximum number of definitions whose removal is searched for.
const MOST_KEYS: usize = 50;
/// The maximum number of commits that are examined.
const MOST_COMMITS: usize = 2000;
/// Commits whose files are read at once.
const AT_ONCE: usize = 64;
/// The maximum number of commits that may put a removal in doubt before the search for it ends.
const MOST_DOUBTS: usize = 8;
/// The maximum time for all of it.
const TIME: Duration = Duration::from_secs(3);

/// What two versions of a directory say about a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionChange {
    /// It was defined before, and is not defined afterwards.
    Removed,
    /// It is defined afterwards, or the text leaves it open.
    Doubt,
}

/// What two versions of a directory say about the definitions that they name.
type VersionChanges = BTreeMap<Key, VersionChange>;

/// The commits that removed these definitions from the repository's directory, if that is certain.
pub fn removals(repository: &Repository, keys: impl IntoIterator<Item = Key>) -> BTreeMap<Key, Commit> {
    let keys: BTreeSet<Key> = keys.into_iter().take(MOST_KEYS).collect();
    let left: BTreeMap<_, _> = keys.into_iter().map(|key| (key, Vec::new())).collect();
    let mut search = Search { repository, left, found: BTreeMap::new() };
    if !search.left.is_empty() {
        // After an error of git, the rest is left open.
        let _ = search.run();
    }
    search.found
}

struct Search<'a> {
    repository: &'a Repository,
    /// The definitions that are searched for, and the newer commits that touch them in another way.
    left: BTreeMap<Key, Vec<String>>,
    found: BTreeMap<Key, Commit>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), GitError> {
        let begun = Instant::now();
        let head = self.repository.head()?;
        let steps = self.repository.steps(MOST_COMMITS)?;
        for steps in steps.chunks(AT_ONCE) {
            if self.left.is_empty() {
                break;
            }
            let mut pairs: Vec<(Option<&str>, &str)> = Vec::new();
            for step in steps {
                let parents = step.parents.iter().map(|parent| (Some(parent.as_str()), step.id.as_str()));
                pairs.extend(parents);
                pairs.extend(step.parents.is_empty().then_some((None, step.id.as_str())));
            }
            let events = self.events(&pairs)?;
            let mut events = events.iter();
            for step in steps {
                if begun.elapsed() > TIME {
                    return Ok(());
                }
                let of_parents: Vec<&VersionChanges> = events.by_ref().take(step.parents.len().max(1)).collect();
                self.examine(step, &of_parents, &head)?;
            }
        }
        Ok(())
    }

    fn examine(&mut self, step: &HistoryCommit, events: &[&VersionChanges], head: &str) -> Result<(), GitError> {
        let mut removed = Vec::new();
        for (key, doubts) in &mut self.left {
            let of = |event: VersionChange| events.iter().filter(move |events| events.get(key) == Some(&event)).count();
            if of(VersionChange::Doubt) > 0 {
                doubts.push(step.id.clone());
            } else if of(VersionChange::Removed) == events.len() {
                // A merge removes a definition only if every parent had it.
                removed.push(key.clone());
            }
        }
        self.left.retain(|_, doubts| doubts.len() <= MOST_DOUBTS);
        if removed.is_empty() {
            return Ok(());
        }
        let again = self.defined_since(&step.id, head, &removed)?;
        for key in removed {
            let Some(doubts) = self.left.remove(&key) else { continue };
            let mut certain = !again.contains(&key);
            for doubt in &doubts {
                // A commit on another line of history does not put this removal in doubt.
                certain = certain && !self.repository.is_ancestor(&step.id, doubt)?;
            }
            if certain {
                self.found.insert(key, Commit { id: step.id.clone(), date: step.date.clone() });
            }
        }
        Ok(())
    }

    /// Those of the keys that may be defined in a file which differs between `commit` and `head`.
    fn defined_since(&self, commit: &str, head: &str, keys: &[Key]) -> Result<BTreeSet<Key>, GitError> {
        if commit == head {
            return Ok(BTreeSet::new());
        }
        let changed = self.repository.changed(&[(Some(commit), head)])?;
        let changed = changed.iter().flatten().filter(|file| is_definition_path(&file.path));
        let after = changed.filter_map(|file| Some((file.path.as_str(), file.after.as_deref()?)));
        let after: Vec<(&str, &str)> = after.collect();
        let objects: Vec<&str> = after.iter().map(|(_, object)| *object).collect();
        let (texts, wanted) = (self.repository.blobs(&objects)?, WantedKeys::new(keys));
        let files = after.iter().zip(&texts);
        Ok(files.flat_map(|((path, _), bytes)| wanted.defined_in(path, bytes).into_keys()).cloned().collect())
    }

    /// What the pairs of commits say about the definitions that are left.
    fn events(&self, pairs: &[(Option<&str>, &str)]) -> Result<Vec<VersionChanges>, GitError> {
        let mut changed = self.repository.changed(pairs)?;
        changed.iter_mut().for_each(|files| files.retain(|file| is_definition_path(&file.path)));
        let objects = |file: &ChangedFile| [file.before.clone(), file.after.clone()].into_iter().flatten();
        let objects: BTreeSet<String> = changed.iter().flatten().flat_map(objects).collect();
        let ids: Vec<&str> = objects.iter().map(String::as_str).collect();
        let texts: BTreeMap<&str, Vec<u8>> = ids.iter().copied().zip(self.repository.blobs(&ids)?).collect();
        let wanted = WantedKeys::new(self.left.keys());
        Ok(changed.iter().map(|files| self.event(files, &texts, &wanted)).collect())
    }

    /// What the files say about the definitions that they, or other versions of them, name.
    fn event(&self, files: &[ChangedFile], texts: &BTreeMap<&str, Vec<u8>>, wanted: &WantedKeys<'_>) -> VersionChanges {
        let mut events = VersionChanges::new();
        for file in files {
            let defined = |object: &Option<String>| {
                let text = object.as_ref().map(|object| texts.get(object.as_str()).map_or(&[][..], Vec::as_slice));
                text.map(|text| wanted.defined_in(&file.path, text)).unwrap_or_default()
            };
            let (before, after) = (defined(&file.before), defined(&file.after));
            for (key, is_certain) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
                if !is_certain {
                    events.insert((*key).clone(), VersionChange::Doubt);
                } else if file.path.starts_with(self.repository.prefix()) {
                    events.entry((*key).clone()).or_insert(VersionChange::Removed);
                }
            }
            events.extend(after.into_keys().map(|key| (key.clone(), VersionChange::Doubt)));
        }
        events
    }
}

//! Which stacks changed since a revision: a file that their load reads differs from that at the merge base. What is
//! not committed counts, too.

use std::ops::Bound;

use crate::cli::commits::base;
use crate::cli::context::LazyRepository;
use crate::cli::prelude::*;
use crate::cli::stacks::{declared, defined_elsewhere};
use crate::cli::{Context, Result, settings};
use crate::file::{real_path_or_given, slashed};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::{SourceFile, StackFiles, StackPath, is_definition_path, is_hidden, is_source};
use crate::model::policy::Prune;
use crate::report::stacks::{ALLOW_EMPTY, EnvironmentSettings, LeftObjects, StackChange, StackEntry};

/// The maximum number of files and bytes that are compared at a time.
const CHUNK: (usize, u64) = (5_000, 64 * 1024 * 1024);

/// A stack of the working tree.
pub struct ListedStack {
    /// Its directory.
    pub directory: PathBuf,
    /// The files that it reads.
    pub files: StackFiles,
}

/// What changed since a revision.
pub struct ChangedStacks {
    /// The change of each stack, in their order; `None` for one that has not changed.
    pub stacks: Vec<Option<StackChange>>,
    /// The stacks that are gone.
    pub removed: Vec<StackEntry>,
    /// The merge base.
    pub commit: String,
}

/// The list entry of a stack with these settings.
pub fn entry(directory: String, config: &Config) -> StackEntry {
    StackEntry {
        directory,
        stack: config.stack.as_ref().map(ToString::to_string),
        environments: config.environments.keys().cloned().collect(),
        base_url: config.base_url.clone(),
        namespaces: config.namespaces.iter().map(ToString::to_string).collect(),
        environment_settings: (config.environments.iter())
            .map(|(name, environment)| (name.clone(), set_otherwise(config, environment)))
            .filter(|(_, settings)| *settings != EnvironmentSettings::default())
            .collect(),
        environment_labels: (config.environments.iter())
            .filter(|(_, environment)| environment.labels != config.labels)
            .map(|(name, environment)| (name.clone(), labels(environment)))
            .collect(),
        labels: labels(config),
        ..StackEntry::default()
    }
}

/// The settings of an environment that differ from those of the top level.
fn set_otherwise(config: &Config, environment: &Config) -> EnvironmentSettings {
    let names = |config: &Config| config.namespaces.iter().map(ToString::to_string).collect();
    EnvironmentSettings {
        stack: environment.stack.as_ref().filter(|_| environment.stack != config.stack).map(ToString::to_string),
        base_url: environment.base_url.clone().filter(|_| environment.base_url != config.base_url),
        namespaces: (environment.namespaces != config.namespaces).then(|| names(environment)),
    }
}

fn labels(config: &Config) -> BTreeMap<String, String> {
    config.labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What changed since the merge base of `revision` and the working tree's commit, below the directories.
///
/// # Errors
/// There is no repository, or it does not have the revision or its history.
pub fn since(context: &Context, revision: &str, below: &[PathBuf], stacks: &[ListedStack]) -> Result<ChangedStacks> {
    let directory = below.first().map_or(Path::new("."), PathBuf::as_path);
    let directory = real_path_or_given(directory);
    let lazy = LazyRepository::new(context, &directory);
    let repository = lazy.open().map_err(base::failed)?;
    let commit = repository.merge_base(revision).map_err(base::failed)?;
    let entries = repository.entries(&commit, "").map_err(base::failed)?;
    let tree: BTreeMap<&str, &TreeEntry> = entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let then = TreeThen { context, repository, tree };
    let changes = then.changes(stacks).map_err(base::failed)?;
    let removed = then.removed(below).map_err(base::failed)?;
    Ok(ChangedStacks { stacks: changes, removed, commit })
}

/// The tree of the merge base.
struct TreeThen<'r> {
    context: &'r Context,
    repository: &'r Repository,
    tree: BTreeMap<&'r str, &'r TreeEntry>,
}

/// A file that may be unchanged, by its size.
struct Candidate<'t> {
    stack: usize,
    entry: &'t TreeEntry,
    path: PathBuf,
    /// Its bytes now.
    length: u64,
}

impl<'r> TreeThen<'r> {
    fn changes(&self, stacks: &[ListedStack]) -> Result<Vec<Option<StackChange>>, GitError> {
        let mut changes = vec![None; stacks.len()];
        let mut candidates: Vec<Candidate<'r>> = Vec::new();
        for (stack, root) in stacks.iter().enumerate() {
            match self.outline(stack, root) {
                Ok(files) => candidates.extend(files),
                Err(change) => changes[stack] = Some(change),
            }
        }
        let mut rest = candidates.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |candidate: &&Candidate<'_>| {
                bytes += candidate.entry.size.unwrap_or(0);
                bytes <= CHUNK.1
            };
            let (chunk, others) = rest.split_at(rest.iter().take(CHUNK.0).take_while(fits).count().max(1));
            rest = others;
            // A stack that is known to have changed is not compared again.
            let chunk: Vec<&Candidate<'_>> = chunk.iter().filter(|file| changes[file.stack].is_none()).collect();
            let entries: Vec<&TreeEntry> = chunk.iter().map(|candidate| candidate.entry).collect();
            for (candidate, before) in chunk.iter().zip(self.repository.contents(&entries)?) {
                if !now(candidate).is_some_and(|now| lines(&now).eq(lines(&before))) {
                    changes[candidate.stack] = Some(StackChange::Changed);
                }
            }
        }
        Ok(changes)
    }

    /// The files of a stack, to be compared with their earlier content; an error if the names or sizes show a change.
    fn outline(&self, stack: usize, root: &ListedStack) -> Result<Vec<Candidate<'r>>, StackChange> {
        let directory = real_path_or_given(&root.directory);
        let Some(prefix) = self.prefix(&directory) else { return Err(StackChange::Added) };
        let settings = format!("{prefix}{}", config::FILE);
        if !self.tree.contains_key(settings.as_str()) {
            return Err(StackChange::Added);
        }
        let before: Vec<(&str, &'r TreeEntry)> = self.below(&prefix).collect();
        // A tree that is too large to search may have changed.
        let Ok(mut after) = StackPath::below(&directory) else { return Err(StackChange::Changed) };
        // A link can lead to anything: a file of any name, hidden or excluded, a directory, another link.
        let has_links = after.iter().any(|file| file.is_link && !is_hidden(&file.path))
            || before.iter().any(|(path, entry)| entry.kind != EntryKind::File && !is_hidden(path));
        let counts = |path: &str| has_links || root.files.reads(path);
        after.retain(|file| counts(&file.path));
        let before: Vec<_> = before.into_iter().filter(|(path, _)| counts(path)).collect();
        if before.len() != after.len() {
            return Err(StackChange::Changed);
        }
        let mut files = Vec::with_capacity(after.len());
        for ((path, entry), file) in before.into_iter().zip(&after) {
            let there = directory.join(&file.path);
            let length = there.symlink_metadata().map_or(0, |metadata| metadata.len());
            let size = entry.size.unwrap_or(0);
            // Git may check out other line endings than it stores.
            let may_be_same = length <= 2 * size && size <= 2 * length;
            if path != file.path || (entry.kind == EntryKind::Link) != file.is_link || !may_be_same {
                return Err(StackChange::Changed);
            }
            files.push(Candidate { stack, entry, path: there, length });
        }
        Ok(files)
    }

    /// The path of a directory from the top, with a final `/` unless it is the top.
    fn prefix(&self, directory: &Path) -> Option<String> {
        let top = self.repository.top();
        let top = real_path_or_given(top);
        let below = slashed(directory.strip_prefix(top).ok()?);
        Some(if below.is_empty() { below } else { format!("{below}/") })
    }

    /// The stacks of the merge base whose settings are gone, or have lost environments: then with only these.
    fn removed(&self, below: &[PathBuf]) -> Result<Vec<StackEntry>, GitError> {
        let prefixes: Vec<String> =
            below.iter().filter_map(|directory| self.prefix(&real_path_or_given(directory))).collect();
        // A sparse working tree has not removed what it leaves out.
        let left_out: BTreeSet<String> = self.repository.left_out("")?.into_iter().map(|entry| entry.path).collect();
        let settings = self.tree.values().copied().filter(|entry| {
            let path = entry.path.as_str();
            declared::prefix(path).is_some()
                && !is_hidden(path)
                && prefixes.iter().any(|prefix| path.starts_with(prefix.as_str()))
                && entry.kind != EntryKind::Submodule
                && !left_out.contains(path)
        });
        let settings: Vec<&TreeEntry> = settings.collect();
        let behind = self.behind(settings.iter().copied())?;
        let file = |entry: &&'r TreeEntry| behind.get(entry.path.as_str()).copied().unwrap_or(*entry);
        let files: Vec<&TreeEntry> = settings.iter().map(file).collect();
        let contents = files.iter().map(|file| file.kind).zip(self.repository.contents(&files)?);
        let removed = settings.into_iter().zip(contents).map(|(entry, file)| self.removed_stack(entry, file));
        removed.filter_map(Result::transpose).collect()
    }

    /// The stack of a settings file, which had this kind and these bytes; `None` if it has lost nothing.
    fn removed_stack(
        &self,
        entry: &TreeEntry,
        (kind, bytes): (EntryKind, Vec<u8>),
    ) -> Result<Option<StackEntry>, GitError> {
        let there = self.repository.top().join(&entry.path);
        let directory = there.parent().map(Path::to_owned).unwrap_or_default();
        let (is_gone, is_link) = (there.symlink_metadata().is_err(), entry.kind == EntryKind::Link);
        let is_same = || crate::file::read(&there, limit::SETTINGS).is_ok_and(|now| now == bytes);
        if !is_gone && (kind == EntryKind::Link || is_same()) {
            return Ok(None);
        }
        let mut config = load::settings_of(Some(bytes.clone()), &LoadOptions::default()).unwrap_or_default();
        if !is_gone {
            // Settings that cannot be read are reported for their stack.
            let Ok(now) = load::settings(&directory, &LoadOptions::default()) else { return Ok(None) };
            config.environments.retain(|name, _| !now.environments.contains_key(name));
            if config.environments.is_empty() {
                return Ok(None);
            }
            // The stack of the top level is still there.
            config.stack = None;
        }
        let prefix = declared::prefix(&entry.path).unwrap_or_default();
        let has = |is_so: fn(&Config) -> bool| stacks(&config).any(|(_, config)| is_so(config));
        let includes = !config.files.include.is_empty() || has(|config| !config.files.include.is_empty());
        let is_there = |entry: &TreeEntry| self.repository.top().join(&entry.path).is_file();
        let mut below = self.below(prefix);
        let by_hand = match is_gone {
            // Definitions that are left would belong to the stack again, and a glob that matches nothing is an error.
            true if includes || below.any(|(path, entry)| is_definition_path(path) && is_there(entry)) => {
                Some("`allow_empty: true`, `prune: owned` and `files: {include: [], exclude: ['**']}`")
            }
            true => (is_link || !deletes_with_a_line_more(bytes)).then_some("`allow_empty: true` and `prune: owned`"),
            false if has(|config| !config.overlays.is_empty()) => {
                Some("`allow_empty: true`, `prune: owned`, `files: {exclude: ['**']}` and no `overlay:`")
            }
            false => Some("`allow_empty: true`, `prune: owned` and `files: {exclude: ['**']}`"),
        };
        let first = match has(|config| config.namespaces.is_empty()) {
            _ if is_link => "the settings of that commit that the link leads to, ",
            true => "`namespaces:`, ",
            false => "",
        };
        let by_hand = by_hand.map(|rest| format!("{first}{rest}"));
        let left = self.left(prefix, &config)?;
        let mut entry = self::entry(self.context.environment.directory_from_here(&directory), &config);
        // The file need not name the stack if the call does.
        let is_unnamed = has(|config| config.stack.is_none());
        if let Some((name, _)) = settings::stack_text(self.context).filter(|_| is_unnamed) {
            (entry.stack, entry.flags) = (Some(name.to_owned()), self.context.call.flags("stack"));
        }
        Ok(Some(StackEntry { change: Some(StackChange::Removed), left, by_hand, ..entry }))
    }

    /// The entries below a directory, each with its path from there.
    fn below<'p>(&'p self, prefix: &'p str) -> impl Iterator<Item = (&'r str, &'r TreeEntry)> {
        let from = self.tree.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let below = from.take_while(move |(path, _)| path.starts_with(prefix));
        below.map(move |(&path, &entry)| (&path[prefix.len()..], entry))
    }

    /// The files of the tree to which links among these entries lead, by the path of the link.
    fn behind(
        &self,
        entries: impl Iterator<Item = &'r TreeEntry>,
    ) -> Result<BTreeMap<&'r str, &'r TreeEntry>, GitError> {
        let links: Vec<_> = entries.filter(|entry| entry.kind == EntryKind::Link).collect();
        let file = |(link, to): (&&'r TreeEntry, Vec<u8>)| {
            let file = self.tree.get(declared::target(link, &to)?.as_str())?;
            (file.kind == EntryKind::File).then_some((link.path.as_str(), *file))
        };
        Ok(links.iter().zip(self.repository.contents(&links)?).filter_map(file).collect())
    }

    /// What a stack of the merge base defined there and no stack of the working tree defines now, for each of its
    /// environments; `None` if it does not load.
    fn left(&self, prefix: &str, config: &Config) -> Result<Option<Vec<LeftObjects>>, GitError> {
        let below = self.below(prefix).filter(|(path, entry)| entry.kind != EntryKind::Submodule && !is_hidden(path));
        let below: Vec<(&str, &TreeEntry)> = below.collect();
        let behind = self.behind(below.iter().map(|(_, entry)| *entry))?;
        let (reads, mut files) = (StackFiles::new(config), Vec::new());
        for (path, entry) in below {
            match behind.get(entry.path.as_str()) {
                None if entry.kind == EntryKind::File => files.push((path, entry)),
                Some(file) if !is_source(path) || file.path.starts_with(prefix) => files.push((path, *file)),
                _ if is_source(path) && !reads.reads(path) => {}
                // The link may lead to a directory of definitions.
                _ => return Ok(None),
            }
        }
        files.retain(|(path, _)| is_source(path));
        let contents = self.repository.contents(&files.iter().map(|(_, file)| *file).collect::<Vec<_>>())?;
        let file = |((path, _), bytes): (&(&str, _), Vec<u8>)| SourceFile { path: (*path).to_owned(), bytes };
        let files: Vec<SourceFile> = files.iter().zip(contents).map(file).collect();
        let left = stacks(config).filter_map(|(environment, config)| {
            let environment = environment.cloned();
            let options = LoadOptions { environment: environment.clone(), ..LoadOptions::default() };
            let loaded = match load::sources(files.clone(), &options) {
                Ok(loaded) => loaded,
                // Files that only make sense in an environment define nothing without one.
                Err(problems) => return (!problems.lacks_environment).then_some(None),
            };
            let keys: Vec<Key> = loaded.desired.definitions.keys().cloned().collect();
            let top = self.repository.top();
            let mut elsewhere = defined_elsewhere::keys(self.context, (top, Some(self.repository)), config, &keys);
            let deleted = defined_elsewhere::deleted(self.context, top, config, &keys);
            let is_left = |key: &&Key| !elsewhere.contains_key(key) && !deleted.contains(key);
            let endpoints: Vec<Key> = keys.iter().filter(is_left).cloned().collect();
            elsewhere.retain(|key, _| !deleted.contains(key));
            let unknown = elsewhere.into_iter().filter_map(|(key, known)| Some((key, known.err()?))).collect();
            let kinds: BTreeSet<KindName> = endpoints.iter().map(|key| key.kind).collect();
            let kinds_not_listed = kinds.difference(&config.kinds_with_endpoint()).copied().collect();
            Some(Some(LeftObjects { environment, endpoints, unknown, kinds_not_listed }))
        });
        Ok(left.collect())
    }
}

/// The stacks of these settings: without an environment, unless an environment has its name, and in each environment.
fn stacks(config: &Config) -> impl Iterator<Item = (Option<&String>, &Config)> {
    let environments = config.environments.iter().map(|(name, config)| (Some(name), config));
    config.is_stack().then_some((None, config)).into_iter().chain(environments)
}

/// Whether these settings delete everything once [`ALLOW_EMPTY`] is added at their end, in each environment.
fn deletes_with_a_line_more(mut settings: Vec<u8>) -> bool {
    settings.extend(format!("\n{ALLOW_EMPTY}\n").bytes());
    let Ok(config) = load::settings_of(Some(settings), &LoadOptions::default()) else { return false };
    // An environment that prunes without `namespaces:` is an error.
    let deletes =
        |config: &Config| config.allow_empty && config.safeguards.prune != Prune::None && !config.namespaces.is_empty();
    stacks(&config).all(|(_, config)| deletes(config))
}

/// The bytes of a file, or the target of a link, as they are now.
fn now(candidate: &Candidate<'_>) -> Option<Vec<u8>> {
    match candidate.entry.kind {
        EntryKind::Link => candidate.path.read_link().ok().map(|to| to.into_os_string().into_encoded_bytes()),
        _ => crate::file::read(&candidate.path, candidate.length).ok(),
    }
}

/// The bytes of a text without carriage returns at the ends of lines.
fn lines(text: &[u8]) -> impl Iterator<Item = &u8> {
    let next = text.iter().skip(1).map(Some).chain([None]);
    text.iter().zip(next).filter(|pair| *pair != (&b'\r', Some(&b'\n'))).map(|(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::growth_tests::assert_at_most_linear;

    #[test]
    fn settings_of_many_environments_are_read_once_to_know_what_they_delete() {
        let many = |count: usize| {
            let of = |at: usize| format!("  e{at}: {{namespaces: [n{at}]}}\n");
            format!("stack: shop\nenvironments:\n{}", (0..count).map(of).collect::<String>())
        };
        let deletes = |text: String| deletes_with_a_line_more(text.into_bytes());
        assert_at_most_linear("environments", 20, many, |text| assert!(deletes(text)));
        for other in ["allow_empty: false", "prune: none", "prune: owned, namespaces: []", "prune: 7"] {
            assert!(!deletes(format!("{}  last: {{{other}}}\n", many(2))), "{other}");
        }
        assert!(deletes("namespaces: [shop]".to_owned()) && !deletes("stack: shop".to_owned()));
    }
}

//! What git knows about a plan: the commit of its definitions, and the commits that removed definitions whose objects
//! are deleted. Against a base branch also: whose change each difference is, and the stack's settings at the base. The
//! stricter settings of base and working tree are in force, so that a change cannot loosen its own rules. Nothing is
//! checked out; definitions of other commits are loaded from memory, with their own settings.

use std::ffi::OsStr;

use crate::cli::commits::at_commit::{CommitLookup, LookupError, StackAtCommit, StackRoot};
use crate::cli::commits::blame;
use crate::cli::context::{LackingError, LazyRepository};
use crate::cli::prelude::*;
use crate::cli::stacks::declared;
use crate::cli::{CommandError, Context, ExitStatus, Result, Stack, settings};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::{Loaded, is_definition_path, is_source};
use crate::model::Desired;
use crate::model::policy::SafetySettings;
use crate::plan::{Action, Change, DefinitionHistory, Ignore, PastDefinitions};

/// Adds what git knows. Without a base, the directory need not be in a repository.
///
/// # Errors
/// With a base: there is no repository or history, or its definitions do not load. With and without one: the repository
/// moved to another commit while the definitions of the stack were read.
pub fn attribute(stack: &Stack<'_>, plan: &mut Plan, base: Option<&str>) -> Result<()> {
    let repository = match (stack.repository.open(), base) {
        (Ok(repository), _) => repository,
        (Err(error), Some(_)) => return Err(failed(error)),
        (Err(_), None) => return Ok(()),
    };
    plan.source.commit = match repository.head() {
        Err(moved @ GitError::Moved) => return Err(failed(moved)),
        head => head.ok(),
    };
    name_removals(repository, plan);
    let Some(base) = base else { return Ok(()) };
    let keys: BTreeSet<Key> = plan.with_blocked().map(|change| change.key.clone()).collect();
    let [merge_base, tip] = past(stack, repository, base, &keys)?;
    plan.source.base = Some(base.to_owned());
    plan.attribute(DefinitionHistory { merge_base: &merge_base, base: &tip, head: &stack.loaded.desired });
    Ok(())
}

/// Rejects a stack whose working tree lacks undeleted files of the last commit: their definitions are not removed.
///
/// # Errors
/// A file or a submodule is missing, or git cannot say.
pub fn check_whole(loaded: &Loaded, repository: &LazyRepository) -> Result<()> {
    // A glob may exclude everything in the directory, so ask about a file in it.
    let reads_below = |directory: &str| loaded.reads(&format!("{directory}/_"), true);
    refuse_lacking(repository, reads_below, |repository| {
        let prefix = repository.prefix();
        let left_out = repository.left_out(prefix)?;
        let links = if left_out.is_empty() { Vec::new() } else { links(repository)? };
        let is_read = |path: &str| {
            let is_read = |path: &str| loaded.reads(path, false);
            let through = |(link, target): &(String, String)| {
                path.strip_prefix(target.as_str()).is_some_and(|rest| is_read(&format!("{link}{rest}")))
            };
            is_source(path) && (is_read(path) || links.iter().any(through))
        };
        let may_be_directory = |path: &str, entry: &TreeEntry| {
            let target = declared::target(entry, &repository.contents(&[entry])?.pop().unwrap_or_default());
            let entries = repository.entries(&repository.head()?, "")?;
            let is_it = |entry: &TreeEntry| entry.kind == EntryKind::File && Some(&entry.path) == target.as_ref();
            Ok(reads_below(path) && !entries.iter().any(is_it))
        };
        let mut lacking = if repository.is_sparse() { repository.left_out("")? } else { Vec::new() };
        // A settings file in a directory above belongs to the stack, too.
        lacking.retain(|entry| settings_of(entry).is_some_and(|above| Path::new(prefix).starts_with(above)));
        for entry in left_out {
            let path = &entry.path[prefix.len()..];
            let is_lacking = match entry.kind {
                EntryKind::Submodule => reads_below(path),
                EntryKind::File => is_read(path),
                EntryKind::Link => is_read(path) || may_be_directory(path, &entry)?,
            };
            lacking.extend(is_lacking.then_some(entry));
        }
        Ok(lacking)
    })
}

/// The links of the last commit below the directory that lead to another place in it: through them, definitions in
/// hidden or excluded paths can be read.
fn links(repository: &Repository) -> Result<Vec<(String, String)>, GitError> {
    let prefix = repository.prefix();
    let entries = repository.entries(&repository.head()?, prefix)?;
    let links: Vec<&TreeEntry> = entries.iter().filter(|entry| entry.kind == EntryKind::Link).collect();
    let contents = repository.contents(&links)?;
    let place = |(link, contents): (&&TreeEntry, Vec<u8>)| {
        let target = declared::target(link, &contents)?;
        Some((format!("{}/", &link.path[prefix.len()..]), format!("{}/", target.strip_prefix(prefix)?)))
    };
    Ok(links.iter().zip(contents).filter_map(place).collect())
}

/// Rejects an output directory without settings if the working tree lacks files for it: its definitions, the settings
/// of the stack around it, or the submodule. `below` is its path from the repository's directory.
///
/// # Errors
/// As for [`check_whole`].
pub fn check_output(repository: &LazyRepository, below: &str) -> Result<()> {
    refuse_lacking(
        repository,
        |_| false,
        |repository| {
            let output = format!("{}{below}", repository.prefix());
            let mut left_out = repository.left_out("")?;
            left_out.retain(|entry| {
                let (path, is_submodule) = (Path::new(&entry.path), entry.kind == EntryKind::Submodule);
                let around = if is_submodule { Some(path) } else { settings_of(entry) };
                let is_in_output = path.starts_with(&output) && (is_submodule || is_definition_path(&entry.path));
                is_in_output || around.is_some_and(|around| Path::new(&output).starts_with(around))
            });
            Ok(left_out)
        },
    )
}

/// The directory, from the top, whose settings are in this file; `None` for other files.
fn settings_of(entry: &TreeEntry) -> Option<&Path> {
    let path = Path::new(&entry.path);
    path.parent().filter(|_| path.file_name() == Some(OsStr::new(config::FILE)))
}

/// Rejects a working tree that lacks what `lacking` finds, or that may lack files while git cannot be asked.
fn refuse_lacking(
    repository: &LazyRepository,
    can_be_submodule: impl Fn(&str) -> bool,
    lacking: impl FnOnce(&Repository) -> Result<Vec<TreeEntry>, GitError>,
) -> Result<()> {
    let unknown = |error: LackingError| error!(Invalid, "{error}").hint(error.reason);
    let Some(repository) = repository.open_lacking(can_be_submodule).map_err(unknown)? else { return Ok(()) };
    let unknown = |error| error!(Invalid, "whether the working tree has all files of its commit is unknown: {error}");
    let lacking = lacking(repository).map_err(unknown)?;
    let Some(TreeEntry { path, kind, .. }) = lacking.first() else { return Ok(()) };
    Err(match kind {
        EntryKind::Submodule => {
            error!(Invalid, "the submodule `{path}` is not checked out, and may contain definitions")
                .hint("to check it out: git submodule update --init --recursive")
                .hint("if `.gitmodules` does not name it, no clone contains its files: commit them to this repository")
                .hint("if it contains none: `files: {exclude: [...]}` in trueup.yaml")
        }
        EntryKind::Link if repository.top().join(path).is_file() => error!(
            Invalid,
            "`{path}` is a symbolic link in the last commit, and in the working tree a file with its target"
        )
        .hint("to have the link: git config core.symlinks true, remove the file, and git checkout")
        .hint("if it leads to no definitions: `files: {exclude: [...]}` in trueup.yaml"),
        EntryKind::File | EntryKind::Link if repository.is_sparse() => {
            error!(Invalid, "the working tree is sparse and lacks `{path}` of the last commit")
                .hint("to have all files of the stack: git sparse-checkout add, or disable")
                .hint("if the file was deleted, commit that first")
        }
        EntryKind::File | EntryKind::Link => {
            error!(Invalid, "the working tree lacks `{path}` of the last commit, and git does not look for it")
                .hint("to have all files that were skipped: git sparse-checkout disable")
                .hint("to have this one: git update-index --no-assume-unchanged, and git checkout")
        }
    })
}

/// The stack as it was at a commit (a full id), with the settings that it had there, and where it was.
///
/// # Errors
/// git cannot show all of the commit, or its files do not load; [`LookupError::Absent`] if the commit has no such
/// stack.
pub fn found_at(stack: &Stack<'_>, repository: &Repository, commit: &str) -> Result<(Loaded, StackRoot), LookupError> {
    let StackAtCommit { loaded, root } = CommitLookup::new(&stack.loaded, repository, commit).load()?;
    let root = root.ok_or(LookupError::Absent)?;
    let environment = || stack.loaded.options().environment.clone().unwrap_or_default();
    Ok((loaded.ok_or_else(|| LookupError::NoEnvironment { environment: environment() })?, root))
}

/// Like [`found_at`], but `None` if the commit cannot have been applied: the stack or the environment of the call did
/// not exist, or its files did not load.
///
/// # Errors
/// git cannot show the commit, or what it shows is ambiguous.
pub fn applicable_at(
    stack: &Stack<'_>,
    repository: &Repository,
    commit: &str,
) -> Result<Option<(Loaded, StackRoot)>, LookupError> {
    match found_at(stack, repository, commit) {
        Err(LookupError::Absent | LookupError::NoEnvironment { .. } | LookupError::Wrong(_)) => Ok(None),
        found => found.map(Some),
    }
}

/// The error of git, before anything was sent.
pub fn failed(error: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    CommandError::new(ExitStatus::Invalid, error).hint("nothing was sent")
}

fn name_removals(repository: &Repository, plan: &mut Plan) {
    let goes = |change: &&mut Change| matches!(change.action, Action::Delete { .. });
    let held = plan.blocked.iter_mut().filter_map(|held| held.change.as_mut());
    let mut deletes: Vec<&mut Change> = plan.changes.iter_mut().chain(held).filter(goes).collect();
    let mut removals = blame::removals(repository, deletes.iter().map(|change| change.key.clone()));
    for change in &mut deletes {
        change.removed_in = removals.remove(&change.key);
    }
}

/// The stack at the merge base with `base` and at the tip of `base`, as far as it concerns these keys.
fn past(stack: &Stack<'_>, repository: &Repository, base: &str, keys: &BTreeSet<Key>) -> Result<[PastDefinitions; 2]> {
    let (context, now) = (stack.context, &stack.loaded);
    let commits = [repository.merge_base(base).map_err(failed)?, repository.resolve(base).map_err(failed)?];
    let [merge_base, tip] = commits.each_ref().map(|commit| CommitLookup::new(now, repository, commit));
    let merge_base_name = format!("the merge base with {base}");
    let tip_error = |error| unavailable(context, error, tip.commit, base);
    let merge_base_error = |error| unavailable(context, error, merge_base.commit, &merge_base_name);
    let is_one = tip.commit == merge_base.commit;
    let mut after = tip.load().map_err(tip_error)?;
    let mut before = if is_one { after.clone() } else { merge_base.load().map_err(merge_base_error)? };
    stack.check_variables([&before, &after].into_iter().filter_map(|then| then.loaded.as_ref()))?;
    // An environment that the merge base lacks cannot have been renamed since.
    let is_renamed = |loaded: &mut Loaded| loaded.options().environment != now.options().environment;
    if before.loaded.is_none() && before.root.is_some() {
        after.loaded.take_if(is_renamed);
    }
    let [ignored_before, ignored] = [&before, &after].map(ignored);
    let past = |[before, desired]: [Desired; 2]| {
        [PastDefinitions { desired: before, ignored: ignored_before }, PastDefinitions { desired, ignored }]
    };
    let is_anywhere = before.root.is_some() || after.root.is_some();
    if is_anywhere && before.loaded.is_none() && after.loaded.is_none() {
        let both = [(&merge_base, before.root.as_ref()), (&tip, after.root.as_ref())];
        return if is_one { Ok(Default::default()) } else { new_environment(both, keys).map(past).map_err(tip_error) };
    }
    let with_moved = |then: &CommitLookup<'_>, past: StackAtCommit| -> Result<Desired, LookupError> {
        match past {
            // The base removed the environment with all that it defined.
            StackAtCommit { loaded: None, root: Some(_) } => Ok(Desired::default()),
            StackAtCommit { loaded, root } => then.with_moved_in(defined(loaded), root.as_ref(), keys),
        }
    };
    let at_tip = with_moved(&tip, after).map_err(tip_error)?;
    if is_one {
        return Ok(past([at_tip.clone(), at_tip]));
    }
    if let StackAtCommit { loaded: loaded @ None, root: Some(root) } = &mut before {
        // Both sides added the environment, using definitions that the merge base has.
        *loaded = Some(merge_base.load_with_settings_of_now(root).map_err(merge_base_error)?);
    }
    Ok(past([with_moved(&merge_base, before).map_err(merge_base_error)?, at_tip]))
}

/// The fields that a stack ignored; none if its rules are invalid now.
fn ignored(past: &StackAtCommit) -> Ignore {
    let rules = past.loaded.as_ref().map(|loaded| settings::ignore(&loaded.config));
    rules.and_then(Result::ok).unwrap_or_default()
}

fn defined(loaded: Option<Loaded>) -> Desired {
    loaded.map(|loaded| loaded.desired).unwrap_or_default()
}

/// The definitions of an environment that neither the merge base nor the tip has, each with the place of the stack, if
/// it existed. Everything in the environment is new. Still, what the base changed since in the files that it consists
/// of must not be lost: both sides of these definitions are loaded with the settings of now.
fn new_environment(
    both: [(&CommitLookup<'_>, Option<&StackRoot>); 2],
    keys: &BTreeSet<Key>,
) -> Result<[Desired; 2], LookupError> {
    let [before, after] = both.map(|(_, root)| root.and_then(|root| root.settings.as_ref()));
    if before != after {
        let environment = both[0].0.stack.options().environment.clone().unwrap_or_default();
        return Err(LookupError::NoEnvironment { environment });
    }
    let [before, after] = both.map(|(then, root)| {
        let loaded = root.map(|root| then.load_with_settings_of_now(root)).transpose()?;
        then.with_moved_in(defined(loaded), root, keys)
    });
    let (mut before, mut after) = (before?, after?);
    before.definitions.retain(|key, definition| {
        let is_same = after.definitions.get(key).is_some_and(|after| after.endpoint == definition.endpoint);
        if is_same {
            after.definitions.remove(key);
        }
        !is_same
    });
    Ok([before, after])
}

/// The error for unknown definitions at `commit`, which messages call `name`.
pub fn unavailable(context: &Context, error: LookupError, commit: &str, name: &str) -> CommandError {
    let short = commit.get(..7).unwrap_or(commit);
    let needed = "they are needed to attribute the differences";
    let message = error.to_string();
    let (message, hint) = match error {
        LookupError::Git(error) => return failed(error),
        LookupError::Wrong(diagnostics) => {
            let wrong = context.wrong(&diagnostics);
            return error!(Invalid, "the definitions of {name} ({short}) do not load: {wrong}")
                .hint(needed)
                .diagnostics(diagnostics.list);
        }
        LookupError::Moved { .. } => (message, needed.to_owned()),
        LookupError::Unreadable { .. } => {
            (message, format!("merge that change by itself first, or exclude the path in `files:` at {name}"))
        }
        LookupError::NoEnvironment { .. } => (
            format!("{message}, and changed since this branch was made"),
            format!("merge {name} into this change first"),
        ),
        LookupError::Ambiguous { .. } | LookupError::Absent => {
            (message, "move it in a change of its own, and merge that first".to_owned())
        }
    };
    error!(Invalid, "at {name} ({short}): {message}").hint(hint).hint("nothing was sent")
}

/// The settings of the stack at a base, in whatever directory it was; the defaults if it had none. They are as strict
/// as all settings that name the stack there, in any directory and environment: a change that takes a stack over must
/// not loosen its rules. `pruned` are the namespaces that the call prunes beside those of the stack.
///
/// # Errors
/// The settings are unknown.
pub fn settings_at(stack: &Stack<'_>, base: &str, pruned: &BTreeSet<Namespace>) -> Result<SafetySettings> {
    let context = stack.context;
    let repository = stack.repository.open().map_err(failed)?;
    // Fails unless the whole history is present, which the following needs.
    repository.merge_base(base).map_err(failed)?;
    let tip = repository.resolve(base).map_err(failed)?;
    let name = stack.name()?;
    // The whole tree first: what is asked about a part of it later is answered from it.
    let declared = name.as_ref().map(|_| context.tenants.declared_at(repository, &tip));
    let declared = declared.transpose().map_err(failed)?;
    let own = match CommitLookup::new(&stack.loaded, repository, &tip).settings() {
        Ok(own) => own,
        Err(LookupError::Wrong(diagnostics)) => {
            return Err(unknown(base, &context.wrong(&diagnostics).to_string()).diagnostics(diagnostics.list));
        }
        Err(error) => return Err(unavailable(context, error, &tip, base)),
    };
    let mut in_force = own.as_ref().map(|(config, _)| config.clone()).unwrap_or_default().safety();
    let Some((name, declared)) = name.zip(declared) else { return Ok(in_force) };
    let target = BaseTarget::of(stack, own.as_ref().map(|(config, _)| config), &name, pruned)?;
    let own_prefix = own.as_ref().map(|(_, root)| root.prefix.as_str());
    for directory in declared.iter().filter(|directory| directory.may_name(&name)) {
        let wrong = |reason: &str| unknown(base, &format!("{}{reason}", directory.prefix));
        for (environment, config) in directory.stacks().map_err(wrong)? {
            // An environment begins with the top-level settings of its own file, and may loosen them.
            let is_below = environment.is_none() && target.is_environment && own_prefix == Some(&*directory.prefix);
            let is_it = config.stack.as_ref().is_some_and(|stack| stack.as_str() == name);
            if is_it && !is_below && target.may_be_of(config) {
                in_force.safeguards = in_force.safeguards.stricter(&config.safeguards);
            }
        }
    }
    Ok(in_force)
}

/// The stack's own settings at the merge base with a base and at its tip, if its directory was the same at both.
pub fn own_settings(stack: &Stack<'_>, base: &str) -> Option<[SafetySettings; 2]> {
    let repository = stack.repository.open().ok()?;
    let at = |commit: String| {
        let (config, root) = CommitLookup::new(&stack.loaded, repository, &commit).settings().ok()??;
        (root.prefix == repository.prefix()).then(|| config.safety())
    };
    Some([at(repository.merge_base(base).ok()?)?, at(repository.resolve(base).ok()?)?])
}

fn unknown(base: &str, why: &str) -> CommandError {
    error!(Invalid, "the settings of {base} do not load: {why}")
        .hint("they are needed to see which of them were loosened")
}

/// What the stack of the call covered at the base, so that a stack of the same name that covers something else limits
/// nothing.
struct BaseTarget {
    /// Whether its environment existed and was this stack.
    is_environment: bool,
    /// Its services; `None` if the working tree names another one than the base.
    services: Option<Vec<String>>,
    /// Its namespaces; `None` if the call covers others, too.
    namespaces: Option<BTreeSet<Namespace>>,
}

impl BaseTarget {
    fn of(stack: &Stack<'_>, own: Option<&Config>, name: &str, pruned: &BTreeSet<Namespace>) -> Result<Self> {
        let (now, environment) = (&stack.loaded.config, stack.loaded.options().environment.as_ref());
        let is_there = |own: &&Config| environment.is_none_or(|name| own.environments.contains_key(name));
        let is_it = |own: &&Config| own.stack.as_ref().is_some_and(|stack| stack.as_str() == name);
        let Some(own) = own.filter(is_there).filter(is_it) else {
            return Ok(Self { is_environment: false, services: None, namespaces: None });
        };
        let planned = settings::named(stack.context, now)?.map(|place| place.base_url().to_string());
        let services = planned.into_iter().chain(own.base_url.as_deref().map(plain)).collect();
        let listed: BTreeSet<Namespace> = own.namespaces.iter().cloned().collect();
        let taken = &stack.loaded.namespaces() | pruned;
        Ok(Self {
            is_environment: environment.is_some(),
            services: (now.base_url == own.base_url).then_some(services),
            namespaces: taken.is_subset(&listed).then_some(listed),
        })
    }

    /// Whether a stack of the base can be about the same endpoints.
    fn may_be_of(&self, other: &Config) -> bool {
        let url = other.base_url.as_deref().map(plain);
        let is_service = self.services.as_ref().zip(url).is_none_or(|(services, url)| services.contains(&url));
        let theirs = &other.namespaces;
        let is_in = |listed: &BTreeSet<Namespace>| theirs.is_empty() || theirs.iter().any(|one| listed.contains(one));
        is_service && self.namespaces.as_ref().is_none_or(is_in)
    }
}

/// A URL in the form in which plans name it.
fn plain(url: &str) -> String {
    BaseUrl::parse(url).map_or_else(|_| url.to_owned(), |url| url.to_string())
}

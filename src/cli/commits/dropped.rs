//! Namespaces and kinds that a stack once had and that `trueup.yaml` no longer lists. What the stack still owns of them
//! is outside of every plan, so a report has to name it.

use crate::cli::commits::at_commit::LookupError;
use crate::cli::commits::base;
use crate::cli::prelude::*;
use crate::cli::stacks::{declared, shard};
use crate::cli::{Stack, aside, settings};
use crate::drift::{DriftState, Shard};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::StackFiles;
use crate::load::config::{FILE, lists_of};
use crate::model::Scope;
use crate::plan::{NamedCommits, Note};

/// Namespaces and kinds that a stack had.
#[derive(Debug, Default)]
pub struct Listed {
    namespaces: BTreeSet<Namespace>,
    kinds: BTreeSet<KindName>,
    /// Why the history of the repository could not be read, or not to its beginning.
    unread: Option<String>,
}

impl Listed {
    /// The note that what the stack once had is unknown, if its history could not be read.
    pub fn note(&self) -> Option<Note> {
        let reason = self.unread.as_ref()?;
        let text =
            format!("what the stack owns in namespaces and of kinds that it no longer lists is not known: {reason}");
        Some(Note::Loaded { text })
    }

    /// Adds the kinds of the stack at the commits of the oldest and newest run that live objects name, or else at the
    /// merge base: no other list has a kind that `kinds:` never had and whose last definition is gone.
    pub fn add_applied(&mut self, stack: &Stack<'_>, commits: &NamedCommits, base: Option<&str>) {
        let Ok(repository) = stack.repository.open() else { return };
        let by_run = |named: &(&String, &(String, String))| named.1.1.clone();
        let named = [commits.iter().min_by_key(by_run), commits.iter().max_by_key(by_run)];
        let mut known: BTreeSet<String> = named.into_iter().flatten().map(|(commit, _)| commit.clone()).collect();
        if known.is_empty() {
            known.extend(base.and_then(|base| repository.merge_base(base).ok()));
        }
        // Most plans follow an apply of `HEAD`: then git is not asked, even if the removal of a kind is not committed
        // yet.
        known.retain(|commit| repository.head().is_ok_and(|head| head != *commit));
        for commit in known {
            match kinds_at(stack, repository, &commit) {
                Ok(kinds) => self.kinds.extend(kinds),
                // The clone lacks a commit that was never merged.
                Err(_) if repository.resolve(&commit).is_err() => {}
                Err(error) => self.unread = self.unread.take().or(Some(error.to_string())),
            }
        }
    }
}

fn kinds_at(stack: &Stack<'_>, repository: &Repository, commit: &str) -> Result<BTreeSet<KindName>, LookupError> {
    let then = repository.entries(commit, repository.prefix())?;
    if then.is_empty() {
        // The directory had another name.
        let then = base::applicable_at(stack, repository, commit)?;
        return Ok(then.map(|(loaded, _)| loaded.kinds()).unwrap_or_default());
    }
    let (prefix, environment) = (repository.prefix(), stack.loaded.options().environment.clone());
    let read_now = |path: &str| load::is_source(path) && stack.loaded.reads(&path[prefix.len()..], false);
    let settings = then.iter().filter(|entry| entry.path.strip_prefix(prefix) == Some(FILE));
    let settings = repository.contents(&settings.collect::<Vec<_>>())?.pop();
    let options = LoadOptions { environment: environment.clone(), ..LoadOptions::default() };
    let settings = settings.and_then(|bytes| load::settings_of(Some(bytes), &options).ok());
    let files = settings.map(|config| StackFiles::of_environment(&config, environment.as_deref()));
    let read_then =
        |path: &str| files.as_ref().map_or_else(|| read_now(path), |files| files.reads(&path[prefix.len()..]));
    // An unchanged file defines no other kinds. For an object that the clone lacks, git shows no size.
    let size = |path: &str| Some(repository.top().join(path).symlink_metadata().ok()?.len());
    let is_as_it_was = |entry: &TreeEntry| entry.size.is_some() && entry.size == size(&entry.path);
    let is_other = |entry: &&TreeEntry| read_then(&entry.path) && !(is_as_it_was(entry) && read_now(&entry.path));
    let others: Vec<&TreeEntry> = then.iter().filter(|entry| entry.kind == EntryKind::File).filter(is_other).collect();
    let texts = repository.contents(&others)?;
    let kinds = others.iter().zip(texts).filter_map(|(entry, text)| load::defined_kinds(&entry.path, &text));
    Ok(kinds.flatten().collect())
}

/// The lists of what the stack once had, as far as `listed` and the drift state of the call show it, within the filters
/// of the call. `read` are the namespaces of the plan; a shard has only some of them.
pub fn scopes(
    stack: &Stack<'_>,
    (read, shard): (&BTreeSet<Namespace>, Option<Shard>),
    check: Option<&DriftState>,
    listed: Listed,
    plan: &Plan,
) -> Vec<BTreeSet<Scope>> {
    if plan.stack.is_none() {
        return Vec::new();
    }
    let Listed { mut namespaces, mut kinds, .. } = listed;
    for key in check.into_iter().flat_map(DriftState::keys) {
        namespaces.insert(key.namespace.clone());
        kinds.insert(key.kind);
    }
    let is_read = |namespace: &Namespace| plan.scope.keys().any(|scope| scope.namespace == *namespace);
    let (tenants, config) = (&stack.context.tenants, &stack.loaded.config);
    namespaces.retain(|namespace| !is_read(namespace) && !stack.loaded.namespaces().contains(namespace));
    kinds.retain(|kind| !plan.scope.keys().any(|scope| scope.kind == *kind) && !stack.loaded.kinds().contains(kind));
    // Nearly every stack still lists all that it ever had: then other stacks are not searched.
    if namespaces.is_empty() && kinds.is_empty() {
        return Vec::new();
    }
    // Another environment or directory of the same stack may list what this one does not: then its plans cover that.
    let services = [Some(&plan.service.base_url), config.base_url.as_ref()];
    let is_service = |url: &String| services.into_iter().flatten().any(|service| BaseUrl::is_same(url, service));
    let is_here = |other: &&Config| other.base_url.as_ref().is_none_or(is_service);
    let mut elsewhere = BTreeSet::new();
    let mut list = |other: &Config| elsewhere.extend(Scope::each(&other.namespaces, &other.kinds_with_endpoint()));
    let own = config.environments.values().filter(|other| other.stack == config.stack);
    own.filter(is_here).for_each(&mut list);
    let top = (!namespaces.is_empty()).then(|| declared::top(&stack.loaded.root));
    for top in top.into_iter().chain(tenants.tops.borrow().iter().cloned()) {
        let directories = tenants.declared(&top);
        let others = directories.iter().flat_map(|all| all.iter());
        let others = others.filter(|other| other.path != *stack.loaded.root);
        let stacks = others.filter_map(|other| other.stacks().ok()).flatten();
        let stacks = stacks.filter(|(environment, config)| environment.is_some() || config.is_stack());
        // A directory that leaves the stack's name to the call may be of any stack.
        let is_named = |other: &&Config| other.stack.as_ref().map(ToString::to_string) == plan.stack;
        stacks.map(|(_, config)| config).filter(is_named).filter(is_here).for_each(&mut list);
    }
    let namespaces = shard::namespaces(shard, namespaces, &plan.service.base_url);
    let is_reached =
        |scope: &Scope| !elsewhere.contains(scope) && stack.selection.reaches(scope, &stack.loaded.desired);
    let of = |namespaces: &BTreeSet<Namespace>, kinds: &BTreeSet<KindName>| -> BTreeSet<Scope> {
        Scope::each(namespaces, kinds).filter(is_reached).collect()
    };
    let all = [of(&namespaces, &(&stack.loaded.kinds() | &kinds)), of(read, &kinds)];
    all.into_iter().filter(|scopes| !scopes.is_empty()).collect()
}

/// The namespaces and kinds of every version of `trueup.yaml` in the history of the working tree, also from other
/// directories of the stack; none if git does not show it. A thread searches them while the service answers.
pub async fn listed_before(stack: &Stack<'_>) -> Listed {
    let Ok(Some(name)) = stack.name() else { return Listed::default() };
    let is_named_by_call = settings::stack_text(stack.context).is_some();
    let repository = stack.repository.clone();
    aside(move || {
        let mut all = Listed::default();
        let repository = match repository.open() {
            Ok(repository) => repository,
            Err(error) => {
                // Without git there is no history.
                let is_without = matches!(*error, GitError::NoRepository(_) | GitError::NoProgram(_));
                all.unread = (!is_without).then(|| error.to_string());
                return all;
            }
        };
        let of = |version: &[u8], is_unnamed| lists_of(version.to_vec(), &name, is_unnamed);
        // In another directory, a file without a stack's name may be of any stack, so it does not count.
        let is_it = |version: &[u8]| of(version, false).is_some();
        let read = repository.versions(FILE, is_it, |version| {
            let (namespaces, kinds) = of(version, is_named_by_call).unwrap_or_default();
            all.namespaces.extend(namespaces);
            all.kinds.extend(kinds);
        });
        all.unread = read.err().map(|error| error.to_string());
        all
    })
    .await
}

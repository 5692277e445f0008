//! What git knows about a plan: the commit of its definitions, the commits that removed definitions
//! whose objects go, and, against a base branch, whose change each difference is. Nothing is checked
//! out; the definitions of other commits are loaded from memory, with their own configuration.

use std::path::Path;

use super::Context;
use super::blame;
use super::ending::{Ending, Error};
use super::stack::{self, Stack};
use crate::git::{EntryKind, GitError, Machine, Repository};
use crate::load::{self, Diagnostics, Loaded, SourceFile, StackFile};
use crate::plan::{Action, Change, History, Plan};

/// Why the definitions at a commit are not known.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// git cannot show the commit, or not all of it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its files do not load.
    #[error("they do not load: {}", .0.summary())]
    Wrong(Diagnostics),
}

/// The repository that `directory` is in.
///
/// # Errors
/// There is none that can be used.
pub fn repository(context: &Context, directory: &Path) -> Result<Repository, GitError> {
    let search_path = context.surroundings.path("PATH").map(Into::into);
    Repository::open(directory, &Machine { search_path, temporary: std::env::temp_dir() })
}

/// Adds what git knows. Without a base, a directory outside of any repository is as good as one in it.
///
/// # Errors
/// There is a base, and no repository, no history, or definitions in it that do not load.
pub fn attribute(context: &Context, stack: &Stack, plan: &mut Plan, base: Option<&str>) -> Result<(), Error> {
    let failed = |error| Error::new(Ending::Invalid, anyhow::Error::from(error)).hint("nothing was sent");
    let repository = match (repository(context, &stack.loaded.root), base) {
        (Ok(repository), _) => repository,
        (Err(error), Some(_)) => return Err(failed(error)),
        (Err(_), None) => return Ok(()),
    };
    plan.source.commit = repository.head().ok();
    name_removals(&repository, plan);
    let Some(base) = base else { return Ok(()) };
    let merge_base = repository.merge_base(base).map_err(failed)?;
    let tip = repository.resolve(base).map_err(failed)?;
    let at = |commit: &str, name: &str| {
        loaded_at(stack, &repository, commit).map_err(|error| unavailable(context, error, commit, name))
    };
    let at_tip = at(&tip, base)?;
    let at_merge_base =
        if merge_base == tip { at_tip.clone() } else { at(&merge_base, &format!("the merge base with {base}"))? };
    plan.source.base = Some(base.to_owned());
    let (merge_base, base) = (&at_merge_base.desired, &at_tip.desired);
    plan.attribute(History { merge_base, base, head: &stack.loaded.desired });
    Ok(())
}

fn name_removals(repository: &Repository, plan: &mut Plan) {
    let goes = |change: &&mut Change| matches!(change.action, Action::Delete { .. });
    let held = plan.held.iter_mut().filter_map(|held| held.change.as_mut());
    let mut deletes: Vec<&mut Change> = plan.changes.iter_mut().chain(held).filter(goes).collect();
    let mut removals = blame::removals(repository, deletes.iter().map(|change| change.key.clone()));
    for change in &mut deletes {
        change.removed_in = removals.remove(&change.key);
    }
}

/// The error of definitions that are not known at `commit`, which messages call by `name`.
fn unavailable(context: &Context, error: Unavailable, commit: &str, name: &str) -> Error {
    match error {
        Unavailable::Git(error) => Error::new(Ending::Invalid, error).hint("nothing was sent"),
        Unavailable::Wrong(diagnostics) => {
            let wrong = stack::wrong(context, &diagnostics);
            let short = commit.get(..7).unwrap_or(commit);
            Error::words(Ending::Invalid, format!("the definitions of {name} ({short}) do not load: {wrong}"))
                .hint("whose change a difference is cannot be told without them")
        }
    }
}

/// The stack as it was at a commit (a full id), with the settings that it had there.
///
/// # Errors
/// git cannot show the commit, or its files do not load.
pub fn loaded_at(stack: &Stack, repository: &Repository, commit: &str) -> Result<Loaded, Unavailable> {
    let loaded = &stack.loaded;
    // A single file without settings is the whole.
    let single = match (loaded.stack, loaded.desired.files, loaded.desired.definitions.values().next()) {
        (StackFile::Missing, 1, Some(definition)) => Some(definition.file.clone()),
        _ => None,
    };
    let wanted = |path: &str| {
        let hidden = path.split('/').any(|part| part.starts_with('.'));
        let source = [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
        source && !hidden && single.as_deref().is_none_or(|single| single == path)
    };
    let prefix = repository.prefix();
    let entries: Vec<_> = repository
        .entries(commit, prefix)?
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File && wanted(&entry.path[prefix.len()..]))
        .collect();
    let contents = repository.contents(&entries.iter().collect::<Vec<_>>())?;
    let files = entries
        .iter()
        .zip(contents)
        .map(|(entry, bytes)| SourceFile { path: entry.path[prefix.len()..].to_owned(), bytes })
        .collect();
    load::sources(files, stack.loaded.options()).map_err(Unavailable::Wrong)
}

//! What git knows about a plan: the commit of its definitions, the commits that removed definitions
//! whose objects go, and, against a base branch, whose change each difference is. Nothing is checked
//! out; the definitions of other commits are loaded from memory, with their own configuration.

use super::Context;
use super::ending::{Ending, Error};
use super::stack::{self, Stack};
use crate::git::Repository;
use crate::load::{self, SourceFile, StackFile};
use crate::model::Desired;
use crate::plan::{Action, Change, History, Plan};

/// Deleted definitions whose removing commit is looked up: each takes a walk through the history.
const MOST_REMOVALS: usize = 50;

/// Adds what git knows. Without a base, a directory outside of any repository is as good as one in it.
///
/// # Errors
/// There is a base, and no repository, no history, or definitions in it that do not load.
pub fn attribute(context: &Context, stack: &Stack, plan: &mut Plan, base: Option<&str>) -> Result<(), Error> {
    let failed = |error| Error::new(Ending::Invalid, anyhow::Error::from(error)).hint("nothing was sent");
    let repository = match (Repository::open(&stack.loaded.root), base) {
        (Ok(repository), _) => repository,
        (Err(error), Some(_)) => return Err(failed(error)),
        (Err(_), None) => return Ok(()),
    };
    plan.source.commit = repository.head().ok();
    name_removals(&repository, plan);
    let Some(base) = base else { return Ok(()) };
    let merge_base = repository.merge_base(base).map_err(failed)?;
    let tip = repository.resolve(base).map_err(failed)?;
    let at_tip = at(context, stack, &repository, &tip, base)?;
    let at_merge_base = if merge_base == tip {
        at_tip.clone()
    } else {
        at(context, stack, &repository, &merge_base, &format!("the merge base with {base}"))?
    };
    plan.source.base = Some(base.to_owned());
    plan.attribute(History { merge_base: &at_merge_base, base: &at_tip, head: &stack.loaded.desired });
    Ok(())
}

fn name_removals(repository: &Repository, plan: &mut Plan) {
    let goes = |change: &&mut Change| matches!(change.action, Action::Delete { .. });
    let held = plan.held.iter_mut().filter_map(|held| held.change.as_mut());
    for change in plan.changes.iter_mut().chain(held).filter(goes).take(MOST_REMOVALS) {
        change.removed_in = repository.removal(&change.key);
    }
}

/// The definitions at a commit, which messages call by `name`.
fn at(context: &Context, stack: &Stack, repository: &Repository, commit: &str, name: &str) -> Result<Desired, Error> {
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
    let files = repository.files(commit, wanted).map_err(|error| Error::new(Ending::Invalid, error))?;
    if files.is_empty() {
        return Ok(Desired::default());
    }
    let files = files.into_iter().map(|file| SourceFile { path: file.path, bytes: file.bytes }).collect();
    match load::sources(files, &stack::options(context)?) {
        Ok(loaded) => Ok(loaded.desired),
        Err(diagnostics) => {
            let wrong = stack::wrong(context, &diagnostics);
            let short = commit.get(..7).unwrap_or(commit);
            Err(Error::words(Ending::Invalid, format!("the definitions of {name} ({short}) do not load: {wrong}"))
                .hint("whose change a difference is cannot be told without them"))
        }
    }
}

//! The settings that a stack had at the tip of its base, so that a change cannot loosen its own rules:
//! of base and working tree the stricter are in force.

use super::Context;
use super::ending::{Ending, Error};
use super::stack::{self, Stack};
use super::{base, policy, settings};
use crate::git::{Entry, EntryKind, GitError, Repository};
use crate::load::{self, Config, Diagnostics, SourceFile, config};
use crate::model::policy::SafetySettings;

/// Puts the settings in force: with a base, of each the stricter of base and working tree.
///
/// # Errors
/// The base's settings are not known, or the policy forbids something.
pub fn settle(context: &Context, stack: &mut Stack, base: Option<&str>) -> Result<(), Error> {
    let Some(base) = base else { return Ok(()) };
    let settings = at(context, stack, base)?;
    policy::settle(context, stack, Some(&settings))
}

/// The settings of the stack at a base; the defaults where it had none there.
fn at(context: &Context, stack: &Stack, base: &str) -> Result<SafetySettings, Error> {
    let failed = |error: GitError| Error::new(Ending::Invalid, error).hint("nothing was sent");
    let repository = base::repository(context, &stack.loaded.root).map_err(failed)?;
    // What follows is told of a history that is whole.
    repository.merge_base(base).map_err(failed)?;
    let tip = repository.resolve(base).map_err(failed)?;
    let own = format!("{}{}", repository.prefix(), config::FILE);
    let entries = repository.entries(&tip, &own).map_err(failed)?;
    if let Some(entry) = entries.iter().find(|entry| entry.path == own) {
        if entry.kind != EntryKind::File {
            let told = format!("`{own}` is not a regular file at {base}");
            return Err(Error::words(Ending::Invalid, told)
                .hint("which settings were loosened cannot be told without it; nothing was sent"));
        }
        let config = read(context, &repository, entry).map_err(failed)?;
        return config.map(|config| config.safety()).map_err(|diagnostics| unreadable(context, &diagnostics, base));
    }
    // A directory that was renamed keeps the rules of its stack.
    let Some(name) = settings::stack(context, &stack.loaded.config)? else { return Ok(Config::default().safety()) };
    let named = |path: &str| path == config::FILE || path.ends_with(&format!("/{}", config::FILE));
    let all = repository.entries(&tip, "").map_err(failed)?;
    for entry in all.iter().filter(|entry| entry.kind == EntryKind::File && named(&entry.path)) {
        // The settings of another stack need not load here.
        let Ok(config) = read(context, &repository, entry).map_err(failed)? else { continue };
        if config.stack.as_ref().is_some_and(|stack| stack.as_str() == name) {
            return Ok(config.safety());
        }
    }
    Ok(Config::default().safety())
}

/// The settings in a file of a commit, for the environment of this call. An environment that the change
/// adds had the settings of all environments before.
fn read(context: &Context, repository: &Repository, entry: &Entry) -> Result<Result<Config, Diagnostics>, GitError> {
    let bytes = repository.contents(&[entry])?.into_iter().next().unwrap_or_default();
    let file = SourceFile { path: config::FILE.to_owned(), bytes };
    let environment = stack::environment(context);
    let read = |environment: Option<String>| {
        load::settings_of(Some(file.clone()), &load::Options { environment, ..load::Options::default() })
    };
    Ok(read(None).and_then(|config| match &environment {
        Some(name) if config.environments.contains_key(name) => read(environment),
        _ => Ok(config),
    }))
}

fn unreadable(context: &Context, diagnostics: &Diagnostics, base: &str) -> Error {
    let wrong = stack::wrong(context, diagnostics);
    Error::words(Ending::Invalid, format!("the settings of {base} do not load: {wrong}"))
        .hint("which of them were loosened cannot be told without them")
}

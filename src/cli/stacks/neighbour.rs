//! Another stack of the same repository, found by its name: the directories below the top of the repository are
//! searched for a `trueup.yaml` that names it.

use std::path::Path;

use crate::cli::{Context, Result, configuration, diagnostics};
use crate::load::{self, Config, LoadOptions, Loaded};

/// What is known of another stack.
pub enum Neighbour {
    /// It lies in the same repository.
    Found(Box<Loaded>),
    /// It is not found, in words: what it defines is not known.
    NotFound(String),
}

/// The stack of this name in the repository of `beside`.
///
/// # Errors
/// Its definitions are wrong.
pub fn find(context: &Context, beside: &Loaded, name: &str) -> Result<Neighbour> {
    let top = beside.root.ancestors().find(|above| above.join(".git").exists());
    let given = LoadOptions { config: None, ..configuration::load_options(context)? };
    let is_it = |config: &Config| {
        let urls = config.base_url.as_ref().zip(beside.config.base_url.as_ref());
        let is_of_service = urls.is_none_or(|(one, other)| one == other);
        is_of_service && config.stack.as_ref().is_some_and(|stack| stack.as_str() == name)
    };
    // What cannot be read is not found.
    let stacks = top.and_then(|top| load::stacks_below(top).ok()).unwrap_or_default();
    let others = stacks.into_iter().filter(|directory| *directory != beside.root);
    let mut found = others.filter_map(|directory| {
        let (options, config) = settings(&directory, &given)?;
        is_it(&config).then_some((directory, options))
    });
    match (found.next(), found.next()) {
        (None, _) => Ok(Neighbour::NotFound(format!("no directory of stack {name} is in this repository"))),
        (Some((directory, options)), None) => {
            let loaded =
                load::directory(&directory, &options).map_err(|problems| diagnostics::error(context, &problems))?;
            Ok(Neighbour::Found(Box::new(loaded)))
        }
        (Some((one, _)), Some((other, _))) => {
            let shown = |path: &Path| context.environment.shown_from_here(path).trim_end_matches('/').to_owned();
            let text = format!("both `{}` and `{}` are the stack {name}", shown(&one), shown(&other));
            Ok(Neighbour::NotFound(text))
        }
    }
}

/// The settings of a directory, with as much of what the call gives as they know. Settings that are wrong name no stack.
fn settings(directory: &Path, given: &LoadOptions) -> Option<(LoadOptions, Config)> {
    let bare = LoadOptions { environment: None, variables: std::collections::BTreeMap::new(), ..given.clone() };
    let config = load::settings(directory, &bare).ok()?;
    let mut options = given.clone();
    options.environment = options.environment.filter(|name| config.environments.contains_key(name));
    options.variables.retain(|name, _| config.variables.contains_key(name));
    let config = load::settings(directory, &options).ok()?;
    Some((options, config))
}

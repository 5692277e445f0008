//! The configuration of a call: which `trueup.yaml` applies, with the environment and the variables that
//! flags choose, and with the limits of the policy.

use std::path::{Path, PathBuf};

use crate::cli::{Context, Result, diagnostics, hint, policy, settings};
use crate::load::{self, Config, LoadOptions};
use crate::plan::Plan;
use crate::report::safe;

/// The options of every load, from flags and environment.
pub fn load_options(context: &Context) -> LoadOptions {
    let variables = context.global.var.iter().cloned().collect();
    let (environment, config) = (context.chosen_environment(), context.global.config.clone());
    LoadOptions { variables, environment, config, ..LoadOptions::default() }
}

/// The directory of the stack that contains a path.
///
/// # Errors
/// It cannot be read.
pub fn root(context: &Context, path: &Path) -> Result<PathBuf> {
    load::root(path, &load_options(context)).map_err(|found| diagnostics::error(context, &found))
}

/// The configuration in `directory` or above it; the default if there is none.
///
/// # Errors
/// It cannot be read.
pub fn of_directory(context: &Context, directory: &Path) -> Result<Config> {
    // `--config` need not name the configuration of the directory.
    let existing = directory.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("."));
    let mut config = load::settings(named(context).unwrap_or(existing), &load_options(context))
        .map_err(|found| diagnostics::error(context, &found))?;
    policy::limit(context, &mut config);
    Ok(config)
}

/// The directory of `--config`.
fn named(context: &Context) -> Option<&Path> {
    context.global.config.as_deref().map(|file| match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    })
}

/// The directory of the stack that a call without one is about: that of `--config`, else the working directory.
pub fn directory(context: &Context) -> &Path {
    named(context).unwrap_or(Path::new("."))
}

/// The configuration for a saved plan or a recorded run: that of `--config`, else that of the working
/// directory. The plan itself never names it, because a file must not choose its own limits.
///
/// # Errors
/// It cannot be read, or it is of another stack.
pub fn of_plan(context: &Context, plan: &Plan) -> Result<Config> {
    let config = of_directory(context, Path::new("."))?;
    let stack = settings::stack(context, &config)?;
    if stack != plan.stack {
        let named =
            |stack: &Option<String>| stack.as_ref().map_or("no stack".to_owned(), |name| format!("stack `{name}`"));
        let error = error!(Refused, "the plan is of {}, and the settings name {}", named(&plan.stack), named(&stack));
        let made_for = plan.source.environment.as_ref().filter(|_| context.chosen_environment().is_none());
        let error = error.hint_each(made_for.map(|name| format!("the plan was made with --env {}", safe::shell(name))));
        return Err(error.hint(hint::configuration_of(&plan.source.origin.to_string())).hint("nothing was sent"));
    }
    policy::check_plan(context, (&config, directory(context)), plan)?;
    Ok(config)
}

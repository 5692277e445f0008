//! Which stacks a command is about: one, or several by their directories, by `--recursive`, or by the environments of
//! `--env all`.

use crate::cli::args::StacksArgs;
use crate::cli::prelude::*;
use crate::cli::{CommandError, Context, Result, settings};
use crate::file::real_path_or_given;
use crate::model::grouped;
use crate::report::fleet;

/// What a command is about.
pub enum Targets {
    /// One stack, to which all paths of the call belong.
    One,
    /// Several.
    Several(Vec<Target>),
}

/// One of several stacks.
#[derive(Debug, Clone)]
pub struct Target {
    /// The paths of the call that lie in it.
    pub paths: Vec<PathBuf>,
    /// Its environment, if the call is about all of them; `None` for a stack without environments.
    pub environment: Option<String>,
    /// Whether it is skipped if it does not have the environment that the call names.
    pub skips_missing_environment: bool,
}

impl Target {
    /// The paths as they were typed.
    pub fn directory(&self) -> String {
        let shown: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        shown.join(" ")
    }

    /// The paths, with the environment if the call is about several.
    pub fn name(&self) -> String {
        fleet::name(&self.directory(), self.environment.as_deref().as_slice()).into_owned()
    }

    /// The first of its paths.
    pub fn path(&self) -> &Path {
        &self.paths[0]
    }
}

/// The stacks that the paths of a call name.
///
/// # Errors
/// A path that cannot be read, or a directory without a stack below it.
pub fn of(context: &Context, paths: &[PathBuf], stacks: StacksArgs) -> Result<Targets> {
    let recursive = stacks.recursive;
    let all = context.global.env.as_deref() == Some(config::EVERY_ENVIRONMENT);
    if !recursive && !all && paths.len() == 1 {
        return Ok(Targets::One);
    }
    let found = if recursive { below(paths)? } else { by_root(context, paths)? };
    if found.len() == 1 && !recursive && !all {
        return Ok(Targets::One);
    }
    let mut targets = Vec::new();
    for paths in found {
        let environments = if all { environments(&paths)? } else { vec![None] };
        targets.extend(environments.into_iter().map(|environment| Target {
            paths: paths.clone(),
            environment,
            skips_missing_environment: stacks.skip_missing_env,
        }));
    }
    Ok(Targets::Several(targets))
}

/// The error for `what`, which is for one stack, in a call about several.
pub fn for_one(what: &str) -> CommandError {
    error!(Usage, "`{what}` is for one stack, and the call names several")
}

/// The words of a command about the same stacks.
pub fn call(context: &Context) -> String {
    context.call.about("recursive skip_missing_env only except namespace selector")
}

/// The words of a command that makes the same plans of them.
pub fn call_of_plans(context: &Context) -> String {
    call(context) + &context.call.flags("adopt prune_namespace base only_this_change allow")
}

/// Every stack below the directories.
///
/// # Errors
/// There is none below one of them, or one cannot be searched.
pub fn below(directories: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>> {
    let (found, without) = below_if_any(directories)?;
    match without.first() {
        Some(directory) => Err(none_below(directory)),
        None => Ok(found.into_iter().map(|stack| vec![stack]).collect()),
    }
}

/// The error of a directory without a stack.
pub fn none_below(directory: &Path) -> CommandError {
    error!(Usage, "there is no {} in or below `{}`", config::FILE, directory.display())
        .hint("a stack is a directory with that file")
}

/// Every stack below the directories, and the directories without one.
///
/// # Errors
/// A directory cannot be searched.
pub fn below_if_any(directories: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<&Path>)> {
    let (mut found, mut without): (Vec<PathBuf>, Vec<&Path>) = (Vec::new(), Vec::new());
    for directory in directories {
        let stacks = load::stacks_below(directory)
            .map_err(|problem| error!(Invalid, "{}", problem.message).hint("give the directories of the stacks"))?;
        if stacks.is_empty() {
            without.push(directory);
        }
        // Without `./`, a name that begins with `-` would be an option of the next command.
        let is_option = |path: &Path| path.as_os_str().as_encoded_bytes().starts_with(b"-");
        found.extend(stacks.into_iter().map(|stack| match stack.strip_prefix("./") {
            Ok(below) if !below.as_os_str().is_empty() && !is_option(below) => below.to_owned(),
            _ => stack,
        }));
    }
    found.sort();
    let mut seen = BTreeSet::new();
    found.retain(|stack| seen.insert(real_path_or_given(stack)));
    Ok((found, without))
}

/// The paths of the call by their stack, in the order of the call.
fn by_root(context: &Context, given: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>> {
    let roots = given.iter().map(|path| Ok((settings::root(context, path)?, path.clone())));
    Ok(grouped(roots.collect::<Result<Vec<_>>>()?).into_iter().map(|(_, paths)| paths).collect())
}

/// Every environment of a stack; settings that cannot be read are an error of the stack, and not of the call.
fn environments(paths: &[PathBuf]) -> Result<Vec<Option<String>>> {
    let config = load::settings(&paths[0], &LoadOptions::default()).unwrap_or_default();
    let names: Vec<Option<String>> = config.environments.into_keys().map(Some).collect();
    if names.iter().flatten().any(|name| name == config::EVERY_ENVIRONMENT) {
        let path = paths[0].display();
        return Err(error!(Usage, "`{path}` has an environment `all`, and `--env all` means every one")
            .hint("rename that environment"));
    }
    Ok(if names.is_empty() { vec![None] } else { names })
}

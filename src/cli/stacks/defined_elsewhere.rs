//! Deletes of endpoints that another stack of the repository defines now: a definition that is moved from one stack to
//! another must not cost the endpoint, so its delete is blocked until that stack owns it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::api::BaseUrl;
use crate::cli::args::GlobalArgs;
use crate::cli::context::Context;
use crate::cli::hint;
use crate::cli::stack::Stack;
use crate::load::{self, Config, LoadOptions, StackFiles};
use crate::model::{Key, Namespace};
use crate::plan::{BlockReason, Plan};
use crate::report::safe;

/// Blocks the deletes of what another stack of the same repository and service defines now.
pub fn block(context: &Context, stack: &Stack, plan: &mut Plan) {
    let keys: Vec<Key> = plan.deletes().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let Ok(repository) = stack.repository.open() else { return };
    let here = &stack.loaded.root;
    let configured = stack.loaded.config.base_url.as_deref();
    let service = Service { planned: &plan.service.base_url, configured, takes_unnamed: true };
    let mut elsewhere: BTreeMap<Key, BlockReason> = BTreeMap::new();
    for directory in context.tenants.stacks_below(repository.top()).iter().filter(|other| *other != here) {
        let mut definers = service.defined_in(directory, &keys);
        definers.sort_by_key(|definer| definer.environment != context.global.env);
        for Definer { key, stack: name, environment } in definers {
            let shown = context.environment.shown_from_here(directory);
            let directory = if shown.is_empty() { ".".to_owned() } else { shown.trim_end_matches('/').to_owned() };
            let from = plan.stack.as_deref().filter(|_| name.is_some());
            let transfer = from.and_then(|from| transfer(context, from, &directory, environment));
            elsewhere.entry(key).or_insert(BlockReason::DefinedElsewhere { stack: name, directory, transfer });
        }
    }
    plan.block_deletes(|key| elsewhere.remove(key));
}

/// The command that transfers what the stack in `directory` defines in this environment from the stack `from`. What the
/// call sets for its own stack alone would be wrong for the other.
fn transfer(context: &Context, from: &str, directory: &str, environment: Option<String>) -> Option<String> {
    let global = GlobalArgs { env: environment, ..context.global.clone() };
    let is_own = global.config.is_some() || global.stack.is_some() || !global.var.is_empty();
    let (from, directory) = (safe::shell(from), safe::shell(directory));
    (!is_own).then(|| format!("trueup move --from {from} --directory {directory}{}", hint::settings(&global)))
}

/// Those of `keys` that a stack below `top` defines now for the service of these settings.
pub fn keys(context: &Context, top: &Path, config: &Config, keys: &[Key]) -> BTreeSet<Key> {
    let configured = config.base_url.as_deref();
    let takes_unnamed = configured.is_none();
    let service = Service { planned: configured.unwrap_or_default(), configured, takes_unnamed };
    let stacks = context.tenants.stacks_below(top);
    let defined = stacks.iter().flat_map(|directory| service.defined_in(directory, keys));
    defined.map(|definer| definer.key).collect()
}

/// A stack that defines an endpoint, and its first environment that does.
struct Definer {
    key: Key,
    stack: Option<String>,
    environment: Option<String>,
}

/// The service of a plan, as the configuration names it and as it is.
struct Service<'a> {
    planned: &'a str,
    configured: Option<&'a str>,
    /// A stack whose configuration names no service may be for this one: the call names it.
    takes_unnamed: bool,
}

impl Service<'_> {
    /// Those of `keys` that the stack in `directory` defines for this service in any of its environments.
    fn defined_in(&self, directory: &Path, keys: &[Key]) -> Vec<Definer> {
        let options = LoadOptions::default();
        let Ok(config) = load::settings(directory, &options) else { return Vec::new() };
        let files = StackFiles::new(&config);
        let environments = config.environments.iter().map(|(name, config)| (Some(name.clone()), config));
        let alone = config.environments.is_empty().then_some((None, &config));
        let mut found: Vec<Definer> = Vec::new();
        let mut texts: Option<Vec<(String, Vec<u8>)>> = None;
        for (environment, config) in environments.chain(alone) {
            let could: Vec<&Key> = keys.iter().filter(|key| self.could_define(config, &key.namespace)).collect();
            if could.is_empty() {
                continue;
            }
            let texts = texts.get_or_insert_with(|| read(directory, &files, &options));
            let named = |key: &&Key| texts.iter().any(|(path, bytes)| load::defines(path, bytes, key) != Some(false));
            let could: Vec<&Key> = could.into_iter().filter(named).collect();
            if could.is_empty() {
                continue;
            }
            let options = LoadOptions { environment: environment.clone(), ..LoadOptions::default() };
            let loaded = load::directory(directory, &options);
            let defines = |key: &Key| match &loaded {
                Ok(loaded) => loaded.desired.definitions.contains_key(key),
                // A stack that does not load now still says so by its text.
                Err(_) => texts.iter().any(|(path, bytes)| load::defines(path, bytes, key) == Some(true)),
            };
            let stack = config.stack.as_ref().map(ToString::to_string);
            let defined = could.into_iter().filter(|key| defines(key)).cloned();
            found.extend(defined.map(|key| Definer { key, stack: stack.clone(), environment: environment.clone() }));
        }
        found
    }

    /// Whether a stack with these settings can define an endpoint of the namespace for this service.
    fn could_define(&self, config: &Config, namespace: &Namespace) -> bool {
        let is_same = |one: &str, other: &str| match (BaseUrl::parse(one), BaseUrl::parse(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        };
        let is_here = config.base_url.as_deref().map_or(self.takes_unnamed, |url| {
            is_same(url, self.planned) || self.configured.is_some_and(|configured| is_same(url, configured))
        });
        is_here && (config.namespaces.is_empty() || config.namespaces.contains(namespace))
    }
}

/// The files of a stack with their paths.
fn read(directory: &Path, files: &StackFiles, options: &LoadOptions) -> Vec<(String, Vec<u8>)> {
    let bytes = |path: &PathBuf| crate::file::read(path, options.limits.file_bytes).ok();
    let paths = files.below(directory).into_iter().filter(|file| files.reads(&file.path));
    paths
        .filter_map(|file| Some((bytes(&directory.join(&file.path))?, file.path)))
        .map(|(bytes, path)| (path, bytes))
        .collect()
}

//! Deletes of objects that another stack of the repository or of the call defines now, or refers to: moving a
//! definition from one stack to another must not delete the object, so its delete is blocked until that stack owns it.
//! Files that cannot be read and may define the object block its delete, with the reason.

use crate::cli::context::LazyRepository;
use crate::cli::prelude::*;
use crate::cli::stacks::declared::{self, DeclaredDirectory, Referrer};
use crate::cli::stacks::lacking::CommitPart;
use crate::cli::{Context, Result, policy, settings};
use crate::git::{EntryKind, GitError, Repository, TreeEntry};
use crate::load::{DirectoryKeys, StackFiles, WantedKeys, is_hidden, is_source};
use crate::model::RelatedObject;
use crate::model::policy::Prune;
use crate::plan::{BlockReason, BrokenReference, Change, KeyAllowance, Note, Unchangeable};

/// How a plan is related to the current definitions of its own stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Definitions {
    /// It is made from them.
    Planned,
    /// It is older: they may define by now what it deletes.
    Later,
}

/// The directory of the plan's own stack, its settings and its repository.
type OwnDirectory<'a> = (&'a Path, &'a Config, &'a LazyRepository);

/// The objects that definitions of other stacks refer to, each with those that do.
pub type Referrers = BTreeMap<Key, Vec<RelatedObject>>;

/// Blocks the deletes of objects that another stack of the same service defines now, or may define: a stack of the
/// repository, or of the repositories and directories that the call is about. Returns what their definitions refer to.
/// `own` is how the plan is related to the definitions of its own stack.
pub fn block(context: &Context, here: OwnDirectory<'_>, own: Definitions, plan: &mut Plan) -> Referrers {
    // A definition that stays may still refer to one that moved.
    let is_referred = |reason: &BlockReason| matches!(reason, BlockReason::Reference(BrokenReference::Deleted(_)));
    let referred = plan.blocked.iter().filter(|blocked| is_referred(&blocked.reason)).map(|blocked| &blocked.key);
    let keys: Vec<Key> = plan.deletes().chain(referred).cloned().collect();
    let (mut elsewhere, referrers) = elsewhere(context, here, own, plan, &keys);
    for blocked in plan.blocked.iter_mut().filter(|blocked| is_referred(&blocked.reason)) {
        elsewhere.remove(&blocked.key).into_iter().for_each(|reason| blocked.reason = reason);
    }
    plan.block_deletes(|key| elsewhere.remove(key));
    referrers
}

/// Adds how to transfer objects that the stack owns outside of `namespaces:` and `kinds:` and another stack defines.
pub fn note(context: &Context, here: OwnDirectory<'_>, plan: &mut Plan) {
    let key = |note: &Note| match note {
        Note::Outside { key, .. } | Note::OutsideKinds { key, .. } => Some(key.clone()),
        _ => None,
    };
    let keys: Vec<Key> = plan.notes.iter().filter_map(key).collect();
    let (mut elsewhere, _) = elsewhere(context, here, Definitions::Planned, plan, &keys);
    for note in &mut plan.notes {
        let (Note::Outside { key, transfer, unknown } | Note::OutsideKinds { key, transfer, unknown }) = note else {
            continue;
        };
        match elsewhere.remove(key) {
            Some(BlockReason::DefinedElsewhere { transfer: command, .. }) => *transfer = command,
            Some(BlockReason::Unchangeable(Unchangeable::DefinersUnknown { reason })) => *unknown = Some(reason),
            _ => {}
        }
    }
}

/// Why those of `keys` that another stack defines, or may define, are not deleted, and what other definitions refer to.
fn elsewhere(
    context: &Context,
    (here, config, repository): OwnDirectory<'_>,
    definitions: Definitions,
    plan: &Plan,
    keys: &[Key],
) -> (BTreeMap<Key, BlockReason>, Referrers) {
    let (mut elsewhere, mut referrers) = (BTreeMap::new(), Referrers::new());
    if keys.is_empty() {
        return (elsewhere, referrers);
    }
    let mut tops = context.tenants.tops.borrow().clone();
    tops.insert(declared::top(here));
    let configured = config.base_url.as_deref();
    let planned = &plan.service.base_url;
    let service = Service { planned, configured, takes_unnamed: true, variables: settings::variables(context) };
    let (chosen, tenants) = (context.global.env.as_deref(), plan.own_tenants());
    let is_unowned = |change: &&Change| change.action.before().is_some_and(|before| !plan.owns(&before.endpoint));
    let unowned: BTreeSet<&Key> = plan.with_blocked().filter(is_unowned).map(|change| &change.key).collect();
    for top in &tops {
        let declared = match context.tenants.declared(top) {
            Ok(declared) => declared,
            Err(reason) => {
                elsewhere.extend(keys.iter().map(|key| (key.clone(), unknown(reason.clone()))));
                continue;
            }
        };
        for other in declared.iter() {
            let (own, shown) = (other.path == here, context.environment.directory_from_here(&other.path));
            // A rollback deletes what its run created, although environments share the definition.
            if own && plan.undone().is_some() {
                continue;
            }
            let as_own = own.then_some((chosen, definitions));
            let (mut definers, referring) = service.definers(other, as_own, keys);
            definers.sort_by_key(|definer| (definer.problem.is_some(), definer.environment.as_deref() != chosen));
            for definer in definers {
                let is_owned = !unowned.contains(&definer.key);
                elsewhere.entry(definer.key.clone()).or_insert_with(|| definer.reason(context, plan, &shown, is_owned));
            }
            let is_own = |tenant: &Option<String>| tenant.as_ref().is_none_or(|tenant| tenants.contains(tenant));
            for (key, (by, _)) in referring.into_iter().filter(|(_, (_, tenant))| is_own(tenant)) {
                let referrers = referrers.entry(key).or_default();
                if referrers.iter().all(|one| one.key().as_ref() != Some(&by)) {
                    referrers.push(RelatedObject::from(&by));
                }
            }
        }
    }
    // If git cannot be asked, an empty directory alone does not block: many repositories have one.
    let left_out = |repository: &LazyRepository| match repository.open_lacking(|_| false) {
        Ok(repository) => repository.map_or_else(Vec::new, |repository| service.left_out(context, repository, keys)),
        Err(error) => keys.iter().map(|key| (key.clone(), error.to_string())).collect(),
    };
    let is_own = |top: &&PathBuf| repository.open().is_ok_and(|own| own.top() == top.as_path());
    let others = tops.iter().filter(|top| !is_own(top)).map(|top| LazyRepository::new(context, top));
    for (key, reason) in left_out(repository).into_iter().chain(others.flat_map(|other| left_out(&other))) {
        elsewhere.entry(key).or_insert_with(|| unknown(reason));
    }
    (elsewhere, referrers)
}

/// [`block`] for a plan that is not made from the current definitions of its stack, the one of the settings in force:
/// what these define is not deleted, either.
///
/// # Errors
/// The directory of the stack cannot be read.
pub fn block_here(context: &Context, config: &Config, plan: &mut Plan) -> Result<Referrers> {
    let root = settings::root(context, settings::directory(context))?;
    Ok(block(context, (&root, config, &LazyRepository::new(context, &root)), Definitions::Later, plan))
}

/// Rejects a plan from a file, or the rest of a run, that deletes what a stack defines or refers to by now.
///
/// # Errors
/// The plan deletes such an object, or the definitions cannot be read.
pub fn refuse(context: &Context, config: &Config, plan: &Plan) -> Result<()> {
    let mut now = plan.clone();
    let (referrers, consents) = (block_here(context, config, &mut now)?, plan.consents());
    let blocked: BTreeSet<&Key> = plan.blocked.iter().map(|blocked| &blocked.key).collect();
    let newly = now.blocked.iter().find(|one| !blocked.contains(&one.key)).map(|one| (&one.key, one.reason.clone()));
    let referred = || {
        let (key, by) =
            referrers.iter().find(|(key, _)| !blocked.contains(key) && !consents.key(KeyAllowance::Referred, key))?;
        Some((key, BlockReason::Referred { by: by.clone() }))
    };
    let Some((key, reason)) = newly.or_else(referred) else { return Ok(()) };
    let why = match reason {
        BlockReason::DefinedElsewhere { stack: Some(stack), directory, .. } => {
            format!("stack `{stack}` in {directory} defines it by now")
        }
        BlockReason::DefinedElsewhere { directory, .. } => format!("a stack in {directory} defines it by now"),
        BlockReason::Unchangeable(Unchangeable::DefinersUnknown { reason }) => reason,
        BlockReason::Referred { by } => {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            format!("{} refers to it by now, as another stack defines it", by.join(", "))
        }
        _ => return Ok(()),
    };
    Err(error!(Refused, "the plan deletes `{key}`, and {why}")
        .hint("plan again: the new plan says what to do about it")
        .hint("nothing was sent"))
}

fn unknown(reason: String) -> BlockReason {
    BlockReason::Unchangeable(Unchangeable::DefinersUnknown { reason })
}

/// The command that transfers what the stack in `directory` defines in this environment from the stack `from`, or from
/// none. `None` if the call has settings for its own stack, which would be wrong for the other one.
fn transfer(context: &Context, from: Option<&str>, directory: &str, environment: Option<String>) -> Option<String> {
    let Context { call, global, .. } = context;
    let settings = call.clone().with("env", environment).settings();
    let is_own = global.config.is_some() || global.stack.is_some() || !global.var.is_empty();
    let directory = safe::shell(directory);
    (!is_own).then(|| match from.map(safe::shell) {
        Some(from) => format!("trueup move --from {from} --directory {directory}{settings}"),
        None => format!("trueup apply {directory} --adopt{settings}"),
    })
}

/// The command by which the stack of a plan gives an object away, which needs no consent.
fn gift(context: &Context, plan: &Plan, to: &str, key: &Key) -> Option<String> {
    let words = [plan.stack.as_deref()?, to, plan.made_for()?, &key.to_string()];
    let [from, to, directory, key] = words.map(safe::shell);
    let settings = context.call.settings();
    Some(format!("trueup move --from {from} --to {to} --directory {directory} {key}{settings}"))
}

/// Those of `keys` that a stack below `top` defines now for the service of these settings, with its directory; and
/// those that one may define, with the reason why that is unknown, such as a sparse working tree of `repository`.
pub fn keys(
    context: &Context,
    (top, repository): (&Path, Option<&Repository>),
    config: &Config,
    keys: &[Key],
) -> BTreeMap<Key, Result<String, String>> {
    let service = Service::of(context, config);
    let declared = match context.tenants.declared(top) {
        Ok(declared) => declared,
        Err(reason) => return keys.iter().map(|key| (key.clone(), Err(reason.clone()))).collect(),
    };
    let mut found = BTreeMap::new();
    for other in declared.iter() {
        let shown = context.environment.directory_from_here(&other.path);
        for definer in service.definers(other, None, keys).0 {
            let known = definer.unknown(&shown).map_or_else(|| Ok(shown.clone()), Err);
            let first: &mut Result<_, _> = found.entry(definer.key).or_insert_with(|| known.clone());
            if first.is_err() {
                *first = known;
            }
        }
    }
    for (key, reason) in repository.into_iter().flat_map(|repository| service.left_out(context, repository, keys)) {
        found.entry(key).or_insert(Err(reason));
    }
    found
}

/// Those of `keys` that the stack of these settings deletes in another directory below `top`.
pub fn deleted(context: &Context, top: &Path, config: &Config, keys: &[Key]) -> BTreeSet<Key> {
    let service = Service::of(context, config);
    let declared = context.tenants.declared(top);
    let stacks = declared.iter().flat_map(|all| all.iter()).filter_map(|other| other.stacks().ok()).flatten();
    let is_same = |other: &&Config| other.stack.is_some() && other.stack == config.stack && service.is_of(other);
    let same: Vec<&Config> = stacks.map(|(_, config)| config).filter(is_same).collect();
    keys.iter().filter(|key| same.iter().any(|other| prunes(other, key))).cloned().collect()
}

/// Whether a plan with these settings deletes what the stack owns and does not define, such as this object.
fn prunes(config: &Config, key: &Key) -> bool {
    config.safeguards.prune != Prune::None
        && config.namespaces.contains(&key.namespace)
        && config.kinds_with_endpoint().contains(&key.kind)
}

/// A stack that defines an endpoint, or may define it.
struct Definer {
    key: Key,
    stack: Option<String>,
    environment: Option<String>,
    /// Why it cannot be read.
    problem: Option<String>,
}

impl Definer {
    fn new(key: &Key, stack: Option<String>, environment: Option<&str>, problem: Option<&String>) -> Self {
        Self { key: key.clone(), stack, environment: environment.map(str::to_owned), problem: problem.cloned() }
    }

    /// Why it is unknown whether the stack defines the object.
    fn unknown(&self, directory: &str) -> Option<String> {
        let place = self.environment.as_ref().map(|name| format!(" (environment {name})")).unwrap_or_default();
        self.problem.as_ref().map(|problem| format!("{directory}{place} may define it: {problem}"))
    }

    /// Why the delete of the object is blocked; it is owned by the stack of the plan if `is_owned`, else by no stack.
    fn reason(self, context: &Context, plan: &Plan, directory: &str, is_owned: bool) -> BlockReason {
        if let Some(reason) = self.unknown(directory) {
            return unknown(reason);
        }
        let Self { key, stack, environment, .. } = self;
        let same_stack = stack.is_some() && stack == plan.stack;
        let from = plan.stack.as_deref().filter(|_| !same_stack);
        let transfer = from.zip(stack.as_deref()).and_then(|(from, to)| {
            match policy::permits_names(context, &[format!("foreign-stack={key}")]) {
                _ if !is_owned => transfer(context, None, directory, environment.clone()),
                Ok(()) => transfer(context, Some(from), directory, environment.clone()),
                Err(_) => gift(context, plan, to, &key),
            }
        });
        BlockReason::DefinedElsewhere { stack, directory: directory.to_owned(), environment, same_stack, transfer }
    }
}

/// The service of a plan, as the plan and the configuration name it.
struct Service<'a> {
    planned: &'a str,
    configured: Option<&'a str>,
    /// Whether stacks whose configuration names no service may be for this one, because the call names it.
    takes_unnamed: bool,
    /// The variables of the call.
    variables: BTreeMap<String, String>,
}

impl<'a> Service<'a> {
    /// The service of these settings.
    fn of(context: &Context, config: &'a Config) -> Self {
        let configured = config.base_url.as_deref();
        let (planned, takes_unnamed) = (configured.unwrap_or_default(), configured.is_none());
        Self { planned, configured, takes_unnamed, variables: settings::variables(context) }
    }

    /// Which stacks in a directory define some of `keys` for this service, and what refers to these. `own` means the
    /// directory of the plan, with the plan's environment: there, what the environments share does not count, because
    /// an overlay may remove it from one of them; nor does what is planned.
    fn definers(
        &self,
        other: &DeclaredDirectory,
        own: Option<(Option<&str>, Definitions)>,
        keys: &[Key],
    ) -> (Vec<Definer>, Vec<(Key, Referrer)>) {
        let stacks: Vec<_> = match other.stacks() {
            Ok(stacks) => stacks.collect(),
            Err(reason) => {
                let may = keys.iter().filter(|key| other.texts().may_be_meant_to_define(key));
                let problem = reason.to_owned();
                return (may.map(|key| Definer::new(key, None, None, Some(&problem))).collect(), Vec::new());
            }
        };
        let has_environments = stacks.len() > 1;
        let is_in_environment = stacks.iter().any(|(environment, config)| environment.is_some() && self.is_of(config));
        let (mut found, mut referrers) = (Vec::new(), Vec::new());
        for (environment, config) in stacks {
            let is_later = own.is_some_and(|own| own == (environment, Definitions::Later));
            let is_own = own.is_some_and(|(chosen, _)| environment.is_none() || environment == chosen) && !is_later;
            // Without a name, what environments share defines nothing by itself.
            let is_nameless = environment.is_none() && has_environments && config.stack.is_none();
            if is_own || is_nameless || !self.is_of(config) {
                continue;
            }
            let may: Vec<&Key> = keys.iter().filter(|key| other.texts().may_be_meant_to_define(key)).collect();
            let is_stack = environment.is_some() || config.is_stack();
            let is_named = |key: &&Key| is_stack && other.texts().may_name(key);
            let named: Vec<&Key> = keys.iter().filter(is_named).collect();
            if may.is_empty() && named.is_empty() {
                continue;
            }
            let stack = config.stack.as_ref().map(ToString::to_string);
            match other.defined(environment, &self.variables).as_ref() {
                Ok(all) => {
                    let (defined, other): (Vec<_>, Vec<_>) = may.into_iter().partition(|key| all.keys.contains(*key));
                    found.extend(defined.into_iter().map(|key| Definer::new(key, stack.clone(), environment, None)));
                    let unknown = other.into_iter().filter(|_| all.problem.is_some());
                    let definer = |key| Definer::new(key, stack.clone(), environment, all.problem.as_ref());
                    found.extend(unknown.map(definer));
                    let by = |key: &Key| all.referrers.get(key).into_iter().flatten().cloned();
                    referrers.extend(named.into_iter().flat_map(|key| by(key).map(|by| (key.clone(), by))));
                }
                // Files that only make sense in an environment of this service do not make a stack without one.
                Err(problems) if !is_stack || (problems.lacks_environment && is_in_environment) => {}
                Err(problems) => {
                    let problem = match problems.lacks_environment {
                        true => "only its environments set the variables that it uses; if it is for another service, \
                                 name that with `base_url:`"
                            .to_owned(),
                        false => problems.summary(),
                    };
                    // The definitions that a plan was made from may need the variables of its call.
                    let may = may.into_iter().filter(|_| !is_later);
                    found.extend(may.map(|key| Definer::new(key, stack.clone(), environment, Some(&problem))));
                }
            }
        }
        (found, referrers)
    }

    /// Those of `keys` that another stack may define in files that the working tree lacks, with that reason.
    fn left_out(&self, context: &Context, repository: &Repository, keys: &[Key]) -> Vec<(Key, String)> {
        let found = || -> Result<_, GitError> {
            let mut left_out = repository.left_out("")?;
            left_out.retain(|entry| entry.kind != EntryKind::File || is_source(&entry.path));
            if left_out.is_empty() {
                return Ok(Vec::new());
            }
            let submodules = repository.submodules()?;
            let inner = submodules.iter().map(|(below, inner)| (below.as_str(), inner));
            let parts = [("", repository)].into_iter().chain(inner);
            let parts: Vec<_> = parts.map(|part| CommitPart::of(context, part)).collect::<Result<_, _>>()?;
            let (wanted, mut found) = (WantedKeys::new(keys), Vec::new());
            let mut add = |key: &Key, reason: &str| found.push((key.clone(), reason.to_owned()));
            for part in &parts {
                let own = |entry: &&TreeEntry| CommitPart::around(&parts, &entry.path).is_some_and(|one| one.is(part));
                let read = left_out.iter().filter(own).filter(|entry| self.may_read(context, &parts, entry));
                let lacking = part.lacking(read)?;
                let files: Vec<&TreeEntry> = lacking.files.iter().map(|(_, file)| *file).collect();
                for ((path, _), bytes) in lacking.files.iter().zip(part.repository.contents(&files)?) {
                    let reason = format!("`{path}` may define it, and the {} lacks that file", part.tree);
                    wanted.defined_in(path, &bytes).into_keys().for_each(|key| add(key, &reason));
                }
                for reason in &lacking.unknown {
                    keys.iter().for_each(|key| add(key, reason));
                }
                for stack in part.without_settings(&left_out) {
                    let Some(files) = self.files_of(stack) else { continue };
                    let (place, file) = (format!("{}{}", part.below, stack.prefix), config::FILE);
                    let place = if place.is_empty() { "." } else { place.trim_end_matches('/') };
                    let reason = format!("`{place}` may define it, and the {} lacks its `{file}`", part.tree);
                    let directory = repository.top().join(place);
                    if !directory.is_dir() {
                        continue;
                    }
                    let texts = DirectoryKeys::read(&directory, &files);
                    keys.iter().filter(|key| texts.may_be_meant_to_define(key)).for_each(|key| add(key, &reason));
                }
            }
            Ok(found)
        };
        // What git cannot show may define any of the keys.
        found().unwrap_or_else(|error| keys.iter().map(|key| (key.clone(), error.to_string())).collect())
    }

    /// Whether the stack around a path, according to the last commit, is for this service and can read what is there,
    /// directly or through a link.
    fn may_read(&self, context: &Context, parts: &[CommitPart<'_>], entry: &TreeEntry) -> bool {
        let stacks = parts.iter().flat_map(|part| part.declared.iter().map(move |stack| (part, stack)));
        let around = stacks.filter_map(|(part, stack)| {
            let below = entry.path.strip_prefix(part.below)?.strip_prefix(stack.prefix.as_str())?;
            Some((below, part, stack))
        });
        let Some((below, part, stack)) = around.min_by_key(|(below, ..)| below.len()) else { return false };
        match entry.kind {
            EntryKind::Submodule => {
                // The settings may exclude it by now.
                let prefix = entry.path.strip_suffix(below).unwrap_or_default();
                let top = parts.first().map_or(Path::new(""), |part| part.repository.top());
                let now = context.tenants.declared(top);
                let now = now.iter().flat_map(|all| all.iter()).find(|one| one.prefix == prefix);
                self.files_of(now.unwrap_or(stack)).is_some_and(|files| files.reads_below(below))
            }
            EntryKind::File | EntryKind::Link => {
                (!is_hidden(below) || part.has_links(&stack.prefix)) && self.is_of_any(stack)
            }
        }
    }

    /// Whether a stack of a directory can be for this service.
    fn is_of_any(&self, directory: &DeclaredDirectory) -> bool {
        directory.stacks().map_or(true, |mut all| all.any(|(_, config)| self.is_of(config)))
    }

    /// The files of a directory whose stack can be for this service.
    fn files_of(&self, directory: &DeclaredDirectory) -> Option<StackFiles> {
        let files = || directory.config().map_or_else(|_| StackFiles::new(&Config::default()), StackFiles::new);
        self.is_of_any(directory).then(files)
    }

    /// Whether a stack with these settings can be for this service.
    fn is_of(&self, config: &Config) -> bool {
        config.base_url.as_deref().map_or(self.takes_unnamed, |url| {
            let is_it = |service: &str| BaseUrl::is_same(url, service);
            is_it(self.planned) || self.configured.is_some_and(is_it)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::growth_tests::assert_at_most_linear;

    #[test]
    fn deletes_of_every_stack_read_the_others_once() {
        let repository = |stacks: usize| {
            let top = tempfile::tempdir().expect("a directory");
            for stack in 0..stacks {
                let directory = top.path().join(format!("s{stack}"));
                std::fs::create_dir(&directory).expect("a directory");
                let settings = format!("stack: s{stack}\nvariables: {{ns: n{stack}}}\n");
                std::fs::write(directory.join(config::FILE), settings).expect("a file");
                let kept = "metadata: {name: cart, namespace: '${ns}'}\nspec: {ip: 10.0.0.7, port: 80}\n";
                std::fs::write(directory.join("cart.yaml"), kept).expect("a file");
                let text = format!("metadata: {{name: kept, namespace: n{stack}}}\nspec: {{ip: 10.0.0.7, port: 80}}\n");
                std::fs::write(directory.join("kept.yaml"), text).expect("a file");
            }
            top
        };
        let work = |top: tempfile::TempDir| {
            let declared = declared::in_tree(top.path()).expect("stacks");
            let (planned, variables) = ("http://localhost", BTreeMap::new());
            let service = Service { planned, configured: None, takes_unnamed: true, variables };
            for stack in 0..declared.len() {
                let keys = ["cart", "gone"].map(|name| Key::parse(&format!("n{stack}/{name}")).expect("a key"));
                let definers = |other| service.definers(other, None, &keys).0;
                let found: Vec<Key> = declared.iter().flat_map(definers).map(|definer| definer.key).collect();
                assert_eq!(found, [keys[0].clone()]);
            }
        };
        assert_at_most_linear("stacks", 8, repository, work);
    }
}

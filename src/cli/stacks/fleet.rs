//! A command about several stacks: each has a context of its own, all of one service share its limits, and many are
//! processed at the same time. An error of one stack is only its own result.

use std::rc::Rc;

use futures_util::StreamExt as _;

use crate::cli::args::{FilterArgs, ScopeArgs};
use crate::cli::context::{DefinedKeys, Tenants};
use crate::cli::prelude::*;
use crate::cli::stack::{self, NothingSelected};
use crate::cli::stacks::targets::Target;
use crate::cli::stacks::{declared, shard};
use crate::cli::{CommandError, Context, ExitStatus, Result, service, settings};
use crate::drift::Shard;
use crate::file::{exists, slashed, with_slashes};
use crate::load::{SourceMap, UndefinedEnvironment, config};
use crate::model::grouped;
use crate::plan::MatchedFilters;
use crate::report::document;
use crate::report::fleet::{Fleet, FleetCommand, FleetPart, NoResult, StackReport};

/// The maximum number of stacks that an error names.
const NAMED: usize = 12;

/// The maximum number of stacks that are processed at the same time.
pub const AT_ONCE: usize = 16;

/// One of several stacks.
pub struct Member {
    /// Its paths and environment.
    pub target: Target,
    /// The context of its command.
    pub context: Context,
    /// Its settings, if they can be read; if it lacks the environment of the call, those without one.
    settings: Option<Config>,
    /// Whether it belongs to another shard.
    pub is_elsewhere: bool,
}

/// The result of a command for one stack.
pub type StackResult<T> = Result<T, NoResult<CommandError>>;

/// What the stacks of a command need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetNeeds {
    /// Their definitions.
    Definitions,
    /// Their service, too.
    Service,
}

impl FleetNeeds {
    /// What stacks need: those that are compared with snapshots do not need the service.
    pub fn of(live: Option<&Path>) -> Self {
        if live.is_some() { FleetNeeds::Definitions } else { FleetNeeds::Service }
    }
}

/// The directory with the snapshots of several stacks.
///
/// # Errors
/// It is not a directory.
pub fn snapshots(live: Option<&Path>) -> Result<Option<&Path>> {
    let Some(path) = live.filter(|path| !path.is_dir()) else { return Ok(live) };
    Err(error!(Usage, "`--live {}` is not a directory, and the call names several stacks", path.display())
        .hint("a snapshot is of one service: `trueup snapshot DIR DIR -o LIVE` writes one for each stack"))
}

/// Prepares several stacks: reads the settings of each, and starts the embedded service that they share, if they use
/// one.
///
/// # Errors
/// Two stacks would delete what the other one defines, or the embedded service does not start.
pub async fn open(context: &Context, targets: Vec<Target>, needs: FleetNeeds) -> Result<Vec<Member>> {
    let is_embedded = context.global.sandbox.is_some() && needs == FleetNeeds::Service;
    let place = is_embedded.then(|| settings::place(context, &Config::default())).transpose()?;
    let embedded = match place {
        Some(settings::ServiceLocation::Sandbox(file)) => Some(service::embed(context, &file).await?),
        Some(settings::ServiceLocation::At(_)) | None => None,
    };
    let tenants = Rc::new(Tenants::new(embedded));
    let mut members = Vec::with_capacity(targets.len());
    for target in targets {
        let output = context.output.of_stack(target.directory(), target.name());
        let mut context = context.of_stack(output, &tenants);
        if context.global.env.as_deref() == Some(config::EVERY_ENVIRONMENT) {
            context.global.env.clone_from(&target.environment);
            context.call = context.call.with("env", target.environment.clone());
        }
        // A directory that does not exist fails on its own later.
        tenants.tops.borrow_mut().extend(settings::root(&context, target.path()).map(|root| declared::top(&root)));
        let options = settings::load_options(&context);
        let options = LoadOptions { undefined_environment: UndefinedEnvironment::Defaults, ..options };
        let settings = load::settings(target.path(), &options).ok();
        let mut member = Member { target, context, settings, is_elsewhere: false };
        member.call_alone();
        if let Some(config) = member.config()
            && let Some(base_url) = settings::base_url(&member.context, config)
        {
            tenants.add(&base_url, config);
        }
        members.push(member);
    }
    one_has_the_environment(context, &members)?;
    distinct(&members)?;
    Ok(members)
}

/// Leaves the stacks that are not of the shard to other checkers.
pub fn leave_elsewhere(members: &mut [Member], shard: Shard) {
    for member in members {
        member.is_elsewhere = shard::of_stack(&member.identity_by(member.config()), shard.of) != shard.index;
    }
}

/// Rejects an environment that none of the stacks has.
fn one_has_the_environment(context: &Context, members: &[Member]) -> Result<()> {
    if members.iter().any(|member| member.missing_environment().is_none()) {
        return Ok(());
    }
    let name = context.global.env.as_deref().unwrap_or_default();
    let settings = members.iter().filter_map(|member| member.settings.as_ref());
    let names: BTreeSet<&str> = settings.flat_map(|config| config.environments.keys().map(String::as_str)).collect();
    let hint = match load::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "none of them has `environments:`".to_owned(),
        None => format!("they have: {}", names.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Err(error!(Invalid, "no stack has the environment `{name}`").hint(hint).hint("nothing was sent"))
}

/// Works on each stack, many at the same time; the results are in the order of the stacks.
pub async fn each<'m, T>(
    members: impl IntoIterator<Item = &'m Member>,
    work: impl AsyncFn(&'m Member) -> Result<T>,
) -> Vec<StackResult<T>> {
    let work = &work;
    let works = members.into_iter().enumerate().map(async |(at, member)| {
        if member.is_elsewhere {
            return (at, Err(NoResult::Elsewhere));
        }
        if let Some(name) = member.missing_environment() {
            return (at, Err(member.without_environment(name)));
        }
        let done = work(member).await.map_err(|error| match error.is::<NothingSelected>() {
            true => NoResult::Skipped(error.to_string()),
            false => NoResult::Failed(error),
        });
        member.context.close().await;
        (at, done)
    });
    // Unordered, so that a stack that waits occupies only one place.
    let done: BTreeMap<usize, _> = futures_util::stream::iter(works).buffer_unordered(AT_ONCE).collect().await;
    done.into_values().collect()
}

/// Works on each stack, and rejects what is wrong with them together: an object that two of them define, a filter that
/// matches nothing in any, and a variable that none uses.
///
/// # Errors
/// There is such a filter or variable, or the call itself is wrong.
pub async fn all<'m, T>(
    members: &'m [Member],
    filter: &FilterArgs,
    work: impl AsyncFn(&'m Member) -> Result<T>,
) -> Result<Vec<StackResult<T>>> {
    let mut done = each(members, work).await;
    if let Some(error) = of_call(&mut done) {
        return Err(error);
    }
    check_variables(members)?;
    refuse_shared(members, &mut done);
    check_filters(members, filter, &done)?;
    Ok(done)
}

/// The error of a call that is wrong in every stack alike.
fn of_call<T>(done: &mut Vec<StackResult<T>>) -> Option<CommandError> {
    let words = |done: &StackResult<T>| match done {
        Err(NoResult::Failed(error)) if error.status == ExitStatus::Usage => Some(error.to_string()),
        _ => None,
    };
    let first = words(done.first()?)?;
    let is_of_all = done.iter().all(|done| words(done).as_ref() == Some(&first));
    let Some(Err(NoResult::Failed(error))) = done.pop_if(|_| is_of_all) else { return None };
    Some(error)
}

/// Prints what went wrong with the stacks, each cause once with the stacks that it hit.
pub fn print_errors<T>(context: &Context, members: &[Member], done: &[StackResult<T>]) {
    let failed = members.iter().zip(done).filter_map(|(member, result)| match result {
        Err(NoResult::Failed(error)) => Some(((error.to_string(), &error.hints), (error, member.name()))),
        _ => None,
    });
    for (_, hit) in grouped(failed) {
        let (errors, names): (Vec<&CommandError>, Vec<String>) = hit.into_iter().unzip();
        context.output.error_as(&format!("{}: {}", text::some_of(&names, NAMED), errors[0]), errors[0]);
    }
}

/// The name of the file of a stack, without its ending.
pub fn file_stem(base_url: &str, stack: &str, environment: Option<&str>) -> String {
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
    let parts = [Some(host), Some(stack), environment].into_iter().flatten();
    parts.map(|part| part.chars().map(plain).collect::<String>()).collect::<Vec<_>>().join("_")
}

/// Rejects a variable of the call that no stack uses, unless one of them could not be loaded.
fn check_variables(members: &[Member]) -> Result<()> {
    let Some(context) = members.first().map(|member| &member.context) else { return Ok(()) };
    let loaded = members.iter().filter(|member| member.missing_environment().is_none());
    let used = loaded.map(|member| member.context.findings.as_ref()?.variables.get());
    let Some(used) = used.collect::<Option<Vec<_>>>() else { return Ok(()) };
    stack::check_variables(context, &used.into_iter().flatten().map(String::as_str).collect())
}

/// Rejects stacks that define the same object of one service, whichever stack owns it: each would overwrite what the
/// other applies.
fn refuse_shared<T>(members: &[Member], done: &mut [StackResult<T>]) {
    let mut by_key: BTreeMap<(&Option<String>, &Key), usize> = BTreeMap::new();
    let mut shared: BTreeMap<[usize; 2], Vec<&Key>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        let Some(DefinedKeys { base_url, keys, .. }) = member.defined() else { continue };
        for key in keys {
            let Some(other) = by_key.insert((base_url, key), at) else { continue };
            // Environments of one directory that do not name their service yet are for different ones.
            if base_url.is_some() || members[other].target.paths != member.target.paths {
                shared.entry([other, at]).or_default().push(key);
            }
        }
    }
    for ([one, other], keys) in shared {
        let places = [one, other].map(|at| members[at].place(keys[0]));
        let is_one_stack = members[one].target.paths == members[other].target.paths;
        for (at, [here, there]) in [(one, [&places[0], &places[1]]), (other, [&places[1], &places[0]])] {
            if done[at].is_err() {
                continue;
            }
            let more = match keys.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let error = match is_one_stack {
                false => error!(Invalid, "`{}` is defined by two stacks, in {here} and in {there}{more}", keys[0])
                    .hint("remove one of the definitions, or give the stacks different services"),
                true => {
                    let places: BTreeSet<&String> = places.iter().collect();
                    let places = places.into_iter().map(String::as_str).collect::<Vec<_>>().join(" and in ");
                    error!(Invalid, "`{}` is defined for two environments of one service, in {places}{more}", keys[0])
                        .hint("give each environment `namespaces:` or a `base_url:` of its own")
                }
            };
            done[at] = Err(NoResult::Failed(error));
        }
    }
}

/// Rejects a filter of the call that matches nothing in any stack, unless a stack has no result or could not be read
/// completely.
fn check_filters<T>(members: &[Member], filter: &FilterArgs, done: &[StackResult<T>]) -> Result<()> {
    let (mut matched, mut namespaces) = (MatchedFilters::default(), BTreeSet::new());
    for (member, done) in members.iter().zip(done) {
        match (done, member.context.findings.as_ref().and_then(|findings| findings.matched.get())) {
            (Ok(_) | Err(NoResult::Skipped(_)), Some(of_stack)) => matched.add(of_stack),
            (Err(NoResult::Skipped(_)), None) => {}
            _ => return Ok(()),
        }
        namespaces.extend(member.defined().into_iter().flat_map(|stack| stack.namespaces.iter().cloned()));
    }
    let selection = stack::selection(filter)?;
    stack::unknown_namespace(&selection, &namespaces, ["the stacks have", "they have"])?;
    selection.unmatched(&matched).map_or(Ok(()), |one| Err(stack::unmatched(one).hint("nothing was sent")))
}

/// The status of a stack that failed in a command which changes nothing.
pub fn failed(error: &CommandError) -> ExitStatus {
    match error.status {
        status @ (ExitStatus::Bug | ExitStatus::Interrupted) => status,
        _ => ExitStatus::Failed,
    }
}

/// The status of a stack that has no result.
fn without_result(command: FleetCommand, none: &NoResult<CommandError>) -> ExitStatus {
    match none {
        NoResult::Failed(error) if command == FleetCommand::Apply => error.status,
        NoResult::Failed(error) => failed(error),
        NoResult::Interrupted => ExitStatus::Interrupted,
        NoResult::AnotherFailed => ExitStatus::Refused,
        NoResult::Skipped(_) | NoResult::Elsewhere | NoResult::Unknown(_) => ExitStatus::Done,
    }
}

/// The report over the stacks, and the worst of their statuses. `report` gives the report on a result, how to render
/// it, if that is known, and its status.
pub fn report<'m, T>(
    command: FleetCommand,
    members: &[Member],
    done: &'m [StackResult<T>],
    report: impl Fn(&'m T) -> (StackReport<'m>, Option<&'m TextView>, ExitStatus),
) -> (Fleet<'m>, ExitStatus) {
    let (mut parts, mut worst) = (Vec::with_capacity(members.len()), ExitStatus::Done);
    let why = |error: &CommandError| match error.status {
        ExitStatus::Unknown => NoResult::Unknown(error.to_string()),
        _ => NoResult::Failed(error.reason()),
    };
    for (member, done) in members.iter().zip(done) {
        let (outcome, view, status) = match done {
            Ok(done) => {
                let (report, view, status) = report(done);
                (Ok(report), view, status)
            }
            Err(none) => (Err(none.map(why)), None, without_result(command, none)),
        };
        worst = worst.worse(status);
        let (directory, environment) = (member.target.directory(), member.target.environment.clone());
        let (id, own) = (member.id(), view.cloned().unwrap_or_default());
        parts.push(FleetPart { directory, environment, apart: None, id, own, outcome });
    }
    (Fleet::new(command, parts), worst)
}

impl Member {
    /// The environment that the call names, if the settings lack it.
    fn missing_environment(&self) -> Option<&str> {
        let name = self.context.global.env.as_deref().filter(|_| self.target.environment.is_none())?;
        (!self.settings.as_ref()?.environments.contains_key(name)).then_some(name)
    }

    /// Its result if it lacks the environment of this name.
    fn without_environment(&self, name: &str) -> NoResult<CommandError> {
        let names: Vec<&str> =
            self.settings.iter().flat_map(|settings| settings.environments.keys().map(String::as_str)).collect();
        let message = format!("it has no environment `{name}`");
        let hint = match names.as_slice() {
            [] => format!("its {} names no `environments:`", config::FILE),
            names => format!("it has: {}", names.join(", ")),
        };
        if self.target.skips_missing_environment {
            return NoResult::Skipped(format!("{message}; {hint}"));
        }
        NoResult::Failed(error!(Invalid, "{message}").hint(hint).hint("to skip such stacks: --skip-missing-env"))
    }

    /// Limits its call to this stack: all of its namespaces, and its own file instead of a directory of files.
    fn call_alone(&mut self) {
        let call = self.context.call.clone().without("shard");
        let live = call.values("live").first().map(|directory| slashed(&self.file_in(Path::new(directory))));
        let name = call.values("acknowledged").first().filter(|name| self.has_file(Path::new(name)));
        let root = settings::root(&self.context, self.target.path()).ok();
        let acknowledged = name.zip(root).map(|(name, root)| match Path::new(name).is_absolute() {
            true => name.clone(),
            false => format!("{}{name}", self.context.environment.shown_from_here(&root)),
        });
        self.context.call = call.with("live", live).with("acknowledged", acknowledged);
    }

    /// What it defines, if it is loaded.
    fn defined(&self) -> Option<&DefinedKeys> {
        self.context.findings.as_ref()?.defined.get()
    }

    /// Whether there is a file of this name in its directory.
    pub fn has_file(&self, name: &Path) -> bool {
        settings::root(&self.context, self.target.path()).is_ok_and(|root| root.join(name).exists())
    }

    /// Where it defines an object; only its name, if it cannot be loaded any more.
    fn place(&self, key: &Key) -> String {
        let options = settings::load_options(&self.context);
        let Ok(loaded) = load::directory(self.target.path(), &options) else { return self.name() };
        let prefix = self.context.environment.shown_from_here(&loaded.root);
        let place = SourceMap::new(&loaded).place(key, None);
        place.map_or_else(|| self.name(), |place| format!("{prefix}{place}"))
    }

    /// Its paths with the filters of the call.
    pub fn scope(&self, filter: &FilterArgs) -> ScopeArgs {
        ScopeArgs { paths: self.target.paths.clone(), filter: filter.clone() }
    }

    /// Its directory with its environment, for messages.
    pub fn name(&self) -> String {
        self.target.name()
    }

    /// The file for this stack in a directory: by service, stack and environment, whether the call names one or all.
    pub fn file_in(&self, directory: &Path) -> PathBuf {
        self.file_of(directory, self.context.global.env.as_deref())
    }

    /// The file for its plan. It replaces the plan of another environment, unless the call is about all of them.
    pub fn plan_in(&self, directory: &Path) -> PathBuf {
        self.file_of(directory, self.target.environment.as_deref())
    }

    /// The file for its drift state; version 0.2 left the environment out of its name.
    pub fn drift_state_in(&self, directory: &Path) -> PathBuf {
        let [file, earlier] = [self.file_in(directory), self.file_of(directory, None)];
        if !exists(&file) && exists(&earlier) { earlier } else { file }
    }

    fn file_of(&self, directory: &Path, environment: Option<&str>) -> PathBuf {
        let [url, stack, _] = self.identity_by(self.settings.as_ref());
        with_slashes(directory.join(format!("{}.json", file_stem(&url, &stack, environment))))
    }

    /// Its snapshot in a directory, if the call names one.
    ///
    /// # Errors
    /// No service is named, which the name of the file begins with.
    pub fn snapshot_in(&self, directory: Option<&Path>) -> Result<Option<PathBuf>> {
        if let (Some(_), Some(config)) = (directory, self.config()) {
            settings::place(&self.context, config)?;
        }
        Ok(directory.map(|directory| self.file_in(directory)))
    }

    /// Its settings in the environment of the call, if they can be read.
    pub fn config(&self) -> Option<&Config> {
        self.settings.as_ref().filter(|_| self.missing_environment().is_none())
    }

    /// What identifies it by these settings, whatever the other stacks of the call are: its service, its name or else
    /// its directory, and its environment.
    fn identity_by(&self, config: Option<&Config>) -> [String; 3] {
        let url = config.and_then(|config| settings::base_url(&self.context, config));
        let name = config.and_then(|config| settings::stack(&self.context, config).ok().flatten());
        let environment = self.context.global.env.clone().unwrap_or_default();
        [url.unwrap_or_default(), name.unwrap_or_else(|| self.target.directory()), environment]
    }

    /// A digest of what identifies it.
    fn id(&self) -> String {
        let words = self.identity_by(self.config());
        document::sha256(words.map(|word| word + "\0").concat(), 8)
    }
}

/// Rejects two stacks that would have the same file in a directory of the call.
///
/// # Errors
/// There are two such stacks.
pub fn have_own_files(members: &[Member]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for member in members {
        let file = member.file_in(Path::new(""));
        let Some(other) = seen.insert(file.clone(), member) else { continue };
        let (one, two, file) = (other.name(), member.name(), file.display());
        return Err(error!(Invalid, "`{one}` and `{two}` would have the same file, `{file}`")
            .hint(own_name(member))
            .hint("nothing was sent"));
    }
    Ok(())
}

/// How to give stacks different names.
fn own_name(member: &Member) -> String {
    let of_call = settings::stack_text(&member.context).map(|(_, source)| format!("leave out `{source}`, and "));
    of_call.unwrap_or_default() + "give each a `stack:` of its own"
}

/// Rejects two stacks of one name that would each delete what the other one defines.
fn distinct(members: &[Member]) -> Result<()> {
    let mut seen: Vec<(Option<String>, String, BTreeSet<&Namespace>, &Member)> = Vec::new();
    let root = |member: &Member| settings::root(&member.context, member.target.path()).ok();
    for member in members {
        let Some(config) = member.config() else { continue };
        let Ok(Some(stack)) = settings::stack(&member.context, config) else { continue };
        let url = settings::base_url(&member.context, config);
        let namespaces: BTreeSet<&Namespace> = config.namespaces.iter().collect();
        let is_another = |other: &Member| match other.target.paths == member.target.paths {
            // Environments that do not name their service yet are for different ones.
            true => url.is_some(),
            // Two paths of one stack are not two stacks; settings with a wrong file name in it fail on their own.
            false => root(other) != root(member),
        };
        let is_same = |other: &&(Option<String>, String, BTreeSet<&Namespace>, &Member)| {
            other.0 == url && other.1 == stack && !other.2.is_disjoint(&namespaces) && is_another(other.3)
        };
        if let Some((.., other)) = seen.iter().find(is_same) {
            let both = format!("`{}` and `{}` are both stack `{stack}`", other.name(), member.name());
            let why = "list the same namespace: each would delete what the other defines";
            return Err(error!(Invalid, "{both} and {why}").hint(own_name(member)).hint("nothing was sent"));
        }
        seen.push((url, stack, namespaces, member));
    }
    Ok(())
}

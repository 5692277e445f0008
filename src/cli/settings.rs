//! The settings of a call: flags override the environment, which overrides `trueup.yaml`, and the policy limits both.
//! They decide which configuration applies, which service is used and whether it receives the token, which state store
//! is used, and which flags a proposed command needs to find them again.

use std::time::Duration;

use crate::cli::prelude::*;
use crate::cli::stacks::declared;
use crate::cli::{CommandError, CommandResult as _, Context, ExitStatus, ProcessEnvironment, Result, aside};
use crate::file::{FileError, real_path, real_path_or_given, slashed};
use crate::journal::{JournalError, RunOwner};
use crate::load::config::DEFAULT_CONCURRENCY;
use crate::load::{Loaded, StackFile};
use crate::model::policy::{Violation, consents};
use crate::model::{Layout, Name};
use crate::plan::{Allowances, Ignore, ONLY_THIS_CHANGE, PlanOrigin};
use crate::report::document;
use crate::report::facts::plan::prune_flags;
use crate::state::{Bucket, LeaseError, LeaseTiming, Location, StateStore};

/// The options of every load, from flags and environment.
pub fn load_options(context: &Context) -> LoadOptions {
    let (environment, config) = (context.global.env.clone(), context.global.config.clone());
    let shares_variables = context.findings.is_some() || !context.call.values("base").is_empty();
    let secret_variables = context.call.secret_variables.clone();
    let variables = variables(context);
    LoadOptions { variables, secret_variables, shares_variables, environment, config, ..LoadOptions::default() }
}

/// The variables of the call.
pub fn variables(context: &Context) -> BTreeMap<String, String> {
    context.global.var.iter().cloned().collect()
}

/// The directory of the stack that contains a path.
///
/// # Errors
/// It cannot be read.
pub fn root(context: &Context, path: &Path) -> Result<PathBuf> {
    load::root(path, &load_options(context)).map_err(|found| context.wrong(&found))
}

/// The configuration in `directory` or above it; the default if there is none.
///
/// # Errors
/// It cannot be read.
pub fn of_directory(context: &Context, directory: &Path) -> Result<Config> {
    // `--config` need not name the configuration of the directory.
    let existing = directory.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("."));
    let mut config = load::settings(configured_directory(context).unwrap_or(existing), &load_options(context))
        .map_err(|found| context.wrong(&found))?;
    if let Some(file) = &context.policy {
        config.safeguards = file.policy.tighten(&config.safeguards);
    }
    Ok(config)
}

/// The directory of `--config`.
fn configured_directory(context: &Context) -> Option<&Path> {
    context.global.config.as_deref().map(|file| match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    })
}

/// The directory of the stack that a call without one is about: that of `--config`, else the working directory.
pub fn directory(context: &Context) -> &Path {
    configured_directory(context).unwrap_or(Path::new("."))
}

/// Which service a command talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceLocation {
    /// One at this address.
    At(Address),
    /// The embedded one, stored in this file.
    Sandbox(PathBuf),
}

impl ServiceLocation {
    /// Its address, as plans and snapshots name it.
    pub fn base_url(&self) -> BaseUrl {
        match self {
            ServiceLocation::At(address) => address.url.clone(),
            ServiceLocation::Sandbox(_) => BaseUrl::sandbox(),
        }
    }
}

/// The service that flags, environment and configuration name together.
///
/// # Errors
/// None is named, one is not a URL, or environment and configuration name different ones.
pub fn place(context: &Context, config: &Config) -> Result<ServiceLocation> {
    named(context, config)?.ok_or_else(|| {
        error!(Invalid, "no service is named")
            .hint_each(config.environments_with(context.global.env.as_deref(), |one| one.base_url.is_some()))
            .hint("give --base-url, TRUEUP_BASE_URL, or `base_url` in trueup.yaml; or try it with --sandbox")
    })
}

/// Like [`place`], but `None` if none is named.
///
/// # Errors
/// One is not a URL, or environment and configuration name different ones.
pub fn named(context: &Context, config: &Config) -> Result<Option<ServiceLocation>> {
    if let Some(file) = sandbox(context)? {
        if context.global.base_url.is_some() {
            return Err(error!(Usage, "`--sandbox` and `--base-url` name two services; give one"));
        }
        return Ok(Some(ServiceLocation::Sandbox(file)));
    }
    Ok(address(context, config.base_url.as_deref())?.map(ServiceLocation::At))
}

/// The file of the embedded service that the call names.
pub fn sandbox(context: &Context) -> Result<Option<PathBuf>> {
    match &context.global.sandbox {
        Some(None) => sandbox_file(&context.environment).map(Some),
        file => Ok(file.clone().flatten()),
    }
}

/// The address of the service that is named, if one is and nothing is wrong with it.
pub fn base_url(context: &Context, config: &Config) -> Option<String> {
    named(context, config).ok().flatten().map(|place| place.base_url().to_string())
}

/// The paths that the service answers at.
///
/// # Errors
/// The name of an unknown layout.
pub fn layout(context: &Context, config: &Config) -> Result<Layout> {
    Ok(named_layout(context, config)?.unwrap_or_default())
}

/// Like [`layout`], but `None` if none is named.
///
/// # Errors
/// The name of an unknown layout.
pub fn named_layout(context: &Context, config: &Config) -> Result<Option<Layout>> {
    let named = context.global.layout.as_deref().or_else(|| context.environment.variable("TRUEUP_LAYOUT"));
    let Some(named) = named else { return Ok(config.layout) };
    Layout::ALL.into_iter().find(|layout| layout.as_str() == named).map(Some).ok_or_else(|| {
        let known = Layout::ALL.map(Layout::as_str).join(", ");
        error!(Usage, "unknown layout `{named}`; the layouts are: {known}")
    })
}

/// Requests at the same time: the flag, else the configuration.
pub fn concurrency(context: &Context, config: &Config) -> usize {
    let given = context.global.concurrency.map(usize::from);
    given.or(config.concurrency).unwrap_or(DEFAULT_CONCURRENCY)
}

/// The stack that owns the objects, if there is one.
///
/// # Errors
/// A text that is not a valid name.
pub fn stack(context: &Context, config: &Config) -> Result<Option<String>> {
    let Some((name, source)) = stack_text(context) else { return Ok(config.stack.as_ref().map(ToString::to_string)) };
    match Name::parse(name) {
        Ok(name) => Ok(Some(name.to_string())),
        Err(error) => Err(error!(Usage, "`{source}` is `{name}`, which {error}")
            .hint("give a name such as shop-prod, as `stack:` of trueup.yaml does")),
    }
}

/// The name of the stack that the call gives, with the flag or variable that gives it.
pub fn stack_text(context: &Context) -> Option<(&str, &'static str)> {
    let flag = context.global.stack.as_deref().map(|name| (name, "--stack"));
    flag.or_else(|| context.environment.variable("TRUEUP_STACK").map(|name| (name, "TRUEUP_STACK")))
}

/// The settings that flags and variables of the process override, each with its value and the source.
pub fn of_call(context: &Context) -> Vec<(&'static str, String, &'static str)> {
    let Context { global, environment, .. } = context;
    let one = |setting, flag: Option<String>, name, variables: &[&'static str]| {
        let of_variable = || variables.iter().find_map(|name| Some((environment.variable(name)?.to_owned(), *name)));
        let (value, source) = flag.map(|value| (value, name)).or_else(of_variable)?;
        Some((setting, value, source))
    };
    // In the form in which it is used; an invalid one, such as one with a password, is not shown.
    let url = |text: String| BaseUrl::parse(&text).map_or_else(|_| "(not valid)".to_owned(), |url| url.to_string());
    let base_url = one("base_url", global.base_url.clone(), "--base-url", &VARIABLES);
    let all = [
        base_url.filter(|_| global.sandbox.is_none()).map(|(setting, text, source)| (setting, url(text), source)),
        one("layout", global.layout.clone(), "--layout", &["TRUEUP_LAYOUT"]),
        one("stack", global.stack.clone(), "--stack", &["TRUEUP_STACK"]),
        one("rate_limit", global.rate.map(|rate| rate.to_string()), "--rate", &[]),
        one("concurrency", global.concurrency.map(|number| number.to_string()), "--concurrency", &[]),
    ];
    all.into_iter().flatten().collect()
}

/// The settings that are an error for every command that needs them, each with the error.
pub fn refused(context: &Context, config: &Config) -> impl Iterator<Item = (&'static str, CommandError)> {
    let all = [
        ("base_url", named(context, config).err()),
        ("layout", named_layout(context, config).err()),
        ("stack", stack(context, config).err()),
    ];
    all.into_iter().filter_map(|(setting, error)| Some((setting, error?)))
}

/// The state directory of this machine.
///
/// # Errors
/// No variable says where it is.
pub fn state_directory(environment: &ProcessEnvironment) -> Result<PathBuf> {
    environment.state_directory().ok_or_else(|| {
        error!(Invalid, "there is no state directory: neither XDG_STATE_HOME nor HOME is set")
            .hint("name one with --state; with --sandbox=FILE, that of the service")
    })
}

/// The file of the sandbox of the working directory: its own, or that of the nearest directory above it that has one,
/// below the home directory. It need not exist. It is stored elsewhere, so that a repository cannot contain one.
///
/// # Errors
/// The state directory of this machine is unknown.
pub fn sandbox_file(environment: &ProcessEnvironment) -> Result<PathBuf> {
    let sandboxes = state_directory(environment)?.join("sandboxes");
    let here = environment.directory.as_deref().unwrap_or(Path::new("."));
    let home = environment.path("HOME");
    let of = |directory: &Path| {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
        let name: String = name.chars().map(plain).take(40).collect();
        let digest = document::sha256(directory.as_os_str().as_encoded_bytes(), 8);
        sandboxes.join(format!("{name}-{digest}.redb"))
    };
    let above = here.ancestors().skip(1).take_while(|directory| Some(*directory) != home.as_deref());
    let existing = std::iter::once(here).chain(above).map(of).find(|file| file.is_file());
    Ok(existing.unwrap_or_else(|| of(here)))
}

/// Fields that are left out of comparison.
///
/// # Errors
/// A pattern that is not valid.
pub fn ignore(config: &Config) -> Result<Ignore> {
    Ignore::new(&config.safeguards.ignore).with_status(ExitStatus::Invalid)
}

/// What was allowed by name.
///
/// # Errors
/// A name that allows nothing.
pub fn allow<'n>(names: impl IntoIterator<Item = &'n String>) -> Result<Allowances> {
    let mut allow = Allowances::default();
    for text in names {
        let name = text.split('=').next().unwrap_or_default();
        let others = consents().filter(|known| *known != name);
        allow.add(text).with_status(ExitStatus::Usage).map_err(|error| error.did_you_mean(name, others))?;
    }
    Ok(allow)
}

/// The variables that name the service. If several are set, they must name the same one.
pub const VARIABLES: [&str; 3] = ["TRUEUP_BASE_URL", "F5XC_API_URL", "VOLT_API_URL"];

/// A service with how it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it is.
    pub url: BaseUrl,
    /// Whether a flag, the environment or the policy names it, not the repository alone.
    pub pinned: bool,
}

/// The service that flags, environment and configuration name; `None` if none is named.
///
/// # Errors
/// One is not a URL, two of environment and configuration differ, or the policy forbids it.
pub fn address(context: &Context, configured: Option<&str>) -> Result<Option<Address>> {
    if let Some(text) = &context.global.base_url {
        let url = self::url(text, "`--base-url`")?;
        listed(context, &url)?;
        return Ok(Some(Address { url, pinned: true }));
    }
    let mut named = Vec::new();
    for variable in VARIABLES {
        if let Some(text) = context.environment.variable(variable) {
            let source = format!("`{variable}`");
            named.push((url(text, &source)?, source));
        }
    }
    let in_environment = !named.is_empty();
    if let Some(text) = configured {
        let source = "`base_url` of the configuration".to_owned();
        named.push((url(text, &source)?, source));
    }
    let Some((url, source)) = named.first() else { return Ok(None) };
    if let Some((other, other_source)) = named.iter().find(|(other, _)| other != url) {
        return Err(error!(
            Invalid,
            "{source} is {url} and {other_source} is {other}: the token would go to another service than the one \
             that was meant"
        )
        .hint("make them equal, or name the service with --base-url"));
    }
    let in_policy = listed(context, url)?;
    Ok(Some(Address { url: url.clone(), pinned: in_environment || in_policy }))
}

/// A URL that `source` gives.
///
/// # Errors
/// It is not a valid URL.
pub fn url(text: &str, source: &str) -> Result<BaseUrl> {
    BaseUrl::parse(text).with_context(|| format!("in {source}")).with_status(ExitStatus::Invalid)
}

/// Whether the policy lists the service; `false` if it lists none at all.
///
/// # Errors
/// It lists only others.
fn listed(context: &Context, url: &BaseUrl) -> Result<bool> {
    let listed = context.policy.as_ref().and_then(|file| file.policy.base_urls.as_ref());
    let Some(listed) = listed else { return Ok(false) };
    if listed.iter().any(|text| BaseUrl::parse(text).is_ok_and(|allowed| allowed == *url)) {
        return Ok(true);
    }
    Err(Violation::of_service(url, listed)).with_status(ExitStatus::Refused).hint("nothing was sent")
}

/// The wait after which a command says what it waits for.
const QUIET_WAIT: Duration = Duration::from_secs(3);

/// Asks the state on a thread of its own: a bucket may be slow, and an interrupt does not wait for it.
///
/// # Errors
/// Those of [`state_store`].
pub async fn ask_state<T: Send + 'static>(
    context: &Context,
    ask: impl FnOnce(&StateStore) -> T + Send + 'static,
) -> Result<T> {
    let store = state_store(context)?.clone();
    let place = store.place();
    let mut asked = std::pin::pin!(aside(move || ask(&store)));
    tokio::select! {
        answer = &mut asked => return Ok(answer),
        () = tokio::time::sleep(QUIET_WAIT) => {}
    }
    context.output.message(&format!("waiting for the state in {}", place.display()));
    Ok(asked.await)
}

/// Where runs, locks and drift states are kept: what the call or its environment names, else the state directory. The
/// configuration cannot choose it: a pull request must not send the before-images of a runner to another bucket.
///
/// # Errors
/// The state directory is unknown, or an address or a variable of the object store is not valid.
pub fn state_store(context: &Context) -> Result<&StateStore> {
    if let Some(state) = context.state.get() {
        return Ok(state);
    }
    let environment = &context.environment;
    let state = match named_state(context) {
        // Earlier versions read it: without this error, what they recorded would not be found.
        None if environment.variable("TRUEUP_STATE_DIR").is_some() => {
            let hint = "set TRUEUP_STATE to the same directory";
            return Err(error!(Usage, "`TRUEUP_STATE_DIR` is no longer read").hint(hint));
        }
        None => StateStore::Directory(state_directory(environment)?),
        Some((text, source)) if Path::new(text).is_file() => {
            return Err(error!(Usage, "`{source}` is `{text}`, which is a file")
                .hint("name a directory, or a bucket such as s3://BUCKET/PREFIX"));
        }
        Some((text, _)) if !Location::is_meant(text) => StateStore::Directory(PathBuf::from(text)),
        Some((text, source)) => {
            let location = Location::parse(text).map_err(|error| error!(Usage, "`{source}`: {error}"))?;
            let bucket = Bucket::open(&location, environment.variables(), context.proxies())
                .map_err(|error| store_failed(context, error.into()))?;
            if context.proxies().any().is_ok_and(|is_any| is_any) {
                context.report_unclear_exceptions(text);
            }
            StateStore::Bucket(bucket, lease_timing(environment)?)
        }
    };
    Ok(context.state.get_or_init(|| state))
}

/// The state store that the call names, with the flag or variable; `None` if the state directory is used.
pub fn named_state(context: &Context) -> Option<(&str, &'static str)> {
    let flag = context.global.state.as_deref().map(|text| (text, "--state"));
    flag.or_else(|| context.environment.variable("TRUEUP_STATE").map(|text| (text, "TRUEUP_STATE")))
}

fn lease_timing(environment: &ProcessEnvironment) -> Result<LeaseTiming> {
    const NAME: &str = "TRUEUP_STATE_LEASE";
    let Some(text) = environment.variable(NAME) else { return Ok(LeaseTiming::default()) };
    let timing = text.parse().ok().and_then(LeaseTiming::of_seconds);
    timing.ok_or_else(|| error!(Usage, "`{NAME}` is `{text}`; it must be 1 to 600 seconds"))
}

/// The error for a journal that cannot be read or written.
pub fn store_failed(context: &Context, error: JournalError) -> CommandError {
    store_error(context, ExitStatus::Failed, error)
}

/// Like [`store_failed`], with the exit status that the command has for it.
pub fn store_error(context: &Context, status: ExitStatus, error: JournalError) -> CommandError {
    let hint = match &error {
        JournalError::State(error) | JournalError::Lease(LeaseError::Store(error)) => {
            let other = "check the address (`--state` or `TRUEUP_STATE`), and that the bucket answers";
            Some(error.hint().unwrap_or(other).to_owned())
        }
        JournalError::Lease(LeaseError::Held(holder)) => Some(release_hint(&holder.run, &context.call.settings())),
        JournalError::Superseded { .. } => Some("plan again: the new plan says what is left".to_owned()),
        JournalError::Resumed { by, .. } => {
            Some(format!("to undo both: trueup rollback {by}{}", context.call.settings()))
        }
        JournalError::NoLast { there, .. } if there.is_empty() => None,
        JournalError::NoLast { .. } | JournalError::NoRun { .. } => {
            Some(format!("to see the runs with their commands: trueup history{}", context.call.settings()))
        }
        JournalError::File(FileError::Io { action: "create", .. }) => {
            Some("runs are kept there: to keep them in another directory, --state or TRUEUP_STATE".to_owned())
        }
        _ => None,
    };
    CommandError::new(status, error).hint_each(hint)
}

/// What to do about a lock in a bucket. The name of the run is quoted: its author is unknown.
fn release_hint(run: &str, flags: &str) -> String {
    format!("wait for it to end; if it is no longer running: trueup history --unlock {}{flags}", safe::shell(run))
}

/// The embedded service of the call, as records of runs name it. A file that was deleted and made again is another one.
pub fn sandbox_of_runs(context: &Context) -> Option<String> {
    Some(sandbox_in(sandbox(context).ok()??))
}

/// The embedded service in a file, as records of runs name it.
pub fn sandbox_in(file: PathBuf) -> String {
    let made = file.metadata().and_then(|metadata| metadata.created()).ok();
    let made = made.and_then(|time| Timestamp::try_from(time).ok()).map(|time| format!(" of {time}"));
    let file = real_path_or_given(&file);
    format!("`{}`{}", file.display(), made.unwrap_or_default())
}

/// The owner of the runs of this stack and service, with the sandbox and the environment of the call.
pub fn run_owner(context: &Context, stack: Option<String>, base_url: String) -> RunOwner {
    let (sandbox, environment) = (sandbox_of_runs(context), context.global.env.clone());
    RunOwner { stack, base_url, sandbox, environment }
}

/// The settings of the call for a command that does not name the stack's directory: with the configuration of the
/// stack, if the working directory does not lead to it.
pub fn elsewhere(context: &Context, loaded: &Loaded) -> String {
    let root = Some(&*loaded.root).filter(|_| loaded.stack == StackFile::Found);
    with_configuration(context, context.call.settings(), root)
}

/// The flags, with the configuration in `root` if neither the call names one nor the working directory leads to it.
pub fn with_configuration(context: &Context, flags: String, root: Option<&Path>) -> String {
    let is_elsewhere =
        |root: &&Path| context.global.config.is_none() && root_of(Path::new(".")).as_deref() != Some(*root);
    let Some(root) = root.filter(is_elsewhere) else { return flags };
    let file = format!("{}{}", context.environment.shown_from_here(root), config::FILE);
    format!(" --config {}{flags}", safe::shell(&file))
}

fn root_of(directory: &Path) -> Option<PathBuf> {
    load::root(directory, &load::LoadOptions::default()).ok()
}

/// How to name the stack of a plan from a file or a journal.
pub fn stack_of(context: &Context, plan: &Plan) -> String {
    if let Some((_, source)) = stack_text(context) {
        return format!("`{source}` names that one, whatever a configuration says");
    }
    let options = LoadOptions { environment: plan.source.environment.clone(), ..Default::default() };
    let there = root_of_recorded(plan, &options).filter(|there| names_stack_of(plan, there, &options));
    match there.filter(|there| root(context, directory(context)).ok().as_ref() != Some(there)) {
        Some(there) => {
            let file = format!("{}{}", context.environment.shown_from_here(&there), config::FILE);
            format!("to use its configuration: --config {}", safe::shell(&file))
        }
        None => {
            let name = plan.stack.as_deref().map(|name| format!(" {}", safe::shell(name))).unwrap_or_default();
            format!("name its configuration with --config DIR/{}, or its stack with --stack{name}", config::FILE)
        }
    }
}

/// How a plan from a file or a journal is rendered: the commands that it proposes name the directory that it was made
/// for, or the run that it rolls back.
pub fn view(context: &Context, plan: &Plan) -> TextView {
    // This call has found the settings, so the next one with the same flags will, too.
    let flags = context.call.settings();
    let call = call_of(context, plan) + &flags;
    let again = match &plan.source.origin {
        PlanOrigin::Directory(_) => {
            let base = plan.source.base.iter().map(|base| format!(" --base {}", safe::shell(base)));
            let only = if plan.is_only_this_change() { format!(" {ONLY_THIS_CHANGE}") } else { String::new() };
            Some(format!("trueup plan {call}{}{only}", base.collect::<String>()))
        }
        PlanOrigin::Rollback(run) => Some(format!("trueup rollback {run}{flags}{}", filters_of(plan).0)),
        PlanOrigin::Move { from, to } => {
            let directory = slashed(directory(context));
            let [from, to, directory] = [from, to, &directory].map(|word| safe::shell(word));
            let globs: String = plan.source.filters.iter().map(|glob| format!(" {}", requoted(glob))).collect();
            Some(format!("trueup move --from {from} --to {to} --directory {directory}{globs}{flags}"))
        }
    };
    TextView { call, again, flags, ..context.output.answers.clone() }
}

/// A filter of a plan, quoted again for a shell: the plan has it quoted, but a file cannot be trusted.
fn requoted(word: &str) -> String {
    let bare = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
    safe::shell(&bare.map_or_else(|| word.to_owned(), |bare| bare.replace(r"'\''", "'")))
}

/// The directory, or the paths in it, that a plan from a file or a journal was made for, and the flags that made it.
fn call_of(context: &Context, plan: &Plan) -> String {
    let Some(recorded) = plan.made_for() else { return plan.source.origin.to_string() };
    // The path may be relative to another working directory.
    let options = LoadOptions { environment: plan.source.environment.clone(), ..Default::default() };
    let is_it = root_of(Path::new(recorded)).is_some_and(|root| names_stack_of(plan, &root, &options));
    let directory = if is_it || plan.stack.is_none() { Path::new(recorded) } else { directory(context) };
    let (mut flags, filters) = filters_of(plan);
    flags += if plan.settings.adopt { " --adopt" } else { "" };
    flags += &prune_flags(&plan.settings.prune_namespaces);
    let paths: Vec<String> = filters.iter().map(|path| safe::shell(&slashed(&directory.join(path)))).collect();
    let paths = if paths.is_empty() { safe::shell(&slashed(directory)) } else { paths.join(" ") };
    paths + &flags
}

/// The filters of a plan: the flags, each after a space, and the paths.
fn filters_of(plan: &Plan) -> (String, Vec<&str>) {
    let (mut flags, mut paths) = (String::new(), Vec::new());
    for filter in &plan.source.filters {
        match filter.split_once(' ') {
            Some((flag @ ("--only" | "--except" | "--namespace" | "--selector"), value)) => {
                flags += &format!(" {flag} {}", requoted(value));
            }
            _ if filter == ONLY_THIS_CHANGE => {}
            _ => paths.push(filter.as_str()),
        }
    }
    (flags, paths)
}

/// The flag that names the service, after a space, if call, environment and settings do not name one.
pub fn service(context: &Context, config: &Config, url: &str) -> String {
    let is_named = !matches!(named(context, config), Ok(None));
    flag_of(context, url, None).filter(|_| !is_named).map_or_else(String::new, |flag| format!(" {flag}"))
}

/// The flag that names a service: by its sandbox if a run names one, else by its address. `None` for a sandbox that no
/// longer exists.
pub fn flag_of(context: &Context, url: &str, sandbox: Option<&str>) -> Option<String> {
    let Some(sandbox) = sandbox else {
        let is_embedded = url == BaseUrl::sandbox().as_str();
        return Some(if is_embedded { "--sandbox".to_owned() } else { format!("--base-url {}", safe::shell(url)) });
    };
    if sandbox_file(&context.environment).is_ok_and(|own| sandbox_in(own) == sandbox) {
        return Some("--sandbox".to_owned());
    }
    let (file, _) = sandbox.strip_prefix('`')?.rsplit_once('`')?;
    let is_there = sandbox_in(PathBuf::from(file)) == sandbox;
    is_there.then(|| format!("--sandbox={}", safe::shell(file)))
}

/// The flags that a command about a recorded plan needs: the settings of the directory that the plan was made for, if
/// the working directory has others; the environment of the plan; and its service with the sandbox of its run, if the
/// call names no service or another one.
pub fn of_recorded(context: &Context, plan: &Plan, sandbox: Option<&str>) -> String {
    let environment = environment_now(plan).or_else(|| context.global.env.clone());
    let call = match environment == context.global.env {
        true => context.call.clone(),
        false => context.call.clone().with("env", environment.clone()),
    };
    let options = LoadOptions { environment, ..Default::default() };
    let there = root_of_recorded(plan, &options).filter(|there| there.join(config::FILE).is_file());
    let config = load::settings(there.as_deref().unwrap_or(Path::new(".")), &options).unwrap_or_default();
    let url = &plan.service.base_url;
    let leads_there = named(context, &config).map_or(true, |place| {
        let is_same = |sandbox| sandbox_of_runs(context).as_deref() == Some(sandbox);
        place.is_some_and(|place| place.base_url().as_str() == url) && sandbox.is_none_or(is_same)
    });
    // The directory of the stack may be gone, or its settings may have another name by now.
    let unnamed = plan.stack.clone().filter(|name| stack(context, &config).ok().flatten().as_ref() != Some(name));
    let call = match unnamed {
        Some(name) => call.with("stack", [name]),
        None => call,
    };
    let flags = match flag_of(context, url, sandbox).filter(|_| !leads_there) {
        Some(flag) => format!("{} {flag}", call.without("base_url sandbox").settings()),
        None => call.settings(),
    };
    match (plan.made_for(), there) {
        // An environment belongs to settings, so name those in the directory that the plan was made for.
        (Some(made_for), None) if plan.source.environment.is_some() && context.global.config.is_none() => {
            format!(" --config {}{flags}", safe::shell(&slashed(&Path::new(made_for).join(config::FILE))))
        }
        (_, there) => with_configuration(context, flags, there.as_deref()),
    }
}

/// The environment of a recorded plan; if it is gone, the only one of the same stack, or `None`.
fn environment_now(plan: &Plan) -> Option<String> {
    let recorded = plan.source.environment.clone();
    let root = root_of(Path::new(plan.made_for().unwrap_or(".")));
    let config = root.and_then(|root| load::settings(&root, &LoadOptions::default()).ok());
    let (Some(name), Some(config), Some(stack)) = (&recorded, config, &plan.stack) else { return recorded };
    let is_it = |config: &Config| config.stack.as_ref().is_some_and(|name| name.as_str() == stack);
    let mut others = config.environments.iter().filter(|(_, config)| is_it(config)).map(|(name, _)| name);
    match (others.next(), others.next()) {
        _ if config.environments.contains_key(name) => recorded,
        (Some(other), None) => Some(other.clone()),
        (None, None) if is_it(&config) => None,
        _ => recorded,
    }
}

/// Where the stack of a recorded plan is: in the directory that the plan was made for, else in the only directory of
/// the working directory's repository that has it.
fn root_of_recorded(plan: &Plan, options: &LoadOptions) -> Option<PathBuf> {
    let is_it = |root: &PathBuf| names_stack_of(plan, root, options);
    let made_for = root_of(Path::new(plan.made_for().unwrap_or(".")));
    if plan.stack.is_none() || made_for.as_ref().is_some_and(is_it) {
        return made_for;
    }
    let here = real_path(Path::new(".")).ok()?;
    let mut found = load::stacks_of_repository(&declared::top(&here)).unwrap_or_default().into_iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), None) => Some(one),
        _ => made_for,
    }
}

/// Whether the configuration in `root` names the stack of a plan.
fn names_stack_of(plan: &Plan, root: &Path, options: &LoadOptions) -> bool {
    let names_it = |config: Config| config.stack.is_some_and(|stack| Some(stack.as_str()) == plan.stack.as_deref());
    root.join(config::FILE).is_file() && load::settings(root, options).is_ok_and(names_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack_of(flags: &[&str], environment: &[(&str, &str)]) -> Result<Option<String>, String> {
        stack(&Context::of(flags, environment), &Config::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stack_of_a_flag_or_a_variable_is_a_name() {
        assert_eq!(stack_of(&["--stack", "shop"], &[("TRUEUP_STACK", "other")]), Ok(Some("shop".to_owned())));
        assert_eq!(stack_of(&[], &[("TRUEUP_STACK", "other")]), Ok(Some("other".to_owned())));
        assert_eq!(stack_of(&[], &[]), Ok(None));
        for wrong in ["", "a b", "Shop", "../x"] {
            let error = stack_of(&["--stack", wrong], &[]).expect_err("no name");
            assert!(error.starts_with(&format!("`--stack` is `{wrong}`, which ")), "{error}");
        }
        let error = stack_of(&[], &[("TRUEUP_STACK", "a b")]).expect_err("no name");
        assert!(error.starts_with("`TRUEUP_STACK` is `a b`"), "{error}");
    }

    fn url(flags: &[&str], environment: &[(&str, &str)], configured: Option<&str>) -> Result<String, String> {
        address(&Context::of(flags, environment), configured)
            .map(|address| address.map_or_else(|| "none".to_owned(), |address| address.url.to_string()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_run_of_a_lock_is_one_word_of_the_command_that_releases_it() {
        let command =
            |run| release_hint(run, " --state s3://state").split_once(": ").map(|(_, command)| command.to_owned());
        let run = "2026-11-22T05-00-00-000-shop-0001";
        assert_eq!(command(run).as_deref(), Some(&*format!("trueup history --unlock {run} --state s3://state")));
        let quoted = command("x; rm -rf ~");
        assert_eq!(quoted.as_deref(), Some("trueup history --unlock 'x; rm -rf ~' --state s3://state"));
    }

    const CONFIGURED: Option<&str> = Some("https://configured.example.net");

    #[test]
    fn a_flag_stands_over_the_environment_and_the_environment_must_agree_with_the_configuration() {
        for variable in VARIABLES {
            let same = [(variable, "https://configured.example.net/api/")];
            assert_eq!(url(&[], &same, CONFIGURED).as_deref(), Ok("https://configured.example.net"));
            let other = [(variable, "https://other.example.net")];
            assert_eq!(url(&[], &other, None).as_deref(), Ok("https://other.example.net"));
            let flag = ["--base-url", "https://flag.example.net"];
            assert_eq!(url(&flag, &other, CONFIGURED).as_deref(), Ok("https://flag.example.net"));
            let error = url(&[], &other, CONFIGURED).expect_err("a conflict");
            for part in [variable, "https://other.example.net", "https://configured.example.net"] {
                assert!(error.contains(part), "{error}");
            }
        }
        assert_eq!(url(&[], &[], None).as_deref(), Ok("none"));
    }

    #[test]
    fn two_variables_that_name_different_services_are_an_error_that_names_both() {
        let foreign =
            [("F5XC_API_URL", "https://foreign.example.net/api"), ("VOLT_API_URL", "https://older.example.net")];
        let error = url(&[], &foreign, None).expect_err("a conflict");
        assert!(error.contains("`F5XC_API_URL`") && error.contains("`VOLT_API_URL`"), "{error}");
        assert_eq!(url(&[], &foreign[1..], None).as_deref(), Ok("https://older.example.net"));
    }
}

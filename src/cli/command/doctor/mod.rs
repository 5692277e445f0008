//! `doctor`: checks everything that a plan and an apply need, in the order in which they need it. It sends only requests
//! that read, and shows no token.

mod service;

use crate::api::Secret;
use crate::cli::command::prelude::*;
use crate::cli::service::token;
use crate::cli::settings::{ServiceLocation, VARIABLES};
use crate::file::{Directory, FileMode};
use crate::journal::{self, JournalError};
use crate::report::facts::plan;
use crate::report::health::{Health, HealthStatus};
use crate::state::StateStore;

/// Checks everything that a plan and an apply need, and says how to fix what is wrong.
///
/// Checks the settings, the policy, the URL, the token, the connection, the clocks, each namespace, the gates `ddos` and `events`, and the
/// state directory. It sends only requests that read, so it does not check write access. The exit code is 1 if something is wrong.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup doctor\n  trueup doctor endpoints --env prod\n  trueup doctor --format json"
)]
pub struct DoctorArgs {
    /// The stack's directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Check this namespace instead of those of trueup.yaml; repeatable
    #[arg(long, short, value_name = "NAME", value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Vec<Namespace>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// The value that a check needs. On an error, records the failed check with its hints and returns `None`.
fn checked<T>(health: &mut Health, name: &'static str, result: Result<T>) -> Option<T> {
    let failed = |error: CommandError| {
        health.add(name, HealthStatus::Failed, error.to_string());
        // Checks send no changes, so this hint says nothing here.
        for hint in error.hints.iter().filter(|hint| *hint != "nothing was sent") {
            health.fix(hint.as_str());
        }
    };
    result.map_err(failed).ok()
}

impl Execute for DoctorArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let mut health = Health::default();
        check(self, context, &mut health).await;
        context.output.report(&health, self.format);
        Ok(if health.failed() == 0 { ExitStatus::Done } else { ExitStatus::Failed })
    }
}

async fn check(arguments: &DoctorArgs, context: &Context, health: &mut Health) {
    let directory = arguments.directory.as_path();
    let Some(config) = settings_file(context, directory, health) else { return };
    let root = settings::root(context, directory).ok().filter(|root| crate::file::exists(&root.join(config::FILE)));
    let mut kinds = config.kinds_with_endpoint();
    // Without a stack, the files in the directory have nothing to do with the namespaces that the call names.
    let mut defined = BTreeSet::new();
    if root.is_some() || arguments.namespace.is_empty() {
        let keys = definitions(context, &config, directory, health);
        limits(context, &config, directory, &keys, health);
        defined = keys.iter().map(Scope::from).collect();
        kinds.extend(keys.iter().map(|key| key.kind));
    }
    let namespaces: Vec<Namespace> = match arguments.namespace.as_slice() {
        [] => config.namespaces.iter().chain(defined.iter().map(|scope| &scope.namespace)).cloned().collect(),
        named => named.to_vec(),
    };
    if let Some(place) = place(context, &config, health) {
        let with_token = given_token(context, &config, &place, health);
        service::check(context, &config, (&namespaces, &kinds, &defined), with_token, health).await;
    }
    kept_state(context, &config, root.as_deref(), health).await;
}

fn settings_file(context: &Context, directory: &Path, health: &mut Health) -> Option<Config> {
    let read = || Ok((settings::of_directory(context, directory)?, settings::root(context, directory)?));
    let shown = safe::shell(&directory.display().to_string());
    let Some((config, root)) = checked(health, "settings", read()) else {
        health.fix(match context.global.env.as_deref() {
            Some(config::EVERY_ENVIRONMENT) => "name one environment: --env NAME".to_owned(),
            _ => format!("to see each with its place: trueup validate {shown}{}", context.call.settings()),
        });
        return None;
    };
    if crate::file::exists(&root.join(config::FILE)) {
        let file = format!("{}{}", context.environment.shown_from_here(&root), config::FILE);
        let stack = checked(health, "settings", settings::stack(context, &config))?;
        let stack = stack.map_or("no stack".to_owned(), |name| format!("stack {name}"));
        let names: Vec<&str> = config.namespaces.iter().map(Namespace::as_str).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let unchosen = config.without_environment(context.global.env.as_deref());
        let status = if unchosen.is_some() { HealthStatus::Note } else { HealthStatus::Ok };
        let unchosen = unchosen.map(|text| format!("; {text}")).unwrap_or_default();
        health.add("settings", status, format!("{file}: {stack}, namespaces: {names}{unchosen}"));
    } else {
        let message = "there is no trueup.yaml: without a stack, nothing is deleted";
        // A stack cannot contain another one, so `init` is not proposed above a stack.
        let below = load::stacks_below(directory).unwrap_or_default();
        let fix = match below.first() {
            Some(stack) => {
                let stack = safe::shell(&stack.display().to_string());
                format!("for the stacks below: trueup doctor {stack}{}", context.call.settings())
            }
            None => format!("trueup init {shown}"),
        };
        health.add("settings", HealthStatus::Note, message).fix(fix);
    }
    Some(config)
}

/// Whether the policy permits a plan of these definitions.
fn limits(context: &Context, config: &Config, directory: &Path, keys: &[Key], health: &mut Health) {
    let Some(file) = &context.policy else { return };
    let namespaces = config.namespaces.iter().chain(keys.iter().map(|key| &key.namespace));
    let root = settings::root(context, directory);
    let permitted = root.and_then(|root| policy::check(context, &root, config, namespaces));
    if checked(health, "policy", permitted).is_some() {
        health.add("policy", HealthStatus::Ok, file.path.display().to_string());
    }
}

/// Checks the definitions; returns their keys.
fn definitions(context: &Context, config: &Config, directory: &Path, health: &mut Health) -> Vec<Key> {
    let mut keys = Vec::new();
    let loaded = load::directory(directory, &settings::load_options(context));
    let shown = safe::shell(&directory.display().to_string()) + &context.call.settings();
    match loaded {
        Ok(loaded) if loaded.desired.definitions.is_empty() => {
            let check = health.add("definitions", HealthStatus::Note, "there are none yet");
            // Without namespaces, there is nothing that a pull could begin with.
            if !config.namespaces.is_empty() {
                check.fix(format!("to begin with the live endpoints: trueup pull -o {shown}"));
            }
        }
        Ok(loaded) => {
            let (endpoints, files) = (loaded.desired.definitions.len(), loaded.desired.files);
            health.add("definitions", HealthStatus::Ok, format!("{endpoints} in {}", text::count(files, "file")));
            keys.extend(loaded.desired.definitions.into_keys());
        }
        Err(found) => {
            health
                .add("definitions", HealthStatus::Failed, found.summary())
                .fix(format!("to see each with its place: trueup validate {shown}"));
        }
    }
    keys
}

fn place(context: &Context, config: &Config, health: &mut Health) -> Option<ServiceLocation> {
    let place = checked(health, "service", settings::place(context, config))?;
    let by = match &place {
        ServiceLocation::Sandbox(file) => format!("the embedded one, in {}", file.display()),
        ServiceLocation::At(_) => format!("{}, named by {}", place.base_url(), sources(context, config).join(", ")),
    };
    health.add("service", HealthStatus::Ok, by);
    Some(place)
}

/// The flag, variables and settings that name the service.
fn sources(context: &Context, config: &Config) -> Vec<String> {
    if context.global.base_url.is_some() {
        return vec!["--base-url".to_owned()];
    }
    let variables = VARIABLES.iter().filter(|name| context.environment.variable(name).is_some());
    let configured = config.base_url.as_ref().map(|_| "base_url of trueup.yaml".to_owned());
    variables.map(|name| (*name).to_owned()).chain(configured).collect()
}

/// Whether requests can carry a token, or need none.
fn given_token(context: &Context, config: &Config, place: &ServiceLocation, health: &mut Health) -> bool {
    let ServiceLocation::At(address) = place else {
        health.add("token", HealthStatus::Ok, "the embedded service makes one up");
        return true;
    };
    let global = &context.global;
    let given = token::given(context, config.token_variable.as_deref(), address).and_then(|given| {
        // A token that cannot be sent fails here, but the checks that need no token still run.
        given.as_ref().map(|token| Secret::new(&token.text)).transpose().with_status(ExitStatus::Invalid)?;
        Ok(given)
    });
    let Some(given) = checked(health, "token", given) else { return false };
    let (status, message, fix) = match given {
        None if global.client_cert.is_some() || global.client_p12.is_some() => {
            (HealthStatus::Ok, "none; the client certificate identifies the caller".to_owned(), None)
        }
        None => {
            let fix = "set TRUEUP_TOKEN, or name a file with --token-file".to_owned();
            (HealthStatus::Failed, "there is no API token".to_owned(), Some(fix))
        }
        Some(token) if token.bound => (HealthStatus::Ok, format!("from {}, bound to this URL", token.name), None),
        Some(token) if token.name.starts_with("TRUEUP_TOKEN") => {
            let variable = token.name.trim_end_matches("_FILE");
            let fix = format!("to send it to no other service: {variable}_URL={}", address.url);
            (HealthStatus::Note, format!("from {}, which is bound to no URL", token.name), Some(fix))
        }
        Some(token) => (HealthStatus::Ok, format!("from {}", token.name), None),
    };
    health.add("token", status, message);
    if let Some(fix) = fix {
        health.fix(fix);
    }
    status != HealthStatus::Failed
}

async fn kept_state(context: &Context, config: &Config, root: Option<&Path>, health: &mut Health) {
    let Some(store) = checked(health, "state", settings::state_store(context)) else { return };
    let usable = match store {
        StateStore::Directory(path) => directory(path, health),
        StateStore::Bucket(bucket, _) => {
            // `check_conditions` writes a probe; a run begins with the list and the read.
            let checked_bucket = bucket.clone();
            let history = settings::ask_state(context, move |store| {
                checked_bucket.check_conditions().map_err(JournalError::from).and_then(|()| journal::history(store))
            });
            let history = history.await.and_then(|read| read.map_err(|error| settings::store_failed(context, error)));
            let runs = checked(health, "state", history).map(|history| text::count(history.runs.len(), "run"));
            runs.is_some_and(|runs| {
                health.add("state", HealthStatus::Ok, format!("{}, {runs}", bucket.address()));
                true
            })
        }
    };
    let Ok(Some(place)) = settings::named(context, config) else { return };
    let stack = settings::stack(context, config).ok().flatten();
    let owner = settings::run_owner(context, stack, place.base_url().to_string());
    if usable && let Ok(Some(open)) = journal::open_run(store, &owner) {
        let resume = plan::resume(&open.run, open.allowed.iter(), &open.prune_namespaces);
        health
            .add("last run", HealthStatus::Note, format!("{} was not finished", open.run))
            .fix(resume + &settings::with_configuration(context, context.call.settings(), root));
    }
}

/// Whether a run can be recorded in the state directory.
fn directory(path: &Path, health: &mut Health) -> bool {
    /// The directories that an apply writes.
    const WRITTEN: [&str; 2] = ["runs", "locks"];
    /// In bytes: a full disk accepts an empty file, but no run.
    const PROBE: usize = 64 * 1024;
    // Each of a pipeline's parallel jobs writes its own.
    let probe = format!(".doctor-{}", std::process::id());
    let written = WRITTEN.iter().try_for_each(|name| {
        let directory = Directory::private(path, name)?;
        directory.replace(&probe, &b"\n".repeat(PROBE), FileMode::Private)?;
        directory.remove(Path::new(&probe))
    });
    let written = written.map_err(|error| {
        let other = error.hint().is_none().then_some("name another directory with --state or TRUEUP_STATE");
        CommandError::new(ExitStatus::Failed, error).hint_each(other)
    });
    let is_written = checked(health, "state directory", written).is_some();
    if is_written {
        health.add("state directory", HealthStatus::Ok, path.display().to_string());
    }
    is_written
}

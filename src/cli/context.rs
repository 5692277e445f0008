//! What every command receives: the global flags, the process environment, the output streams, and the policy of the
//! call. The stacks of a command about several share, by service, one pool of connections, one rate limit (the smallest
//! that any of them configures), one embedded service, and what was found of other stacks. A context also keeps the
//! embedded services that the command starts, and stops them when the command ends, however it ends.

use std::cell::{OnceCell, RefCell};
use std::io::Write as _;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::api::{self, ClientPool, ClientSettings, ClientSettingsError, RequestIds, Secret, TraceParent};
use crate::cli::args::GlobalArgs;
use crate::cli::prelude::*;
use crate::cli::stacks::declared::{self, Declared};
use crate::cli::{Call, CommandError, Output, ProcessEnvironment, aside};
use crate::git::{self, GitEnvironment, GitError, HeadMark, Repository};
use crate::load::{Diagnostics, RenderOptions};
use crate::model::policy::Policy;
use crate::plan::MatchedFilters;
use crate::report::Palette;
use crate::sandbox::Running;
use crate::state::StateStore;
use crate::transport::Proxies;

/// The variable by which a caller passes its trace on (W3C Trace Context).
const TRACEPARENT: &str = "TRACEPARENT";
const TRACESTATE: &str = "TRACESTATE";

/// What every command receives.
#[derive(Clone)]
pub struct Context {
    /// The global flags; without `--env`, a variable chooses the environment of the configuration.
    pub global: GlobalArgs,
    /// The call as it was typed.
    pub call: Call,
    /// The environment of the process.
    pub environment: ProcessEnvironment,
    /// Where answers and messages are written.
    pub output: Output,
    /// The policy of the call, if it names one.
    pub policy: Option<Rc<PolicyFile>>,
    /// What the stacks of a command share, by service; empty for a command about one.
    pub tenants: Rc<Tenants>,
    /// What is found of the stack; `None` for a command about one.
    pub findings: Option<Rc<StackFindings>>,
    ids: OnceCell<Arc<RequestIds>>,
    /// The state store of the call, once it is needed.
    pub state: Rc<OnceCell<StateStore>>,
    proxies: Rc<OnceCell<Proxies>>,
    /// Whether it was reported that exceptions from the proxy are unclear.
    is_unclear: Rc<OnceCell<()>>,
    started: Rc<RefCell<Vec<Running>>>,
    begun: Instant,
}

/// A policy with the file that contains it.
pub struct PolicyFile {
    /// The file, without symbolic links.
    pub path: PathBuf,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// Its limits.
    pub policy: Policy,
}

impl Context {
    /// The context of a command in this process; its policy is not read yet.
    pub fn new(mut global: GlobalArgs, call: Call) -> Self {
        let environment = ProcessEnvironment::read();
        global.env = global.env.or_else(|| environment.variable("TRUEUP_ENV").map(str::to_owned));
        let output = Output::new(&global, &environment);
        Self {
            global,
            call,
            environment,
            output,
            policy: None,
            tenants: Rc::default(),
            findings: None,
            ids: OnceCell::new(),
            state: Rc::default(),
            proxies: Rc::default(),
            is_unclear: Rc::default(),
            started: Rc::default(),
            begun: Instant::now(),
        }
    }

    /// The ids of the requests of the command, in the trace of the caller. An invalid trace is left out with a note.
    pub fn ids(&self) -> Arc<RequestIds> {
        let ids = self.ids.get_or_init(|| {
            let given = self.environment.variable(TRACEPARENT);
            let parent = given.and_then(TraceParent::parse);
            if given.is_some() && parent.is_none() {
                self.output.message(&format!("note: `{TRACEPARENT}` is not a valid trace and is not passed on"));
            }
            let state = self.environment.variable(TRACESTATE).unwrap_or_default();
            Arc::new(RequestIds::new(self.environment.chance(), parent.map(|parent| parent.with_state(state))))
        });
        Arc::clone(ids)
    }

    /// The proxies of the environment.
    pub fn proxies(&self) -> &Proxies {
        self.proxies.get_or_init(|| Proxies::read(|name| self.environment.variable(name).map(str::to_owned)))
    }

    /// Reports once which exceptions from the proxy match no host, if `name` is reached through a proxy.
    pub fn report_unclear_exceptions(&self, name: &str) {
        if let Some(unclear) = self.proxies().unclear() {
            self.is_unclear.get_or_init(|| {
                self.output.rendered_message(&self.output.warning(&unclear));
                self.output.message(&format!("  {name} is reached through the proxy"));
            });
        }
    }

    /// The context of one of several stacks. Its messages go to `output`. It starts no embedded service: the stacks share
    /// that of this one.
    pub fn of_stack(&self, output: Output, tenants: &Rc<Tenants>) -> Self {
        Self {
            output,
            tenants: Rc::clone(tenants),
            findings: Some(Rc::default()),
            ids: OnceCell::from(self.ids()),
            started: Rc::default(),
            ..self.clone()
        }
    }

    /// How to render an answer that includes how long the command took.
    pub fn timed_view(&self) -> TextView {
        TextView { elapsed: Some(self.begun.elapsed()), ..self.output.answers.clone() }
    }

    /// Prints every problem of definitions or settings at its place, as a compiler does, and returns their sum as the error
    /// of the command.
    pub fn wrong(&self, diagnostics: &Diagnostics) -> CommandError {
        if self.print(diagnostics) {
            self.output.unnamed("");
        }
        error!(Invalid, "{}; nothing was sent", diagnostics.summary()).sum().diagnostics(diagnostics.list.clone())
    }

    /// Prints remarks, which are not errors; `--quiet` leaves them out.
    pub fn remark(&self, diagnostics: &Diagnostics) {
        if !self.global.quiet {
            self.print(diagnostics);
        }
    }

    /// Prints the problems that no other stack of the call has printed, because environments share files, with paths
    /// that can be opened from the working directory. Returns whether there were any.
    fn print(&self, diagnostics: &Diagnostics) -> bool {
        let (view, directory) = (&self.output.messages, self.environment.directory.as_deref());
        let options = RenderOptions { colour: view.palette == Palette::Coloured, width: view.width, directory };
        let mut printed = self.tenants.printed.borrow_mut();
        let new: Vec<String> = diagnostics.drawn(&options).filter(|one| printed.insert(one.clone())).collect();
        if !new.is_empty() {
            self.output.unnamed(&new.join("\n"));
        }
        !new.is_empty()
    }

    /// Asks on stderr whether to do `action`, which must have been shown before. `hint` says what a call without a
    /// terminal can give instead.
    ///
    /// # Errors
    /// Stdin is not a terminal, or the answer is not `yes`: refused, nothing sent.
    pub async fn confirm(&self, action: &str, hint: &str) -> Result<(), CommandError> {
        if !self.environment.can_ask {
            return Err(error!(Refused, "confirmation required, but stdin is not a terminal")
                .hint(hint)
                .hint("nothing was sent"));
        }
        let mut stderr = std::io::stderr();
        let asked = write!(stderr, "\nType 'yes' to {action}: ").and_then(|()| stderr.flush());
        // On a thread of its own: an interrupt does not wait for the answer.
        let read = || std::io::stdin().lines().next().and_then(Result::ok);
        let question = OpenQuestion;
        let answer = if asked.is_ok() { aside(read).await } else { None };
        match answer {
            Some(_) => std::mem::forget(question),
            None => drop(question),
        }
        if answer.is_some_and(|line| line.trim() == "yes") {
            return Ok(());
        }
        Err(error!(Refused, "declined: nothing was sent").sum())
    }

    /// Keeps an embedded service until [`Context::close`].
    pub fn keep(&self, service: Running) {
        self.started.borrow_mut().push(service);
    }

    /// Stops the embedded services, which releases their files.
    pub async fn close(&self) {
        let started = self.started.take();
        for service in started {
            service.stop().await;
        }
    }
}

/// The git repository around a directory, which everything in one command shares: it is searched for and opened at the
/// first use. Clones share it.
#[derive(Clone)]
pub struct LazyRepository {
    directory: PathBuf,
    machine: GitEnvironment,
    expected: Option<HeadMark>,
    opened: Arc<OnceLock<Result<Repository, Arc<GitError>>>>,
}

impl LazyRepository {
    /// The repository of `directory`, which is not searched for yet.
    pub fn new(context: &Context, directory: &Path) -> Self {
        let search_path = context.environment.path("PATH").map(Into::into);
        let machine = GitEnvironment { search_path, temporary: std::env::temp_dir() };
        Self { directory: directory.to_owned(), machine, expected: None, opened: Arc::default() }
    }

    /// The same, whose `HEAD` has to be where it was before the definitions were read.
    pub fn expecting(self, expected: Option<HeadMark>) -> Self {
        Self { expected, ..self }
    }

    /// Opens it, or returns what was opened before.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn open(&self) -> Result<&Repository, Arc<GitError>> {
        let open = || Repository::open(&self.directory, &self.machine);
        let opened = self.opened.get_or_init(|| Ok(open().map_err(Arc::new)?.expecting(self.expected.clone())));
        opened.as_ref().map_err(Arc::clone)
    }

    /// Opens it to check the working tree for missing files; `None` if git cannot be asked and nothing suggests that
    /// files are missing. An empty directory suggests it if `can_be_submodule` accepts its path.
    ///
    /// # Errors
    /// Files may be missing, and git cannot be asked; with both reasons.
    pub fn open_lacking(&self, can_be_submodule: impl Fn(&str) -> bool) -> Result<Option<&Repository>, LackingError> {
        self.open().map(Some).or_else(|unasked| match git::may_lack_files(&self.directory, can_be_submodule) {
            Some(reason) => Err(LackingError { unasked, reason }),
            None => Ok(None),
        })
    }
}

/// Why it is not known whether the working tree has all files of its commit.
#[derive(Debug, thiserror::Error)]
#[error("whether the working tree has all files of its commit is unknown: {unasked}")]
pub struct LackingError {
    /// Why git cannot be asked.
    unasked: Arc<GitError>,
    /// Why files may be missing.
    pub reason: String,
}

/// What is found of one of several stacks.
#[derive(Debug, Default)]
pub struct StackFindings {
    /// What it defines, once it is loaded.
    pub defined: OnceCell<DefinedKeys>,
    /// The variables that it sets or uses, or that its base does.
    pub variables: OnceCell<BTreeSet<String>>,
    /// Which filters of the call matched something in it; unset if it could not be read completely.
    pub matched: OnceCell<MatchedFilters>,
}

/// The endpoints that one of several stacks defines, and its namespaces.
#[derive(Debug)]
pub struct DefinedKeys {
    /// Its service, if something names one.
    pub base_url: Option<String>,
    /// The endpoints.
    pub keys: Vec<Key>,
    /// Its namespaces.
    pub namespaces: BTreeSet<Namespace>,
}

/// The services of a command about several stacks.
#[derive(Default)]
pub struct Tenants {
    /// Where stacks are searched for that may define what another stack of the call deletes.
    pub tops: RefCell<BTreeSet<PathBuf>>,
    /// The rendered problems that its stacks printed.
    printed: RefCell<BTreeSet<String>>,
    tenants: RefCell<BTreeMap<String, Tenant>>,
    /// The embedded service, if the stacks use one.
    pub embedded: Option<EmbeddedService>,
    /// The stacks of each repository, once they were searched for.
    in_tree: RefCell<BTreeMap<PathBuf, Result<Declared, String>>>,
    /// The stacks of each repository at a commit.
    at_commit: RefCell<BTreeMap<(PathBuf, String), Declared>>,
}

/// An embedded service that all stacks use.
#[derive(Debug, Clone)]
pub struct EmbeddedService {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its token.
    pub token: Secret,
}

/// What the stacks of one service share.
#[derive(Default)]
struct Tenant {
    rate_limit: Option<f64>,
    concurrency: Option<usize>,
    pool: Option<ClientPool>,
}

impl Tenants {
    /// The services of these stacks, whose requests go to `embedded` if there is one.
    pub fn new(embedded: Option<EmbeddedService>) -> Self {
        Self { embedded, ..Self::default() }
    }

    /// Adds the limits of a stack of the service at `base_url`.
    pub fn add(&self, base_url: &str, config: &Config) {
        let mut tenants = self.tenants.borrow_mut();
        let tenant = tenants.entry(base_url.to_owned()).or_default();
        tenant.rate_limit = tenant.rate_limit.into_iter().chain(config.rate_limit).reduce(f64::min);
        tenant.concurrency = tenant.concurrency.into_iter().chain(config.concurrency).min();
    }

    /// The directories with settings in and below `top`.
    ///
    /// # Errors
    /// The directory cannot be searched; with the reason.
    pub fn declared(&self, top: &Path) -> Result<Declared, String> {
        let mut known = self.in_tree.borrow_mut();
        known.entry(top.to_owned()).or_insert_with(|| declared::in_tree(top).map(Into::into)).clone()
    }

    /// The directories with settings at a commit.
    ///
    /// # Errors
    /// git cannot show the commit, or not all of it.
    pub fn declared_at(&self, repository: &Repository, commit: &str) -> Result<Declared, GitError> {
        let mut known = self.at_commit.borrow_mut();
        let place = (repository.top().to_owned(), commit.to_owned());
        if let Some(declared) = known.get(&place) {
            return Ok(Declared::clone(declared));
        }
        let declared = declared::at_commit(repository, commit)?.into();
        Ok(Declared::clone(known.entry(place).or_insert(declared)))
    }

    /// The smallest rate limit and number of requests at the same time that a stack of the service configures.
    pub fn limits(&self, base_url: &str) -> (Option<f64>, Option<usize>) {
        let tenants = self.tenants.borrow();
        tenants.get(base_url).map_or((None, None), |tenant| (tenant.rate_limit, tenant.concurrency))
    }

    /// Lets the client of a stack share the pool of its service.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn share(&self, settings: &mut ClientSettings) -> Result<(), ClientSettingsError> {
        let mut tenants = self.tenants.borrow_mut();
        let beside = tenants.values().find_map(|tenant| tenant.pool.clone());
        if let Some(tenant) = tenants.get_mut(settings.base_url.as_str()) {
            let pool = match &tenant.pool {
                Some(pool) => pool.clone(),
                None => api::pool(settings, beside.as_ref())?,
            };
            settings.pool = Some(tenant.pool.insert(pool).clone());
        }
        Ok(())
    }
}

/// A prompt whose line no answer has ended; the end of the input and an interrupt do not end it either.
struct OpenQuestion;

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let _ = writeln!(std::io::stderr());
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::command::Arguments;

    impl Context {
        /// The context of a call with these flags, and with just these variables, for tests.
        pub fn of(flags: &[&str], environment: &[(&str, &str)]) -> Self {
            let words = ["trueup", "man"].iter().chain(flags);
            let global = Arguments::try_parse_from(words).expect("a command line").global;
            Self { environment: ProcessEnvironment::with(environment), ..Self::new(global, Call::default()) }
        }
    }
}

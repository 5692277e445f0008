//! What every command receives: the global flags, the process environment, the output streams, and the
//! policy of the call. A context also keeps the embedded services that the command starts, and stops
//! them when the command has ended, however it ended.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use crate::api::RequestIds;
use crate::cli::args::GlobalArgs;
use crate::cli::output::activity;
use crate::cli::stacks::tenants::Tenants;
use crate::cli::{Call, Output, ProcessEnvironment};
use crate::git::{GitEnvironment, GitError, Repository};
use crate::model::policy::Policy;
use crate::report::safe;
use crate::sandbox::Running;
use crate::state::StateStore;
use crate::transport::Proxies;

/// What every command receives.
pub struct Context {
    /// The global flags.
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
    ids: OnceCell<Arc<RequestIds>>,
    /// Where the state of the call is kept, once something asks for it.
    pub state: Rc<OnceCell<StateStore>>,
    proxies: Rc<OnceCell<Proxies>>,
    /// Whether it was reported that exceptions from the proxy are unclear.
    is_unclear: Rc<OnceCell<()>>,
    started: RefCell<Vec<Running>>,
}

/// Which environment of its configuration one of several stacks has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackEnvironment {
    /// The one that the call names, if it names one.
    OfCall,
    /// This one of all; nothing for a stack without environments.
    Chosen(Option<String>),
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
    pub fn new(global: GlobalArgs, call: Call) -> Self {
        let environment = ProcessEnvironment::read();
        let output = Output::new(&global, &environment);
        Self {
            global,
            call,
            environment,
            output,
            policy: None,
            tenants: Rc::default(),
            ids: OnceCell::new(),
            state: Rc::default(),
            proxies: Rc::default(),
            is_unclear: Rc::default(),
            started: RefCell::default(),
        }
    }

    /// The ids of the requests of the command.
    pub fn ids(&self) -> Arc<RequestIds> {
        Arc::clone(self.ids.get_or_init(|| activity::ids(&self.environment, &self.output)))
    }

    /// The proxies of the environment.
    pub fn proxies(&self) -> &Proxies {
        self.proxies.get_or_init(|| {
            Proxies::read(|name| self.environment.path(name).map(|value| value.to_string_lossy().into_owned()))
        })
    }

    /// Reports once which exceptions from the proxy no host matches, where `name` is reached through one.
    pub fn report_unclear_exceptions(&self, name: &str) {
        if let Some(unclear) = self.proxies().unclear() {
            let name = safe::line(name);
            let text = format!("{}\n  {name} is reached through the proxy", self.output.warning(&unclear));
            self.is_unclear.get_or_init(|| self.output.rendered_message(&text));
        }
    }

    /// The environment of the configuration that the call chooses.
    pub fn chosen_environment(&self) -> Option<String> {
        self.global.env.clone().or_else(|| self.environment.variable("TRUEUP_ENV").map(str::to_owned))
    }

    /// The context of one of several stacks, with the environment of it that the call chooses. Its messages go to
    /// `output`. It starts no embedded service: the stacks share that of this one.
    pub fn of_stack(&self, environment: &StackEnvironment, output: Output, tenants: &Rc<Tenants>) -> Self {
        let mut context = Self {
            global: self.global.clone(),
            call: self.call.clone(),
            environment: self.environment.clone(),
            output,
            policy: self.policy.clone(),
            tenants: Rc::clone(tenants),
            ids: OnceCell::from(self.ids()),
            state: Rc::clone(&self.state),
            proxies: Rc::clone(&self.proxies),
            is_unclear: Rc::clone(&self.is_unclear),
            started: RefCell::default(),
        };
        if let StackEnvironment::Chosen(name) = environment {
            context.global.env.clone_from(name);
            context.call = context.call.with("env", name.clone());
            context.environment = context.environment.without("TRUEUP_ENV");
        }
        context
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

/// The git repository that a directory is in, which everything in one command shares: it is searched for and opened at the
/// first question. A clone is the same one.
#[derive(Clone)]
pub struct LazyRepository {
    directory: PathBuf,
    machine: GitEnvironment,
    opened: Arc<OnceLock<Result<Repository, Arc<GitError>>>>,
}

impl LazyRepository {
    /// The repository of `directory`, which is not searched for yet.
    pub fn new(context: &Context, directory: &Path) -> Self {
        let search_path = context.environment.path("PATH").map(Into::into);
        let machine = GitEnvironment { search_path, temporary: std::env::temp_dir() };
        Self { directory: directory.to_owned(), machine, opened: Arc::default() }
    }

    /// Opens it, or returns what was opened before.
    ///
    /// # Errors
    /// There is none that can be used.
    pub fn open(&self) -> Result<&Repository, Arc<GitError>> {
        let opened = self.opened.get_or_init(|| Repository::open(&self.directory, &self.machine).map_err(Arc::new));
        opened.as_ref().map_err(Arc::clone)
    }
}

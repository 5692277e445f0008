//! What every command receives: the global flags, the process environment, the output streams, and the
//! policy of the call. A context also keeps the embedded services that the command starts, and stops
//! them when the command has ended, however it ended.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use super::args::GlobalArgs;
use super::environment::ProcessEnvironment;
use super::exchanges;
use super::output::Output;
use crate::api::RequestIds;
use crate::model::policy::Policy;
use crate::sandbox::Running;

/// What every command receives.
pub struct Context {
    /// The global flags.
    pub global: GlobalArgs,
    /// The environment of the process.
    pub environment: ProcessEnvironment,
    /// Where answers and messages are written.
    pub output: Output,
    /// The policy of the call, if it names one.
    pub policy: Option<PolicyFile>,
    ids: OnceCell<Arc<RequestIds>>,
    started: RefCell<Vec<Running>>,
}

/// A policy with the file that contains it.
pub struct PolicyFile {
    /// The file, without symbolic links.
    pub path: PathBuf,
    /// Its limits.
    pub policy: Policy,
}

impl Context {
    /// The context of a command in this process; its policy is not read yet.
    pub fn new(global: GlobalArgs) -> Self {
        let environment = ProcessEnvironment::read();
        let output = Output::new(&global, &environment);
        Self { global, environment, output, policy: None, ids: OnceCell::new(), started: RefCell::default() }
    }

    /// The ids of the requests of the command.
    pub fn ids(&self) -> Arc<RequestIds> {
        Arc::clone(self.ids.get_or_init(|| exchanges::ids(&self.environment, &self.output)))
    }

    /// The environment of the configuration that the call chooses.
    pub fn chosen_environment(&self) -> Option<String> {
        self.global.env.clone().or_else(|| self.environment.variable("TRUEUP_ENV").map(str::to_owned))
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

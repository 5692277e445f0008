//! What every command receives: the global flags, the process environment, the output streams, and the
//! policy of the call. A context also keeps the embedded services that the command starts, and stops
//! them when the command has ended, however it ended.

use std::cell::RefCell;
use std::path::PathBuf;

use super::args::GlobalArgs;
use super::environment::ProcessEnvironment;
use super::output::Output;
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
        Self { global, environment, output, policy: None, started: RefCell::default() }
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

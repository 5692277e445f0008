//! `sandbox`: runs the embedded service by itself until Ctrl-C, or a signal to end.

use std::fs::TryLockError;
use std::net::SocketAddr;

use crate::api::Secret;
use crate::cli::command::prelude::*;
use crate::cli::service::token;
use crate::file::open_own;
use crate::sandbox::{self, RequiredToken, SandboxOptions, Scenario, Storage, StoreError, Tenant};

/// Runs the embedded service by itself, until Ctrl-C or a signal to end.
///
/// It begins empty unless --data names a file. The data of `--sandbox` are separate: each directory has its own, used in the
/// directories below it as well, and --reset deletes them.
///
/// The token comes from TRUEUP_SANDBOX_TOKEN or --token-file; without one it makes one up and prints it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup sandbox --listen 127.0.0.1:8787 --data tenant.redb\n  trueup sandbox --tenant examples/06-tenant/tenant.yaml\n  trueup sandbox --reset"
)]
pub struct SandboxArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// The file that stores the tenant; without one, the tenant ends with the command
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// What the tenant contains: a file with `kind: tenant`, as in examples/06-tenant
    #[arg(long, value_name = "FILE")]
    pub tenant: Option<PathBuf>,
    /// The tenant's name in objects and references, if the file gives none
    #[arg(long, value_name = "NAME", default_value = "sandbox-tenant")]
    pub tenant_name: String,
    /// A scenario of faults, YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Append each request to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub log: Option<String>,
    /// Delete the data that `--sandbox` uses in this directory, and end
    #[arg(long, conflicts_with_all = ["listen", "data", "tenant", "tenant_name", "faults", "log"])]
    pub reset: bool,
}

impl Execute for SandboxArgs {
    // Its own `--log` has the same id as the global option.
    const GLOBALS: GlobalOptions = Some(&["token_file log"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        if let Some(Some(file)) = &context.global.sandbox {
            let message = "the file of `--sandbox=FILE` is neither served nor deleted by this command";
            let serve = format!("to serve it: --data {}", safe::shell(&file.display().to_string()));
            return Err(error!(Usage, "{message}")
                .hint(serve)
                .hint("--reset deletes the data of this directory alone"));
        }
        if self.reset {
            return reset(context);
        }
        // `check_outputs` leaves out `--log`, because the global option has the same id.
        (self.log.iter()).try_for_each(|log| context.call.check_output(Path::new(log), &context.environment))?;
        let given = token::of_sandbox(context)?;
        given.as_deref().map(Secret::new).transpose().with_status(ExitStatus::Invalid)?;
        let shown = given.is_none().then(|| context.environment.secret());
        let token = given.or_else(|| shown.clone()).unwrap_or_default();
        let storage = self.data.clone().map_or(Storage::Memory, Storage::File);
        let mut options = SandboxOptions::new(storage, RequiredToken::new(token.trim()), service::clock());
        options.listen = self.listen;
        options.tenant.clone_from(&self.tenant_name);
        options.tenant_file = self.tenant.as_deref().map(|path| tenant(path, context)).transpose()?;
        options.log_file = self.log.as_ref().map(Into::into);
        if let Some(path) = &self.faults {
            options.scenario = Scenario::read(path).with_status(ExitStatus::Invalid)?;
        }
        let running = sandbox::start(options).await.with_status(ExitStatus::Failed)?;
        let mut interrupted = std::pin::pin!(interrupt::interrupted());
        // Wait for signals from now on: a process that reads the address may send one.
        let is_interrupted = futures_util::poll!(interrupted.as_mut()).is_ready();
        let base_url = running.base_url();
        // Without its address, the service is of no use.
        let greeted = output::write(&greeting(&base_url, shown.as_deref()));
        if let Err(error) = greeted {
            running.stop().await;
            return Err(error);
        }
        if !is_interrupted {
            interrupted.await;
        }
        running.stop().await;
        Ok(ExitStatus::Done)
    }
}

/// Deletes the file that `--sandbox` uses in the working directory.
fn reset(context: &Context) -> Result<ExitStatus> {
    let path = settings::sandbox_file(&context.environment)?;
    let shown = path.display().to_string();
    let opened = match open_own(&path) {
        Err(error) if error.is_missing() => {
            context.output.message("This directory has no sandbox.");
            return Ok(ExitStatus::Done);
        }
        opened => opened.with_status(ExitStatus::Failed)?,
    };
    // A process that uses the file has locked it.
    if let Err(TryLockError::WouldBlock) = opened.try_lock() {
        return Err(CommandError::new(ExitStatus::Failed, StoreError::InUse(path)));
    }
    let deleted = std::fs::remove_file(&path).with_context(|| format!("cannot delete `{shown}`"));
    deleted.with_status(ExitStatus::Failed)?;
    context.output.answer_line(&format!("Deleted the sandbox: {shown}"));
    Ok(ExitStatus::Done)
}

fn greeting(base_url: &str, token: Option<&str>) -> String {
    let mut text = format!("sandbox listens at {base_url}\n");
    if let Some(token) = token {
        text.push_str(&format!("\n  export TRUEUP_BASE_URL={base_url}\n  export TRUEUP_TOKEN={token}\n"));
    }
    text
}

fn tenant(path: &Path, context: &Context) -> Result<Tenant> {
    let text = file::read_yaml(path, limit::SETTINGS)?;
    Tenant::read(&text, context.environment.now()).map_err(|text| {
        // The error has a line for each rule that the file breaks.
        let (what, rules) = text.split_once('\n').unwrap_or((&text, ""));
        error!(Invalid, "cannot use the tenant file `{}`: {what}", path.display())
            .hint_each(rules.lines().map(str::trim))
    })
}

//! `sandbox`: runs the embedded service by itself until Ctrl-C, or a signal to end.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::args::SandboxArgs;
use crate::cli::run::interrupt;
use crate::cli::service::token;
use crate::cli::{CommandError, CommandResult as _, Context, ExitStatus, Result, file, output, service, settings};
use crate::file::limit;
use crate::report::safe;
use crate::sandbox::{self, RequiredToken, SandboxOptions, Scenario, Storage, Tenant};

/// Runs the embedded service until Ctrl-C, or a signal to end.
pub async fn run(arguments: &SandboxArgs, context: &Context) -> Result<ExitStatus> {
    if arguments.reset {
        return reset(context);
    }
    let given = token::of_sandbox(&context.global, &context.environment)?;
    let shown = given.is_none().then(|| context.environment.secret());
    let token = given.or_else(|| shown.clone()).unwrap_or_default();
    let storage = arguments.data.clone().map_or(Storage::Memory, Storage::File);
    let mut options = SandboxOptions::new(storage, RequiredToken::new(token.trim()), service::clock());
    options.listen = arguments.listen;
    options.tenant.clone_from(&arguments.tenant_name);
    options.tenant_file = arguments.tenant.as_deref().map(|path| tenant(path, context)).transpose()?;
    options.log_file = arguments.log.as_ref().map(Into::into);
    if let Some(path) = &arguments.faults {
        options.scenario = Scenario::read(path).with_status(ExitStatus::Invalid)?;
    }
    let running = sandbox::start(options).await.with_status(ExitStatus::Failed)?;
    let mut interrupted = std::pin::pin!(interrupt::interrupted());
    // From now on signals are awaited: whoever reads the address may send one.
    let is_interrupted = futures_util::poll!(interrupted.as_mut()).is_ready();
    let base_url = running.base_url();
    // Whoever cannot read the address has no use for the service.
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

/// Deletes the file that `--sandbox` uses in the working directory.
fn reset(context: &Context) -> Result<ExitStatus> {
    let file = settings::sandbox_file(&context.environment)?;
    let shown = file.display().to_string();
    match std::fs::remove_file(&file) {
        Ok(()) => context.output.answer(&format!("Deleted the sandbox of this directory: {}\n", safe::line(&shown))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            context.output.message("This directory has no sandbox.");
        }
        Err(error) => {
            let error = anyhow::Error::from(error).context(format!("cannot delete `{shown}`"));
            return Err(CommandError::new(ExitStatus::Failed, error));
        }
    }
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
    Tenant::read(&text, context.environment.now())
        .with_context(|| format!("cannot use the tenant file `{}`", path.display()))
        .with_status(ExitStatus::Invalid)
}

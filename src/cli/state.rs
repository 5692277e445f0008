//! Which state store a call uses, whose runs are meant, and what a person can do about a store that fails.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::cli::args::GlobalArgs;
use crate::cli::{CommandError, Context, ExitStatus, ProcessEnvironment, Result, settings};
use crate::journal::{JournalError, RunOwner};
use crate::state::{Bucket, LeaseError, LeaseTiming, Location, StateStore};

/// Where runs, locks and drift states are kept: what the call or its environment names, else the state directory. The
/// configuration has no say: a pull request must not lead the before-images of a runner to another bucket.
///
/// # Errors
/// Nothing says where, an address is not valid, or a variable of the object store is not.
pub fn store(context: &Context) -> Result<&StateStore> {
    if let Some(state) = context.state.get() {
        return Ok(state);
    }
    let Context { global, environment, .. } = context;
    let state = match named_state(global, environment) {
        // An earlier version read it: what it recorded would not be found.
        None if environment.variable("TRUEUP_STATE_DIR").is_some() => {
            let hint = "set TRUEUP_STATE to the same directory";
            return Err(error!(Usage, "`TRUEUP_STATE_DIR` is no longer read").hint(hint));
        }
        None => StateStore::Directory(settings::state_directory(environment)?),
        Some((text, _)) if !Location::is_meant(text) => StateStore::Directory(PathBuf::from(text)),
        Some((text, source)) => {
            let location = Location::parse(text).map_err(|error| error!(Usage, "`{source}`: {error}"))?;
            let bucket =
                Bucket::open(&location, environment.variables()).map_err(|error| failed(context, error.into()))?;
            if context.proxies().any().is_ok_and(|is_any| is_any) {
                context.report_unclear_exceptions(text);
            }
            StateStore::Bucket(bucket, lease_timing(environment)?)
        }
    };
    Ok(context.state.get_or_init(|| state))
}

/// What names the state store, and by what; nothing where the state directory is used.
pub fn named_state<'c>(global: &'c GlobalArgs, environment: &'c ProcessEnvironment) -> Option<(&'c str, &'static str)> {
    let flag = global.state.as_deref().map(|text| (text, "--state"));
    flag.or_else(|| environment.variable("TRUEUP_STATE").map(|text| (text, "TRUEUP_STATE")))
}

fn lease_timing(environment: &ProcessEnvironment) -> Result<LeaseTiming> {
    const NAME: &str = "TRUEUP_STATE_LEASE";
    let Some(text) = environment.variable(NAME) else { return Ok(LeaseTiming::default()) };
    text.parse()
        .ok()
        .and_then(LeaseTiming::of_seconds)
        .ok_or_else(|| error!(Usage, "`{NAME}` is `{text}`; it must be 1 to 600 seconds"))
}

/// A journal that cannot be read or written.
pub fn failed(context: &Context, error: JournalError) -> CommandError {
    with_status(context, ExitStatus::Failed, error)
}

/// The same with the exit status that the command has for it.
pub fn with_status(context: &Context, status: ExitStatus, error: JournalError) -> CommandError {
    let hint = match &error {
        JournalError::State(error) => error.hint().map(str::to_owned),
        JournalError::Lease(LeaseError::Store(error)) => error.hint().map(str::to_owned),
        JournalError::Lease(LeaseError::Held { holder }) => Some(format!(
            "wait for it to end; if nobody runs it any more: trueup history --unlock {}{}",
            holder.run,
            context.call.settings()
        )),
        JournalError::NoLast { there, .. } if !there.is_empty() => {
            Some(format!("to see them with their commands: trueup history{}", context.call.settings()))
        }
        _ => None,
    };
    CommandError::new(status, error).hint_each(hint)
}

/// The embedded service of the call, as records of runs name it. A file that was deleted and made again is another one.
pub fn sandbox_of_runs(context: &Context) -> Option<String> {
    Some(sandbox_in(settings::sandbox(context).ok()??))
}

/// The embedded service in a file, as records of runs name it.
pub fn sandbox_in(file: PathBuf) -> String {
    let made = file.metadata().and_then(|metadata| metadata.created()).ok();
    let made = made.and_then(|time| Timestamp::try_from(time).ok()).map(|time| format!(" of {time}"));
    let file = file.canonicalize().unwrap_or(file);
    format!("`{}`{}", file.display(), made.unwrap_or_default())
}

/// Whose runs are those of this stack and service, with the data that the call names.
pub fn run_owner(context: &Context, stack: Option<String>, base_url: String) -> RunOwner {
    RunOwner { stack, base_url, sandbox: sandbox_of_runs(context) }
}

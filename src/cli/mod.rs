//! The command line: parses the arguments, runs one of the commands, returns its exit code. Each command is
//! a file in `command` that reads like the flow: open a session, plan, then report or approve and apply.
//! Environment, clock, terminal and randomness are read here and passed down as values. A bug of this program is reported in one
//! clean line instead of a trace, wherever it happens.

#[macro_use]
mod exit_status;

mod args;
mod call;
mod command;
mod commits;
mod completer;
mod context;
pub mod definition;
mod definition_files;
mod drift_store;
mod environment;
mod file;
mod output;
mod plan_errors;
mod policy;
mod run;
mod service;
mod session;
mod settings;
mod stack;
mod stacks;

pub(in crate::cli) use call::Call;
pub(in crate::cli) use command::Execute;
pub(in crate::cli) use context::Context;
pub(in crate::cli) use environment::ProcessEnvironment;
pub(in crate::cli) use exit_status::{CommandError, CommandResult, ExitStatus, Result};
pub(in crate::cli) use output::Output;
pub(in crate::cli) use service::Connection;
pub(in crate::cli) use session::{LiveSource, Session, SessionOptions};
pub(in crate::cli) use stack::Stack;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
use clap::{ArgMatches, FromArgMatches as _};

use args::GlobalArgs;
use command::{Arguments, Command};
use run::interrupt;
use tokio::runtime::Runtime;

use crate::report::{self, safe};

/// What most files of the command line import from outside of it; what they import from each other, each names itself.
mod prelude {
    pub(super) use std::collections::{BTreeMap, BTreeSet};
    pub(super) use std::path::{Path, PathBuf};

    pub(super) use anyhow::Context as _;
    pub(super) use jiff::Timestamp;

    pub(super) use crate::api::BaseUrl;
    pub(super) use crate::file::limit;
    pub(super) use crate::kind::KindName;
    pub(super) use crate::load::{self, Config, LoadOptions, config};
    pub(super) use crate::model::{Key, Namespace};
    pub(super) use crate::plan::Plan;
    pub(super) use crate::report::{TextView, safe, text};
}

/// Runs the program with these arguments, the first being its own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    end_with_one_line();
    ExitCode::from(parse_and_run(arguments).code())
}

fn parse_and_run(arguments: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let words: Vec<OsString> = arguments.into_iter().collect();
    if words.len() == 3 && words[1] == "help" && words[2] == "options" {
        return printed(std::io::stdout().write_all(args::help::options().as_bytes()));
    }
    let parsed = match completer::answer(&words, command::described) {
        Ok(true) => return ExitStatus::Done,
        Ok(false) => parse(words.clone()),
        Err(error) => Err(error),
    };
    match parsed {
        Ok((arguments, matches)) => dispatch(arguments, innermost(&matches)),
        Err(page) if matches!(page.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) => {
            let status = printed(page.print());
            if page.use_stderr() { ExitStatus::Usage } else { status }
        }
        Err(error) => {
            let mut output = Output::new(&GlobalArgs::default(), &ProcessEnvironment::read());
            output.promise(output::asked_for(&words));
            output.fail(&args::help::usage(&error, &words));
            output.ended(ExitStatus::Usage)
        }
    }
}

/// The status after help or a version, which are answers; a closed stdout is not an error.
fn printed(result: std::io::Result<()>) -> ExitStatus {
    match result.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            // No other stream is left to report it.
            let _ = writeln!(std::io::stderr(), "error: cannot write the answer: {error}");
            ExitStatus::Failed
        }
        _ => ExitStatus::Done,
    }
}

/// What clap matched for the innermost subcommand of the call.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, matches)| innermost(matches))
}

fn parse(mut words: Vec<OsString>) -> Result<(Arguments, ArgMatches), clap::Error> {
    if words.len() == 2 && words[1] == "version" {
        words[1] = "--version".into();
    }
    if words.len() > 1 && words[1] == "help" {
        words.remove(1);
        words.push("--help".into());
    }
    // The pages of help take longer to prepare than a command line to parse.
    let asks_help = words.len() < 2 || words.iter().any(|word| word == "-h" || word == "--help" || word == "help");
    let is_whole = words.iter().any(|word| word == "--help" || word == "help");
    let command = if asks_help { args::help::pages(is_whole) } else { command::line() };
    let matches = command.try_get_matches_from(&words).map_err(|error| args::help::guessed(error, &words))?;
    Arguments::from_arg_matches(&matches).map(|arguments| (arguments, matches))
}

fn dispatch(arguments: Arguments, matches: &ArgMatches) -> ExitStatus {
    let mut context = Context::new(arguments.global, Call::of(matches));
    context.output.promise(arguments.command.promised(matches));
    context.output.promise_files(arguments.command.promised_files(matches));
    let is_run = arguments.command.is_run();
    for (name, meant) in context.environment.misspelled().filter(|(_, meant)| meant != policy::VARIABLE) {
        let text = format!("`{name}` is not a variable of trueup; did you mean `{meant}`?");
        context.output.rendered_message(&context.output.warning(&text));
    }
    let result = (context.call.check_outputs(&context.environment))
        .inspect_err(|_| context.output.leave_files())
        .and_then(|()| policy::read(&mut context))
        .and_then(|()| policy::permits_names(&context, context.call.values("allow")))
        .and_then(|()| context.call.check_budget())
        .and_then(|()| runtime(&arguments.command).with_status(ExitStatus::Failed))
        .and_then(|runtime| {
            let result = runtime.block_on(async {
                // An interrupt must remove the progress line, and say that nothing was sent if this is an apply.
                let is_watched = (is_run || context.output.is_watched()) && arguments.command.ends_on_interrupt();
                let work = Box::pin(arguments.command.execute(&context));
                let result = match is_watched {
                    false => work.await,
                    true => interrupt::unless_interrupted(&context.output, work).await.unwrap_or_else(|| {
                        context.output.clear_lines();
                        Err(match is_run {
                            false => error!(Interrupted, "interrupted").hint("nothing was changed"),
                            true => error!(Interrupted, "interrupted before the first change").hint("nothing was sent"),
                        })
                    }),
                };
                context.close().await;
                result
            });
            // A thread that waits, such as for a lock, must not delay the end of an interrupted command.
            if result.as_ref().is_err_and(|error| error.status == ExitStatus::Interrupted) {
                runtime.shutdown_background();
            }
            result
        });
    let status = result.unwrap_or_else(|error| {
        context.output.fail(&error);
        error.status
    });
    context.output.ended(status)
}

/// `sandbox` computes more than it waits, so it uses all processors. The other commands use one thread, where no answer
/// has to wake another; files and lists are read on threads of their own.
fn runtime(command: &Command) -> std::io::Result<Runtime> {
    match command {
        Command::Sandbox(_) => Runtime::new(),
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build(),
    }
}

/// Runs work that takes long, or waits for a lock or an object store, on a separate thread while other stacks continue.
pub(in crate::cli) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Whether the call promises a document that was not begun yet.
static DOCUMENT_IS_PROMISED: AtomicBool = AtomicBool::new(false);

/// Sets whether a bug is reported as a document on standard output, too.
pub(in crate::cli) fn promise_document(promised: bool) {
    DOCUMENT_IS_PROMISED.store(promised, Ordering::Relaxed);
}

fn bug_document(what: &str) -> String {
    let error = error!(Bug, "bug: {what}");
    report::error::json(&error.hint("please report it with the command that led to it").report())
}

/// Replaces the report of panics. The first panic ends the program, on whatever thread: the journal already contains
/// what a run has sent.
fn end_with_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = safe::line(what);
        if DOCUMENT_IS_PROMISED.load(Ordering::Relaxed) {
            let _ = std::io::stdout().write_all(bug_document(&format!("{what}{place}")).as_bytes());
        }
        // A closed stderr leaves no way to report it.
        let _ = writeln!(
            std::io::stderr(),
            "bug: {what}{place}\n  this is a fault of trueup {}, please report it with the command that led to it",
            env!("CARGO_PKG_VERSION")
        );
        std::process::exit(ExitStatus::Bug.code().into());
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_a_document_like_every_other_error() {
        let document: serde_json::Value = serde_json::from_str(&bug_document("index out of bounds")).expect("JSON");
        assert_eq!((&document["kind"], &document["exit_code"]), (&"error".into(), &70.into()));
        assert_eq!(document["message"], "bug: index out of bounds");
    }
}

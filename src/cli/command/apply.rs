use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::api::Pace;
use crate::apply::{self, Clock, Options, Patience};
use crate::cli::args::{Apply, ApplyFormat};
use crate::cli::consent::{self, Answer};
use crate::cli::ending::{Ending, Error};
use crate::cli::progress::Progress;
use crate::cli::service::Connection;
use crate::cli::stack::{self, Stack};
use crate::cli::{Context, flow, gates, interrupt, settings};
use crate::journal::Journal;
use crate::load::Config;
use crate::plan::{Approved, Header, Outcome, Plan};
use crate::report::text::View;
use crate::report::{json, text};

/// Makes the changes of a directory or of a saved plan.
pub async fn run(arguments: &Apply, context: &Context) -> Result<Ending, Error> {
    match saved(arguments)? {
        Some((path, plan)) => apply_file(arguments, context, &path, plan).await,
        None => apply_directory(arguments, context).await,
    }
}

async fn apply_directory(arguments: &Apply, context: &Context) -> Result<Ending, Error> {
    let begun = Instant::now();
    let stack = stack::open(context, &arguments.scope)?;
    let connection = stack.connect(context).await?;
    let plan = flow::plan(context, &stack, &connection, &arguments.permission).await?;
    let Stack { loaded, call, .. } = stack;
    let view = View { elapsed: Some(begun.elapsed()), directory: call, ..context.output.view() };
    let ended = approve_and_apply(arguments, context, &connection, &loaded.config, plan, &view).await;
    connection.close().await;
    ended
}

async fn apply_file(arguments: &Apply, context: &Context, path: &Path, plan: Plan) -> Result<Ending, Error> {
    let config = stack::configuration_of(context, &plan)?;
    let connection = stack::connect(context, &config).await?;
    if connection.service() != plan.service {
        let (is, planned) = (connection.service(), &plan.service);
        connection.close().await;
        let told = format!(
            "the plan is for {} ({} layout), and the settings name {} ({} layout)",
            planned.base_url, planned.layout, is.base_url, is.layout
        );
        return Err(Error::words(Ending::Refused, told).hint("nothing was sent"));
    }
    let view = View { directory: path.display().to_string(), ..context.output.view() };
    let ended = approve_and_apply(arguments, context, &connection, &config, plan, &view).await;
    connection.close().await;
    ended
}

async fn approve_and_apply(
    arguments: &Apply,
    context: &Context,
    connection: &Connection,
    config: &Config,
    plan: Plan,
    view: &View,
) -> Result<Ending, Error> {
    gates::look(context, connection, &plan).await?;
    let approved = match consent::ask(arguments, context, plan, view)? {
        Answer::Given(approved) => approved,
        Answer::Ended(ending) => return Ok(ending),
    };
    let outcome = make(context, connection, config, approved.clone()).await?;
    let plan = approved.plan();
    context.output.answer(&match arguments.format {
        ApplyFormat::Text => text::outcome(&outcome, plan, view),
        ApplyFormat::Json => json::outcome(&outcome, plan),
    });
    Ok(Ending::of_outcome(&outcome, plan))
}

async fn make(
    context: &Context,
    connection: &Connection,
    config: &Config,
    approved: Approved,
) -> Result<Outcome, Error> {
    let surroundings = &context.surroundings;
    let plan = approved.plan();
    let run = settings::run_id(surroundings, plan.stack.as_deref());
    let header = Header {
        run: run.clone(),
        started: surroundings.now().to_string(),
        user: surroundings.user(),
        resumes: None,
        rolls_back: None,
        plan: plan.clone(),
    };
    let state = settings::state_directory(&context.global, surroundings)?;
    let journal = Journal::begin(&state, &header).map_err(|error| Error::new(Ending::Refused, error))?;
    let options = Options {
        run,
        concurrency: usize::from(context.global.concurrency),
        stop: interrupt::watch(context),
        version_checked: config.version_checked,
        ignore: settings::ignore(config)?,
        patience: Patience::default(),
        clock: Clock::new(jiff::Timestamp::now),
        pace: Pace::real(surroundings.chance()),
    };
    Ok(apply::run(approved, &connection.writer()?, &journal, &Progress::new(context), options).await)
}

/// The saved plan that the call names: a file is a plan when it says so.
fn saved(arguments: &Apply) -> Result<Option<(PathBuf, Plan)>, Error> {
    let [path] = arguments.scope.paths.as_slice() else { return Ok(None) };
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("cannot read `{}`", path.display()));
        Error::new(Ending::Invalid, told)
    })?;
    if !Plan::is_file(&bytes) {
        return Ok(None);
    }
    let plan = Plan::from_file(&bytes).map_err(|error| {
        let told = anyhow::Error::from(error).context(format!("`{}` is not applied", path.display()));
        Error::new(Ending::Refused, told).hint("nothing was sent")
    })?;
    Ok(Some((path.clone(), plan)))
}

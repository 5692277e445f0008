//! `upgrades`: the versions that a site can be upgraded to, and the progress of an upgrade.

mod stages;
mod versions;
mod watch;

use std::time::Duration;

use serde_json::json;

use crate::api::upgrades::{self, UpgradeProgress};
use crate::api::{ApiError, Reader};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::query_args::{QueryFormat, UpgradeStatusArgs, UpgradesArgs, UpgradesCommand};
use crate::cli::{prompt, session, stack, time_args};
use crate::model::{Json, Namespace};
use crate::report::{json as documents, safe, tree};

/// Shows versions, or the status of a site.
pub async fn run(arguments: &UpgradesArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let namespace = stack::namespace(&arguments.namespace)?;
    match &arguments.command {
        UpgradesCommand::Versions(arguments) => versions::run(arguments, &namespace, context).await,
        UpgradesCommand::Status(arguments) => status(arguments, &namespace, context).await,
    }
}

async fn status(
    arguments: &UpgradeStatusArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let interval = interval(&arguments.interval)?;
    let reader = session::service(context).await?.reader()?;
    let site = SiteQuery { namespace, name: &arguments.site, reader };
    let progress = site.read().await.map_err(|error| site.unanswered(error))?;
    if arguments.watch {
        return watch::run(&site, progress, interval, arguments.format, context).await;
    }
    context.output.answer(&match arguments.format {
        QueryFormat::Text => render(&site, progress.as_ref(), context),
        QueryFormat::Json => document(&site, progress.as_ref()),
    });
    Ok(ExitStatus::Done)
}

/// The time between two reads; the service is asked at most ten times a second.
fn interval(text: &str) -> Result<Duration, CommandError> {
    let milliseconds = text.strip_suffix("ms").and_then(|text| text.parse().ok().map(Duration::from_millis));
    let whole = || time_args::duration(text).and_then(|length| Duration::try_from(length).ok());
    milliseconds.or_else(whole).filter(|pause| *pause >= Duration::from_millis(100)).ok_or_else(|| {
        CommandError::words(ExitStatus::Usage, format!("`--interval {text}` is not a valid interval"))
            .hint("write 500ms, 5s or 1m; at least 100ms")
    })
}

/// The site of the query.
struct SiteQuery<'a> {
    namespace: &'a Namespace,
    name: &'a str,
    reader: Reader,
}

impl SiteQuery<'_> {
    async fn read(&self) -> Result<Option<UpgradeProgress>, ApiError> {
        upgrades::status(&self.reader, self.namespace, self.name).await
    }

    fn unanswered(&self, error: ApiError) -> CommandError {
        let absent = error.is_absent();
        let error = prompt::unanswered(error);
        if absent && self.namespace.as_str() != "system" {
            return error.hint("sites are in namespace `system`, which is the default");
        }
        if absent { error.hint("is the site's name right?") } else { error }
    }
}

/// The upgrade as a tree.
fn render(site: &SiteQuery, progress: Option<&UpgradeProgress>, context: &Context) -> String {
    let view = context.output.view();
    match progress.filter(|progress| stages::is_known(progress)) {
        Some(progress) => tree::draw(&stages::tree(site.name, progress), view.width, view.palette, context.charset()),
        None => format!("{}: the service knows of no upgrade\n", safe::line(site.name)),
    }
}

fn content(site: &SiteQuery, progress: Option<&UpgradeProgress>) -> Json {
    json!({ "namespace": site.namespace.as_str(), "site": site.name, "upgrade": progress })
}

fn document(site: &SiteQuery, progress: Option<&UpgradeProgress>) -> String {
    safe::json(&documents::document("upgrade_status", content(site, progress))).into_owned()
}

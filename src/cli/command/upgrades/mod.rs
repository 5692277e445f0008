//! `upgrades`: the versions that a site can be upgraded to, and the progress of an upgrade.

mod watch;

use std::time::Duration;

use crate::api::upgrades::{self, UpgradeProgress};
use crate::api::{ApiError, Reader};
use crate::cli::args::query::{UpgradeStatusArgs, UpgradeVersionsArgs, UpgradesArgs, UpgradesCommand};
use crate::cli::args::time;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::output::prompt;
use crate::cli::{session, stack};
use crate::model::Namespace;
use crate::report::Report;
use crate::report::upgrade::{SiteUpgrade, UpgradableVersions};

/// Shows versions, or the status of a site.
pub async fn run(arguments: &UpgradesArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let namespace = stack::namespace(&arguments.namespace)?;
    match &arguments.command {
        UpgradesCommand::Versions(arguments) => versions(arguments, &namespace, context).await,
        UpgradesCommand::Status(arguments) => status(arguments, &namespace, context).await,
    }
}

async fn versions(
    arguments: &UpgradeVersionsArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let reader = session::service(context).await?.reader()?;
    let (os, sw) = (arguments.current_os.as_deref(), arguments.current_sw.as_deref());
    let versions = upgrades::versions(&reader, namespace, os, sw).await.map_err(prompt::unanswered)?;
    let upgradable = UpgradableVersions { versions: &versions, os, sw };
    context.output.report(&Report::UpgradableVersions(&upgradable), arguments.format);
    Ok(ExitStatus::Done)
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
    context.output.report(&site.report(progress.as_ref()), arguments.format);
    Ok(ExitStatus::Done)
}

/// The time between two reads; the service is asked at most ten times a second.
fn interval(text: &str) -> Result<Duration, CommandError> {
    let milliseconds = text.strip_suffix("ms").and_then(|text| text.parse().ok().map(Duration::from_millis));
    let whole = || time::duration(text).and_then(|length| Duration::try_from(length).ok());
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

    fn report<'r>(&'r self, progress: Option<&'r UpgradeProgress>) -> Report<'r> {
        Report::SiteUpgrade(SiteUpgrade { namespace: self.namespace, site: self.name, progress })
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

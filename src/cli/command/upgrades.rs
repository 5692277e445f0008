//! `upgrades`: the versions that a site can be upgraded to, and the progress of an upgrade.

use crate::api::upgrades;
use crate::cli::args::query::{UpgradeStatusArgs, UpgradeVersionsArgs, UpgradesArgs, UpgradesCommand};
use crate::cli::{CommandError, CommandResult as _, Context, ExitStatus, Result, session, stack};
use crate::model::Namespace;
use crate::report::Report;
use crate::report::upgrade::{SiteUpgrade, UpgradableVersions};

/// Shows versions, or the status of a site.
pub async fn run(arguments: &UpgradesArgs, context: &Context) -> Result<ExitStatus> {
    let namespace = stack::namespace(&arguments.namespace)?;
    match &arguments.command {
        UpgradesCommand::Versions(arguments) => versions(arguments, &namespace, context).await,
        UpgradesCommand::Status(arguments) => status(arguments, &namespace, context).await,
    }
}

async fn versions(arguments: &UpgradeVersionsArgs, namespace: &Namespace, context: &Context) -> Result<ExitStatus> {
    let reader = session::service(context).await?.reader()?;
    let (os, sw) = (arguments.current_os.as_deref(), arguments.current_sw.as_deref());
    let versions = upgrades::versions(&reader, namespace, os, sw).await.with_status(ExitStatus::Failed)?;
    let upgradable = UpgradableVersions { versions: &versions, os, sw };
    context.output.report(&Report::UpgradableVersions(&upgradable), arguments.format);
    Ok(ExitStatus::Done)
}

async fn status(arguments: &UpgradeStatusArgs, namespace: &Namespace, context: &Context) -> Result<ExitStatus> {
    let reader = session::service(context).await?.reader()?;
    let read = upgrades::status(&reader, namespace, &arguments.site).await;
    let progress = read.map_err(|error| {
        let absent = error.is_absent();
        let error = CommandError::new(ExitStatus::Failed, error);
        match namespace.as_str() {
            _ if !absent => error,
            "system" => error.hint("is the site's name right?"),
            _ => error.hint("sites are in namespace `system`, which is the default"),
        }
    })?;
    let upgrade = SiteUpgrade { namespace, site: &arguments.site, progress: progress.as_ref() };
    context.output.report(&Report::SiteUpgrade(upgrade), arguments.format);
    Ok(ExitStatus::Done)
}

//! `upgrades`: the versions that a site can be upgraded to, and the progress of an upgrade.

use clap::builder::NonEmptyStringValueParser;

use crate::api::upgrades;
use crate::cli::command::prelude::*;
use crate::report::upgrade::{SiteUpgrade, UpgradableVersions};

/// Shows the versions that a site can be upgraded to, and the progress of an upgrade.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup upgrades versions --current-os 9.2026.10\n  trueup upgrades status ce-berlin"
)]
pub struct UpgradesArgs {
    /// The namespace of the site
    #[arg(long, short, value_name = "NAME", default_value = "system", global = true, value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Namespace,
    #[command(subcommand)]
    pub command: UpgradesCommand,
}

/// What to ask about upgrades.
#[derive(Debug, Subcommand)]
pub enum UpgradesCommand {
    Versions(UpgradeVersionsArgs),
    Status(UpgradeStatusArgs),
}

/// Lists the software versions that a site can be upgraded to, the newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup upgrades versions --current-os 9.2026.10 --current-sw crt-20251002-0027")]
pub struct UpgradeVersionsArgs {
    /// The operating system version of the site
    #[arg(long, value_name = "VERSION")]
    pub current_os: Option<String>,
    /// The software version of the site
    #[arg(long, value_name = "VERSION")]
    pub current_sw: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Shows the upgrade of a site with its stages, nodes and applications.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup upgrades status ce-berlin\n  trueup upgrades status ce-berlin --format json"
)]
pub struct UpgradeStatusArgs {
    /// The name of the site
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub site: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

impl Execute for UpgradesArgs {
    const GLOBALS: GlobalOptions = Some(&[SERVICE, "config env"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let namespace = &self.namespace;
        match &self.command {
            UpgradesCommand::Versions(arguments) => versions(arguments, namespace, context).await,
            UpgradesCommand::Status(arguments) => status(arguments, namespace, context).await,
        }
    }
}

async fn versions(arguments: &UpgradeVersionsArgs, namespace: &Namespace, context: &Context) -> Result<ExitStatus> {
    let reader = session::service(context).await?.reader()?;
    let (os, sw) = (arguments.current_os.as_deref(), arguments.current_sw.as_deref());
    let versions = upgrades::versions(&reader, namespace, os, sw).await.with_status(ExitStatus::Failed)?;
    let upgradable = UpgradableVersions { versions: &versions, os, sw };
    context.output.report(&upgradable, arguments.format);
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
    context.output.report(&upgrade, arguments.format);
    Ok(ExitStatus::Done)
}

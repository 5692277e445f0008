//! The command line of the commands that query the service, or send it a single operation: `events`,
//! `ddos`, `upgrades` and `call`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::args::shared::formats;
use crate::report::Format;

/// Queries security events.
///
/// Events are matched on fields such as vh_name, sec_event_type, src_site, city and country. Without
/// --since the service covers 10 minutes only. The operation is marked medium risk and declares a side
/// effect, "creates event": each query is sent once and never repeated after it may have reached the
/// service, so a failure in between has to be started again by hand.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup events -n shop --since 1h --match country!=Germany\n  trueup events --since 1d --by country,sec_event_type\n  trueup events --since 1d --all --format ndjson > events.ndjson"
)]
pub struct EventsArgs {
    /// The namespace; `system` covers all of the tenant
    #[arg(long, short, value_name = "NAME", default_value = "system")]
    pub namespace: String,
    /// Only events with FIELD=VALUE, FIELD!=VALUE, FIELD=~REGEX or FIELD!~REGEX; repeatable, all must
    /// match; nested fields are dotted
    #[arg(long = "match", short, value_name = "CONDITION")]
    pub matches: Vec<String>,
    /// A query in the service's own language, such as {country="Germany", city!="Berlin"}
    #[arg(long, value_name = "QUERY")]
    pub query: Option<String>,
    /// From this time on: 90s, 15m, 1h, 2d ago, RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Up to this time, written in the same ways [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Events at most; beyond 500 they are fetched in batches [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "all")]
    pub limit: Option<u64>,
    /// Every event, in batches of 500
    #[arg(long)]
    pub all: bool,
    /// Print the oldest first
    #[arg(long)]
    pub oldest_first: bool,
    /// Count by these fields instead, as bars; the service counts
    #[arg(long, value_name = "FIELD", value_delimiter = ',', conflicts_with_all = ["limit", "all", "oldest_first", "fields"])]
    pub by: Vec<String>,
    /// Bars for each field of --by, the most frequent values first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100), requires = "by")]
    pub top: u16,
    /// The columns of the table
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats(Format::OF_EVENTS))]
    pub format: Format,
}

/// Lists, shows and edits DDoS events.
///
/// The service creates one when a high-priority mitigation starts.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup ddos list --since 7d\n  trueup ddos show 6c1d0b7e\n  trueup ddos edit 6c1d0b7e --end now"
)]
pub struct DdosArgs {
    /// The namespace; the service is known to have DDoS events only in `system`
    #[arg(long, short, value_name = "NAME", default_value = "system", global = true)]
    pub namespace: String,
    #[command(subcommand)]
    pub command: DdosCommand,
}

/// What to do with DDoS events.
#[derive(Debug, Subcommand)]
pub enum DdosCommand {
    List(DdosListArgs),
    Show(DdosShowArgs),
    Edit(DdosEditArgs),
}

/// Lists the DDoS events of a time range.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup ddos list --since 7d\n  trueup ddos list --network 3b0c2d64 --format json")]
pub struct DdosListArgs {
    /// From this time on: 15m, 1h, 2d ago, RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Up to this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Only events of this network
    #[arg(long, value_name = "ID")]
    pub network: Option<String>,
    /// Only events of this mitigation
    #[arg(long, value_name = "ID")]
    pub mitigation: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Shows one DDoS event with its attachments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup ddos show 6c1d0b7e --format json")]
pub struct DdosShowArgs {
    /// The event's id, as `ddos list` shows it, or its beginning
    pub id: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Edits name, description or end of a DDoS event.
///
/// The event is read, the difference is shown, and it is read again just before it is written: if
/// somebody changed it meanwhile nothing is sent. The service has no version for these events, so a
/// change that is made in between is overwritten.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup ddos edit 6c1d0b7e --description 'reflectors, mitigated'\n  trueup ddos edit 6c1d0b7e --end now --yes"
)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["name", "description", "end"]))]
pub struct DdosEditArgs {
    /// The event's id, as `ddos list` shows it, or its beginning
    pub id: String,
    /// The new name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The new description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The new end: now, 10m ago, RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<String>,
    /// Edit without asking
    #[arg(long, short)]
    pub yes: bool,
}

/// Shows the versions that a site can be upgraded to, and the progress of an upgrade.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup upgrades versions --current-os 9.2026.10\n  trueup upgrades status ce-berlin"
)]
pub struct UpgradesArgs {
    /// The namespace of the site
    #[arg(long, short, value_name = "NAME", default_value = "system", global = true)]
    pub namespace: String,
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
    pub site: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Calls any operation of the interface by its name.
///
/// What changes something asks first, or needs --yes. The answer is printed as the service gave it: jq formats it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup call --list\n  trueup call svc-api-servicemesh-endpoint-get --param namespace=shop --param name=cart\n  trueup call svc-api-waf-event-create --param namespace=shop --body query.json"
)]
pub struct CallArgs {
    /// The operation, as --list names it
    #[arg(required_unless_present = "list")]
    pub operation: Option<String>,
    /// A parameter of the operation; repeatable
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub param: Vec<String>,
    /// The body, JSON, from a file or - for stdin
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Call it without asking
    #[arg(long, short)]
    pub yes: bool,
    /// List the operations, or the one that is named, instead
    #[arg(long, conflicts_with_all = ["param", "body", "yes"])]
    pub list: bool,
    /// Output format of the list
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS), requires = "list")]
    pub format: Format,
}

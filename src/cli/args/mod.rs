//! Options as clap reads them: those of a command are in its file, those that several share are here: the global ones, the
//! paths and filters of a stack, permissions, the base of an attribution, and the snapshot to compare with. Values are kept as
//! they are written; `settings` decides what they mean.

#[cfg(test)]
mod commands_page_tests;
pub mod help;
pub mod time;

use clap::builder::{
    NonEmptyStringValueParser, PathBufValueParser, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use crate::cli::prelude::*;
use crate::cli::stacks::waves::Waves;
use crate::cli::{Result, completer};
use crate::report::Format;
use crate::report::objects::Column;

/// The ids of the global options of a connection to the service.
pub const SERVICE: &str = "base_url layout token_file ca_cert client_cert client_key client_p12 client_p12_password_file \
                           sandbox concurrency rate verbose log policy";

/// The ids of the global options that choose the settings of a directory.
pub const SETTINGS: &str = "config env var";

/// Groups of ids of the global options that a command uses; without them, all.
pub type GlobalOptions = Option<&'static [&'static str]>;

/// The help heading of the filters, with the rule that users must know.
const FILTERS: &str = "Filters (they choose what is shown or changed, never what is loaded and read)";

/// The parser of a `--format` that has these formats.
pub fn formats(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(formats.iter().map(|format| format.as_str()))
        .map(|name| Format::parse(&name).unwrap_or_default())
}

/// The parser of an `--output` that is a file. Its errors address two habits: kubectl users give one of the command's
/// `formats`, and Terraform users write `-out FILE` or `-out=FILE`.
pub fn output_file(formats: &'static [Format]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let text = path.to_string_lossy();
        let instead = match (text.strip_prefix("ut="), Format::parse(&text)) {
            (Some(file), _) => return Err(format!("write `--output {file}`")),
            (_, Some(format)) if formats.contains(&format) => format!("it is a file; for this format: --format {text}"),
            (_, Some(_)) => "it is a file".to_owned(),
            _ if text == "ut" => "for `-out FILE`: --output FILE".to_owned(),
            _ => return Ok(path),
        };
        Err(format!("{instead}; for a file of this name: ./{text}"))
    })
}

/// Global options.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// The service, with or without /api [environment: TRUEUP_BASE_URL]
    #[arg(long, global = true, visible_alias = "url", value_name = "URL")]
    pub base_url: Option<String>,
    /// The paths that the service answers at: uniform (default) or published [environment: TRUEUP_LAYOUT]
    #[arg(long, hide_short_help = true, global = true, value_name = "LAYOUT", add = ArgValueCompleter::new(completer::layouts))]
    pub layout: Option<String>,
    /// A file that contains the API token; else TRUEUP_TOKEN, or the file that TRUEUP_TOKEN_FILE names
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Certificate authorities to trust besides the system's, PEM
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,
    /// The client certificate, PEM
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// The key of the client certificate, PEM
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// The client certificate with its key, PKCS #12 (.p12, .pfx), as the console provides it
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE", conflicts_with_all = ["client_cert", "client_key"])]
    pub client_p12: Option<PathBuf>,
    /// A file that contains the password of the PKCS #12 file; else TRUEUP_P12_PASSWORD or VES_P12_PASSWORD
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE", requires = "client_p12")]
    pub client_p12_password_file: Option<PathBuf>,
    /// The trueup.yaml to use, instead of the one in the directory or above it
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The environment of the configuration; `all` for every one, of validate, plan, drift and snapshot [environment: TRUEUP_ENV]
    #[arg(long, global = true, value_name = "NAME", add = ArgValueCompleter::new(completer::environments))]
    pub env: Option<String>,
    /// A variable for `${name}` in definitions; repeatable
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = variable)]
    pub var: Vec<(String, String)>,
    /// The stack that owns the objects [environment: TRUEUP_STACK]
    #[arg(long, global = true, value_name = "NAME")]
    pub stack: Option<String>,
    /// Limits from outside the repository, which can only tighten [environment: TRUEUP_POLICY]
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where runs, locks and drift states are kept: a directory, or a bucket such as s3://BUCKET/PREFIX
    /// (default: the state directory of this machine) [environment: TRUEUP_STATE]
    #[arg(long, hide_short_help = true, global = true, value_name = "DIR|URL", value_parser = NonEmptyStringValueParser::new())]
    pub state: Option<String>,
    /// Use an embedded service instead of a real one, kept in FILE (default: one for each directory, in the state directory)
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub sandbox: Option<Option<PathBuf>>,
    /// Requests at the same time (default: `concurrency` of trueup.yaml, else 8)
    #[arg(long, hide_short_help = true, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: Option<u16>,
    /// Requests per second, after a burst of 20; 0 for no limit (default: `rate_limit` of trueup.yaml, else
    /// careful)
    #[arg(long, hide_short_help = true, global = true, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// When to use colour
    #[arg(long, hide_short_help = true, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Log each request
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Write each request to stderr as a line of JSON: time, path, status, duration and request id
    #[arg(long, hide_short_help = true, global = true, value_name = "FORMAT", value_parser = ["json"])]
    pub log: Option<String>,
    /// Print only results and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// When colour is added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also into a pipe
    Always,
    /// Not at all
    Never,
}

/// What is loaded, and which changes are selected.
#[derive(Debug, Clone, Default, Args)]
pub struct ScopeArgs {
    /// The stack's directory; or a directory or file in it, which filters the changes
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Whether a command is about the stacks that its paths name, or about all below them.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct StacksArgs {
    /// Every stack in and below the directories: each directory with a trueup.yaml
    #[arg(long, short = 'R')]
    pub recursive: bool,
    /// Of several stacks, skip those that do not have the environment of `--env`; the report names them
    #[arg(long, hide_short_help = true)]
    pub skip_missing_env: bool,
}

/// Filters choose among the changes; they never narrow what is loaded or read.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Only objects whose key, such as shop/cart or origin_pool:shop/cart, matches; repeatable
    #[arg(help_heading = FILTERS, long, value_name = "GLOB", add = ArgValueCompleter::new(completer::endpoints))]
    pub only: Vec<String>,
    /// No objects whose key matches; repeatable
    #[arg(help_heading = FILTERS, long, hide_short_help = true, value_name = "GLOB", add = ArgValueCompleter::new(completer::endpoints))]
    pub except: Vec<String>,
    /// Only objects of this namespace; repeatable
    #[arg(help_heading = FILTERS, long, short, value_name = "NAME", value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Vec<Namespace>,
    /// Only objects whose live or desired labels meet the selector, such as `tier in (web, db)`
    #[arg(help_heading = FILTERS, long, hide_short_help = true, short = 'l', value_name = "SELECTOR")]
    pub selector: Option<String>,
}

/// Which changes a call plans beside its paths and filters, and what it allows by name.
#[derive(Debug, Clone, Default, Args)]
pub struct ChangeArgs {
    /// Allow what a guard blocks: mass-change, empty-namespace, behind-base,
    /// foreign-stack=KEY|GLOB, protected=KEY, recreate=KEY, referred=KEY, unverified=KEY; repeatable
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completer::allowances))]
    pub allow: Vec<String>,
    /// Take ownership of objects that are in sync and have no ownership annotations
    #[arg(long, hide_short_help = true)]
    pub adopt: bool,
    /// Delete what this stack owns in a namespace that it no longer lists; repeatable
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub prune_namespace: Vec<Namespace>,
    /// Report whose change each difference is, against this branch or commit
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Only what the working tree changed since the base; what others changed stays as it is
    #[arg(long, requires = "base")]
    pub only_this_change: bool,
}

/// How a person approves a plan, and in which format its outcome is printed.
#[derive(Debug, Clone, Args)]
pub struct ApprovalArgs {
    /// Apply without asking
    #[arg(long, short, conflicts_with = "digest")]
    pub yes: bool,
    /// Apply without asking if the plan has this digest (32 hex digits or more)
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Who approved the plan, for the record [environment: TRUEUP_APPROVED_BY]
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub approved_by: Option<String>,
    /// Also write the document of the run to a file, however it ends: json=run.json, or as metrics prometheus=run.prom;
    /// for several stacks, to a file each in this directory; repeatable
    #[arg(long, hide_short_help = true, value_name = "FORMAT=FILE", value_parser = written(Format::OF_RUN_FILES))]
    pub write: Vec<WrittenReport>,
    /// Output format; ndjson streams the events of the run, and its last line is what json prints
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_APPLY))]
    pub format: Format,
}

impl ApprovalArgs {
    /// Whether a flag approves the plan, so that there is no prompt.
    pub fn is_given(&self) -> bool {
        self.yes || self.digest.is_some()
    }
}

/// What the definitions are compared with.
#[derive(Debug, Clone, Default, Args)]
pub struct LiveArgs {
    /// Compare with this snapshot instead of the service: no token, no network. For several stacks, a directory that
    /// `snapshot` wrote
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub live: Option<PathBuf>,
}

/// Where a report is written.
#[derive(Debug, Args)]
pub struct ReportFileArgs {
    /// Write the report to a file, in one step, instead of standard output
    #[arg(long, short, value_name = "FILE", value_parser = output_file(Format::OF_MERGED))]
    pub output: Option<PathBuf>,
    /// Also write the report to a file in another format, such as json=check.json; repeatable
    #[arg(long, hide_short_help = true, value_name = "FORMAT=FILE", value_parser = written(Format::OF_MERGED))]
    pub write: Vec<WrittenReport>,
    /// The most bytes of a Markdown report; deletes, guards and what is blocked are never left out
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = crate::report::markdown::BUDGET)]
    pub budget: usize,
}

/// A further report: its format and its file.
#[derive(Debug, Clone)]
pub struct WrittenReport {
    /// The format.
    pub format: Format,
    /// The file.
    pub path: PathBuf,
}

/// The parser of a `--write` with these formats.
fn written(formats: &'static [Format]) -> impl TypedValueParser<Value = WrittenReport> {
    StringValueParser::new().try_map(|text| {
        let (name, path) = text.split_once('=').unwrap_or((&text, ""));
        match Format::parse(name).filter(|format| formats.contains(format)) {
            Some(format) if !path.is_empty() => Ok(WrittenReport { format, path: PathBuf::from(path) }),
            Some(_) => Err(format!("name the file: {name}=FILE")),
            None => {
                let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
                Err(format!("write it as FORMAT=FILE; the formats are: {}", names.join(", ")))
            }
        }
    })
}

/// Makes the changes of a directory, or those of a saved plan.
///
/// Creates come first, then replaces, then deletes, each after what it needs; deletes only when every create and
/// replace of their namespace succeeded. Before each replace, trueup checks that the object has not changed since the plan.
/// At the end it reads the lists that it changed again and verifies that what it wrote is there.
///
/// Several stacks are planned first, approved once, and then applied one after the other. Nothing is sent if one of
/// them cannot be planned, and a stack that fails stops those that have not begun. Run the same command again to continue.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup apply endpoints\n  trueup apply plan.json --digest DIGEST\n  trueup apply endpoints --yes --allow mass-change\n  trueup apply -R stacks --digest DIGEST\n  trueup apply -R tenants --waves 1,10%,50%\n  trueup apply -R tenants --waves 'ring=canary; ring=early; 50%'\n  trueup apply --resume last"
)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    #[command(flatten)]
    pub change: ChangeArgs,
    /// Resume this run, which was killed or interrupted: its name, a prefix of it, or `last`
    #[arg(long, value_name = "RUN", value_parser = NonEmptyStringValueParser::new(), add = ArgValueCompleter::new(completer::runs), conflicts_with_all = ["paths", "recursive", "skip_missing_env", "keep_going", "waves", "only", "except", "namespace", "selector", "adopt", "base", "only_this_change"])]
    pub resume: Option<String>,
    /// Of several stacks, apply those that can be planned, and go on after one fails; with `--waves`, to the end of its wave
    #[arg(long, hide_short_help = true)]
    pub keep_going: bool,
    /// Apply several stacks in waves, those of a wave at the same time: by the labels of the stacks, such as
    /// `ring=canary; ring in (early, main)`, by number or share, such as 1,10%,50%, or both, such as
    /// `ring=canary; ring=main: 10%,50%`; the rest is the last wave. A wave in which a stack fails stops the next
    #[arg(long, hide_short_help = true, value_name = "WAVES", value_parser = Waves::parse)]
    pub waves: Option<Waves>,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

/// How definitions are written.
#[derive(Debug, Args)]
pub struct DefinitionFileArgs {
    /// The directory to write to; files go to NAMESPACE/NAME.yaml in it, those of other kinds than endpoint to
    /// NAMESPACE/KIND/NAME.yaml
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub overwrite: bool,
    /// The schema that the first line of each file names to editors, instead of a copy that is written
    /// into the directory as .trueup.schema.json
    #[arg(long, value_name = "URL")]
    pub schema: Option<String>,
    /// Write no such line
    #[arg(long, conflicts_with = "schema")]
    pub no_schema: bool,
}

/// Parses the name of a namespace.
///
/// # Errors
/// A text that is not a valid name.
pub fn namespace(name: &str) -> Result<Namespace, String> {
    Namespace::parse(name).map_err(|error| format!("the namespace `{name}` {error}"))
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = named.ok_or("write it as NAME=VALUE")?;
    if value == "…" || value.ends_with("string:///…") {
        return Err("`…` is where a value was left out that may be secret: give the value");
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses requests per second: a number within the bounds of `rate_limit`, or 0 for no limit.
fn rate(text: &str) -> Result<f64, &'static str> {
    let given = text.parse().ok().filter(|given| *given == 0.0 || (0.01..=10_000.0).contains(given));
    given.ok_or("give 0.01 to 10000 requests a second, or 0 for no limit")
}

/// The kind of this name.
pub fn kind_name(name: &str) -> Result<KindName, String> {
    KindName::find(name).ok_or_else(|| "to list the kinds: trueup kinds".to_owned())
}

/// The columns of a table of endpoints.
#[derive(Debug, Args)]
pub struct ColumnArgs {
    /// The columns of the table, such as endpoint, target, labels, labels.tier or spec.protocol
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', value_parser = column, add = ArgValueCompleter::new(completer::columns))]
    pub columns: Vec<Column>,
}

/// The column of this name.
fn column(name: &str) -> Result<Column, String> {
    Column::parse(name).ok_or_else(|| {
        let names = Column::names();
        let near = load::nearest(name, names.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("{near}the columns are: {}, labels.KEY, annotations.KEY", names.join(", "))
    })
}

impl ColumnArgs {
    /// Rejects `--columns` if the answer is not a table; `otherwise` says how to get a table.
    ///
    /// # Errors
    /// `--columns` is given, and the answer is not a table.
    pub fn check(&self, is_table: bool, otherwise: &str) -> Result<()> {
        if is_table || self.columns.is_empty() {
            return Ok(());
        }
        Err(error!(Usage, "`--columns` chooses the columns of a table")
            .hint(format!("leave out --columns, or {otherwise}")))
    }
}

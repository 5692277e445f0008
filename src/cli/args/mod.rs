//! The command line as clap reads it. Values are kept as they are written; `settings` decides what they
//! mean.

#[cfg(test)]
mod commands_page_tests;
pub mod fleet;
pub mod help;
pub mod movement;
pub mod query;
pub mod setup;
pub mod shared;
pub mod time;
pub mod view;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::args::shared::formats;
pub use crate::cli::args::shared::{
    ApprovalArgs, BaseArgs, Color, FilterArgs, GlobalArgs, LiveArgs, PartArgs, PermissionArgs, ReportFileArgs,
    ScopeArgs, StacksArgs,
};
use crate::drift::MOST_SHARDS;
use crate::kind::{Kind, KindName};
use crate::report::Format;
use crate::report::schema::SchemaKind;

const EXAMPLES: &str = "\
Examples:
  trueup init endpoints --sandbox                       begin, with an embedded service
  trueup plan endpoints                                 what would change
  trueup plan endpoints -o plan.json                    … saved, for a review
  trueup apply plan.json --digest DIGEST                … and exactly that
  trueup drift endpoints                                in sync, pending or changed outside
More commands, each with `trueup help COMMAND`: call, completions, fleet, kinds, man, schema";

const EXIT_CODES: &str = "\
Exit codes:
  0 done or in sync     1 failed            2 changes pending   3 drift            4 both
  5 a read was unknown  6 refused, nothing sent                 7 partly applied or not proven
  64 usage              70 a bug of trueup  130 interrupted";

/// Keeps the configuration objects of a tenant in sync with a directory of definitions.
#[derive(Debug, Parser)]
#[command(
    name = "trueup",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"),
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// The commands, in the order of their help.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(crate::cli::args::setup::InitArgs),
    Doctor(crate::cli::args::setup::DoctorArgs),
    Validate(ValidateArgs),
    Fmt(crate::cli::args::setup::FmtArgs),
    Stacks(crate::cli::args::setup::StacksListArgs),
    Plan(PlanArgs),
    Apply(ApplyArgs),
    Drift(DriftArgs),
    #[command(
        subcommand,
        hide = true,
        after_help = "Examples:\n  trueup fleet report checks\n  trueup fleet report checks --format markdown"
    )]
    Fleet(crate::cli::args::fleet::FleetSubcommand),
    Rehearse(RehearseArgs),
    History(HistoryArgs),
    Rollback(RollbackArgs),
    Move(crate::cli::args::movement::MoveArgs),
    Get(crate::cli::args::view::GetArgs),
    Show(crate::cli::args::view::ShowArgs),
    Pull(PullArgs),
    Import(ImportArgs),
    Events(crate::cli::args::query::EventsArgs),
    Ddos(crate::cli::args::query::DdosArgs),
    Upgrades(crate::cli::args::query::UpgradesArgs),
    #[command(hide = true)]
    Call(crate::cli::args::query::CallArgs),
    Snapshot(SnapshotArgs),
    Sandbox(SandboxArgs),
    #[command(hide = true)]
    Schema(SchemaArgs),
    #[command(hide = true)]
    Kinds(KindsArgs),
    Explain(ExplainArgs),
    #[command(hide = true)]
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

/// Checks the definitions, without the service.
///
/// Reports every problem of every file at once, with its place.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup validate endpoints\n  trueup validate --recursive stacks --env all")]
pub struct ValidateArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_VALIDATION))]
    pub format: Format,
}

/// Shows what would change.
///
/// A plan names every change with its fields and their places in the files. `-o` saves it to a file
/// that `apply` runs exactly.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup plan endpoints\n  trueup plan endpoints -o plan.json --detailed-exitcode\n  trueup plan endpoints --only 'shop/*' --format json\n  trueup plan endpoints --live live.json\n  trueup plan --recursive stacks\n  trueup plan endpoints --env all"
)]
pub struct PlanArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    #[command(flatten)]
    pub permission: PermissionArgs,
    #[command(flatten)]
    pub base: BaseArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub part: PartArgs,
    /// Save the plan to a file for `trueup apply FILE`; of several stacks, each to a file in this directory
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_PLAN))]
    pub format: Format,
    /// The most bytes of a Markdown report
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = crate::report::markdown::BUDGET)]
    pub budget: usize,
    /// Show the waves of an apply: what waits for what, by the references between objects
    #[arg(long)]
    pub order: bool,
    /// Exit with 2 when changes are pending, with 6 when an apply would be refused
    #[arg(long)]
    pub detailed_exitcode: bool,
}

/// Makes the changes of a directory, or those of a saved plan.
///
/// Creates come first, then replaces, then deletes, each after what it needs; deletes only when every create and
/// replace of their namespace succeeded. Before each replace, trueup checks that the object has not changed since the plan.
/// At the end it reads everything again and verifies that nothing differs.
///
/// Several stacks are planned first, approved once, and then applied one after the other. Nothing is sent if one of
/// them cannot be planned, and a stack that fails stops those that have not begun. The same command again goes on.
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
    pub permission: PermissionArgs,
    /// Resume this run, which was killed or interrupted: its name, a prefix of it, or `last`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["paths", "recursive", "keep_going", "waves", "only", "except", "namespace", "selector", "adopt"])]
    pub resume: Option<String>,
    /// Of several stacks, apply those that can be planned, and go on after one fails
    #[arg(long, hide_short_help = true)]
    pub keep_going: bool,
    /// Apply several stacks in waves, those of a wave at the same time: by the labels of the stacks, such as
    /// `ring=canary; ring in (early, main)`, by number or share, such as 1,10%,50%, or both, such as
    /// `ring=canary; ring=main: 10%,50%`; the rest is the last wave. A wave in which a stack fails stops the next
    #[arg(long, hide_short_help = true, value_name = "WAVES")]
    pub waves: Option<crate::cli::stacks::waves::Waves>,
    #[command(flatten)]
    pub base: BaseArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

/// Lists the recorded runs; `trueup show RUN` shows one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup history\n  trueup history --keep 90d")]
pub struct HistoryArgs {
    /// Remove all but the newest N runs, or those older than so many days (`90d`); open runs stay
    #[arg(long, value_name = "N|DAYSd")]
    pub keep: Option<PruneRuns>,
    /// Release the lock that this run left in a bucket; only where nobody runs it any more
    #[arg(long, value_name = "RUN", conflicts_with = "keep")]
    pub unlock: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Which runs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneRuns {
    /// The newest, so many.
    Newest(usize),
    /// Those of the last so many days.
    Days(u32),
}

impl std::str::FromStr for PruneRuns {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let kept = match text.strip_suffix('d') {
            Some(days) => days.parse().map(PruneRuns::Days).ok(),
            None => text.parse().map(PruneRuns::Newest).ok(),
        };
        kept.ok_or_else(|| "give a number of runs, such as 100, or of days, such as 90d".to_owned())
    }
}

/// Restores what a run changed.
///
/// A rollback is an ordinary plan: shown, guarded, approved, checked against what the service contains
/// now, and recorded as a run of its own. A field that somebody changed since is blocked.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup rollback last\n  trueup rollback 2026-11-21T10-04 --only 'shop/*' -o back.json\n  trueup apply back.json"
)]
pub struct RollbackArgs {
    /// The run: its name, a prefix of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Only objects whose key, such as shop/cart or origin_pool:shop/cart, matches; repeatable
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Save the plan to a file for `trueup apply FILE`, and change nothing
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Allow what a guard blocks: mass-change, empty-namespace, protected=KEY, recreate=KEY, referred=KEY; repeatable
    #[arg(long, value_name = "NAME")]
    pub allow: Vec<String>,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

/// Checks whether the tenant still matches the definitions: the verdict for a schedule.
///
/// Exits with 0 in sync, 2 changes pending, 3 drift, 4 both, 5 unknown. Directories of several stacks
/// are checked at the same time, each with the service and the token variable of its own trueup.yaml. Each gets
/// a verdict, and so does the whole. A stack that cannot be checked makes the exit code 1; the others are
/// still checked.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup drift endpoints\n  trueup drift endpoints --format json --unmanaged fail\n  trueup drift endpoints --drift-state drift.json --acknowledged drift-acknowledged.yaml\n  trueup drift endpoints --format acknowledgements > drift-acknowledged.yaml\n  trueup drift endpoints --shard 2/5 --format prometheus\n  trueup drift -R tenants --shard 2/5 --drift-state memories"
)]
pub struct DriftArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_DRIFT))]
    pub format: Format,
    #[command(flatten)]
    pub files: ReportFileArgs,
    /// Accepted only to report that `plan` has it
    #[arg(long, value_name = "REF", hide = true)]
    pub base: Option<String>,
    /// Whether a live object that nobody defined is a note or drift
    #[arg(long, value_name = "HOW", default_value = "note")]
    pub unmanaged: UnmanagedArg,
    /// Drift that is accepted for a while: it is reported and raises no alarm. For several stacks, a file of
    /// this name in the directory of each
    #[arg(long, value_name = "FILE")]
    pub acknowledged: Option<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Record in this file since when each value has drifted. For several stacks, a directory. Not needed with
    /// --state, which records it
    #[arg(long, alias = "memory", value_name = "FILE", conflicts_with = "live")]
    pub drift_state: Option<PathBuf>,
    /// Check only what is the I-th of N checkers', I from 1 to N or from 0 to N-1. Of a list of stacks each belongs
    /// to exactly one checker; of a single stack each namespace does. `env`: I is JOB_COMPLETION_INDEX, as Kubernetes
    /// sets it, and N is TRUEUP_SHARDS
    #[arg(long, hide_short_help = true, value_name = "I/N|env")]
    pub shard: Option<ShardArg>,
}

/// Applies the plan to a copy of live, with faults, and verifies the result.
///
/// The content of the service is read, or taken from a snapshot, and copied into an embedded service in
/// memory. The real applier runs there while answers are lost and requests fail, and a second plan must
/// be empty. The copy is a model of the service: it cannot show what the service itself would refuse.
/// Guards are reported and do not stop a rehearsal. Nothing that changes the service is ever sent to it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup rehearse endpoints\n  trueup rehearse endpoints --faults rough\n  trueup rehearse endpoints --live live.json --faults faults.yaml"
)]
pub struct RehearseArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub permission: PermissionArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub base: BaseArgs,
    /// What goes wrong: none, rough (lost answers, overload, refusals for pace), or a scenario's file
    #[arg(long, value_name = "FAULTS", default_value = "none")]
    pub faults: crate::cli::run::rehearsal::FaultOption,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// One of several checkers that share the namespaces of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// A shard of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardArg {
    /// This one.
    Given(Shard),
    /// The one that the environment names.
    Environment,
}

impl std::str::FromStr for ShardArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "env" { Ok(ShardArg::Environment) } else { text.parse().map(ShardArg::Given) }
    }
}

impl std::str::FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((_, of)) if of > MOST_SHARDS => Err("there are at most 4096 shards"),
            // Counted from 0, as Kubernetes does, the N-th has no name of its own, and 0 is free for it.
            Some((0, of)) if of > 0 => Ok(Self { index: of, of }),
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err("write it as I/N with I from 1 to N, such as 2/5"),
        }
    }
}

/// Writes live objects as definitions, one file each.
///
/// What the service fills in, its own labels and trueup's ownership annotations are left out. A plan right after is
/// empty. Each file begins with a line by which editors find the schema: they complete and explain
/// fields, and mark mistakes. With --drift the definitions that are there take over just the values that somebody changed
/// outside; comments, order and quotes stay, and what cannot be edited in place is reported, with exit code 3. With --env, they go
/// into the overlay of the environment.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup pull -n shop -o endpoints\n  trueup pull -n shop --only 'shop/web-*' -o endpoints --overwrite"
)]
pub struct PullArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Let the definitions of this stack take over what was changed outside, edited in place
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["output", "overwrite", "schema", "no_schema"])]
    pub drift: Vec<PathBuf>,
    /// With --drift: also write what was set outside where no definition names it, in objects of other kinds than endpoint
    #[arg(long, requires = "drift", conflicts_with_all = ["output", "overwrite", "schema", "no_schema"])]
    pub unnamed: bool,
    /// Objects of this kind, besides endpoints; repeatable. Without it those of `kinds:` in trueup.yaml, and without those
    /// objects of every kind
    #[arg(long, value_name = "KIND", value_parser = kind_name, conflicts_with = "drift")]
    pub kind: Vec<KindName>,
    /// With --drift and --env: write into the overlay of the environment, or into the definitions that other environments
    /// share. Without it, the overlay, after a prompt on a terminal
    #[arg(long, value_name = "WHERE", requires = "drift")]
    pub into: Option<AdoptInto>,
    #[command(flatten)]
    pub files: DefinitionFileArgs,
}

/// Where values that were changed outside are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdoptInto {
    /// The overlay of the environment
    Overlay,
    /// The definitions
    Base,
}

/// How definitions are written.
#[derive(Debug, Args)]
pub struct DefinitionFileArgs {
    /// The directory to write to; files go to NAMESPACE/NAME.yaml in it
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

/// Imports what another tool manages.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  terraform state pull > terraform.tfstate\n  trueup import terraform terraform.tfstate -o endpoints"
)]
pub struct ImportArgs {
    #[command(subcommand)]
    pub from: ImportSource,
}

/// The other tool.
#[derive(Debug, Subcommand)]
pub enum ImportSource {
    Terraform(TerraformArgs),
}

/// Writes the objects that Terraform manages as definitions, one file each.
///
/// Reads the `volterra_KIND` resources of a state (`terraform state pull`), of the output of
/// `terraform show -json`, or of configuration in JSON syntax (`*.tf.json`). A directory means its
/// `*.tf.json` files and its `terraform.tfstate`. Nothing else in these files is read, and Terraform is not run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  terraform state pull > terraform.tfstate\n  trueup import terraform terraform.tfstate -o endpoints\n  trueup plan endpoints"
)]
pub struct TerraformArgs {
    /// A state, the output of `terraform show -json`, a `*.tf.json` file, or a directory with such files
    #[arg(value_name = "STATE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub files: DefinitionFileArgs,
}

/// Writes what the service contains to a sealed file, to plan against without it.
///
/// The file contains whole objects, as the service returned them, and a digest that reveals alterations.
/// A plan made against it can be reviewed, saved and applied: the apply checks everything again. Nothing
/// is written if a read is not complete.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup snapshot endpoints -o live.json\n  trueup plan endpoints --live live.json\n  trueup snapshot -n shop -n pay --referrers -o live.json\n  trueup snapshot --recursive stacks -o live"
)]
pub struct SnapshotArgs {
    /// The stack's directory, whose namespaces are read [default: .]; repeatable
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// Read this namespace instead of those of the stack; repeatable
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Vec<String>,
    /// Objects of this kind, besides endpoints, instead of those of the stack; repeatable
    #[arg(long, value_name = "KIND", value_parser = kind_name)]
    pub kind: Vec<KindName>,
    /// The file to write. For several stacks, a directory, with a file for each
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Also ask who refers to each object, one request each: deletes are planned with it
    #[arg(long)]
    pub referrers: bool,
}

/// Runs the embedded service by itself, until Ctrl-C or a signal to end.
///
/// It begins empty unless --data names a file. The data of `--sandbox` are another matter: each directory has its own, used
/// in the directories below it as well, and --reset deletes them.
///
/// The token comes from TRUEUP_SANDBOX_TOKEN or --token-file; without one it makes one up and prints it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup sandbox --listen 127.0.0.1:8787 --data tenant.redb\n  trueup sandbox --tenant examples/06-tenant/tenant.yaml\n  trueup sandbox --reset"
)]
pub struct SandboxArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// The file that stores the tenant; without one, the tenant ends with the command
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// What the tenant contains: a file with `kind: tenant`, as in examples/06-tenant
    #[arg(long, value_name = "FILE")]
    pub tenant: Option<PathBuf>,
    /// The tenant's name in objects and references, if the file gives none
    #[arg(long, value_name = "NAME", default_value = "sandbox-tenant")]
    pub tenant_name: String,
    /// A scenario of faults, YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Append each request to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub log: Option<String>,
    /// Delete the data that `--sandbox` uses in this directory, and end
    #[arg(long, conflicts_with_all = ["listen", "data", "tenant", "tenant_name", "faults", "log"])]
    pub reset: bool,
}

/// Prints a JSON Schema, for editors and pipelines.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup schema > .trueup.schema.json\n  trueup schema --of plan\n  trueup schema --of error\n  trueup schema --kind origin_pool\n  trueup schema --of overlay --kind origin_pool"
)]
pub struct SchemaArgs {
    /// What to describe: a file that trueup reads, or the `kind` of a document that it writes
    #[arg(long, value_name = "WHAT", default_value = "definition", value_parser = schema_kinds())]
    pub of: SchemaKind,
    /// A definition of an object of this kind, or with `--of overlay` an overlay: see `trueup kinds`. Repeated: a document of
    /// any of them, or of an endpoint
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub kind: Vec<&'static Kind>,
}

/// The kind of this name.
fn kind_name(name: &str) -> Result<KindName, String> {
    KindName::find(name).ok_or_else(|| "to list the kinds: trueup kinds".to_owned())
}

fn kind(name: &str) -> Result<&'static Kind, String> {
    crate::kind::find(name).ok_or_else(|| "to list the kinds: trueup kinds".to_owned())
}

/// Lists the kinds of object of the service's configuration API.
///
/// A definition names its kind with `kind:`; without it, it is an endpoint.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup kinds\n  trueup kinds --format json\n  trueup explain origin_pool.spec.port"
)]
pub struct KindsArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// The parser of what has a schema.
fn schema_kinds() -> impl TypedValueParser<Value = SchemaKind> {
    let values = SchemaKind::ALL.iter().map(|kind| PossibleValue::new(kind.as_str()).help(kind.title()));
    let find = |name: String| SchemaKind::ALL.iter().copied().find(|kind| kind.as_str() == name);
    PossibleValuesParser::new(values).map(move |name| find(name).unwrap_or(SchemaKind::Definition))
}

/// Prints where values are from, or what a field is.
///
/// For NAMESPACE/NAME, each value of the definition in the environment, with the definition, overlay and variables that it is
/// from. For a setting of trueup.yaml, its value with the layer and the line that set it. For a path
/// that begins with a kind (`trueup kinds`), what the field may contain; `spec` alone is that of an endpoint. What settings mean
/// is in their schema: `trueup schema --of config`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup explain --env prod shop/cart endpoints\n  trueup explain --env prod guards.percent endpoints\n  trueup explain --env prod\n  trueup explain spec.port\n  trueup explain origin_pool.spec.port"
)]
pub struct ExplainArgs {
    /// The definition, a setting by its path or the end of it, or a field of a kind [default: `settings`, for all]
    #[arg(value_name = "NAMESPACE/NAME|SETTING|KIND.PATH")]
    pub what: Option<String>,
    /// The directory of the definitions [default: .]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Prints completions for a shell.
///
/// They complete commands and options, and endpoints and namespaces of the definitions in the working directory, runs,
/// environments and operations. The script calls trueup for them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup completions bash > ~/.local/share/bash-completion/completions/trueup\n  trueup completions zsh > ~/.zfunc/_trueup\n  trueup completions fish > ~/.config/fish/completions/trueup.fish"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Prints the manual page.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup man > trueup.1")]
pub struct ManArgs {}

/// What a live endpoint without a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnmanagedArg {
    /// Reported, not drift
    Note,
    /// Drift
    Fail,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_counted_from_0_are_those_counted_from_1() {
        let index = |text: &str| text.parse::<Shard>().map(|shard| shard.index);
        let mut from_0: Vec<u32> = (0..5).map(|n| index(&format!("{n}/5")).expect("a shard")).collect();
        from_0.sort_unstable();
        assert_eq!(from_0, [1, 2, 3, 4, 5]);
        assert_eq!(index("5/5"), Ok(5));
        assert!(["0/0", "6/5", "5", "-1/5", "a/5"].iter().all(|text| index(text).is_err()));
    }

    #[test]
    fn sandbox_takes_a_file_only_behind_an_equals_sign() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words).expect("a command line");
        assert_eq!(parse(&["trueup", "plan", "--sandbox", "dir"]).global.sandbox, Some(None));
        let with_file = parse(&["trueup", "plan", "dir", "--sandbox=x.redb"]);
        assert_eq!(with_file.global.sandbox, Some(Some(PathBuf::from("x.redb"))));
        assert_eq!(parse(&["trueup", "plan"]).global.sandbox, None);
    }
}

//! The command line of the commands that show something and change nothing: `get` and `show`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::cli::args::shared::{FilterArgs, formats};
use crate::load;
use crate::report::Format;
use crate::report::endpoints::Column;

/// Shows live objects.
///
/// Reads whole namespaces: those of the arguments, else those that trueup.yaml lists. Filters choose among what was
/// read. A namespace that could not be read completely is reported, and the exit code is 5.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup get\n  trueup get shop\n  trueup get shop/cart -o yaml\n  trueup get '*:shop'\n  trueup get -n shop -l tier=web --columns endpoint,target,labels\n  trueup get --format json | jq -r '.endpoints[].key'"
)]
pub struct GetArgs {
    /// A namespace, or an object in it; its name may be a glob, and its kind `*`. Without a kind, endpoints [default: the
    /// namespaces of trueup.yaml]
    #[arg(value_name = "[KIND:]NAMESPACE[/NAME]")]
    pub endpoints: Vec<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub format: EndpointFormat,
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Shows a saved plan, a snapshot or a recorded run.
///
/// A run is given by its name, a prefix of it, `last`, or the file that `--write json=FILE` wrote, whose digest is checked.
/// The formats text, json and prometheus show its results, the others its plan. A snapshot has the formats text and json.
/// Nothing is read but the file: no token, no network.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup show plan.json\n  trueup show plan.json --format html > plan.html\n  trueup show live.json --columns endpoint,labels\n  trueup show last --format markdown"
)]
pub struct ShowArgs {
    /// A file that `plan -o`, `snapshot -o` or `apply --write json=FILE` wrote, or a run
    #[arg(value_name = "FILE|RUN")]
    pub what: PathBuf,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_SHOWN))]
    pub format: Format,
    /// The most bytes of a Markdown report
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = crate::report::markdown::BUDGET)]
    pub budget: usize,
}

/// The columns of a table of endpoints.
#[derive(Debug, Args)]
pub struct ColumnArgs {
    /// The columns of the table, such as endpoint, target, labels, labels.tier or spec.protocol
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub columns: Vec<ColumnArg>,
}

/// A column that a person asked for.
#[derive(Debug, Clone)]
pub struct ColumnArg(Column);

impl FromStr for ColumnArg {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Column::parse(name).map(ColumnArg).ok_or_else(|| {
            let names = Column::names();
            let near = load::nearest(name, names.iter().map(String::as_str));
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            format!("{near}the columns are: {}, labels.KEY, annotations.KEY", names.join(", "))
        })
    }
}

impl ColumnArgs {
    /// The columns that are asked for, else the usual ones.
    pub fn chosen(&self) -> Vec<Column> {
        match self.columns.as_slice() {
            [] => Column::USUAL.to_vec(),
            columns => columns.iter().map(|ColumnArg(column)| column.clone()).collect(),
        }
    }
}

/// Formats of `get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EndpointFormat {
    /// For people
    Table,
    /// Definitions, as `pull` writes them
    Yaml,
    /// One document
    Json,
}

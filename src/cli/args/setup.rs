//! The command line of the commands that set up and maintain a stack's directory: `init`, `doctor` and `fmt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::shared::formats;
use crate::report::Format;

/// Writes definitions in canonical form.
///
/// Keys get the order and the spelling (snake_case) in which `pull` writes them. Comments move with their key; values,
/// quotes, indentation and labels stay as they are. Files that are written name their path on stdout. Overlays of every
/// environment are formatted, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup fmt\n  trueup fmt endpoints/shop\n  trueup fmt --check endpoints")]
pub struct FmtArgs {
    /// The stack's directory, or a directory or file in it [default: .]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write nothing, print the files that are not in canonical form, and exit with 2 if there is one
    #[arg(long)]
    pub check: bool,
}

/// Lists the stacks of a repository, or those that changed since a revision.
///
/// A stack is a directory with a trueup.yaml. It has changed if a file that it reads in any of its environments is
/// another one than at the merge base of the revision and the current commit; what is not committed counts, too. A stack
/// that was removed since is listed as removed, with the endpoints that it defined and that nothing deletes any more.
#[derive(Debug, Args)]
#[command(
    name = "stacks",
    after_help = "Examples:\n  trueup stacks\n  trueup stacks teams --changed-since origin/main\n  trueup stacks --changed-since origin/main --format github-matrix\n  trueup stacks -l ring=canary"
)]
pub struct StacksListArgs {
    /// The directories to search [default: .]
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Only the stacks that changed since this branch or commit
    #[arg(long, value_name = "REF")]
    pub changed_since: Option<String>,
    /// Only the stacks that were removed since then, with what they leave behind and the commands that delete it
    #[arg(long, requires = "changed_since")]
    pub removed: bool,
    /// Only the stacks and environments whose `labels:` meet the selector, such as `ring in (canary, early)`
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_STACKS))]
    pub format: Format,
}

/// Begins a stack: writes trueup.yaml, an example definition, .gitignore, and pipelines.
///
/// What no flag gives has a default, which it prints. A file that exists is never overwritten. With --sandbox it begins a
/// first hour without a tenant.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup init\n  trueup init endpoints --sandbox\n  trueup init endpoints --url https://acme.example.net --namespaces shop,pay --pipeline github"
)]
pub struct InitArgs {
    /// The stack's directory; it is created
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Its namespaces, separated by commas; repeatable
    #[arg(long, short, visible_alias = "namespace", value_name = "NAME", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    /// The pipelines to write, for plans in pull requests, applies and a nightly check
    #[arg(long, value_name = "FORGE")]
    pub pipeline: Option<Forge>,
}

/// The forges with pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Forge {
    /// Workflows of GitHub Actions
    Github,
    /// A pipeline of GitLab CI
    Gitlab,
    /// No pipelines
    None,
}

impl Forge {
    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Forge::Github => "github",
            Forge::Gitlab => "gitlab",
            Forge::None => "none",
        }
    }
}

/// Checks everything that a plan and an apply need, and says how to fix what is wrong.
///
/// Checks the settings, the URL, the connection, the path style, the token, the clocks, each namespace, and the state
/// directory. It sends only requests that read. The exit code is 1 if something is wrong.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup doctor\n  trueup doctor endpoints --env prod\n  trueup doctor --format json"
)]
pub struct DoctorArgs {
    /// The stack's directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Check this namespace instead of those of trueup.yaml; repeatable
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

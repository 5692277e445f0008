//! The command line of `context`.

use clap::{Args, Subcommand};

use crate::cli::args::shared::formats;
use crate::report::Format;

/// Names the tenants that you work with.
///
/// A context is the URL of a service, the variable or the file of its token, and perhaps a stack. The file is `trueup/contexts.yaml` in your configuration directory. It contains no token. A call uses the context of
/// --context, else of TRUEUP_CONTEXT, else the current one. Its URL must be that of trueup.yaml and of the environment,
/// where they name one, and its token goes to that URL only.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup context add acme --url https://acme.example.net --token-variable TRUEUP_TOKEN_ACME\n  trueup context\n  trueup context use acme\n  trueup get shop --context acme"
)]
pub struct ContextArgs {
    #[command(subcommand)]
    pub command: Option<ContextCommand>,
}

/// What to do with contexts.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    List(ContextListArgs),
    Use(ContextUseArgs),
    Add(ContextAddArgs),
    Remove(ContextRemoveArgs),
}

/// Lists the contexts; the current one is marked.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup context list --format json")]
pub struct ContextListArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_QUERIES))]
    pub format: Format,
}

/// Makes a context the current one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup context use acme\n  trueup context use --none")]
#[command(group = clap::ArgGroup::new("which").required(true).args(["name", "none"]))]
pub struct ContextUseArgs {
    /// The context
    pub name: Option<String>,
    /// Use none
    #[arg(long)]
    pub none: bool,
}

/// Adds a context. The first one becomes the current one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup context add acme --url https://acme.example.net --token-variable TRUEUP_TOKEN_ACME\n  trueup context add beta --url https://beta.example.net --token-file ~/.secrets/beta"
)]
pub struct ContextAddArgs {
    /// Its name
    #[arg(value_parser = name)]
    pub name: String,
    /// The variable that contains its token; begins with TRUEUP_TOKEN
    #[arg(long, value_name = "VARIABLE", conflicts_with = "token_file")]
    pub token_variable: Option<String>,
}

/// Removes a context.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup context remove acme")]
pub struct ContextRemoveArgs {
    /// The context
    pub name: String,
}

/// The name of a new context: a word that a shell and a flag take as it is.
fn name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !text.is_empty() && text.len() <= 63 && text.chars().all(good) && !text.starts_with(['-', '.']);
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a name has letters, digits, `-`, `_` and `.`, at most 63".to_owned())
    }
}

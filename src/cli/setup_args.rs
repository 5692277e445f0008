//! The command line of the commands that set up and maintain a stack's directory: `fmt`.

use std::path::PathBuf;

use clap::Args;

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

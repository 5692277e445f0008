//! The command line of `move`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::shared::ApprovalArgs;

/// Transfers live endpoints from one stack to another.
///
/// Only their ownership annotations change: every endpoint keeps its fields and its uid. The definitions may move before
/// or after. A stack that gets endpoints which it does not define yet deletes none of them before it has defined and
/// applied them. The plan is an ordinary one: shown, approved, recorded, and undone by `rollback`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup move --from shop-old\n  trueup move --from shop --to pay 'shop/pay-*'\n  trueup move --from shop --directory pay -o move.json"
)]
pub struct MoveArgs {
    /// The endpoints, as namespace/name [default: those that the new stack defines]
    #[arg(value_name = "GLOB")]
    pub globs: Vec<String>,
    /// The stack that owns them
    #[arg(long, value_name = "STACK")]
    pub from: String,
    /// The stack that gets them [default: that of the directory]
    #[arg(long, value_name = "STACK")]
    pub to: Option<String>,
    /// The directory of one of the two stacks
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Save the plan to a file for `trueup apply FILE`, and change nothing
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

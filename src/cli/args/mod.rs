//! Options as clap reads them: those of a command are in its file, those that several share in `shared`.
//! Values are kept as they are written; `settings` decides what they mean.

#[cfg(test)]
mod commands_page_tests;
pub mod help;
mod shared;
pub mod time;

pub use crate::cli::args::shared::{
    AdoptInto, ApplyArgs, ApprovalArgs, BaseArgs, Color, ColumnArgs, DefinitionFileArgs, FilterArgs, GlobalArgs,
    LiveArgs, PartArgs, PermissionArgs, PullArgs, ReportFileArgs, ScopeArgs, StacksArgs, WrittenReport, formats,
    kind_name, namespace,
};

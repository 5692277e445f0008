//! The command line as clap reads it. The options of a command are in its file, those that several share in `shared`.
//! Values are kept as they are written; `settings` decides what they mean.

#[cfg(test)]
mod commands_page_tests;
pub mod help;
mod shared;
pub mod time;

use clap::Parser;

pub use crate::cli::args::shared::{
    AdoptInto, ApplyArgs, ApprovalArgs, BaseArgs, Color, ColumnArgs, DefinitionFileArgs, FilterArgs, GlobalArgs,
    LiveArgs, PartArgs, PermissionArgs, PullArgs, ReportFileArgs, ScopeArgs, StacksArgs, WrittenReport, formats,
    kind_name, namespace,
};
use crate::cli::command::Command;

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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn sandbox_takes_a_file_only_behind_an_equals_sign() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words).expect("a command line");
        assert_eq!(parse(&["trueup", "plan", "--sandbox", "dir"]).global.sandbox, Some(None));
        let with_file = parse(&["trueup", "plan", "dir", "--sandbox=x.redb"]);
        assert_eq!(with_file.global.sandbox, Some(Some(PathBuf::from("x.redb"))));
        assert_eq!(parse(&["trueup", "plan"]).global.sandbox, None);
    }
}

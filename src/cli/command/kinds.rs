//! `kinds`: lists the kinds of object of the service.

use crate::cli::args::KindsArgs;
use crate::cli::{Context, ExitStatus};
use crate::report::Report;
use crate::report::kinds::KindList;

/// Lists the kinds.
pub fn run(arguments: &KindsArgs, context: &Context) -> ExitStatus {
    context.output.report(&Report::Kinds(&KindList::default()), arguments.format);
    ExitStatus::Done
}

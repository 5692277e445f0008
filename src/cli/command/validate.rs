//! `validate`: checks the definitions of one stack or of several without the service, and reports every problem at its
//! place.

use crate::cli::command::prelude::*;
use crate::cli::stacks::fleet::{self, FleetNeeds, Member};
use crate::cli::stacks::targets::Targets;
use crate::load::{Diagnostics, Loaded};
use crate::report::fleet::{FleetCommand, StackReport};
use crate::report::{StackSize, Validation};

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

impl Execute for ValidateArgs {
    const GLOBALS: GlobalOptions = Some(&[SETTINGS, "stack policy"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        match targets::of(context, &self.scope.paths, self.stacks)? {
            Targets::One => {
                let checked = check(self.format, context, &self.scope)?;
                context.output.report(&checked, self.format);
                Ok(status(&checked))
            }
            Targets::Several(targets) => {
                let members = fleet::open(context, targets, FleetNeeds::Definitions).await?;
                let scope = &self.scope.filter;
                let work = async |member: &Member| check(self.format, &member.context, &member.scope(scope));
                let done = fleet::all(&members, scope, work).await?;
                let report = |checked| (StackReport::Validated(checked), None, status(checked));
                fleet::print_errors(context, &members, &done);
                let (fleet, status) = fleet::report(FleetCommand::Validate, &members, &done, report);
                context.output.report(&fleet, self.format);
                Ok(status)
            }
        }
    }
}

fn status(checked: &Validation) -> ExitStatus {
    if checked.contents.is_some() { ExitStatus::Done } else { ExitStatus::Invalid }
}

fn check(format: Format, context: &Context, scope: &ScopeArgs) -> Result<Validation> {
    let checked = match format {
        // As text, the problems go to stderr, rendered as by a compiler.
        Format::Text => Ok(stack::open(context, scope)?),
        _ => stack::check(context, scope)?,
    };
    let stack = match checked {
        Ok(stack) => stack,
        Err(wrong) => {
            let prefix = wrong.prefix(context.environment.directory.as_deref());
            return Ok(Validation { contents: None, diagnostics: wrong.list, prefix });
        }
    };
    stack::check_matched(&stack)?;
    let namespaces = stack.loaded.namespaces().len();
    let Loaded { desired, notes, root, .. } = stack.loaded;
    if format == Format::Text && !notes.is_empty() {
        context.remark(&Diagnostics::new(notes.clone(), desired.files).below(root.clone()));
    }
    let endpoints = desired.definitions.keys().filter(|key| key.kind.is_endpoint()).count();
    let objects = desired.definitions.len() - endpoints;
    let contents = Some(StackSize { endpoints, objects, namespaces, files: desired.files });
    Ok(Validation { contents, diagnostics: notes, prefix: context.environment.shown_from_here(&root) })
}

//! `validate`: checks the definitions of one stack or of several without the service, and reports every problem at its
//! place.

use clap::Args;

use crate::cli::args::{GlobalOptions, SETTINGS, ScopeArgs, StacksArgs, formats};
use crate::cli::stack::{self, CheckedDefinitions};
use crate::cli::stacks::fleet::{self, FleetNeeds, Member};
use crate::cli::stacks::targets::{self, Targets};
use crate::cli::{Context, Execute, ExitStatus, Result, diagnostics};
use crate::load::Diagnostics;
use crate::report::fleet::{Fleet, FleetCommand, StackReport};
use crate::report::{Format, Report, StackSize, Validation};

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
            Targets::One(_) => {
                let checked = check(self.format, context, &self.scope)?;
                let status = checked.status();
                context.output.report(&Report::Answer(&checked.validation()), self.format);
                Ok(status)
            }
            Targets::Several(targets) => {
                let members = fleet::open(context, targets, FleetNeeds::Definitions, None).await?;
                let scope = &self.scope.filter;
                let work = async |member: &Member| check(self.format, &member.context, &member.scope(scope));
                let done = fleet::all(&members, scope, work).await?;
                fleet::print_errors(context, &members, &done);
                let (parts, status) = fleet::parts(&members, &done, |checked: &Checked| {
                    (StackReport::Validated(checked.validation()), None, checked.status())
                });
                let fleet = Fleet::new(FleetCommand::Validate, parts);
                context.output.report(&Report::Fleet(&fleet), self.format);
                Ok(status)
            }
        }
    }
}

/// What a check found, with the path from the working directory to the stack.
struct Checked {
    definitions: CheckedDefinitions,
    prefix: String,
}

impl Checked {
    fn validation(&self) -> Validation<'_> {
        let (contents, diagnostics) = match &self.definitions {
            CheckedDefinitions::Valid(stack) => {
                let (loaded, namespaces) = (&stack.loaded, stack.namespaces().len());
                let definitions = &loaded.desired.definitions;
                let endpoints = definitions.keys().filter(|key| key.kind.is_endpoint()).count();
                let (objects, files) = (definitions.len() - endpoints, loaded.desired.files);
                (Some(StackSize { endpoints, objects, namespaces, files }), &loaded.notes)
            }
            CheckedDefinitions::Wrong(wrong) => (None, &wrong.list),
        };
        Validation { contents, diagnostics, prefix: &self.prefix }
    }

    fn status(&self) -> ExitStatus {
        match self.definitions {
            CheckedDefinitions::Valid(_) => ExitStatus::Done,
            CheckedDefinitions::Wrong(_) => ExitStatus::Invalid,
        }
    }
}

fn check(format: Format, context: &Context, scope: &ScopeArgs) -> Result<Checked> {
    let definitions = match format {
        // People read the problems on stderr, drawn as a compiler draws them.
        Format::Text => CheckedDefinitions::Valid(stack::open_matched(context, scope)?),
        _ => stack::check(context, scope)?,
    };
    let prefix = match &definitions {
        CheckedDefinitions::Valid(stack) => {
            if format == Format::Text && !stack.loaded.notes.is_empty() {
                let notes = Diagnostics::new(stack.loaded.notes.clone(), stack.loaded.desired.files);
                diagnostics::message(context, &notes);
            }
            context.environment.shown_from_here(&stack.loaded.root)
        }
        CheckedDefinitions::Wrong(wrong) => wrong.prefix(context.environment.directory.as_deref()),
    };
    Ok(Checked { definitions, prefix })
}

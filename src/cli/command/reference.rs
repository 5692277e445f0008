//! Commands that print what the program knows without a stack and a service: `kinds`, `schema`, `completions` and `man`.

use crate::cli::args::{CompletionsArgs, KindsArgs, SchemaArgs, help};
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, completer};
use crate::report::Report;
use crate::report::kinds::KindList;
use crate::report::schema::{self, DefinitionKind, SchemaKind};

/// Lists the kinds of object of the service.
pub fn kinds(arguments: &KindsArgs, context: &Context) -> ExitStatus {
    context.output.report(&Report::Kinds(&KindList::default()), arguments.format);
    ExitStatus::Done
}

/// Prints a JSON Schema of a file or a report.
pub fn schema(arguments: &SchemaArgs, context: &Context) -> Result<ExitStatus> {
    let part = match arguments.of {
        SchemaKind::Definition => Some(DefinitionKind::Whole),
        SchemaKind::Overlay => Some(DefinitionKind::Overlay),
        _ => None,
    };
    let schema = match (arguments.kind.as_slice(), part) {
        ([], _) => schema::of(arguments.of),
        ([kind], Some(part)) => schema::of_kind(kind, part),
        (kinds, Some(part)) => schema::of_kinds(kinds.iter().copied(), part),
        (_, None) => {
            return Err(error!(Usage, "`--kind` is for definitions and overlays, not for `{}`", arguments.of.as_str()));
        }
    };
    context.output.answer(&format!("{schema:#}\n"));
    Ok(ExitStatus::Done)
}

/// Prints the script that completes in a shell.
pub fn completions(arguments: &CompletionsArgs, context: &Context) -> Result<ExitStatus> {
    let script = completer::script(&arguments.shell.to_string());
    context.output.answer(&script.with_status(ExitStatus::Failed)?);
    Ok(ExitStatus::Done)
}

/// Prints the manual page: the program, then each of its commands.
pub fn man(context: &Context) -> Result<ExitStatus> {
    let program = help::described();
    let mut page = Vec::new();
    clap_mangen::Man::new(program.clone()).render(&mut page).with_status(ExitStatus::Failed)?;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("trueup {}", command.get_name());
        clap_mangen::Man::new(command.clone().display_name(name)).render(&mut page).with_status(ExitStatus::Failed)?;
    }
    context.output.answer(&String::from_utf8_lossy(&page));
    Ok(ExitStatus::Done)
}

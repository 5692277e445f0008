//! Commands that print what the program knows without a stack and a service: `kinds`, `schema`, `completions` and `man`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::command;
use crate::cli::command::prelude::*;
use crate::report::kinds::KindList;
use crate::report::schema::{self, DefinitionKind, SchemaKind};

/// Prints a JSON Schema, for editors and pipelines.
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  trueup schema > .trueup.schema.json\n  trueup schema --of plan\n  trueup schema --of error\n  trueup schema --kind origin_pool\n  trueup schema --of overlay --kind origin_pool"
)]
pub struct SchemaArgs {
    /// What to describe: a file that trueup reads, or the `kind` of a document that it writes
    #[arg(long, value_name = "WHAT", default_value = "definition", value_parser = schema_kinds())]
    pub of: SchemaKind,
    /// A definition of an object of this kind, or with `--of overlay` an overlay: see `trueup kinds`. Repeated: a document of
    /// any of them, or of an endpoint
    #[arg(long, value_name = "KIND", value_parser = kind_name, add = ArgValueCompleter::new(completer::kinds))]
    pub kind: Vec<KindName>,
}

/// Lists the kinds of object of the service's configuration API.
///
/// A definition names its kind with `kind:`; without it, it is an endpoint.
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  trueup kinds\n  trueup kinds --format json\n  trueup explain origin_pool.spec.port"
)]
pub struct KindsArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// The parser of the names that have a schema.
fn schema_kinds() -> impl TypedValueParser<Value = SchemaKind> {
    let of = |kind: &SchemaKind| kind.names().iter().map(|name| (*name, kind.title())).collect::<Vec<_>>();
    let values = SchemaKind::ALL.iter().flat_map(of).map(|(name, title)| PossibleValue::new(name).help(title));
    PossibleValuesParser::new(values).map(|name| SchemaKind::named(&name).unwrap_or(SchemaKind::Definition))
}

/// Prints completions for a shell.
///
/// They complete commands and options, and endpoints and namespaces of the definitions in the working directory, runs,
/// environments and operations. The script calls trueup for them.
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  trueup completions bash > ~/.local/share/bash-completion/completions/trueup\n  trueup completions zsh > ~/.zfunc/_trueup\n  trueup completions fish > ~/.config/fish/completions/trueup.fish"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Prints the manual page.
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example:\n  trueup man > trueup.1")]
pub struct ManArgs {}

impl Execute for KindsArgs {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        context.output.report(&KindList::default(), self.format);
        Ok(ExitStatus::Done)
    }
}

impl Execute for SchemaArgs {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let part = match self.of {
            SchemaKind::Definition => Some(DefinitionKind::Whole),
            SchemaKind::Overlay => Some(DefinitionKind::Overlay),
            _ => None,
        };
        let schema = match (self.kind.as_slice(), part) {
            ([], _) => schema::of(self.of),
            ([kind], Some(part)) => schema::of_kind(kind.kind(), part),
            (kinds, Some(part)) => schema::of_kinds(kinds.iter().copied().map(KindName::kind), part),
            (_, None) => {
                return Err(error!(
                    Usage,
                    "`--kind` is for definitions and overlays, not for `{}`",
                    self.of.names()[0]
                ));
            }
        };
        context.output.answer(&format!("{schema:#}\n"));
        Ok(ExitStatus::Done)
    }
}

impl Execute for CompletionsArgs {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let script = completer::script(&self.shell.to_string());
        context.output.answer(&script.with_status(ExitStatus::Failed)?);
        Ok(ExitStatus::Done)
    }
}

impl Execute for ManArgs {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let mut page = Vec::new();
        manual(command::described(), "trueup", &mut page).with_status(ExitStatus::Failed)?;
        context.output.answer(&String::from_utf8_lossy(&page));
        Ok(ExitStatus::Done)
    }
}

/// Writes the manual page of a command, and those of its own commands after it.
fn manual(command: clap::Command, name: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    // Otherwise the manual has no text for options that the short help hides.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    clap_mangen::Man::new(command.clone().display_name(name)).render(page)?;
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    inner.cloned().try_for_each(|inner| {
        let name = format!("{name} {}", inner.get_name());
        manual(inner, &name, page)
    })
}

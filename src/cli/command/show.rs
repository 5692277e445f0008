//! `show`: a saved plan, a snapshot or a recorded run in the formats of reports. Only files are read.

use crate::cli::command::prelude::*;
use crate::cli::run::document;
use crate::model::{Snapshot, kind_of};
use crate::plan::ServiceId;
use crate::report::objects::ObjectListing;
use crate::run::{RUN_KIND, RunDocument};

/// Shows a saved plan, a snapshot or a recorded run.
///
/// A run is given by its name, a prefix of it, `last`, or the file that `--write json=FILE` wrote, whose digest is checked.
/// The formats text, json and prometheus show its results, the others its plan. A snapshot has the formats text and json.
/// Nothing is read but the file: no token, no network.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup show plan.json\n  trueup show plan.json --format html > plan.html\n  trueup show live.json --columns endpoint,labels\n  trueup show last --format markdown"
)]
pub struct ShowArgs {
    /// A file that `plan -o`, `snapshot -o` or `apply --write json=FILE` wrote, or a run
    #[arg(value_name = "FILE|RUN", add = ArgValueCompleter::new(completer::runs_and_files))]
    pub what: PathBuf,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_SHOWN))]
    pub format: Format,
    /// The most bytes of a Markdown report; deletes, guards and what is blocked are never left out
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = crate::report::markdown::BUDGET)]
    pub budget: usize,
}

/// How to get a table, which `--columns` needs.
const TABLE: &str = "show a snapshot as text";

impl Execute for ShowArgs {
    const GLOBALS: GlobalOptions = Some(&["state"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let path = self.what.as_path();
        match path.metadata() {
            // A pipe counts as a file.
            Ok(found) if !found.is_dir() => file(self, context, path)?,
            _ => recorded(self, context)?,
        }
        Ok(ExitStatus::Done)
    }
}

fn file(arguments: &ShowArgs, context: &Context, path: &Path) -> Result<()> {
    let bytes = file::read(path, limit::SAVED)?;
    let not_shown = || format!("`{}` is not shown", path.display());
    let kind = kind_of(&bytes);
    arguments.columns.check(kind.as_deref() == Some("snapshot") && arguments.format == Format::Text, TABLE)?;
    match kind.as_deref() {
        Some("plan") => {
            let plan = Plan::from_file(&bytes).with_context(not_shown).with_status(ExitStatus::Invalid)?;
            if arguments.format == Format::Prometheus {
                return Err(no_format("a plan", arguments.format, "text, json, markdown, html, github, sarif"));
            }
            // A pipe would be empty when the proposed apply reads it.
            let saved = Some(path).filter(|path| path.is_file());
            show_plan(arguments, context, &plan, saved, settings::of_recorded(context, &plan, None));
        }
        Some("snapshot") => {
            let snapshot = Snapshot::from_file(&bytes).with_context(not_shown).with_status(ExitStatus::Invalid)?;
            show_snapshot(arguments, context, &snapshot)?;
        }
        Some(RUN_KIND) => {
            let (document, digest) =
                RunDocument::from_file(&bytes).with_context(not_shown).with_status(ExitStatus::Invalid)?;
            show_run(arguments, context, &document);
            context.output.message(&format!("digest {digest}, as the file says"));
        }
        other => return Err(not_shown_here(path, other)),
    }
    Ok(())
}

fn not_shown_here(path: &Path, kind: Option<&str>) -> CommandError {
    let (what, hint) = match kind {
        Some("drift" | "fleet") => {
            ("a check", format!("to show it: trueup fleet report {}", safe::shell(&path.to_string_lossy())))
        }
        Some("plan_report") => (
            "the report of a plan",
            "an apply that makes no run writes it; to save a plan that can be applied: trueup plan DIRECTORY -o FILE"
                .into(),
        ),
        Some("error") => ("the error of a command", "an apply that ends before its run writes it as well".into()),
        _ => (
            "neither a saved plan nor a snapshot nor a run",
            "`trueup plan -o FILE`, `trueup snapshot -o FILE` and `trueup apply --write json=FILE` write such files"
                .into(),
        ),
    };
    error!(Invalid, "`{}` is {what}", path.display()).hint(hint)
}

fn recorded(arguments: &ShowArgs, context: &Context) -> Result<()> {
    arguments.columns.check(false, TABLE)?;
    let name = arguments.what.to_string_lossy();
    let document = document::find(context, &name).hint(match arguments.what.is_dir() {
        true => format!("`{name}` is a directory: show one of its files"),
        false => format!("there is no file `{name}` either"),
    })?;
    show_run(arguments, context, &document);
    Ok(())
}

fn show_plan(arguments: &ShowArgs, context: &Context, plan: &Plan, saved: Option<&Path>, flags: String) {
    let what = safe::shell(&arguments.what.to_string_lossy());
    // The plan of a run was already applied, and that of a pipe cannot be read again: propose no apply.
    let is_applied = saved.is_none();
    let view = TextView {
        flags,
        is_applied,
        saved: saved.map(Path::to_owned),
        budget: Some(arguments.budget),
        command: format!("trueup show {what}"),
        now: Some(context.environment.now()),
        ..settings::view(context, plan)
    };
    context.output.report_with(plan, arguments.format, &view);
}

fn show_run(arguments: &ShowArgs, context: &Context, document: &RunDocument) {
    let flags = settings::of_recorded(context, &document.plan, document.run.sandbox.as_deref());
    if !matches!(arguments.format, Format::Text | Format::Json | Format::Prometheus) {
        return show_plan(arguments, context, &document.plan, None, flags);
    }
    let view = TextView { flags, ..context.output.answers.clone() };
    context.output.report_with(document, arguments.format, &view);
}

fn show_snapshot(arguments: &ShowArgs, context: &Context, snapshot: &Snapshot) -> Result<()> {
    if !matches!(arguments.format, Format::Text | Format::Json) {
        return Err(no_format("a snapshot", arguments.format, "text, json"));
    }
    let live = api::snapshot::live(snapshot, &snapshot.namespaces.keys().cloned().collect(), &snapshot.kinds());
    let (taken, digest) = (snapshot.taken.to_string(), snapshot.digest());
    let listing = ObjectListing {
        service: &ServiceId { base_url: snapshot.base_url.clone(), layout: snapshot.layout },
        taken: Some((&taken, &digest[..32])),
        live: &live,
        items: live.items().map(|(_, item)| item).collect(),
        columns: &arguments.columns.columns,
    };
    context.output.report(&listing, arguments.format);
    Ok(())
}

fn no_format(what: &str, format: Format, formats: &str) -> CommandError {
    error!(Usage, "{what} has no format `{}`", format.as_str()).hint(format!("its formats are: {formats}"))
}

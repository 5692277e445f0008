//! `pull --drift`: the definitions adopt the values that somebody changed outside. The files are edited in
//! place, and what cannot be edited in place is reported.

use crate::cli::args::{PermissionArgs, PullArgs, ScopeArgs};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::session::{Session, SessionOptions};
use crate::cli::{file, planning};
use crate::file::{Directory, FileMode};
use crate::load::edit::{self, AdoptedEdits, ValueToAdopt};
use crate::model::{Field, Key, SourceLocation};
use crate::plan::{Action, ActionKind, Cause, Plan};
use crate::report::safe;

/// Lets the definitions take over what was changed outside.
pub async fn run(arguments: &PullArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let scope = ScopeArgs { paths: arguments.drift.clone(), filter: arguments.filter.clone() };
    let session = Session::open(context, &scope, SessionOptions::default()).await?;
    let mut plan = session.plan(&PermissionArgs::default()).await?;
    session.locate(&mut plan);
    planning::require_complete(&plan, "nothing was written")?;
    let stack = &session.stack;
    let edits = edit::adopt(&stack.loaded, &wanted(&plan));
    let failed = |error| file::hinted(ExitStatus::Failed, error);
    let root = Directory::open(&stack.loaded.root).map_err(failed)?;
    for (name, bytes) in &edits.files {
        root.replace(&**name, bytes, FileMode::Shared).map_err(failed)?;
    }
    let prefix = context.environment.shown_from_here(&stack.loaded.root);
    context.output.answer(&summary(&plan, &edits, &prefix, &stack.call));
    Ok(ExitStatus::Done)
}

/// What was changed outside, and nothing else.
fn wanted(plan: &Plan) -> Vec<ValueToAdopt> {
    let fields = plan.changes.iter().flat_map(|change| change.fields().iter().map(|field| (&change.key, field)));
    fields
        .filter(|(_, field)| matches!(field.cause, Cause::Drift | Cause::Unannotated))
        .map(|(key, field)| ValueToAdopt { key: key.clone(), field: field.field.clone(), live: field.before.clone() })
        .collect()
}

fn summary(plan: &Plan, edits: &AdoptedEdits, prefix: &str, call: &str) -> String {
    let line = |key: &Key, what: &str, place: Option<&SourceLocation>, why: &str| {
        let place = place.map(|place| format!("{prefix}{}:{}", place.file, place.line)).unwrap_or_default();
        let key = key.to_string();
        let text = format!("  {:<40}  {:<24}  {place}  {why}", safe::line(&key), safe::line(what));
        format!("{}\n", text.trim_end())
    };
    let name = |field: &Field| field.to_string();
    let mut text = String::new();
    if !edits.adopted.is_empty() {
        text.push_str("Taken over from live:\n");
        for (key, field, place) in &edits.adopted {
            text.push_str(&line(key, &name(field), place.as_ref(), ""));
        }
    }
    let mut left: String = edits
        .left
        .iter()
        .map(|(key, field, place, reason)| line(key, &name(field), place.as_ref(), &reason.to_string()))
        .collect();
    for change in &plan.changes {
        for field in change.fields().iter().filter(|field| field.cause == Cause::Both) {
            left.push_str(&line(&change.key, &name(&field.field), None, "changed here and outside: decide"));
        }
        if change.action.kind() == ActionKind::Create && change.cause == Some(Cause::Drift) {
            let place = match &change.action {
                Action::Create { .. } => change.place.as_ref().map(|place| format!("{}:{}", place.file, place.line)),
                _ => None,
            };
            let why =
                format!("deleted outside: remove {} to keep that", place.unwrap_or_else(|| "its file".to_owned()));
            left.push_str(&line(&change.key, "the endpoint", None, &why));
        }
    }
    if !left.is_empty() {
        text.push_str(&format!("Left as it is:\n{left}"));
    }
    if text.is_empty() {
        return "No drift: nothing was changed outside.\n".to_owned();
    }
    let files = match edits.files.len() {
        0 => "no file was".to_owned(),
        1 => "1 file was".to_owned(),
        more => format!("{more} files were"),
    };
    format!("{text}{files} edited.   Look at it: git diff    Next:  trueup plan {call}\n")
}

//! `ddos`: lists, shows and edits DDoS events. An edit is shown before it is sent, and read back after it.

use jiff::Timestamp;

use crate::api::ddos::{self, DdosEdit, DdosEditError, DdosEvent, DdosFilter};
use crate::api::{ApiError, Certainty, Reader, Writer};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::prompt;
use crate::cli::query_args::{self, DdosArgs, DdosCommand};
use crate::cli::session;
use crate::cli::stack;
use crate::cli::time_args::{self, TimeRange};
use crate::model::Namespace;
use crate::report::{self, Report, safe};

/// Lists, shows or edits DDoS events.
pub async fn run(arguments: &DdosArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let namespace = stack::namespace(&arguments.namespace)?;
    match &arguments.command {
        DdosCommand::List(list) => self::list(list, &namespace, context).await,
        DdosCommand::Show(show) => self::show(show, &namespace, context).await,
        DdosCommand::Edit(edit) => self::edit(edit, &namespace, context).await,
    }
}

async fn list(
    arguments: &query_args::DdosListArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let now = context.environment.now();
    let range = TimeRange::read(arguments.since.as_deref(), arguments.until.as_deref(), now)?;
    let filter = DdosFilter {
        start_time: range.since.map(|time| time.to_string()),
        end_time: range.until.or(range.since.map(|_| now)).map(|time| time.to_string()),
        network_id: arguments.network.clone(),
        mitigation_id: arguments.mitigation.clone(),
    };
    let reader = session::service(context).await?.reader()?;
    let events = ddos::list(&reader, namespace, &filter).await.map_err(prompt::unanswered)?;
    context.output.report(&Report::DdosEvents(&events), arguments.format);
    Ok(ExitStatus::Done)
}

async fn show(
    arguments: &query_args::DdosShowArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let reader = session::service(context).await?.reader()?;
    let event = read(&reader, namespace, &arguments.id).await?;
    context.output.report(&Report::DdosEvent(&event), arguments.format);
    Ok(ExitStatus::Done)
}

async fn edit(
    arguments: &query_args::DdosEditArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let wanted = wanted(arguments, context.environment.now())?;
    let writer = session::service(context).await?.writer()?;
    let event = read(writer.reader(), namespace, &arguments.id).await?;
    sensible(&wanted, &event)?;
    let changes = wanted.changes(&event);
    if changes.is_empty() {
        context.output.answer("nothing to change: the event has these values already\n");
        return Ok(ExitStatus::Done);
    }
    context.output.notice(&report::ddos::edit(&event, &changes, &context.output.message_view()));
    if !arguments.yes {
        prompt::confirm(context, "edit the event", "give --yes")?;
    }
    write(&writer, namespace, &event, &wanted, context).await
}

async fn read(reader: &Reader, namespace: &Namespace, id: &str) -> Result<DdosEvent, CommandError> {
    ddos::show(reader, namespace, id).await.map_err(|error| {
        let absent = error.is_absent();
        let error = prompt::unanswered(error);
        if absent { error.hint("`trueup ddos list --since 30d` shows the ids of the last month") } else { error }
    })
}

fn wanted(arguments: &query_args::DdosEditArgs, now: Timestamp) -> Result<DdosEdit, CommandError> {
    for (flag, text) in [("--name", &arguments.name), ("--description", &arguments.description)] {
        if text.as_deref() == Some("") {
            let message = format!("`{flag}` cannot be made empty: the service ignores an empty text");
            return Err(CommandError::words(ExitStatus::Usage, message));
        }
    }
    let end = arguments.end.as_deref().map(|text| time_args::read("--end", text, now)).transpose()?;
    Ok(DdosEdit {
        name: arguments.name.clone(),
        description: arguments.description.clone(),
        end_time: end.map(|end| end.to_string()),
    })
}

/// Refuses an end before the start, before anybody is asked.
fn sensible(wanted: &DdosEdit, event: &DdosEvent) -> Result<(), CommandError> {
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    match (time(&event.start_time), time(&wanted.end_time)) {
        (Some(start), Some(end)) if end < start => {
            let message = format!("the time range is backwards: `--end` {end} is before the event's start {start}");
            Err(CommandError::words(ExitStatus::Usage, message).hint("nothing was sent"))
        }
        _ => Ok(()),
    }
}

/// Sends the edit and verifies it.
async fn write(
    writer: &Writer,
    namespace: &Namespace,
    event: &DdosEvent,
    wanted: &DdosEdit,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let lost = match ddos::edit(writer, namespace, event, wanted).await {
        Ok(()) => None,
        Err(DdosEditError::Moved { now, .. }) => return Err(moved(event, &now, wanted, context)),
        // A read decides whether it took effect.
        Err(DdosEditError::Api(error)) if error.certainty() == Certainty::Unknown => Some(error),
        Err(DdosEditError::Api(error)) => return Err(prompt::unconfirmed(error)),
    };
    let now = ddos::show(writer.reader(), namespace, &event.id).await;
    verify(wanted, event, lost, now, context)
}

fn verify(
    wanted: &DdosEdit,
    before: &DdosEvent,
    lost: Option<ApiError>,
    now: Result<DdosEvent, ApiError>,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let now = match (now, lost) {
        (Ok(now), None) => now,
        (Ok(now), Some(error)) => {
            if now == *before {
                return Err(prompt::unanswered(error).hint("a second read found the event unchanged"));
            }
            now
        }
        (Err(error), None) => {
            return Err(CommandError::new(ExitStatus::Partly, error)
                .hint("the edit was confirmed; whether it took effect is not known"));
        }
        (Err(_), Some(error)) => return Err(prompt::unconfirmed(error)),
    };
    let left: Vec<&str> = wanted.changes(&now).into_iter().filter(|left| !same_time(left)).map(|left| left.0).collect();
    context.output.note_change();
    if left.is_empty() {
        context.output.answer(&format!("Edited DDoS event {}.\n", safe::line(&before.id)));
        return Ok(ExitStatus::Done);
    }
    let message = format!("the service confirmed the edit, but `{}` is not as wanted", left.join("`, `"));
    Err(CommandError::words(ExitStatus::Partly, message)
        .hint(format!("see the event: trueup ddos show {}", safe::shell(&before.id))))
}

/// The same time can be written in more than one way.
fn same_time((field, now, wanted): &(&str, String, String)) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    *field == "end_time" && time(now).is_some() && time(now) == time(wanted)
}

fn moved(shown: &DdosEvent, now: &DdosEvent, wanted: &DdosEdit, context: &Context) -> CommandError {
    context.output.notice(&report::ddos::conflict(shown, now, wanted, &context.output.message_view()));
    let message = format!("nothing was sent; show it again: trueup ddos show {}", safe::shell(&shown.id));
    CommandError::summary(ExitStatus::Refused, anyhow::anyhow!(message))
}

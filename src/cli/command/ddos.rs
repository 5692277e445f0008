//! `ddos`: lists, shows and edits DDoS events. An edit is shown before it is sent, and read back after it.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use jiff::SignedDuration;

use crate::api::ddos::{self, DAYS, DdosEdit, DdosEditError, DdosEvent, DdosFilter};
use crate::api::{ApiError, Certainty, Reader, Writer};
use crate::cli::args::time::{self, TimeRange};
use crate::cli::command::prelude::*;
use crate::cli::run::interrupt;
use crate::report;
use crate::report::ddos::{DdosEvents, OneDdosEvent};

/// Lists, shows and edits DDoS events.
///
/// The service creates one when a high-priority mitigation starts.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup ddos list --since 7d\n  trueup ddos show 6c1d0b7e\n  trueup ddos edit 6c1d0b7e --end now"
)]
pub struct DdosArgs {
    /// The namespace; the service is known to have DDoS events only in `system`
    #[arg(long, short, value_name = "NAME", default_value = "system", global = true, value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Namespace,
    #[command(subcommand)]
    pub command: DdosCommand,
}

/// What to do with DDoS events.
#[derive(Debug, Subcommand)]
pub enum DdosCommand {
    List(DdosListArgs),
    Show(DdosShowArgs),
    Edit(DdosEditArgs),
}

/// Lists the DDoS events of a time range.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup ddos list --since 7d\n  trueup ddos list --network 3b0c2d64 --format json")]
pub struct DdosListArgs {
    /// From this time on: 15m, 1h, 2d ago, RFC 3339, or seconds since 1970; without it 3 days before the end
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Up to this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Only events of this network: its id, or the beginning of it
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub network: Option<String>,
    /// Only events of this mitigation: its id, or the beginning of it
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub mitigation: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Shows one DDoS event with its attachments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  trueup ddos show 6c1d0b7e --format json")]
pub struct DdosShowArgs {
    /// The event's id, as `ddos list` shows it, or its beginning
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub id: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

/// Edits name, description or end of a DDoS event.
///
/// The event is read, the difference is shown, and it is read again just before it is written: if
/// it was changed meanwhile, nothing is sent. The service has no version for these events, so a
/// change that is made in between is overwritten.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup ddos edit 6c1d0b7e --description 'reflectors, mitigated'\n  trueup ddos edit 6c1d0b7e --end now --yes"
)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["name", "description", "end"]))]
pub struct DdosEditArgs {
    /// The event's id, as `ddos list` shows it, or its beginning
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub id: String,
    /// The new name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The new description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The new end: now, 10m ago, RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<String>,
    /// Edit without asking
    #[arg(long, short)]
    pub yes: bool,
}

/// The time range of a list that has no begin.
const REACH: SignedDuration = SignedDuration::from_hours(3 * 24);
/// Reads of an event after its edit, at most; about 2 s with the waits between them.
const MOST_READS: u32 = 4;
/// The first of these waits; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(250);

impl Execute for DdosArgs {
    const GLOBALS: GlobalOptions = Some(&[SERVICE, "config env"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        match &self.command {
            DdosCommand::List(list) => self.list(list, context).await,
            DdosCommand::Show(show) => self.show(show, context).await,
            DdosCommand::Edit(edit) => self.edit(edit, context).await,
        }
    }
}

impl DdosArgs {
    async fn list(&self, arguments: &DdosListArgs, context: &Context) -> Result<ExitStatus> {
        let (since, until) = (arguments.since.as_deref(), arguments.until.as_deref());
        let range = TimeRange::read(since, until, context.environment.now())?;
        let filter = DdosFilter {
            // Given an end alone, the service may count the three days from now, so always send a start with it.
            start_time: range.since.or_else(|| range.until?.checked_sub(REACH).ok()).map(|time| time.to_string()),
            end_time: range.until.map(|time| time.to_string()),
        };
        let reader = session::service(context).await?.reader()?;
        let mut events = ddos::list(&reader, &self.namespace, &filter).await.with_status(ExitStatus::Failed)?;
        let all = events.len();
        retain_of(&mut events, arguments.network.as_deref(), |event| &event.network_id);
        retain_of(&mut events, arguments.mitigation.as_deref(), |event| &event.mitigation_id);
        if events.is_empty() && all > 0 {
            context.output.notice(&format!("{} of other networks or mitigations", text::count(all, "event")));
        }
        context.output.report(&DdosEvents { events: &events }, arguments.format);
        Ok(ExitStatus::Done)
    }

    async fn show(&self, arguments: &DdosShowArgs, context: &Context) -> Result<ExitStatus> {
        let reader = session::service(context).await?.reader()?;
        let event = self.read(&reader, &arguments.id, context).await?;
        context.output.report(&OneDdosEvent { event: &event }, arguments.format);
        Ok(ExitStatus::Done)
    }

    async fn edit(&self, arguments: &DdosEditArgs, context: &Context) -> Result<ExitStatus> {
        let wanted = wanted(arguments, context.environment.now())?;
        let writer = session::service(context).await?.writer()?;
        let event = self.read(writer.reader(), &arguments.id, context).await?;
        sensible(&wanted, &event)?;
        let changes = wanted.changes(&event);
        if changes.is_empty() {
            context.output.answer_line("nothing to change: the event has these values already");
            return Ok(ExitStatus::Done);
        }
        context.output.rendered_notice(&report::ddos::edit(&event, &changes, &context.output.messages));
        if !arguments.yes {
            context.confirm("edit the event", "give --yes").await?;
        }
        interrupt::during_write(&context.output, self.write(&writer, &event, &wanted, context)).await?;
        Ok(ExitStatus::Done)
    }

    /// The event with this id, or the one of the last [`DAYS`] days whose id begins with it.
    async fn read(&self, reader: &Reader, id: &str, context: &Context) -> Result<DdosEvent> {
        let absent = match ddos::show(reader, &self.namespace, id).await {
            Ok(event) => return Ok(event),
            Err(error) if error.is_absent() => error,
            Err(error) => return Err(error).with_status(ExitStatus::Failed),
        };
        let filter = DdosFilter::recent(context.environment.now());
        let mut events = ddos::list(reader, &self.namespace, &filter).await.with_status(ExitStatus::Failed)?;
        events.retain(|event| event.id.starts_with(id));
        match events.as_slice() {
            [] => Err(absent).with_status(ExitStatus::Failed).hint(format!(
                "no id of the last {DAYS} days begins with it: trueup ddos list --since {DAYS}d{}",
                again(context)
            )),
            [one] => ddos::show(reader, &self.namespace, &one.id).await.with_status(ExitStatus::Failed),
            several => {
                let ids: Vec<&str> = several.iter().map(|event| event.id.as_str()).collect();
                Err(error!(Usage, "several DDoS events begin with `{id}`: `{}`", ids.join("`, `")))
            }
        }
    }

    /// Sends the edit and verifies it.
    async fn write(&self, writer: &Writer, event: &DdosEvent, wanted: &DdosEdit, context: &Context) -> Result<()> {
        let lost = match ddos::edit(writer, &self.namespace, event, wanted).await {
            Ok(()) => None,
            Err(DdosEditError::Moved { now, .. }) => return Err(moved(event, &now, wanted, context)),
            Err(DdosEditError::Unread(error)) => {
                return Err(error).with_status(ExitStatus::Failed).hint("nothing was changed");
            }
            // Reads decide whether it took effect.
            Err(DdosEditError::Unconfirmed(error)) if error.certainty() == Certainty::Unknown => Some(error),
            Err(DdosEditError::Unconfirmed(error)) => return Err(CommandError::unconfirmed(error)),
        };
        match (self.settled(writer.reader(), &event.id, wanted).await, lost) {
            (Ok(left), _) if left.is_empty() => {
                context.output.note_change("the event was edited");
                context.output.answer_line(&format!("Edited DDoS event {}.", event.id));
                Ok(())
            }
            (_, Some(error)) => Err(CommandError::unconfirmed(error)),
            (Ok(left), None) => {
                context.output.note_change("the event was edited");
                Err(error!(Partly, "the service confirmed the edit, but `{}` is not as wanted", left.join("`, `"))
                    .hint(format!("see the event: trueup ddos show {}{}", safe::shell(&event.id), again(context))))
            }
            (Err(error), None) => Err(error)
                .with_status(ExitStatus::Partly)
                .hint("the edit was confirmed; whether it took effect is not known"),
        }
    }

    /// The fields that still differ after at most [`MOST_READS`] reads: an edit may take effect later than its answer.
    async fn settled(&self, reader: &Reader, id: &str, wanted: &DdosEdit) -> Result<Vec<&'static str>, ApiError> {
        let (mut reads, mut wait) = (0, FIRST_WAIT);
        loop {
            let now = ddos::show(reader, &self.namespace, id).await?;
            let left: Vec<_> = wanted.changes(&now).into_iter().map(|(field, ..)| field).collect();
            reads += 1;
            if left.is_empty() || reads == MOST_READS {
                return Ok(left);
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }
}

/// Keeps the events with this id, else those whose id begins with it: the service does not find shortened ids.
fn retain_of(events: &mut Vec<DdosEvent>, given: Option<&str>, id: impl Fn(&DdosEvent) -> &str) {
    let Some(given) = given else { return };
    let is_whole = events.iter().any(|event| id(event) == given);
    events.retain(|event| if is_whole { id(event) == given } else { id(event).starts_with(given) });
}

/// The flags with which another call reads the same events.
fn again(context: &Context) -> String {
    context.call.flags("namespace") + &context.call.settings()
}

fn wanted(arguments: &DdosEditArgs, now: Timestamp) -> Result<DdosEdit> {
    for (flag, text) in [("--name", &arguments.name), ("--description", &arguments.description)] {
        if text.as_deref() == Some("") {
            return Err(error!(Usage, "`{flag}` cannot be made empty: the service ignores an empty text"));
        }
    }
    // Whole seconds: a service that stores milliseconds would never return the nanoseconds of now.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let end = arguments.end.as_deref().map(|text| time::read("--end", text, now)).transpose()?;
    Ok(DdosEdit {
        name: arguments.name.clone(),
        description: arguments.description.clone(),
        end_time: end.map(|end| end.to_string()),
    })
}

/// Rejects an end before the start, before the prompt is shown.
fn sensible(wanted: &DdosEdit, event: &DdosEvent) -> Result<()> {
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    match (time(&event.start_time), time(&wanted.end_time)) {
        (Some(start), Some(end)) if end < start => {
            Err(error!(Usage, "the time range is backwards: `--end` {end} is before the event's start {start}")
                .hint("nothing was sent"))
        }
        _ => Ok(()),
    }
}

fn moved(shown: &DdosEvent, now: &DdosEvent, wanted: &DdosEdit, context: &Context) -> CommandError {
    context.output.rendered_notice(&report::ddos::conflict(shown, now, wanted, &context.output.messages));
    let show = format!("trueup ddos show {}{}", safe::shell(&shown.id), again(context));
    error!(Refused, "nothing was changed; show it again: {show}").sum()
}

//! `events`: reads the query, warns of unknown fields, and then lists or counts security events.

mod caveats;
mod counts;
mod listing;

use anyhow::Context as _;
use jiff::Timestamp;

use crate::api::events::{EventQuery, Match, Sort};
use crate::cli::args::query::EventsArgs;
use crate::cli::args::time::TimeRange;
use crate::cli::run::interrupt;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, session, stack};

/// The time range of the service if a query names none (API.md 7.1).
const REACH: &str = "10 minutes";

/// The query of a call.
struct EventsRequest {
    query: EventQuery,
    range: TimeRange,
    now: Timestamp,
}

/// Queries security events.
pub async fn run(arguments: &EventsArgs, context: &Context) -> Result<ExitStatus> {
    let question = EventsRequest::read(arguments, context.environment.now())?;
    caveats::warn(arguments, context);
    let reader = session::service(context).await?.reader()?;
    if arguments.by.is_empty() {
        // It closes what it began to write.
        return listing::run(arguments, context, question, &reader).await;
    }
    tokio::select! {
        status = counts::run(arguments, context, question, &reader) => status,
        () = interrupt::interrupted() => Ok(ExitStatus::Interrupted),
    }
}

impl EventsRequest {
    fn read(arguments: &EventsArgs, now: Timestamp) -> Result<Self> {
        let range = TimeRange::read(arguments.since.as_deref(), arguments.until.as_deref(), now)?;
        let parsed = |text: &String| text.parse::<Match>().context("in `--match`").with_status(ExitStatus::Usage);
        let mut query = EventQuery::new(stack::namespace(&arguments.namespace)?);
        query.matches = arguments.matches.iter().map(parsed).collect::<Result<_, _>>()?;
        query.text.clone_from(&arguments.query);
        query.start_time = range.since.map(|time| time.to_string());
        // A start alone would be taken for ten minutes from it on.
        let until = range.until.or(range.since.map(|_| now));
        query.end_time = until.map(|time| time.to_string());
        query.sort = if arguments.oldest_first { Sort::Ascending } else { Sort::Descending };
        Ok(Self { query, range, now })
    }

    /// `482 security events in shop, last hour`
    fn heading(&self, total: Option<u64>) -> String {
        let total = match total {
            Some(0) => "no security events".to_owned(),
            Some(1) => "1 security event".to_owned(),
            Some(total) => format!("{total} security events"),
            None => "security events".to_owned(),
        };
        let place = match self.query.namespace.as_str() {
            "system" => "the tenant",
            namespace => namespace,
        };
        format!("{total} in {place}, {}", self.range.words(REACH, self.now))
    }
}

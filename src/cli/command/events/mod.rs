//! `events`: reads the query, warns of unknown fields, and then lists or counts security events.

mod counts;
mod listing;

use anyhow::Context as _;
use jiff::Timestamp;

use crate::api::events::{self, EventQuery, Match, Sort};
use crate::cli::args::query::EventsArgs;
use crate::cli::args::time::TimeRange;
use crate::cli::run::interrupt;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result, session, stack};
use crate::report::{Role, safe, text};

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
    warn(arguments, context);
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
            Some(total) => text::count(total, "security event"),
            None => "security events".to_owned(),
        };
        let place = match self.query.namespace.as_str() {
            "system" => "the tenant",
            namespace => namespace,
        };
        format!("{total} in {place}, {}", self.range.words(REACH, self.now))
    }
}

/// Warns of every field in the question that is not known: the service answers such a field with no hits and no error.
fn warn(arguments: &EventsArgs, context: &Context) {
    let matched = arguments.matches.iter().filter_map(|text| text.parse::<Match>().ok()).map(|one| one.field);
    let queried = arguments.query.iter().flat_map(|text| fields(text));
    let mut asked: Vec<String> = matched.chain(queried).collect();
    let matched = asked.len();
    asked.extend(arguments.fields.iter().cloned());
    for (at, field) in asked.iter().enumerate() {
        let Some(near) = events::doubt(field).filter(|_| !asked[..at].contains(field)) else { continue };
        let near = near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let near = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
        let then = if at < matched { "with no hits and no error" } else { "without a value" };
        let sign = context.output.message_view().palette.paint(Role::Careful, "warning");
        context.output.notice(&format!(
            "{sign}: `{}` is not a known field of security events: the service answers such a field {then}{near}",
            safe::line(field)
        ));
    }
}

/// The field names in a query of the service's own language: the names before an operator,
/// outside of quotes.
fn fields(query: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for character in query.chars() {
        if quoted {
            quoted = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => quoted = true,
            '=' | '!' if !name.is_empty() => names.push(std::mem::take(&mut name)),
            character if character.is_alphanumeric() || "_-.@".contains(character) => name.push(character),
            ' ' | '\t' => {}
            _ => name.clear(),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_query_stand_in_front_of_operators_outside_of_quotes() {
        let query = r#"{vh_name="a, city=\"x\"", country =~ "b|c=d",signatures.id!~"2.*", }"#;
        assert_eq!(fields(query), ["vh_name", "country", "signatures.id"]);
        assert!(fields("{}").is_empty() && fields("").is_empty());
    }
}

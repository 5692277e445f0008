//! `events`: reads the query, warns of unknown fields, and then lists or counts security events.

mod counts;
mod listing;

use clap::builder::NonEmptyStringValueParser;

use crate::api::events::{self, EventQuery, Match, Sort};
use crate::cli::args::time::TimeRange;
use crate::cli::command::prelude::*;

/// Queries security events.
///
/// Events are matched on fields such as vh_name, sec_event_type, src_site, city and country. Without
/// --since the service covers 10 minutes only. The operation is marked medium risk and declares a side
/// effect, "creates event": each query is sent once and never repeated after it may have reached the
/// service, so a failure in between has to be started again by hand.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup events -n shop --since 1h --match country!=Germany\n  trueup events --since 1d --by country,sec_event_type\n  trueup events --since 1d --all --format ndjson > events.ndjson"
)]
pub struct EventsArgs {
    /// The namespace; `system` covers all of the tenant
    #[arg(long, short, value_name = "NAME", default_value = "system", value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Namespace,
    /// Only events with FIELD=VALUE, FIELD!=VALUE, FIELD=~REGEX or FIELD!~REGEX; repeatable, all must
    /// match; nested fields are dotted
    #[arg(long = "match", short, value_name = "CONDITION")]
    pub matches: Vec<String>,
    /// A query in the service's own language, such as {country="Germany", city!="Berlin"}
    #[arg(long, value_name = "QUERY")]
    pub query: Option<String>,
    /// From this time on: 90s, 15m, 1h, 2d ago, RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Up to this time, written in the same ways [default: now]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Events at most; beyond 500 they are fetched in batches [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "all")]
    pub limit: Option<u64>,
    /// Every event, in batches of 500
    #[arg(long)]
    pub all: bool,
    /// Print the oldest first
    #[arg(long)]
    pub oldest_first: bool,
    /// Count by these fields instead, as bars; the service counts
    #[arg(long, value_name = "FIELD", value_delimiter = ',', conflicts_with_all = ["limit", "all", "oldest_first", "fields"])]
    pub by: Vec<String>,
    /// Bars for each field of --by, the most frequent values first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100), requires = "by")]
    pub top: u16,
    /// The columns of the table
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub fields: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats(Format::OF_EVENTS))]
    pub format: Format,
}

/// The time range of the service if a query names none (API.md 7.1).
const REACH: &str = "10 minutes";

/// The query of a call.
struct EventsRequest<'a> {
    arguments: &'a EventsArgs,
    context: &'a Context,
    query: EventQuery,
    range: TimeRange,
    now: Timestamp,
}

impl Execute for EventsArgs {
    const GLOBALS: GlobalOptions = Some(&[SERVICE, "config env"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        if self.format != Format::Table && !self.fields.is_empty() {
            return Err(error!(Usage, "`--fields` chooses the columns of a table")
                .hint("leave out --fields, or give --format table"));
        }
        let question = EventsRequest::read(self, context)?;
        warn(self, &question.query.matches, context);
        let reader = session::service(context).await?.reader()?;
        if self.by.is_empty() {
            // It completes what it began to write, so it handles an interrupt itself.
            return listing::run(question, &reader).await;
        }
        tokio::select! {
            status = counts::run(question, &reader) => status,
            () = interrupt::interrupted() => Ok(ExitStatus::Interrupted),
        }
    }
}

impl<'a> EventsRequest<'a> {
    fn read(arguments: &'a EventsArgs, context: &'a Context) -> Result<Self> {
        let now = context.environment.now();
        let range = TimeRange::read(arguments.since.as_deref(), arguments.until.as_deref(), now)?;
        let parsed = |text: &String| text.parse::<Match>().context("in `--match`").with_status(ExitStatus::Usage);
        let mut query = EventQuery::new(arguments.namespace.clone());
        query.matches = arguments.matches.iter().map(parsed).collect::<Result<_, _>>()?;
        query.text.clone_from(&arguments.query);
        query.start_time = range.since.map(|time| time.to_string());
        // The service would take a start alone to mean the ten minutes after it.
        let until = range.until.or(range.since.map(|_| now));
        query.end_time = until.map(|time| time.to_string());
        query.sort = if arguments.oldest_first { Sort::Ascending } else { Sort::Descending };
        Ok(Self { arguments, context, query, range, now })
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

/// Warns of every unknown field in the query: for such a field, the service returns no hits and no error.
fn warn(arguments: &EventsArgs, matches: &[Match], context: &Context) {
    // `FIELD == VALUE`, as other tools write it.
    for Match { field, operator, value } in matches.iter().filter(|one| one.value.starts_with(['=', ' '])) {
        let meant = safe::line(value.trim_start_matches(['=', ' ']));
        context.output.rendered_notice(&context.output.warning(&format!(
            "the value for `{field}` begins with `{}`: without it, write `{field}{}{meant}`",
            &value[..1],
            operator.as_str()
        )));
    }
    let matched = matches.iter().map(|one| one.field.clone());
    let queried = arguments.query.iter().flat_map(|text| fields(events::conditions(text)));
    let mut asked: Vec<String> = matched.chain(queried).collect();
    let matched = asked.len();
    asked.extend(arguments.fields.iter().cloned());
    for (at, field) in asked.iter().enumerate() {
        let Some(near) = events::doubt(field).filter(|_| !asked[..at].contains(field)) else { continue };
        let near = near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let near = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
        let then = if at < matched { "with no hits and no error" } else { "without a value" };
        context.output.rendered_notice(&context.output.warning(&format!(
            "`{field}` is not a known field of security events: the service answers such a field {then}{near}"
        )));
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

//! Events one after the other, in batches, in bounded memory: a batch is written before the next one
//! is fetched.

use serde_json::json;

use super::{EventsRequest, is_for_people};
use crate::api::Reader;
use crate::api::events::{self, Event, EventPage, MOST_EVENTS};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::output::{self, WriteStatus};
use crate::cli::prompt;
use crate::cli::query_args::{EventFormat, EventsArgs};
use crate::report::safe;
use crate::report::table::{Align, Table, Widths};

/// The columns of the table where none are asked for, with their headings.
const COLUMNS: [(&str, &str); 7] = [
    ("time", "TIME (UTC)"),
    ("sec_event_type", "TYPE"),
    ("action", "ACTION"),
    ("src_ip", "FROM"),
    ("country", "COUNTRY"),
    ("vh_name", "LOAD BALANCER"),
    ("req_path", "PATH"),
];
/// How the names of load balancers begin in `vh_name` (API.md 7.1).
const LOAD_BALANCER: &str = "ves-io-http-loadbalancer-";

/// Lists the events that a question asks for.
pub async fn run(
    arguments: &EventsArgs,
    context: &Context,
    mut question: EventsRequest,
    reader: &Reader,
) -> Result<ExitStatus, CommandError> {
    let most = if arguments.all { u64::MAX } else { arguments.limit.unwrap_or(u64::from(MOST_EVENTS)) };
    question.query.scroll = most > u64::from(MOST_EVENTS);
    question.query.limit = Some(u32::try_from(most.min(u64::from(MOST_EVENTS))).unwrap_or(MOST_EVENTS));
    let mut pages = Pages::first(reader, &question).await?;
    let total = pages.total();
    let mut listing = Listing::new(arguments, context);
    if listing.begin(&question, total)? == WriteStatus::Closed {
        return Ok(ExitStatus::Done);
    }
    let mut listed: u64 = 0;
    while let Some(page) = pages.next(listed).await? {
        let left = usize::try_from(most - listed).unwrap_or(usize::MAX);
        let batch: Vec<Event> = page.into_iter().take(left).collect();
        listed += u64::try_from(batch.len()).unwrap_or(u64::MAX);
        if listing.batch(batch)? == WriteStatus::Closed {
            return Ok(ExitStatus::Done);
        }
        if listed >= most {
            break;
        }
    }
    listing.end(listed, total)
}

/// The batches of one query, in order.
pub struct Pages<'a> {
    reader: &'a Reader,
    question: &'a EventsRequest,
    page: Option<EventPage>,
    scroll_id: String,
    total: Option<u64>,
}

impl<'a> Pages<'a> {
    /// Sends the query.
    ///
    /// # Errors
    /// It was not answered.
    pub async fn first(reader: &'a Reader, question: &'a EventsRequest) -> Result<Self, CommandError> {
        let page = events::query(reader, &question.query).await.map_err(prompt::unanswered)?;
        Ok(Self { reader, question, total: page.total_hits, scroll_id: page.scroll_id.clone(), page: Some(page) })
    }

    /// Events that match in all.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The next batch; nothing at the end. `earlier` is the number of events before it.
    ///
    /// # Errors
    /// It was not answered; it is not asked for again.
    pub async fn next(&mut self, message: u64) -> Result<Option<Vec<Event>>, CommandError> {
        if let Some(page) = self.page.take() {
            return Ok(Some(page.events));
        }
        if self.scroll_id.is_empty() {
            return Ok(None);
        }
        let namespace = &self.question.query.namespace;
        let page = events::scroll(self.reader, namespace, &self.scroll_id).await.map_err(|error| {
            let total = self.total.map_or_else(String::new, |total| format!(" of {total}"));
            prompt::unanswered(error)
                .hint(format!("{message}{total} events had been read; the answer is not whole"))
                .hint("a query declares a side effect, so it is not repeated; start it again, over less time")
        })?;
        self.scroll_id = page.scroll_id;
        Ok(Some(page.events))
    }
}

/// Where events are written, by format.
struct Listing<'a> {
    arguments: &'a EventsArgs,
    context: &'a Context,
    table: Table,
    fields: Vec<String>,
    widths: Option<Widths>,
    is_first: bool,
}

impl<'a> Listing<'a> {
    fn new(arguments: &'a EventsArgs, context: &'a Context) -> Self {
        let (fields, headings): (Vec<String>, Vec<String>) = if arguments.fields.is_empty() {
            COLUMNS.iter().map(|(field, heading)| ((*field).to_owned(), (*heading).to_owned())).unzip()
        } else {
            arguments.fields.iter().map(|field| (field.clone(), field.to_uppercase())).unzip()
        };
        let fixed_width = (0..fields.len()).filter(|at| ["time", "src_ip"].contains(&fields[*at].as_str()));
        let fixed_width: Vec<usize> = fixed_width.collect();
        let table = Table::new(headings.into_iter().map(|heading| (heading, Align::Left))).fixed_width(fixed_width);
        Self { arguments, context, table, fields, widths: None, is_first: true }
    }

    fn begin(&self, question: &EventsRequest, total: Option<u64>) -> Result<WriteStatus, CommandError> {
        let text = match self.arguments.format {
            EventFormat::Table => format!("{}\n", question.heading(total)),
            EventFormat::Ndjson => return Ok(WriteStatus::Whole),
            EventFormat::Json => {
                let query = &question.query;
                let head = json!({
                    "kind": "security_events",
                    "format_version": crate::report::json::FORMAT_VERSION,
                    "namespace": query.namespace.as_str(),
                    "query": query.query(),
                    "start_time": query.start_time,
                    "end_time": query.end_time,
                    "total_hits": total,
                });
                // The events follow as the last member, a line each.
                let head = head.to_string();
                format!("{},\n\"events\": [", safe::json(head.trim_end_matches('}')))
            }
        };
        output::write(&text)
    }

    fn batch(&mut self, events: Vec<Event>) -> Result<WriteStatus, CommandError> {
        if events.is_empty() {
            return Ok(WriteStatus::Whole);
        }
        if is_for_people(self.arguments.format) {
            return self.rows(&events);
        }
        let mut text = String::new();
        for event in events {
            let event = event.into_json().to_string();
            match (self.arguments.format, self.is_first) {
                (EventFormat::Json, true) => text.push('\n'),
                (EventFormat::Json, false) => text.push_str(",\n"),
                _ => {}
            }
            self.is_first = false;
            text.push_str(&safe::json(&event));
            if self.arguments.format == EventFormat::Ndjson {
                text.push('\n');
            }
        }
        output::write(&text)
    }

    fn rows(&mut self, events: &[Event]) -> Result<WriteStatus, CommandError> {
        let (view, charset) = (self.context.output.view(), self.context.charset());
        self.table.clear();
        for event in events {
            let mut cells: Vec<String> = self.fields.iter().map(|field| cell(event, field)).collect();
            if self.arguments.fields.is_empty() {
                for cell in &mut cells {
                    if let Some(name) = cell.strip_prefix(LOAD_BALANCER) {
                        *cell = name.to_owned();
                    }
                }
            }
            self.table.row(cells);
        }
        let mut text = String::new();
        if self.widths.is_none() {
            let widths = self.table.widths(view.width);
            text = self.table.headings(&widths, view.palette, charset);
            self.widths = Some(widths);
        }
        if let Some(widths) = &self.widths {
            text.push_str(&self.table.rows(widths, charset));
        }
        output::write(&text)
    }

    fn end(self, message: u64, total: Option<u64>) -> Result<ExitStatus, CommandError> {
        if self.arguments.format == EventFormat::Json {
            // A reader that went away now misses nothing that anybody could do about.
            let _ = output::write("\n]}\n")?;
        }
        if let Some(total) = total.filter(|total| *total > message) {
            self.context.output.message(&format!("{message} of {total} events; every one with --all"));
        }
        Ok(ExitStatus::Done)
    }
}

/// A field of an event as a cell of a table.
fn cell(event: &Event, field: &str) -> String {
    let value = match (event, field) {
        (Event::Text(text), "time") => Some(text.clone()),
        // Both names are seen for it, and times have more digits than a reader wants (API.md 7.3).
        (_, "time") => {
            let time = event.field("time").or_else(|| event.field("@timestamp"));
            time.map(|time| time.parse::<jiff::Timestamp>().map_or(time.clone(), seconds))
        }
        _ => event.field(field),
    };
    value.unwrap_or_default()
}

fn seconds(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

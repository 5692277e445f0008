//! Security events one after the other: a table, a line of JSON for each, or one JSON document whose events
//! follow in batches. Each batch becomes a piece of text, so that a long list needs little memory.

use super::error::ErrorReport;
use super::text::draw::{self, Widths};
use crate::api::events::{Event, EventQuery};
use crate::report::prelude::*;

/// The default columns of the table, with their headings.
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

/// What comes before the events in a JSON document.
#[derive(Serialize, JsonSchema)]
struct EventListHead<'a> {
    namespace: &'a str,
    /// The query in the service's language.
    query: String,
    start_time: Option<&'a str>,
    end_time: Option<&'a str>,
    /// Events that match in all, where the service says so.
    total_hits: Option<u64>,
}

/// Security events, as JSON. It is written piece by piece; this is the structure of the whole.
#[derive(Serialize, JsonSchema)]
pub struct EventListReport<'a> {
    #[serde(flatten)]
    head: EventListHead<'a>,
    /// The events as the service gives them.
    events: Vec<Json>,
    /// Why the events are not complete; absent where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReport<'a>>,
}

/// A list of events in a format.
pub struct EventList<'a> {
    format: Format,
    view: TextView,
    table: Table<'static>,
    chosen: &'a [String],
    fields: Vec<&'a str>,
    widths: Option<Widths>,
    is_first: bool,
}

impl<'a> EventList<'a> {
    /// A list with these fields as columns, or with the default ones if none are chosen.
    pub fn new(chosen: &'a [String], format: Format, view: TextView) -> Self {
        let (fields, headings): (Vec<&str>, Vec<String>) = if chosen.is_empty() {
            COLUMNS.iter().map(|(field, heading)| (*field, (*heading).to_owned())).unzip()
        } else {
            let [(time, heading), ..] = COLUMNS;
            let named = |field: &'a String| if field == time { heading.to_owned() } else { field.to_uppercase() };
            chosen.iter().map(|field| (field.as_str(), named(field))).unzip()
        };
        let is_name = |field: &str| ["time", "id", "ip", "name"].iter().any(|end| field.ends_with(end));
        let free: Vec<usize> = (0..fields.len()).filter(|at| !is_name(fields[*at])).collect();
        let table = Table::new(headings.into_iter().map(code)).free(free);
        Self { format, view, table, chosen, fields, widths: None, is_first: true }
    }

    /// What comes before the events. `heading` says how many there are.
    pub fn begin(&self, query: &EventQuery, total: Option<u64>, heading: &str) -> String {
        match self.format {
            Format::Json => {
                let head = EventListHead {
                    namespace: query.namespace.as_str(),
                    query: query.query(),
                    start_time: query.start_time.as_deref(),
                    end_time: query.end_time.as_deref(),
                    total_hits: total,
                };
                // The events follow as the last member, a line each.
                let head = document::line("security_events", head);
                format!("{},\n\"events\": [", head.trim_end().trim_end_matches('}'))
            }
            Format::Ndjson => String::new(),
            _ => format!("{heading}\n"),
        }
    }

    /// The text of a batch.
    pub fn batch(&mut self, events: &[Event]) -> String {
        match self.format {
            Format::Json | Format::Ndjson => events.iter().map(|event| self.document(event)).collect(),
            _ if events.is_empty() => String::new(),
            _ => self.rows(events),
        }
    }

    /// What comes after the events; `error` says why they are not complete.
    pub fn end(&self, error: Option<&ErrorReport<'_>>) -> String {
        match (self.format, error) {
            (Format::Json, None) => "\n]}\n".to_owned(),
            (Format::Json, Some(error)) => {
                // Text keys, strings and numbers cannot fail.
                let error = serde_json::to_string(error).unwrap_or_default();
                format!("\n],\n\"error\": {}}}\n", safe::json(&error))
            }
            _ => String::new(),
        }
    }

    fn document(&mut self, event: &Event) -> String {
        let (before, after) = match (self.format, self.is_first) {
            (Format::Ndjson, _) => ("", "\n"),
            (_, true) => ("\n", ""),
            (_, false) => (",\n", ""),
        };
        self.is_first = false;
        format!("{before}{}{after}", safe::json(&event.json()))
    }

    fn rows(&mut self, events: &[Event]) -> String {
        self.table.rows.clear();
        for event in events {
            let short = |cell: String| match cell.strip_prefix(LOAD_BALANCER) {
                Some(name) if self.chosen.is_empty() => name.to_owned(),
                _ => cell,
            };
            self.table.row(self.fields.iter().map(|field| code(short(cell(event, field)))));
        }
        let mut text = String::new();
        let widths = self.widths.get_or_insert_with(|| {
            // Rows are not wrapped: long requests must not fill the screen.
            let widths = Widths::least(&self.table, &self.view);
            text = draw::headings(&self.table, &widths, &self.view);
            widths
        });
        text.push_str(&draw::rows(&self.table, widths, &self.view));
        text
    }
}

/// A field of an event as a cell of a table.
fn cell(event: &Event, field: &str) -> String {
    let value = match (event, field) {
        (Event::Text(text), "time") => Some(text.clone()),
        // The service uses both names, and writes more digits than a reader wants (API.md 7.3).
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

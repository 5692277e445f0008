//! Counts by fields and over time: made by the service in one query, or here over every event.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::EventsRequest;
use super::listing::Pages;
use super::tally::{Counter, FieldTally, Tally, sorted};
use crate::api::Reader;
use crate::api::events::{self, COUNTED_FIELDS, MOST_EVENTS};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::prompt;
use crate::cli::query_args::{EventFormat, EventsArgs};
use crate::model::Json;
use crate::report::bars::{self, Bars, Beyond};
use crate::report::histogram::{self, TimeSeries};
use crate::report::{Charset, json as documents, safe};

/// Values of a field that the service is asked for.
const VALUES: u32 = 100;
/// Pieces of time that a histogram has at most.
const PIECES: usize = 61;
/// The service's own reach where nothing is said (API.md 7.1).
const REACH: SignedDuration = SignedDuration::from_mins(10);
/// The name of the counts over time among the aggregations.
const OVER_TIME: &str = "over_time";
/// Fields of events that the service counts under another name (API.md 7.2, 7.3).
const COUNTED_AS: [(&str, &str); 3] =
    [("rsp_code", "resp_code"), ("rsp_code_details", "resp_code_details"), ("req_path", "uri")];

/// A range of time with both ends, and how it is cut.
struct Window {
    from: Timestamp,
    to: Timestamp,
    step: i64,
}

/// Counts the events that a question asks for.
pub async fn run(
    arguments: &EventsArgs,
    context: &Context,
    mut question: EventsRequest,
    reader: &Reader,
) -> Result<ExitStatus, CommandError> {
    let window = Window::of(&question);
    // Both ends are said, so that every event falls into a piece that is drawn.
    question.query.start_time = Some(window.from.to_string());
    question.query.end_time = Some(window.to.to_string());
    let tally = if arguments.all {
        count_here(&arguments.by, &window, &mut question, reader).await?
    } else {
        ask(&arguments.by, &window, &mut question, reader).await?
    };
    context.output.answer(&match arguments.format {
        EventFormat::Table => {
            let width = context.output.view().width;
            render(
                &question.heading(Some(tally.total)),
                &tally,
                &window,
                arguments.top.into(),
                (width, context.charset()),
            )
        }
        EventFormat::Json => document(&question, &tally, &window),
        EventFormat::Ndjson => lines(&tally),
    });
    Ok(ExitStatus::Done)
}

impl Window {
    fn of(question: &EventsRequest) -> Self {
        let to = question.range.until.unwrap_or(question.now);
        let from = question.range.since.unwrap_or_else(|| to.checked_sub(REACH).unwrap_or(to));
        Self { from, to, step: histogram::step(to.duration_since(from).as_secs(), PIECES) }
    }
}

/// Has the service count: one query for all fields.
async fn ask(
    fields: &[String],
    window: &Window,
    question: &mut EventsRequest,
    reader: &Reader,
) -> Result<Tally, CommandError> {
    let mut aggregations = serde_json::Map::new();
    for (at, field) in fields.iter().enumerate() {
        aggregations.insert(format!("by_{at}"), events::count_by(counted(field)?, VALUES));
    }
    aggregations.insert(OVER_TIME.to_owned(), events::count_over_time(window.step));
    question.query.aggregations = Json::Object(aggregations);
    // An answer has events whether they are wanted or not.
    question.query.limit = Some(1);
    let page = events::query(reader, &question.query).await.map_err(prompt::unanswered)?;
    let total = page.total_hits.unwrap_or_default();
    let field = |(at, field): (usize, &String)| {
        let values = sorted(events::counts(&page.aggregations, &format!("by_{at}")));
        // A full list may not be all: what is missing of the total lies beyond it.
        let total: u64 = values.iter().map(|(_, count)| count).sum();
        let is_full = u32::try_from(values.len()).is_ok_and(|length| length >= VALUES);
        FieldTally { field: field.clone(), beyond: if is_full { total.saturating_sub(total) } else { 0 }, values }
    };
    Ok(Tally {
        fields: fields.iter().enumerate().map(field).collect(),
        times: events::counts_over_time(&page.aggregations, OVER_TIME),
        total,
    })
}

/// The field's name among those that the service counts.
fn counted(field: &str) -> Result<&str, CommandError> {
    let field = COUNTED_AS.iter().find(|(name, _)| *name == field).map_or(field, |(_, counted)| counted);
    if COUNTED_FIELDS.contains(&field) {
        return Ok(field);
    }
    let mut near: Vec<(f64, &str)> =
        COUNTED_FIELDS.iter().map(|known| (strsim::jaro_winkler(field, known), *known)).collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near = near.iter().take(3).map(|(_, known)| format!("`{known}`")).collect::<Vec<_>>().join(", ");
    Err(CommandError::words(ExitStatus::Usage, format!("the service does not count events by `{field}`"))
        .hint(format!("it counts by {near} and {} more fields", COUNTED_FIELDS.len() - 3))
        .hint("with --all every event is fetched and counted here, by any field"))
}

/// Fetches every event and counts it.
async fn count_here(
    fields: &[String],
    window: &Window,
    question: &mut EventsRequest,
    reader: &Reader,
) -> Result<Tally, CommandError> {
    question.query.scroll = true;
    question.query.limit = Some(MOST_EVENTS);
    let mut counter = Counter::new(fields, window.step);
    let mut pages = Pages::first(reader, question).await?;
    let mut read = 0;
    while let Some(page) = pages.next(read).await? {
        read += u64::try_from(page.len()).unwrap_or(u64::MAX);
        page.iter().for_each(|event| counter.add(event));
    }
    Ok(counter.tally())
}

/// The counts for people, in a width and with characters.
fn render(heading: &str, tally: &Tally, window: &Window, top: usize, look: (usize, Charset)) -> String {
    let (width, charset) = look;
    let mut text = String::new();
    for (at, field) in tally.fields.iter().enumerate() {
        let by = format!("by {}", safe::line(&field.field));
        let beyond = if field.beyond > 0 { Beyond::Some(field.beyond) } else { Beyond::Nothing };
        let bars = bars::draw(Bars { counts: &field.values, most: top, beyond }, width, charset);
        // The title stands at the right end of its bars.
        let end = bars.lines().next().map_or(0, UnicodeWidthStr::width);
        let heading = if at == 0 { heading } else { "\n" };
        let gap = end.saturating_sub(heading.trim().width() + by.width()).max(if at == 0 { 3 } else { 2 });
        text.push_str(&format!("{heading}{:gap$}{by}\n{bars}", ""));
        let total: u64 = field.values.iter().map(|(_, count)| count).sum::<u64>() + field.beyond;
        match tally.total.saturating_sub(total) {
            0 => {}
            without => text.push_str(&format!("  at least {without} without it\n")),
        }
    }
    let series = TimeSeries::of(&tally.times, window.from, window.to, window.step);
    let line = histogram::draw(&series, width, charset);
    if !line.is_empty() {
        text.push_str(if tally.fields.len() > 1 { "\n" } else { "" });
        text.push_str(&line);
    }
    text
}

fn pairs(values: &[(String, u64)]) -> Vec<Json> {
    values.iter().map(|(value, count)| json!({ "value": value, "count": count })).collect()
}

fn document(question: &EventsRequest, tally: &Tally, window: &Window) -> String {
    let fields: Vec<Json> = tally
        .fields
        .iter()
        .map(|field| json!({ "field": field.field, "values": pairs(&field.values), "beyond": field.beyond }))
        .collect();
    let times: Vec<Json> =
        tally.times.iter().map(|(time, count)| json!({ "time": time.to_string(), "count": count })).collect();
    let content = json!({
        "namespace": question.query.namespace.as_str(),
        "query": question.query.query(),
        "start_time": window.from.to_string(),
        "end_time": window.to.to_string(),
        "total_hits": tally.total,
        "by": fields,
        "over_time": { "step_seconds": window.step, "counts": times },
    });
    safe::json(&documents::document("security_event_counts", content)).into_owned()
}

fn lines(tally: &Tally) -> String {
    let field = |field: &FieldTally| {
        let line = |(value, count): &(String, u64)| {
            let line = json!({ "field": field.field, "value": value, "count": count }).to_string();
            format!("{}\n", safe::json(&line))
        };
        field.values.iter().map(line).collect::<String>()
    };
    tally.fields.iter().map(field).collect()
}

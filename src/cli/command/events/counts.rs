//! Counts by fields, which the service makes in one query.

use jiff::SignedDuration;

use super::EventsRequest;
use crate::api::Reader;
use crate::api::events::{self, COUNTED_FIELDS};
use crate::cli::args::query::EventsArgs;
use crate::cli::{CommandResult as _, Context, ExitStatus, Result};
use crate::model::Json;
use crate::report::Report;
use crate::report::event_counts::{EventCounts, FieldTally, Tally};

/// Values of a field that the service is asked for.
const VALUES: u32 = 100;
/// The service's own reach where nothing is said (API.md 7.1).
const REACH: SignedDuration = SignedDuration::from_mins(10);
/// Fields of events that the service counts under another name (API.md 7.2, 7.3).
const COUNTED_AS: [(&str, &str); 3] =
    [("rsp_code", "resp_code"), ("rsp_code_details", "resp_code_details"), ("req_path", "uri")];

/// Counts the events that a question asks for.
pub async fn run(
    arguments: &EventsArgs,
    context: &Context,
    mut question: EventsRequest,
    reader: &Reader,
) -> Result<ExitStatus> {
    let to = question.range.until.unwrap_or(question.now);
    let from = question.range.since.unwrap_or_else(|| to.checked_sub(REACH).unwrap_or(to));
    // The report names both ends, so the query has both.
    question.query.start_time = Some(from.to_string());
    question.query.end_time = Some(to.to_string());
    let tally = ask(&arguments.by, &mut question, reader).await?;
    let counts = EventCounts {
        heading: question.heading(Some(tally.total)),
        namespace: question.query.namespace.to_string(),
        query: question.query.query(),
        from,
        to,
        top: arguments.top.into(),
        tally,
    };
    context.output.report(&Report::EventCounts(&counts), arguments.format);
    Ok(ExitStatus::Done)
}

/// Has the service count: one query for all fields.
async fn ask(fields: &[String], question: &mut EventsRequest, reader: &Reader) -> Result<Tally> {
    let mut aggregations = serde_json::Map::new();
    for (at, field) in fields.iter().enumerate() {
        aggregations.insert(format!("by_{at}"), events::count_by(counted(field)?, VALUES));
    }
    question.query.aggregations = Json::Object(aggregations);
    // An answer has events whether they are wanted or not.
    question.query.limit = Some(1);
    let page = events::query(reader, &question.query).await.with_status(ExitStatus::Failed)?;
    let total = page.total_hits.unwrap_or_default();
    let field = |(at, field): (usize, &String)| field_tally(field, &page.aggregations, at, total);
    Ok(Tally { fields: fields.iter().enumerate().map(field).collect(), total })
}

/// The counts of the field at this position of the query.
fn field_tally(field: &str, aggregations: &Json, at: usize, total: u64) -> FieldTally {
    let values = sorted(events::counts(aggregations, &format!("by_{at}")));
    // A full list may not be all: what is missing of the total lies beyond it.
    let listed: u64 = values.iter().map(|(_, count)| count).sum();
    let is_full = u32::try_from(values.len()).is_ok_and(|length| length >= VALUES);
    FieldTally { field: field.to_owned(), beyond: if is_full { total.saturating_sub(listed) } else { 0 }, values }
}

/// The field's name among those that the service counts.
fn counted(field: &str) -> Result<&str> {
    let field = COUNTED_AS.iter().find(|(name, _)| *name == field).map_or(field, |(_, counted)| counted);
    if COUNTED_FIELDS.contains(&field) {
        return Ok(field);
    }
    let mut near: Vec<(f64, &str)> =
        COUNTED_FIELDS.iter().map(|known| (strsim::jaro_winkler(field, known), *known)).collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near = near.iter().take(3).map(|(_, known)| format!("`{known}`")).collect::<Vec<_>>().join(", ");
    Err(error!(Usage, "the service does not count events by `{field}`")
        .hint(format!("it counts by {near} and {} more fields", COUNTED_FIELDS.len() - 3))
        .hint("to count by another one: `--all --fields FIELD --format ndjson`, and a tool such as jq"))
}

/// The most frequent first.
fn sorted(mut values: Vec<(String, u64)>) -> Vec<(String, u64)> {
    values.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_beyond_a_full_list_of_values_are_counted() {
        let answer = |values: u32| {
            let bucket = |at: u32| serde_json::json!({"key": at.to_string(), "count": "2"});
            serde_json::json!({"by_0": {"field_aggregation": {"buckets": (0..values).map(bucket).collect::<Vec<_>>()}}})
        };
        assert_eq!(field_tally("country", &answer(VALUES), 0, 250).beyond, 50);
        assert_eq!(field_tally("country", &answer(VALUES - 1), 0, 250).beyond, 0);
    }
}

//! Counts by fields, which the service makes in one query.

use jiff::SignedDuration;

use super::EventsRequest;
use crate::api::Reader;
use crate::api::events::{self, COUNTED_FIELDS, EventPage};
use crate::cli::command::prelude::*;
use crate::model::Json;
use crate::report::event_counts::{EventCounts, FieldCounts, ValueCount};

/// The number of values of a field that the query asks for.
const VALUES: u32 = 100;
/// The time range of the service if a query names none (API.md 7.1).
const REACH: SignedDuration = SignedDuration::from_mins(10);
/// Fields of events that the service counts under another name (API.md 7.2, 7.3).
const COUNTED_AS: [(&str, &str); 3] =
    [("rsp_code", "resp_code"), ("rsp_code_details", "resp_code_details"), ("req_path", "uri")];

/// Counts the events that the query selects.
pub async fn run(mut question: EventsRequest<'_>, reader: &Reader) -> Result<ExitStatus> {
    let EventsRequest { arguments, context, .. } = question;
    let to = question.range.until.unwrap_or(question.now);
    let from = question.range.since.unwrap_or_else(|| to.checked_sub(REACH).unwrap_or(to));
    // The report names both ends, so the query has both.
    question.query.start_time = Some(from.to_string());
    question.query.end_time = Some(to.to_string());
    let (total_hits, by) = ask(&arguments.by, &mut question, reader).await?;
    let counts = EventCounts {
        heading: question.heading(Some(total_hits)),
        namespace: question.query.namespace.to_string(),
        query: question.query.query(),
        start_time: from,
        end_time: to,
        total_hits,
        by,
        top: arguments.top.into(),
    };
    context.output.report(&counts, arguments.format);
    Ok(ExitStatus::Done)
}

/// Has the service count: one query for all fields.
async fn ask(fields: &[String], question: &mut EventsRequest<'_>, reader: &Reader) -> Result<(u64, Vec<FieldCounts>)> {
    let mut aggregations = serde_json::Map::new();
    for (at, field) in fields.iter().enumerate() {
        aggregations.insert(format!("by_{at}"), events::count_by(counted(field)?, VALUES));
    }
    question.query.aggregations = Json::Object(aggregations);
    // The answer contains events in any case, so ask for one.
    question.query.limit = Some(1);
    let page = events::query(reader, &question.query).await.with_status(ExitStatus::Failed)?;
    tally(fields, &page)
}

/// How many events there are, and the counts of all fields.
fn tally(fields: &[String], page: &EventPage) -> Result<(u64, Vec<FieldCounts>)> {
    let total = page.total().unwrap_or_default();
    let field = |(at, field): (usize, &String)| match events::counts(&page.aggregations, &format!("by_{at}")) {
        Some(counts) => Ok(field_tally(field, counts, total)),
        // Without events, the service returns no counts.
        None if total == 0 && page.events.is_empty() => Ok(field_tally(field, Vec::new(), total)),
        None => Err(error!(Failed, "the service did not count the events by `{field}`")),
    };
    let fields: Vec<FieldCounts> = fields.iter().enumerate().map(field).collect::<Result<_>>()?;
    let has_events = !page.events.is_empty() || fields.iter().any(|field| !field.values.is_empty());
    if total == 0 && has_events {
        return Err(error!(
            Failed,
            "the service did not count the events: its answer has no `total_hits`, or fewer than its events"
        ));
    }
    Ok((total, fields))
}

/// The counts of a field.
fn field_tally(field: &str, counts: Vec<(String, u64)>, total: u64) -> FieldCounts {
    let mut values: Vec<ValueCount> = counts.into_iter().map(|(value, count)| ValueCount { value, count }).collect();
    // The most frequent first.
    values.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
    // A full list may be cut off: the rest of the total is beyond it.
    let listed: u64 = values.iter().map(|one| one.count).sum();
    let is_full = u32::try_from(values.len()).is_ok_and(|length| length >= VALUES);
    FieldCounts { field: field.to_owned(), beyond: if is_full { total.saturating_sub(listed) } else { 0 }, values }
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
        .hint("to count by another one: `--all --format ndjson`, and a tool such as jq"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_beyond_a_full_list_of_values_are_counted() {
        let answer = |values: u32| (0..values).map(|at| (at.to_string(), 2)).collect::<Vec<_>>();
        assert_eq!(field_tally("country", answer(VALUES), 250).beyond, 50);
        assert_eq!(field_tally("country", answer(VALUES - 1), 250).beyond, 0);
    }

    #[test]
    fn an_answer_that_does_not_count_is_not_an_answer_of_nothing() {
        let tally = |answer: serde_json::Value| {
            tally(&["country".to_owned()], &serde_json::from_value(answer).expect("a page"))
        };
        let counted = serde_json::json!({"by_0": {"field_aggregation": {"buckets": [{"key": "DE", "count": "7"}]}}});
        let event = serde_json::json!([{"country": "DE"}]);
        assert_eq!(
            tally(serde_json::json!({"events": event, "total_hits": "7", "aggs": counted})).expect("counts").0,
            7
        );
        assert_eq!(tally(serde_json::json!({"events": [], "aggs": null})).expect("nothing").0, 0);
        let most = serde_json::json!({"key": "DE", "count": (1_u64 << 48) - 1});
        let many = serde_json::json!({"by_0": {"field_aggregation": {"buckets": vec![most; 70_000]}}});
        for answer in [
            serde_json::json!({"events": event, "total_hits": (1_u64 << 48) - 1, "aggs": many}),
            serde_json::json!({"events": [], "aggs": counted}),
            serde_json::json!({"events": event, "aggs": {"by_0": {"field_aggregation": {}}}}),
            serde_json::json!({"events": event, "total_hits": 500, "aggs": null}),
            serde_json::json!({"events": [], "total_hits": 500}),
            serde_json::json!({"events": [], "total_hits": "0", "aggs": counted}),
            serde_json::json!({"events": event, "total_hits": 0, "aggs": {"by_0": {"field_aggregation": {}}}}),
        ] {
            assert!(tally(answer.clone()).is_err(), "{answer}");
        }
    }
}

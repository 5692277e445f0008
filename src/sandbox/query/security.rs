//! The security event query and its scroll. As in the service, only the times, the query and the aggregations are
//! checked: a limit above 500 means 500, and events are always sorted by time, whatever `sort_by` is. A reversed time
//! range is 400, an expired scroll id is 404 with code 5 (like a search that the engine behind the service has
//! dropped), a malformed one 400. The operation declares that it creates an event: every query, but not its scrolls,
//! leaves a durable record, which `GET /sandbox/queries` lists.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::dataset::{Dataset, RecordedQuery};
use super::event::aggregate::Aggregations;
use super::event::language::Query;
use super::event::scroll::{self, Scroll};
use super::event::store::{Order, SearchFilter, WHOLE_TENANT};
use super::time::TimeWindow;
use crate::sandbox::answer::{Answer, Code, ErrorResponse, ok};
use crate::sandbox::log::Trace;
use crate::sandbox::message::{Sent, read};
use crate::sandbox::parameter::parameter;
use crate::sandbox::{SandboxState, Shared};

/// The most events of one answer, and the default.
const LIMIT: u64 = 500;

/// The request of a query or of its next batch.
#[derive(Debug)]
struct QueryRequest {
    query: String,
    start_time: String,
    end_time: String,
    limit: i32,
    scroll: bool,
    scroll_id: Option<String>,
    order: Order,
    aggs: Map<String, Value>,
    /// From `sort_values`: the last event of the previous batch.
    last_doc_id: String,
}

impl QueryRequest {
    fn read(message: &Sent<'_>) -> Result<Self, ErrorResponse> {
        message.at("namespace").text()?;
        message.at("sort_by").text()?;
        let aggs = match message.get("aggs") {
            None => Map::new(),
            Some(Value::Object(aggs)) => aggs.clone(),
            Some(_) => return Err(ErrorResponse::invalid("Field body.aggs should be an object in request.")),
        };
        let last = message.at("sort_values").object()?;
        last.at("last_timestamp").double()?;
        Ok(Self {
            query: message.at("query").text()?,
            start_time: message.at("start_time").text()?,
            end_time: message.at("end_time").text()?,
            limit: message.at("limit").integer("an integer")?,
            scroll: message.at("scroll").boolean()?,
            scroll_id: message.get("scroll_id").map(|_| message.at("scroll_id").text()).transpose()?,
            order: match message.at("sort").choice(&["DESCENDING", "ASCENDING"])? {
                1 => Order::Ascending,
                _ => Order::Descending,
            },
            aggs,
            last_doc_id: last.at("last_doc_id").text()?,
        })
    }

    /// The body of the answer, and the record of the query.
    fn answer(
        self,
        dataset: &Dataset,
        namespace: String,
        wanted: Wanted,
        now: Timestamp,
    ) -> Result<(Value, RecordedQuery), ErrorResponse> {
        let query = Query::parse(&self.query).map_err(ErrorResponse::invalid)?;
        let window = TimeWindow::between(&self.start_time, &self.end_time, now)?;
        let mut aggregations = Aggregations::read(&self.aggs, window)?;
        let filter = SearchFilter::new(&namespace, &query);
        let range = dataset.events.range(window);
        let mut total = 0;
        for (_, event) in dataset.events.search(range.clone(), &filter, self.order) {
            total += 1;
            aggregations.add(event);
        }
        let recorded = RecordedQuery {
            time: now,
            namespace: namespace.clone(),
            query: self.query.clone(),
            start_time: window.from,
            end_time: window.to,
            hits: total,
        };
        let aggregated = aggregations.answer();
        if wanted == Wanted::Aggregations {
            return Ok((json!({"total_hits": total.to_string(), "aggs": aggregated}), recorded));
        }
        let (left, remaining) = match self.last_doc_id.parse::<usize>() {
            Err(_) => (range, total),
            Ok(after) => {
                let left = match self.order {
                    Order::Ascending => range.start.max(after.saturating_add(1)).min(range.end)..range.end,
                    Order::Descending => range.start..range.end.min(after).max(range.start),
                };
                let remaining = dataset.events.search(left.clone(), &filter, self.order).map(|_| 1).sum();
                (left, remaining)
            }
        };
        let scroll = Scroll {
            namespace: namespace.clone(),
            query: self.query,
            order: self.order,
            limit: u64::try_from(self.limit).ok().filter(|limit| (1..LIMIT).contains(limit)).unwrap_or(LIMIT),
            total,
            remaining,
            left,
            edition: dataset.edition,
            given: now,
        };
        Ok((batch(dataset, &filter, scroll, self.scroll, &aggregated), recorded))
    }
}

/// What a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Events,
    Aggregations,
}

/// `POST …/events` of the uniform layout, which also continues a scroll: a body with a `scroll_id` asks for its next
/// batch.
pub async fn query_or_scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    match read(&body, QueryRequest::read)? {
        QueryRequest { scroll_id: Some(id), .. } => next(service, namespace, id).await,
        request => first(service, namespace, request, Wanted::Events).await,
    }
}

/// The query of the published layout.
pub async fn query(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    first(service, namespace, read(&body, QueryRequest::read)?, Wanted::Events).await
}

/// Only aggregations, without events.
pub async fn aggregate(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    first(service, namespace, read(&body, QueryRequest::read)?, Wanted::Aggregations).await
}

/// The next batch, with the id in the body.
pub async fn scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    next(service, namespace, read(&body, QueryRequest::read)?.scroll_id.unwrap_or_default()).await
}

/// The next batch, with the id as a query parameter.
pub async fn scroll_by_parameter(
    State(service): Shared,
    Path(namespace): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    next(service, namespace, parameter(query.as_deref(), "scroll_id")).await
}

/// The query over all namespaces, whose path must contain `system`.
pub async fn query_all(service: Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    only_whole(&namespace)?;
    query(service, Path(namespace), body).await
}

/// Aggregations over all namespaces.
pub async fn aggregate_all(service: Shared, Path(namespace): Path<String>, body: Bytes) -> Answer {
    only_whole(&namespace)?;
    aggregate(service, Path(namespace), body).await
}

fn only_whole(namespace: &str) -> Result<(), ErrorResponse> {
    if namespace == WHOLE_TENANT {
        return Ok(());
    }
    let message =
        format!("the events of all namespaces are asked for in namespace `{WHOLE_TENANT}`, not `{namespace}`");
    Err(ErrorResponse::new(Code::NOT_FOUND, message))
}

async fn first(service: Arc<SandboxState>, namespace: String, request: QueryRequest, wanted: Wanted) -> Answer {
    let now = service.clock.now();
    let searching = Arc::clone(&service);
    let search = move || request.answer(&searching.query, namespace, wanted, now);
    let found = tokio::task::spawn_blocking(search).await;
    let (body, query) = found.map_err(|_| ErrorResponse::internal("the search failed"))??;
    service.store.durable(service.query.record(&service.store, &query)).await?;
    let mut response = ok(&body);
    response.extensions_mut().insert(Trace::done());
    Ok(response)
}

async fn next(service: Arc<SandboxState>, namespace: String, id: String) -> Answer {
    let now = service.clock.now();
    let scroll = Scroll::read(&id, &namespace, service.query.edition, now)?;
    let query = Query::parse(&scroll.query).map_err(|_| scroll::malformed())?;
    let search = move || {
        let filter = SearchFilter::new(&namespace, &query);
        batch(&service.query, &filter, Scroll { given: now, ..scroll }, true, &json!({}))
    };
    let found = tokio::task::spawn_blocking(search).await;
    Ok(ok(&found.map_err(|_| ErrorResponse::internal("the search failed"))?))
}

/// The body with the next events of a scroll; its id contains the remaining positions.
fn batch(dataset: &Dataset, filter: &SearchFilter<'_>, mut scroll: Scroll, scrolls: bool, aggregated: &Value) -> Value {
    let size = scroll.remaining.min(scroll.limit);
    let mut events = Vec::new();
    let mut last = Value::Null;
    for (position, event) in dataset
        .events
        .search(scroll.left.clone(), filter, scroll.order)
        .take(usize::try_from(size).unwrap_or(usize::MAX))
    {
        events.push(event.event.to_string());
        last = json!({"last_doc_id": position.to_string(), "last_timestamp": event.time.as_millisecond()});
        match scroll.order {
            Order::Ascending => scroll.left.start = position + 1,
            Order::Descending => scroll.left.end = position,
        }
    }
    scroll.remaining -= size;
    let total = scroll.total;
    let id = if scrolls && scroll.remaining > 0 { scroll.id() } else { String::new() };
    json!({
        "events": events, "total_hits": total.to_string(), "scroll_id": id, "aggs": aggregated, "last_sort_values": last,
    })
}

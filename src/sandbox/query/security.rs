//! The security event query and its scroll. As in the service, only the times, the query and the
//! aggregations have rules: a limit above 500 means 500, and events are sorted by their time whatever
//! `sort_by` says. A backwards time range is 400, an
//! expired scroll id is 404 with code 5 (what a search that is gone is to the engine behind it), a
//! malformed one 400. The operation declares that it creates an event: every query, though no scroll
//! of one, leaves a durable record, which `GET /sandbox/queries` tells.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::dataset::{Dataset, RecordedQuery};
use super::event::aggregate::Aggregations;
use super::event::language::Query;
use super::event::scroll::{self, Scroll};
use super::event::store::{Filter, Order, WHOLE_TENANT};
use super::window::TimeWindow;
use crate::sandbox::answer::{Code, ErrorResponse, json as answer};
use crate::sandbox::endpoint::body::{Message, read, text};
use crate::sandbox::log::{RequestEffect, Trace};
use crate::sandbox::parameter::parameter;
use crate::sandbox::service::SandboxState;

/// Events of one answer, at most and by default.
const LIMIT: u64 = 500;

/// The request of a query, or of the next batch of one.
#[derive(Debug, Default)]
struct QueryRequest {
    query: String,
    start_time: String,
    end_time: String,
    limit: i32,
    scroll: bool,
    scroll_id: Option<String>,
    order: Order,
    aggs: Map<String, Value>,
    /// Of `sort_values`: the last event of the batch before.
    last_doc_id: String,
}

impl QueryRequest {
    fn read(message: &Message<'_>) -> Result<Self, ErrorResponse> {
        message.text("namespace")?;
        message.text("sort_by")?;
        let aggs = match message.get("aggs")?.map(Value::from) {
            None => Map::new(),
            Some(Value::Object(aggs)) => aggs,
            Some(_) => return Err(invalid("Field body.aggs should be an object in request.")),
        };
        let last_doc_id = match message.get("sort_values")? {
            None => String::new(),
            Some(values) => Message::new(values, message.place.field("sort_values"))?.text("last_doc_id")?,
        };
        Ok(Self {
            query: message.text("query")?,
            start_time: message.text("start_time")?,
            end_time: message.text("end_time")?,
            limit: message.signed("limit")?,
            scroll: message.boolean("scroll")?,
            scroll_id: message.get("scroll_id")?.map(|id| text(id, message.place.field("scroll_id"))).transpose()?,
            order: match message.choice("sort", &["DESCENDING", "ASCENDING"])? {
                "ASCENDING" => Order::Ascending,
                _ => Order::Descending,
            },
            aggs,
            last_doc_id,
        })
    }
}

/// What a query is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Events,
    Aggregations,
}

/// A request that was read.
struct ParsedQuery {
    namespace: String,
    text: String,
    query: Query,
    window: TimeWindow,
    order: Order,
    limit: u64,
    scrolls: bool,
    aggregations: Aggregations,
    /// The position of the event that the batch before ended with.
    after: Option<usize>,
}

type Shared = State<Arc<SandboxState>>;

/// `POST …/events` of the uniform layout, where the same path also continues a scroll: a body with a
/// `scroll_id` is the request of its next batch.
pub async fn query_or_scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body, QueryRequest::read) {
        Ok(request) if request.scroll_id.is_some() => next(service, namespace, request).await,
        Ok(request) => first(service, namespace, request, Wanted::Events).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The query of the published layout.
pub async fn query(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body, QueryRequest::read) {
        Ok(request) => first(service, namespace, request, Wanted::Events).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Aggregations alone, without events.
pub async fn aggregate(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body, QueryRequest::read) {
        Ok(request) => first(service, namespace, request, Wanted::Aggregations).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The next batch, asked for with a body.
pub async fn scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body, QueryRequest::read) {
        Ok(request) => next(service, namespace, request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The next batch, asked for with a query parameter.
pub async fn scroll_by_parameter(
    State(service): Shared,
    Path(namespace): Path<String>,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let request = QueryRequest { scroll_id: Some(parameter(query.as_deref(), "scroll_id")), ..QueryRequest::default() };
    next(service, namespace, request).await
}

/// The query of all namespaces, whose path names `system` and no other.
pub async fn query_all(service: Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match only_whole(&namespace) {
        Ok(()) => query(service, Path(namespace), body).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Aggregations over all namespaces.
pub async fn aggregate_all(service: Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match only_whole(&namespace) {
        Ok(()) => aggregate(service, Path(namespace), body).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn only_whole(namespace: &str) -> Result<(), ErrorResponse> {
    if namespace == WHOLE_TENANT {
        return Ok(());
    }
    let message =
        format!("the events of all namespaces are asked for in namespace `{WHOLE_TENANT}`, not `{namespace}`");
    Err(ErrorResponse::new(Code::NotFound, message))
}

fn invalid(message: impl Into<String>) -> ErrorResponse {
    ErrorResponse::new(Code::InvalidArgument, message)
}

async fn first(service: Arc<SandboxState>, namespace: String, request: QueryRequest, wanted: Wanted) -> Response<Body> {
    let now = service.clock.now();
    let question = match ParsedQuery::read(namespace, request, now) {
        Ok(question) => question,
        Err(refusal) => return refusal.into_response(),
    };
    let searching = Arc::clone(&service);
    let found = tokio::task::spawn_blocking(move || question.answer(&searching.query, wanted, now)).await;
    // The search only fails by a panic, which the runtime has told.
    let Ok((body, asked)) = found else {
        return ErrorResponse::new(Code::Internal, "the search failed").into_response();
    };
    let ticket = service.query.record(&service.store, &asked);
    if let Err(error) = service.store.durable(ticket).await {
        return ErrorResponse::new(Code::Internal, error.to_string()).into_response();
    }
    let mut response = answer(StatusCode::OK, body);
    response.extensions_mut().insert(Trace { effect: RequestEffect::Done, ..Trace::default() });
    response
}

async fn next(service: Arc<SandboxState>, namespace: String, request: QueryRequest) -> Response<Body> {
    let now = service.clock.now();
    let id = request.scroll_id.unwrap_or_default();
    let scroll = match Scroll::read(&id, &namespace, service.query.edition, now) {
        Ok(scroll) => scroll,
        Err(error @ (scroll::ScrollError::Expired | scroll::ScrollError::Replaced)) => {
            return ErrorResponse::new(Code::NotFound, error.to_string()).into_response();
        }
        Err(error) => return invalid(error.to_string()).into_response(),
    };
    let searching = Arc::clone(&service);
    match tokio::task::spawn_blocking(move || go_on(&searching.query, scroll, now)).await {
        Ok(Ok(body)) => answer(StatusCode::OK, body),
        Ok(Err(refusal)) => refusal.into_response(),
        Err(_) => ErrorResponse::new(Code::Internal, "the search failed").into_response(),
    }
}

impl ParsedQuery {
    fn read(namespace: String, request: QueryRequest, now: Timestamp) -> Result<Self, ErrorResponse> {
        let text = request.query;
        let query = Query::parse(&text).map_err(|error| invalid(error.to_string()))?;
        let window = TimeWindow::between(&request.start_time, &request.end_time, now)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self {
            namespace,
            text,
            query,
            window,
            order: request.order,
            limit: u64::try_from(request.limit).ok().filter(|limit| (1..LIMIT).contains(limit)).unwrap_or(LIMIT),
            scrolls: request.scroll,
            aggregations: Aggregations::read(&request.aggs, window)?,
            after: request.last_doc_id.parse().ok(),
        })
    }

    fn answer(self, dataset: &Dataset, wanted: Wanted, now: Timestamp) -> (String, RecordedQuery) {
        let mut aggregations = self.aggregations;
        let filter = Filter::new(&self.namespace, &self.query);
        let range = dataset.events.range(self.window);
        let mut total = 0;
        for (_, event) in dataset.events.search(range.clone(), &filter, self.order) {
            total += 1;
            aggregations.add(event);
        }
        let asked = RecordedQuery::new(now, &self.namespace, &self.text, self.window, total);
        let aggregated = aggregations.answer();
        if wanted == Wanted::Aggregations {
            return (json!({"total_hits": total.to_string(), "aggs": aggregated}).to_string(), asked);
        }
        let range = match (self.after, self.order) {
            (Some(after), Order::Ascending) => range.start.max(after.saturating_add(1)).min(range.end)..range.end,
            (Some(after), Order::Descending) => range.start..range.end.min(after).max(range.start),
            (None, _) => range,
        };
        let remaining = match self.after {
            Some(_) => dataset.events.search(range.clone(), &filter, self.order).map(|_| 1).sum(),
            None => total,
        };
        let scroll = Scroll {
            namespace: self.namespace.clone(),
            query: self.text,
            order: self.order,
            limit: self.limit,
            total,
            remaining,
            left: range,
            edition: dataset.edition,
            given: now,
        };
        (batch(dataset, &filter, scroll, self.scrolls, &aggregated), asked)
    }
}

fn go_on(dataset: &Dataset, scroll: Scroll, now: Timestamp) -> Result<String, ErrorResponse> {
    let query = Query::parse(&scroll.query).map_err(|_| invalid(scroll::ScrollError::Malformed.to_string()))?;
    let namespace = scroll.namespace.clone();
    let filter = Filter::new(&namespace, &query);
    Ok(batch(dataset, &filter, Scroll { given: now, ..scroll }, true, &json!({})))
}

/// The body with the next events of a scroll; its id stands for what is left after them.
fn batch(dataset: &Dataset, filter: &Filter<'_>, mut scroll: Scroll, scrolls: bool, aggregated: &Value) -> String {
    let size = scroll.remaining.min(scroll.limit);
    let mut events = Vec::new();
    let mut last = Value::Null;
    for (position, event) in dataset
        .events
        .search(scroll.left.clone(), filter, scroll.order)
        .take(usize::try_from(size).unwrap_or(usize::MAX))
    {
        events.push(event.event.to_string());
        last = json!({"last_doc_id": position.to_string(), "last_timestamp": event.time.to_string()});
        match scroll.order {
            Order::Ascending => scroll.left.start = position + 1,
            Order::Descending => scroll.left.end = position,
        }
    }
    scroll.remaining -= size;
    let total = scroll.total;
    let id = if scrolls && scroll.remaining > 0 { scroll.id() } else { String::new() };
    let body = json!({
        "events": events, "total_hits": total.to_string(), "scroll_id": id, "aggs": aggregated, "last_sort_values": last,
    });
    body.to_string()
}

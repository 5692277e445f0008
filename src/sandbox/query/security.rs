//! The security event query and its scroll. The request's shape is checked as far as the service is
//! known to; unknown fields are dropped. A limit above 500 and a backwards time range are 400, an
//! expired scroll id is 404 with code 5 (what a search that is gone is to the engine behind it), a
//! malformed one 400. The operation declares that it creates an event: every query, though no scroll
//! of one, leaves a durable record, which `GET /sandbox/queries` tells.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query as Parameters, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::event::aggregate::Aggregations;
use super::event::language::Query;
use super::event::scroll::{self, Scroll};
use super::event::store::{Filter, Order, WHOLE_TENANT};
use super::holding::{Asked, Holding};
use super::window::Window;
use crate::sandbox::answer::{Code, Refusal, json as answer};
use crate::sandbox::log::{Effect, Trace};
use crate::sandbox::service::Service;

/// Events of one answer, at most and by default.
const LIMIT: u64 = 500;

/// How the service would order by time; events have no other time here.
const SORTS: [&str; 4] = ["", "last_event_time", "@timestamp", "time"];

/// The request of a query, or of the next batch of one.
#[derive(Debug, Default, Deserialize)]
pub struct Request {
    query: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    limit: Option<Value>,
    scroll: Option<bool>,
    scroll_id: Option<String>,
    sort: Option<Value>,
    sort_by: Option<String>,
    aggs: Option<Map<String, Value>>,
}

/// What a query is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Events,
    Aggregations,
}

/// A request that was read.
struct Question {
    namespace: String,
    text: String,
    query: Query,
    window: Window,
    order: Order,
    limit: u64,
    scrolls: bool,
    aggregations: Aggregations,
}

type Shared = State<Arc<Service>>;

/// `POST …/events` of the uniform layout, where the same path also continues a scroll: a body with a
/// `scroll_id` is the request of its next batch.
pub async fn query_or_scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read::<Request>(&body) {
        Ok(request) if request.scroll_id.is_some() => next(service, namespace, request).await,
        Ok(request) => first(service, namespace, request, Wanted::Events).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The query of the published layout.
pub async fn query(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body) {
        Ok(request) => first(service, namespace, request, Wanted::Events).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Aggregations alone, without events.
pub async fn aggregate(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body) {
        Ok(request) => first(service, namespace, request, Wanted::Aggregations).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The next batch, asked for with a body.
pub async fn scroll(State(service): Shared, Path(namespace): Path<String>, body: Bytes) -> Response<Body> {
    match read(&body) {
        Ok(request) => next(service, namespace, request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The next batch, asked for with a query parameter.
pub async fn scroll_by_parameter(
    State(service): Shared,
    Path(namespace): Path<String>,
    Parameters(request): Parameters<ScrollParameters>,
) -> Response<Body> {
    let request = Request { scroll_id: Some(request.scroll_id), ..Request::default() };
    next(service, namespace, request).await
}

/// The query parameters of a scroll.
#[derive(Debug, Deserialize)]
pub struct ScrollParameters {
    #[serde(default)]
    scroll_id: String,
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

fn only_whole(namespace: &str) -> Result<(), Refusal> {
    if namespace == WHOLE_TENANT {
        return Ok(());
    }
    let message =
        format!("the events of all namespaces are asked for in namespace `{WHOLE_TENANT}`, not `{namespace}`");
    Err(Refusal::new(Code::NotFound, message))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

/// The body of a request; no body is an empty message.
pub fn read<T: Default + for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| invalid(format!("request body is not valid: {error}")))
}

async fn first(service: Arc<Service>, namespace: String, request: Request, wanted: Wanted) -> Response<Body> {
    let now = service.clock.now();
    let question = match Question::read(namespace, request, now) {
        Ok(question) => question,
        Err(refusal) => return refusal.into_response(),
    };
    let searching = Arc::clone(&service);
    let found = tokio::task::spawn_blocking(move || question.answer(&searching.query, wanted, now)).await;
    // The search only fails by a panic, which the runtime has told.
    let Ok((body, asked)) = found else {
        return Refusal::new(Code::Internal, "the search failed").into_response();
    };
    let ticket = service.query.record(&service.store, &asked);
    if let Err(error) = service.store.durable(ticket).await {
        return Refusal::new(Code::Internal, error.to_string()).into_response();
    }
    let mut response = answer(StatusCode::OK, body);
    response.extensions_mut().insert(Trace { effect: Effect::Done, ..Trace::default() });
    response
}

async fn next(service: Arc<Service>, namespace: String, request: Request) -> Response<Body> {
    let now = service.clock.now();
    let id = request.scroll_id.unwrap_or_default();
    let scroll = match Scroll::read(&id, &namespace, service.query.edition, now) {
        Ok(scroll) => scroll,
        Err(error @ (scroll::Error::Expired | scroll::Error::Replaced)) => {
            return Refusal::new(Code::NotFound, error.to_string()).into_response();
        }
        Err(error) => return invalid(error.to_string()).into_response(),
    };
    let searching = Arc::clone(&service);
    match tokio::task::spawn_blocking(move || go_on(&searching.query, scroll, now)).await {
        Ok(Ok(body)) => answer(StatusCode::OK, body),
        Ok(Err(refusal)) => refusal.into_response(),
        Err(_) => Refusal::new(Code::Internal, "the search failed").into_response(),
    }
}

impl Question {
    fn read(namespace: String, request: Request, now: Timestamp) -> Result<Self, Refusal> {
        let text = request.query.unwrap_or_default();
        let query = Query::parse(&text).map_err(|error| invalid(error.to_string()))?;
        let (start, end) = (request.start_time.unwrap_or_default(), request.end_time.unwrap_or_default());
        let window = Window::between(&start, &end, now).map_err(|error| invalid(error.to_string()))?;
        let sort_by = request.sort_by.unwrap_or_default();
        if !SORTS.contains(&sort_by.as_str()) {
            return Err(invalid(format!("`sort_by` is `{sort_by}`; events are sorted by `last_event_time`")));
        }
        Ok(Self {
            namespace,
            text,
            query,
            window,
            order: order(request.sort)?,
            limit: limit(request.limit)?,
            scrolls: request.scroll.unwrap_or_default(),
            aggregations: Aggregations::read(&request.aggs.unwrap_or_default(), window)?,
        })
    }

    fn answer(self, holding: &Holding, wanted: Wanted, now: Timestamp) -> (String, Asked) {
        let mut aggregations = self.aggregations;
        let filter = Filter::new(&self.namespace, &self.query);
        let range = holding.events.range(self.window);
        let mut total = 0;
        for (_, event) in holding.events.search(range.clone(), &filter, self.order) {
            total += 1;
            aggregations.add(event);
        }
        let asked = Asked::new(now, &self.namespace, &self.text, self.window, total);
        let aggregated = aggregations.answer();
        if wanted == Wanted::Aggregations {
            return (json!({"total_hits": total.to_string(), "aggs": aggregated}).to_string(), asked);
        }
        let scroll = Scroll {
            namespace: self.namespace.clone(),
            query: self.text,
            order: self.order,
            limit: self.limit,
            total,
            remaining: total,
            left: range,
            edition: holding.edition,
            given: now,
        };
        (batch(holding, &filter, scroll, self.scrolls, &aggregated), asked)
    }
}

fn go_on(holding: &Holding, scroll: Scroll, now: Timestamp) -> Result<String, Refusal> {
    let query = Query::parse(&scroll.query).map_err(|_| invalid(scroll::Error::Malformed.to_string()))?;
    let namespace = scroll.namespace.clone();
    let filter = Filter::new(&namespace, &query);
    Ok(batch(holding, &filter, Scroll { given: now, ..scroll }, true, &json!({})))
}

/// The body with the next events of a scroll; its id stands for what is left after them.
fn batch(holding: &Holding, filter: &Filter<'_>, mut scroll: Scroll, scrolls: bool, aggregated: &Value) -> String {
    let size = scroll.remaining.min(scroll.limit);
    let mut events = Vec::new();
    for (position, event) in holding
        .events
        .search(scroll.left.clone(), filter, scroll.order)
        .take(usize::try_from(size).unwrap_or(usize::MAX))
    {
        events.push(event.event.to_string());
        match scroll.order {
            Order::Ascending => scroll.left.start = position + 1,
            Order::Descending => scroll.left.end = position,
        }
    }
    scroll.remaining -= size;
    let total = scroll.total;
    let id = if scrolls && scroll.remaining > 0 { scroll.id() } else { String::new() };
    json!({"events": events, "total_hits": total.to_string(), "scroll_id": id, "aggs": aggregated}).to_string()
}

/// An enum by name or number, as the service takes it.
fn order(sort: Option<Value>) -> Result<Order, Refusal> {
    match sort {
        None | Some(Value::Null) => Ok(Order::Descending),
        Some(sort) if sort == "DESCENDING" || sort == 0 => Ok(Order::Descending),
        Some(sort) if sort == "ASCENDING" || sort == 1 => Ok(Order::Ascending),
        Some(sort) => Err(invalid(format!("`sort` is {sort}, expected \"DESCENDING\" or \"ASCENDING\""))),
    }
}

/// A number, or a number in a string; 0 is what an unset limit looks like.
fn limit(limit: Option<Value>) -> Result<u64, Refusal> {
    let number = match &limit {
        None | Some(Value::Null) => Some(0),
        Some(Value::String(text)) => text.parse().ok(),
        Some(limit) => limit.as_u64(),
    };
    match (number, limit) {
        (Some(0), _) => Ok(LIMIT),
        (Some(number), _) if number <= LIMIT => Ok(number),
        (_, limit) => {
            Err(invalid(format!("`limit` is {}, expected a whole number up to {LIMIT}", limit.unwrap_or_default())))
        }
    }
}

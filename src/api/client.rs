//! Sends requests. Every answer is bounded in size and time, and redirects are not followed. Waiting, randomness and
//! the rate limit are passed in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, DATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use tokio::sync::Semaphore;

use crate::model::share::locked;
use crate::transport::{self, Answer, Clearance, Proxies, Roots, SendError, causes};

use super::budget::{Budget, Reservation};
use super::error::{ApiError, Failure};
use super::operations::Operation;
use super::pool::ClientPool;
use super::rate_limit::RateLimiter;
use super::request::Request;
use super::response::{Response, judge};
use super::retry::{AttemptHistory, decide};
use super::secret::Secret;
use super::settings::{
    ClientProgress, ClientSettings, ClientSettingsError, Exchange, ExchangeOutcome, MaskedText, Retry,
};
use super::turn::{HeldTurn, WriteDeparture, WriteFailure};

/// How many bytes are read of a body with an error status.
const LONGEST_REFUSAL: usize = 64 * 1024;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// One try of a request.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    /// The number of the try, from 1.
    number: u32,
    id: &'a str,
    /// How long the request waited after the previous failure.
    waited: Duration,
    /// The turn that it belongs to; `None` if it waits by itself.
    turn: Option<&'a HeldTurn>,
    /// The clearance of a write.
    clearance: Option<Clearance<'a>>,
}

/// A pool for clients of the service in `settings`, with its limits. If `beside` is given, the answers of both pools
/// share one memory limit.
///
/// # Errors
/// Certificates or a proxy that cannot be used.
pub fn pool(settings: &ClientSettings, beside: Option<&ClientPool>) -> Result<ClientPool, ClientSettingsError> {
    let ClientSettings { base_url, trust, bounds, .. } = settings;
    let is_own = base_url.is_loopback() && (base_url.as_str().starts_with("http:") || trust.authorities.is_some());
    let tls = transport::configure(if is_own { Roots::Given } else { Roots::System }, trust)?;
    let proxy = settings.proxy()?;
    let proxies = if proxy.is_some() { settings.proxies.clone() } else { Proxies::default() };
    let client = transport::client(tls, proxies, bounds.connect).build();
    let client = client.map_err(|error| ClientSettingsError::Client(error.to_string()))?;
    let throttle = Arc::new(RateLimiter::new(settings.rate, Instant::now()));
    let permits = Arc::new(Semaphore::new(settings.concurrency.max(1)));
    let budget = beside.map_or_else(|| Budget::new(bounds.memory), |pool| pool.budget.clone());
    Ok(ClientPool { client, proxy, throttle, permits, budget })
}

/// A client with its counts.
pub(super) struct Client {
    pub(super) shared: ClientPool,
    /// The headers of every request.
    headers: HeaderMap,
    /// The URL before the path of each request.
    origin: String,
    pub(super) settings: ClientSettings,
    pub(super) counts: Mutex<BTreeMap<Operation, u64>>,
    /// The `Date` of the last answer, unparsed.
    pub(super) date: Mutex<Option<HeaderValue>>,
}

impl Client {
    pub(super) fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        let is_short = settings.token.as_ref().is_some_and(Secret::is_short);
        if is_short && !settings.base_url.is_loopback() {
            return Err(ClientSettingsError::ShortToken);
        }
        let shared = match &settings.pool {
            Some(pool) => pool.clone(),
            None => pool(&settings, None)?,
        };
        let origin = match settings.address {
            Some(address) => format!("http://{address}"),
            None => settings.base_url.to_string(),
        };
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::with_capacity(16);
        headers.extend([(ACCEPT, json), (ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        headers.extend(settings.token.as_ref().map(|token| (AUTHORIZATION, token.authorization())));
        Ok(Self { shared, headers, origin, counts: Mutex::default(), date: Mutex::default(), settings })
    }

    /// Sends a request and its repeats, as its operation allows; the first try is part of the turn, if there is one.
    pub(super) async fn send(&self, request: &Request, turn: Option<&HeldTurn>) -> Result<Response, ApiError> {
        let id = self.settings.ids.request_id();
        let mut tried = AttemptHistory::default();
        let (mut number, mut waited) = (1, Duration::ZERO);
        loop {
            // A repeat is a separate request, but a search for the first id finds it too.
            let request_id = if number == 1 { Cow::from(&id) } else { Cow::from(format!("{id}.{number}")) };
            let attempt = Attempt { number, id: &request_id, waited, turn, clearance: None };
            let failure = match self.attempt(request, attempt).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(after) = self.repeat(request.operation, &failure, &mut tried) else {
                return Err(ApiError { request_id: Some(id), ..request.failed(failure) });
            };
            self.settings.pace.wait(after).await;
            (number, waited) = (number + 1, after);
        }
    }

    /// Sends a write once, as the last request of its turn. It is not repeated here: the caller reads the object first.
    pub(super) async fn send_write(
        &self,
        request: &Request,
        turn: Option<&HeldTurn>,
        departure: WriteDeparture<'_>,
    ) -> Result<Response, WriteFailure> {
        let WriteDeparture { request_id: id, clearance, tried } = departure;
        let (number, waited) = (tried.total() + 1, Duration::ZERO);
        let attempt = Attempt { number, id, waited, turn, clearance: Some(clearance) };
        self.attempt(request, attempt).await.map_err(|failure| {
            let again = self.repeat(request.operation, &failure, tried);
            WriteFailure { error: ApiError { request_id: Some(id.to_owned()), ..request.failed(failure) }, again }
        })
    }

    /// The wait before a failed request may be sent again, if it may. After a 429 the rate limiter delays all requests,
    /// so that this one needs no wait of its own.
    fn repeat(&self, operation: Operation, failure: &Failure, tried: &mut AttemptHistory) -> Option<Duration> {
        // A request that used all its time would do so again, and a plan would wait for every repeat.
        let took_all = matches!(failure, Failure::TimedOut(after) if *after >= self.settings.bounds.total);
        let after = match took_all {
            true => None,
            false => decide(operation.entry().repeat, failure, tried, self.settings.pace.fraction()),
        };
        let Some(after) = after else {
            self.report(&ClientProgress::Answered);
            return None;
        };
        let (before, most) = tried.repeats(failure);
        self.report(&ClientProgress::Waiting(Retry { after, reason: failure.brief(), number: before + 1, most }));
        *tried = tried.and(failure);
        match failure {
            Failure::Status(refusal) if refusal.status == 429 => {
                self.shared.throttle.pause(Instant::now(), after);
                Some(Duration::ZERO)
            }
            _ => Some(after),
        }
    }

    /// Whether another request may be in flight.
    pub(super) fn has_room(&self) -> bool {
        self.shared.permits.available_permits() > 0
    }

    /// Waits for a turn of this many requests.
    pub(super) async fn turn(&self, requests: u32) -> HeldTurn {
        let permit = Arc::clone(&self.shared.permits).acquire_owned().await;
        // The turn owns its places before it waits for them, so that they are released if the caller is dropped.
        let turn = HeldTurn::new(self.shared.clone(), permit.ok(), requests);
        self.settings.pace.wait(turn.wait()).await;
        turn
    }

    /// Reports slow work to the listener.
    pub(super) fn report(&self, progress: &ClientProgress) {
        if let Some(listener) = &self.settings.progress {
            listener(progress);
        }
    }

    async fn attempt(&self, request: &Request, attempt: Attempt<'_>) -> Result<Response, Failure> {
        // The semaphore is never closed. A turn already has its permit.
        let _permit = match attempt.turn {
            None => self.shared.permits.acquire().await.ok(),
            Some(_) => None,
        };
        // A repeated read must not use the place of the write.
        let has_place = attempt.number == 1 || attempt.clearance.is_some();
        let wait = match attempt.turn.filter(|_| has_place).and_then(HeldTurn::take) {
            Some(waited) => waited,
            None => {
                let wait = self.shared.throttle.admit(Instant::now(), 1).wait;
                self.settings.pace.wait(wait).await;
                wait
            }
        };
        let pauses = self.shared.throttle.pauses();
        let started = Instant::now();
        // Boxed, because otherwise every future above would be as large.
        let mut status = None;
        let result = Box::pin(self.exchange(request, attempt, started, &mut status)).await;
        if matches!(result, Err(Failure::NotCleared)) {
            return result;
        }
        *locked(&self.counts).entry(request.operation).or_default() += 1;
        if result.is_ok() {
            self.shared.throttle.recover();
            self.report(&ClientProgress::Answered);
        } else if status == Some(429) {
            self.shared.throttle.slow(pauses);
        }
        if let Some(listener) = &self.settings.listener {
            listener(&Exchange {
                operation: request.operation,
                method: &request.method,
                path_and_query: MaskedText::new(&request.path_and_query, self.settings.token.as_ref()),
                attempt: attempt.number,
                outcome: ExchangeOutcome(&result),
                status,
                failure: result.as_ref().err().map(Failure::word),
                request_id: attempt.id,
                took: started.elapsed(),
                waited: attempt.waited + wait,
            });
        }
        result
    }

    /// Sends a request and reads its answer; `status` is set even if that fails.
    async fn exchange(
        &self,
        request: &Request,
        attempt: Attempt<'_>,
        started: Instant,
        status: &mut Option<u16>,
    ) -> Result<Response, Failure> {
        let sent = transport::send(&self.shared.client, self.http_request(request, attempt.id)?, attempt.clearance);
        let mut answer = self.in_time(started, sent).await?;
        *status = Some(answer.status().as_u16());
        if let Some(date) = answer.headers().get(DATE) {
            *locked(&self.date) = Some(date.clone());
        }
        let body = self.body(&mut answer, started).await?;
        judge(request, answer.status(), answer.headers(), body, self.settings.token.as_ref())
    }

    fn http_request(&self, request: &Request, id: &str) -> Result<reqwest::Request, Failure> {
        let url = Url::parse(&format!("{}{}", self.origin, request.path_and_query));
        let url = url.map_err(|error| Failure::NotBuilt(self.masked(&error.to_string())))?;
        let mut built = reqwest::Request::new(request.method.clone(), url);
        *built.body_mut() = request.body.clone().map(Into::into);
        *built.headers_mut() = self.headers.clone();
        let headers = built.headers_mut();
        if request.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let span = self.settings.ids.span();
        let state = self.settings.ids.state();
        for (name, value) in [(REQUEST_ID, Some(id)), (TRACEPARENT, span.as_deref()), (TRACESTATE, state)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        Ok(built)
    }

    /// Waits for a part of an exchange, within the limits for silence and for the whole request.
    async fn in_time<T>(
        &self,
        started: Instant,
        part: impl Future<Output = Result<T, SendError>>,
    ) -> Result<T, Failure> {
        let bounds = &self.settings.bounds;
        let rest = bounds.total.saturating_sub(started.elapsed());
        let longest = if rest <= bounds.idle { bounds.total } else { bounds.idle };
        // A future that is always ready would never time out below.
        if rest.is_zero() {
            return Err(Failure::TimedOut(longest));
        }
        match tokio::time::timeout(rest.min(bounds.idle), part).await {
            Ok(result) => result.map_err(|error| self.failure(error)),
            Err(_) => Err(Failure::TimedOut(longest)),
        }
    }

    /// The body up to its limit; for an error status only its beginning.
    async fn body(&self, answer: &mut Answer, started: Instant) -> Result<Bytes, Failure> {
        let status = answer.status();
        let limit = if status.is_success() { self.settings.bounds.body } else { LONGEST_REFUSAL };
        let mut whole = BytesMut::new();
        let mut share = self.shared.budget.share();
        if let Some(length) = answer.length().map(|length| length.min(limit)) {
            self.grow(&mut share, length, started).await?;
            whole.reserve(length);
        }
        let (bounds, mut window, mut arrived) = (&self.settings.bounds, Instant::now(), 0);
        loop {
            let piece = match self.in_time(started, answer.chunk()).await {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(share.keep(whole.freeze())),
                // The status already shows what happened; a missing end of the explanation does not matter.
                Err(_) if !status.is_success() => return Ok(whole.freeze()),
                Err(failure) => return Err(failure),
            };
            arrived += piece.len();
            let since = window.elapsed();
            if since >= bounds.window {
                if arrived < bounds.least && status.is_success() {
                    return Err(Failure::TooSlow { bytes: arrived, after: since });
                }
                (window, arrived) = (Instant::now(), 0);
            }
            let room = limit - whole.len();
            if piece.len() <= room {
                let asked = Instant::now();
                self.grow(&mut share, capacity_with(&whole, piece.len()), started).await?;
                // Waiting for memory does not count as slowness of the service.
                window += asked.elapsed();
                whole.extend_from_slice(&piece);
            } else if status.is_success() {
                return Err(Failure::TooLarge(limit));
            } else {
                whole.extend_from_slice(&piece[..room]);
                return Ok(whole.freeze());
            }
        }
    }

    /// Waits until the answer may use this many bytes, within the time limit of the request.
    async fn grow(&self, share: &mut Reservation, bytes: usize, started: Instant) -> Result<(), Failure> {
        let total = self.settings.bounds.total;
        let rest = total.saturating_sub(started.elapsed());
        tokio::time::timeout(rest, share.grow_to(bytes)).await.map_err(|_| Failure::TimedOut(total))
    }

    fn failure(&self, error: SendError) -> Failure {
        match error {
            SendError::NotBuilt(error) => Failure::NotBuilt(self.masked(&innermost(&error))),
            SendError::NotConnected(error) => match transport::fault(&error, &self.settings.trust) {
                Some(reason) => Failure::Tls(self.masked(&reason)),
                None => {
                    let reason = innermost(&error);
                    let reason = match &self.shared.proxy {
                        Some(proxy) => {
                            format!("{reason} (through the proxy {proxy}); check HTTPS_PROXY, ALL_PROXY and NO_PROXY")
                        }
                        None => format!("{reason}; is the base URL right?"),
                    };
                    Failure::Connect(self.masked(&reason))
                }
            },
            SendError::Cut(error) => {
                if let Some(reason) = transport::refusal(&*error, &self.settings.trust) {
                    return Failure::ClientCertificate(reason);
                }
                let mut parsed = causes(&*error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
                let is_answer = !parsed.any(hyper::Error::is_parse);
                let advice = if is_answer { "" } else { "; is it the port of HTTPS or of another protocol?" };
                Failure::Cut(self.masked(&format!("{}{advice}", innermost(&*error))))
            }
            SendError::NotCleared => Failure::NotCleared,
        }
    }

    fn masked(&self, text: &str) -> String {
        MaskedText::new(text, self.settings.token.as_ref()).to_string()
    }
}

/// The capacity of `whole` with this many more bytes: a full buffer doubles.
pub(super) fn capacity_with(whole: &BytesMut, more: usize) -> usize {
    let (length, capacity) = (whole.len() + more, whole.capacity());
    if length <= capacity { capacity } else { length.max(2 * capacity) }
}

/// The text of the innermost cause, which the outer ones repeat.
fn innermost(error: &(dyn Error + 'static)) -> String {
    // The system's error number is removed, and texts of libraries are replaced.
    let text = causes(error).last().unwrap_or(error).to_string();
    // Windows ends its texts with a full stop.
    match text.split(" (os error").next().unwrap_or(&text).trim_end_matches('.') {
        "tunnel error: unsuccessful" => "the proxy refused to open a tunnel to the service".to_owned(),
        "tunnel error: proxy authorization required" => "the proxy asks for a login".to_owned(),
        "invalid HTTP version parsed" => "the answer is not HTTP".to_owned(),
        text => text.to_owned(),
    }
}

impl Request {
    pub(super) fn failed(&self, failure: Failure) -> ApiError {
        ApiError { operation: self.operation, subject: self.subject.clone(), failure, request_id: None }
    }
}

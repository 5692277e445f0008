//! The one file that opens connections. Every answer is bounded in size and time, no redirect is
//! followed, and waiting, chance and the limit of requests are passed in.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use reqwest::Url;

use super::base_url::SANDBOX_HOST;
use super::budget::{Budget, Reservation};
use super::error::{ApiError, Failure};
use super::operations::Operation;
use super::pool::ClientPool;
use super::request::Request;
use super::response::{Response, date, judge};
use super::retry::{AttemptHistory, RetryDecision, decide};
use super::secret::Secret;
use super::settings::{ClientProgress, ClientSettings, ClientSettingsError, Exchange, Retry};
use super::text::neutral;
use super::tls;

/// Bytes that are read of a body with a bad status.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// How long an unused connection is kept: shorter than what stands before services usually keeps it.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// One try of a request.
#[derive(Clone, Copy)]
struct Attempt {
    /// From 1.
    number: u32,
    /// How long the request waited after the failure before.
    waited: Duration,
}

/// A pool for clients of the service in `settings`, with the limits in them. With `beside`, the answers of both pools
/// share one memory.
///
/// # Errors
/// Certificates that cannot be used.
pub fn pool(settings: &ClientSettings, beside: Option<&ClientPool>) -> Result<ClientPool, ClientSettingsError> {
    let tls = tls::configure(&settings.base_url, &settings.trust)?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("trueup/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.bounds.connect)
        .read_timeout(settings.bounds.idle)
        .timeout(settings.bounds.total)
        .pool_idle_timeout(IDLE_CONNECTION)
        .tcp_nodelay(true);
    if settings.base_url.is_loopback() {
        // Whatever a resolver or a proxy says, a token sent without TLS stays on this machine.
        let here = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
        builder = builder.no_proxy().resolve_to_addrs("localhost", &here).resolve_to_addrs(SANDBOX_HOST, &here);
    }
    let http = builder.build().map_err(|error| ClientSettingsError::Client { reason: innermost(&error) })?;
    let memory = match beside {
        Some(pool) => pool.memory(),
        None => Budget::new(settings.bounds.memory),
    };
    Ok(ClientPool::new(http, settings.rate, settings.concurrency, memory))
}

/// A client with what it counted.
pub(super) struct Client {
    shared: ClientPool,
    /// With a slash at its end.
    root: Url,
    pub(super) settings: ClientSettings,
    pub(super) counts: Mutex<BTreeMap<Operation, u64>>,
    /// What the clock of the service showed when it sent the last answer.
    pub(super) date: Mutex<Option<Timestamp>>,
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
        let root = match settings.address {
            Some(address) => format!("http://{address}/"),
            None => format!("{}/", settings.base_url.as_str()),
        };
        let root = Url::parse(&root).map_err(|error| ClientSettingsError::Client { reason: error.to_string() })?;
        Ok(Self { shared, root, counts: Mutex::default(), date: Mutex::default(), settings })
    }

    /// Sends a request, again as often as its operation allows.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, ApiError> {
        self.send_as(request, &self.settings.ids.request_id()).await
    }

    /// [`Self::send`] with this request id.
    pub(super) async fn send_as(&self, request: &Request, id: &str) -> Result<Response, ApiError> {
        let repeat = request.operation.entry().repeat;
        let mut tried = AttemptHistory::default();
        let mut attempt = Attempt { number: 1, waited: Duration::ZERO };
        loop {
            let failure = match self.attempt(request, id, attempt).await {
                Ok(answer) => {
                    self.shared.limits().throttle.recover();
                    self.report(&ClientProgress::Answered);
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            // What takes the whole time once takes it again: a plan would wait for all repeats.
            let took_all = matches!(failure, Failure::TimedOut { after } if after >= self.settings.bounds.total);
            let decision = match took_all {
                true => RetryDecision::Stop,
                false => decide(repeat, &failure, &tried, self.settings.pace.fraction()),
            };
            let RetryDecision::Again { after } = decision else {
                self.report(&ClientProgress::Answered);
                return Err(ApiError { request_id: Some(id.to_owned()), ..request.failed(failure) });
            };
            let (before, most) = tried.repeats(&failure);
            self.report(&ClientProgress::Waiting(Retry { after, reason: failure.brief(), number: before + 1, most }));
            match &failure {
                // Everybody waits, this request with them.
                Failure::Status(refusal) if refusal.status == 429 => {
                    self.shared.limits().throttle.slow(Instant::now(), after);
                }
                _ => {
                    self.settings.pace.wait(after).await;
                    attempt.waited = after;
                }
            }
            tried = tried.and(&failure);
            attempt.number += 1;
        }
    }

    /// The memory of the answers.
    #[cfg(test)]
    pub(super) fn budget(&self) -> Budget {
        self.shared.memory()
    }

    /// Reports what takes time to who listens.
    pub(super) fn report(&self, progress: &ClientProgress) {
        if let Some(listener) = &self.settings.progress {
            listener(progress);
        }
    }

    async fn attempt(&self, request: &Request, id: &str, attempt: Attempt) -> Result<Response, Failure> {
        // The semaphore is never closed.
        let _permit = self.shared.limits().permits.acquire().await;
        let wait = self.shared.limits().throttle.admit(Instant::now());
        self.settings.pace.wait(wait).await;
        // A repeat is a request of its own, and found by the same text.
        let request_id = if attempt.number == 1 { id.to_owned() } else { format!("{id}.{}", attempt.number) };
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(request.operation).or_default() += 1;
        let started = Instant::now();
        let result = self.exchange(request, &request_id, started).await;
        if let Some(listener) = &self.settings.listener {
            let outcome = match &result {
                Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
                Err(failure) => failure.to_string(),
            };
            listener(&Exchange {
                operation: request.operation,
                method: request.method.clone(),
                path_and_query: self.masked(&request.path_and_query),
                attempt: attempt.number,
                outcome,
                status: match &result {
                    Ok(answer) => Some(answer.status),
                    Err(failure) => failure.status(),
                },
                failure: result.as_ref().err().map(Failure::word),
                request_id,
                took: started.elapsed(),
                waited: attempt.waited + wait,
            });
        }
        result
    }

    async fn exchange(&self, request: &Request, id: &str, started: Instant) -> Result<Response, Failure> {
        let failed = |error: reqwest::Error| self.failure(error, started.elapsed());
        let response = self.shared.limits().http.execute(self.http_request(request, id)?).await.map_err(failed)?;
        let status = response.status();
        let headers = response.headers().clone();
        if let Some(date) = date(&headers) {
            *self.date.lock().unwrap_or_else(PoisonError::into_inner) = Some(date);
        }
        let body = self.body(response, status, started).await?;
        judge(request.operation, status, &headers, body, self.settings.token.as_ref())
    }

    fn http_request(&self, request: &Request, id: &str) -> Result<reqwest::Request, Failure> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.settings.token {
            headers.insert(AUTHORIZATION, token.authorization());
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if request.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let span = self.settings.ids.span();
        for (name, value) in [(REQUEST_ID, Some(id)), (TRACEPARENT, span.as_deref())] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        // The host is parsed once for all requests.
        let url = self.root.join(request.path_and_query.trim_start_matches('/'));
        let url = url.map_err(|error| Failure::NotBuilt { reason: self.masked(&error.to_string()) })?;
        let mut built = reqwest::Request::new(request.method.clone(), url);
        *built.headers_mut() = headers;
        *built.body_mut() = request.body.clone().map(reqwest::Body::from);
        Ok(built)
    }

    /// The body, up to its bound; of a refusal, its beginning.
    async fn body(
        &self,
        mut response: reqwest::Response,
        status: StatusCode,
        started: Instant,
    ) -> Result<Bytes, Failure> {
        let limit = if status.is_success() { self.settings.bounds.body } else { LONGEST_REFUSAL };
        let rendered = response.content_length().and_then(|length| usize::try_from(length).ok());
        let mut whole = BytesMut::new();
        let mut share = self.shared.limits().budget.share();
        if let Some(length) = rendered.map(|length| length.min(limit)) {
            self.grow(&mut share, length, started).await?;
            whole.reserve(length);
        }
        let (bounds, mut window, mut arrived) = (&self.settings.bounds, Instant::now(), 0);
        loop {
            let piece = match response.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(share.keep(whole.freeze())),
                // The status already says what happened; a lost end of the explanation changes nothing.
                Err(_) if !status.is_success() => return Ok(whole.freeze()),
                Err(error) => return Err(self.failure(error, started.elapsed())),
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
                // The service is not slow while the answer waits for memory.
                window += asked.elapsed();
                whole.extend_from_slice(&piece);
            } else if status.is_success() {
                return Err(Failure::TooLarge { limit });
            } else {
                whole.extend_from_slice(&piece[..room]);
                return Ok(whole.freeze());
            }
        }
    }

    /// Waits until the answer may take so many bytes, no longer than the request may take.
    async fn grow(&self, share: &mut Reservation, bytes: usize, started: Instant) -> Result<(), Failure> {
        let total = self.settings.bounds.total;
        let rest = total.saturating_sub(started.elapsed());
        tokio::time::timeout(rest, share.grow_to(bytes)).await.map_err(|_| Failure::TimedOut { after: total })
    }

    fn failure(&self, error: reqwest::Error, took: Duration) -> Failure {
        let error = error.without_url();
        let reason = self.masked(&innermost(&error));
        let bounds = &self.settings.bounds;
        if error.is_builder() {
            Failure::NotBuilt { reason }
        } else if error.is_connect() {
            match (tls_error(&error), error.is_timeout()) {
                (Some(reason), _) => Failure::Tls { reason: self.masked(&reason) },
                (None, true) => {
                    let reason = format!("none within {} seconds", bounds.connect.as_secs_f64());
                    Failure::Connect { reason }
                }
                (None, false) => Failure::Connect { reason },
            }
        } else if error.is_timeout() {
            Failure::TimedOut { after: if took >= bounds.total { bounds.total } else { bounds.idle } }
        } else {
            Failure::Cut { reason }
        }
    }

    fn masked(&self, text: &str) -> String {
        // Masked after neutralising, which could join the parts of a token, and before cutting, which
        // could leave half of one.
        let text = neutral(text, usize::MAX / 8);
        let text = self.settings.token.as_ref().map_or_else(|| text.clone(), |token| token.scrub(&text));
        neutral(&text, 2_000)
    }
}

/// The memory of `whole` with so many more bytes: a buffer that is full doubles.
pub(super) fn capacity_with(whole: &BytesMut, more: usize) -> usize {
    let (length, capacity) = (whole.len() + more, whole.capacity());
    if length <= capacity { capacity } else { length.max(2 * capacity) }
}

/// What the cause of all causes says: the others repeat it.
fn innermost(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text
}

fn tls_error(error: &reqwest::Error) -> Option<String> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(found) = tls_cause(cause) {
            return Some(found.to_string());
        }
        source = cause.source();
    }
    None
}

/// The TLS error that `cause` is, or that it wraps as an error of IO does, any number of times.
fn tls_cause<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = cause;
    loop {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        cause = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    }
}

impl Request {
    pub(super) fn failed(&self, failure: Failure) -> ApiError {
        ApiError { operation: self.operation, subject: self.subject.clone(), failure, request_id: None }
    }
}

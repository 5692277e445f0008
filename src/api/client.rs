//! The one file that opens connections. [`Reader`] has only operations that look; [`Writer`] owns a
//! reader and adds those that change something, so a command that only looks cannot write. Every
//! answer is bounded in size and time, no redirect is followed, and waiting, chance and the limit of
//! requests are passed in.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::Url;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::model::{Json, Key, Layout, Namespace, ReferredDelete};

use super::base_url::{BaseUrl, SANDBOX_HOST};
use super::budget::{Budget, Reservation};
use super::endpoints::{self, ListParameters, ResponseFormat};
use super::error::{ApiError, Failure};
use super::operations::{Operation, OperationEffect};
use super::rate_limit::{RateLimit, RateLimiter, Timing};
use super::request::{ReadRequest, Request, RequestError};
use super::response::{Response, judge};
use super::retry::{AttemptHistory, RetryDecision, decide};
use super::secret::Secret;
use super::text::neutral;
use super::tls::{self, TlsError, TlsTrust};

/// Bytes that are read of a body with a bad status.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// How long an unused connection is kept: shorter than what stands before services usually keeps it.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// How long and how much is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Until a connection stands.
    pub connect: Duration,
    /// Between two pieces of an answer, and until the first.
    pub idle: Duration,
    /// For a request whole.
    pub total: Duration,
    /// In which [`Self::least`] bytes of a body that is not whole have to arrive.
    pub window: Duration,
    /// Bytes that have to arrive in each [`Self::window`].
    pub least: usize,
    /// Bytes of an answer, after decompression.
    pub body: usize,
    /// Bytes of all answers that are in memory at the same time; one answer alone may always be larger.
    pub memory: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(180),
            window: Duration::from_secs(30),
            least: 4096,
            body: 512 * 1024 * 1024,
            memory: 1024 * 1024 * 1024,
        }
    }
}

/// One exchange with the service, as `--verbose` prints it. It holds no token.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The operation.
    pub operation: Operation,
    /// The method.
    pub method: http::Method,
    /// Path and query.
    pub path_and_query: String,
    /// 1 for the first time that the request was sent.
    pub attempt: u32,
    /// The status or the failure.
    pub outcome: String,
    /// How long it took.
    pub took: Duration,
}

/// Receives every exchange.
pub type ExchangeListener = Arc<dyn Fn(&Exchange) + Send + Sync>;

/// What a client needs to know.
#[derive(Clone)]
pub struct ClientSettings {
    /// Where the service is.
    pub base_url: BaseUrl,
    /// Which paths it has.
    pub layout: Layout,
    /// The API token; nothing where the client certificate alone says who we are.
    pub token: Option<Secret>,
    /// Where to connect instead of asking for the host's address: the embedded service's port.
    pub address: Option<SocketAddr>,
    /// Certificates.
    pub trust: TlsTrust,
    /// Sizes and times.
    pub bounds: RequestLimits,
    /// The limit of requests; none where the service is on this machine and none was asked for.
    pub rate: Option<RateLimit>,
    /// Requests at the same time, at least 1.
    pub concurrency: usize,
    /// How to wait.
    pub pace: Timing,
    /// Receives every exchange.
    pub listener: Option<ExchangeListener>,
}

impl ClientSettings {
    /// The usual settings for a service.
    #[must_use]
    pub fn new(base_url: BaseUrl, layout: Layout, token: Option<Secret>, pace: Timing) -> Self {
        let rate = (!base_url.is_loopback()).then_some(RateLimit::CAREFUL);
        Self {
            base_url,
            layout,
            token,
            address: None,
            trust: TlsTrust::default(),
            bounds: RequestLimits::default(),
            rate,
            concurrency: 8,
            pace,
            listener: None,
        }
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("base_url", &self.base_url)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// Settings with which no client can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientSettingsError {
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A token that is too short.
    #[error(
        "the token is shorter than 16 characters: it cannot be distinguished from ordinary text, so it is accepted only for a service on this machine"
    )]
    ShortToken,
    /// The HTTP library.
    #[error("the HTTP client cannot be set up: {reason}")]
    Client {
        /// What it says.
        reason: String,
    },
}

struct Client {
    http: reqwest::Client,
    /// With a slash at its end.
    root: Url,
    settings: ClientSettings,
    throttle: RateLimiter,
    permits: Semaphore,
    budget: Budget,
    counts: Mutex<BTreeMap<Operation, u64>>,
}

/// A client that only looks.
#[derive(Clone)]
pub struct Reader {
    client: Arc<Client>,
}

/// A client that may change something.
#[derive(Clone, Debug)]
pub struct Writer {
    reader: Reader,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("settings", &self.client.settings).finish()
    }
}

impl Client {
    fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        let is_short = settings.token.as_ref().is_some_and(Secret::is_short);
        if is_short && !settings.base_url.is_loopback() {
            return Err(ClientSettingsError::ShortToken);
        }
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
        let root = match settings.address {
            Some(address) => format!("http://{address}/"),
            None => format!("{}/", settings.base_url.as_str()),
        };
        let root = Url::parse(&root).map_err(|error| ClientSettingsError::Client { reason: error.to_string() })?;
        Ok(Self {
            http,
            root,
            throttle: RateLimiter::new(settings.rate, Instant::now()),
            permits: Semaphore::new(settings.concurrency.max(1)),
            budget: Budget::new(settings.bounds.memory),
            counts: Mutex::default(),
            settings,
        })
    }

    async fn send(&self, request: &Request) -> Result<Response, ApiError> {
        let repeat = request.operation.entry().repeat;
        let mut tried = AttemptHistory::default();
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(request, attempt).await {
                Ok(answer) => {
                    self.throttle.recover();
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
            let refused = matches!(&failure, Failure::Status(refusal) if refusal.status == 429);
            match decision {
                RetryDecision::Stop => return Err(request.failed(failure)),
                // Everybody waits, this request with them.
                RetryDecision::Again { after } if refused => self.throttle.slow(Instant::now(), after),
                RetryDecision::Again { after } => self.settings.pace.wait(after).await,
            }
            tried = tried.and(&failure);
            attempt += 1;
        }
    }

    async fn attempt(&self, request: &Request, attempt: u32) -> Result<Response, Failure> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        self.settings.pace.wait(self.throttle.admit(Instant::now())).await;
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(request.operation).or_default() += 1;
        let started = Instant::now();
        let result = self.exchange(request, started).await;
        if let Some(listener) = &self.settings.listener {
            let outcome = match &result {
                Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
                Err(failure) => failure.to_string(),
            };
            listener(&Exchange {
                operation: request.operation,
                method: request.method.clone(),
                path_and_query: self.masked(&request.path_and_query),
                attempt,
                outcome,
                took: started.elapsed(),
            });
        }
        result
    }

    async fn exchange(&self, request: &Request, started: Instant) -> Result<Response, Failure> {
        let failed = |error: reqwest::Error| self.failure(error, started.elapsed());
        let response = self.http.execute(self.http_request(request)?).await.map_err(failed)?;
        let status = response.status();
        let headers = response.headers().clone();
        let body = self.body(response, status, started).await?;
        judge(request.operation, status, &headers, body, self.settings.token.as_ref())
    }

    fn http_request(&self, request: &Request) -> Result<reqwest::Request, Failure> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.settings.token {
            headers.insert(AUTHORIZATION, token.authorization());
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if request.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
        let mut share = self.budget.share();
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
        ApiError { operation: self.operation, subject: self.subject.clone(), failure }
    }
}

/// A question of ours with its answer.
pub(super) struct RequestAnswer {
    pub(super) request: Request,
    answer: Response,
}

impl RequestAnswer {
    pub(super) fn json<'body, T: serde::Deserialize<'body>>(&'body self) -> Result<T, ApiError> {
        self.answer.json().map_err(|failure| self.request.failed(failure))
    }
}

/// A request that could not be built, as a failure of its operation.
fn unbuilt(operation: Operation, subject: String) -> impl FnOnce(RequestError) -> ApiError {
    move |error| ApiError { operation, subject, failure: Failure::NotBuilt { reason: error.to_string() } }
}

/// The same for one endpoint.
fn unbuilt_of(operation: Operation, key: &Key) -> impl FnOnce(RequestError) -> ApiError {
    move |error| unbuilt(operation, endpoints::subject(key))(error)
}

#[cfg(test)]
impl Reader {
    /// The memory of the answers.
    pub(super) fn budget(&self) -> &Budget {
        &self.client.budget
    }
}

impl Reader {
    /// A client that only looks. It connects with its first request.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { client: Arc::new(Client::new(settings)?) })
    }

    /// Where the service is.
    #[must_use]
    pub fn base_url(&self) -> &BaseUrl {
        &self.client.settings.base_url
    }

    /// Which paths it has.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.client.settings.layout
    }

    /// Requests at the same time.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.client.settings.concurrency.max(1)
    }

    /// Requests sent so far, by operation, repeats included.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<Operation, u64> {
        self.client.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request that only looks.
    ///
    /// # Errors
    /// Whatever goes wrong, after the repeats that its operation allows.
    pub async fn ask(&self, look: &ReadRequest) -> Result<Response, ApiError> {
        self.client.send(look.request()).await
    }

    /// One endpoint as JSON, in this format.
    ///
    /// # Errors
    /// [`ApiError::is_absent`] where it is not there.
    pub async fn get(&self, key: &Key, format: ResponseFormat) -> Result<Json, ApiError> {
        let request = endpoints::get(self.layout(), key, format).map_err(unbuilt_of(Operation::EndpointGet, key))?;
        let answer = self.whole(&request).await?;
        answer.json().map_err(|failure| request.failed(failure))
    }

    /// The list of a namespace as it came.
    ///
    /// # Errors
    /// Whatever goes wrong.
    pub async fn list(&self, namespace: &Namespace, parameters: &ListParameters) -> Result<Response, ApiError> {
        let request = endpoints::list(self.layout(), namespace, parameters)
            .map_err(unbuilt(Operation::EndpointList, format!("endpoints of `{namespace}`")))?;
        self.whole(&request).await
    }

    /// Sends a request that reads; anything but a 200 is not a answer to it.
    async fn whole(&self, request: &Request) -> Result<Response, ApiError> {
        let answer = self.client.send(request).await?;
        match answer.is_whole() {
            true => Ok(answer),
            false => Err(request.failed(Failure::Odd { reason: format!("with the status {}", answer.status) })),
        }
    }

    /// Sends a request that was just built.
    pub(super) async fn question(
        &self,
        operation: Operation,
        request: Result<Request, RequestError>,
    ) -> Result<RequestAnswer, ApiError> {
        let request = request.map_err(unbuilt(operation, operation.entry().area.to_lowercase()))?;
        debug_assert_eq!(request.operation.entry().effect, OperationEffect::Reads, "a reader only looks");
        let answer = self.whole(&request).await?;
        Ok(RequestAnswer { request, answer })
    }
}

impl Writer {
    /// A client that may change something.
    ///
    /// # Errors
    /// [`ClientSettingsError`]: certificates that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientSettingsError> {
        Ok(Self { reader: Reader::new(settings)? })
    }

    /// The part that only looks; both share connections, limits and counts.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Creates the endpoint `key`; `body` holds `metadata` and `spec`.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can be there all the same.
    pub async fn create(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        let request = endpoints::create(self.reader.layout(), key, body);
        self.change(request.map_err(unbuilt_of(Operation::EndpointCreate, key))?, Some(key)).await
    }

    /// Replaces the endpoint `key` by `body`: `metadata`, `spec` and, to be versioned, the root
    /// `resource_version`.
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can have been replaced all the same.
    pub async fn replace(&self, key: &Key, body: &RawValue) -> Result<(), ApiError> {
        let request = endpoints::replace(self.reader.layout(), key, body);
        self.change(request.map_err(unbuilt_of(Operation::EndpointReplace, key))?, Some(key)).await
    }

    /// Deletes the endpoint `key`; see [`endpoints::delete`].
    ///
    /// # Errors
    /// [`ApiError::certainty`] shows whether it can be gone all the same.
    pub async fn delete(&self, key: &Key, referred: ReferredDelete) -> Result<(), ApiError> {
        let request = endpoints::delete(self.reader.layout(), key, referred);
        self.change(request.map_err(unbuilt_of(Operation::EndpointDelete, key))?, Some(key)).await
    }

    /// Sends any request: what `call` does with an operation that changes something.
    ///
    /// # Errors
    /// Whatever goes wrong.
    pub async fn call(&self, request: &Request) -> Result<Response, ApiError> {
        self.reader.client.send(request).await
    }

    /// Sends a write, of the endpoint `key` where it is about one. A good status without the body that the
    /// operation promises may come from something in between, or be about something else, so it is a failure
    /// of unknown effect.
    pub(super) async fn change(&self, request: Request, key: Option<&Key>) -> Result<(), ApiError> {
        let answer = self.reader.client.send(&request).await?;
        answer.acknowledges(request.operation, key).map_err(|failure| request.failed(failure))
    }
}

//! The settings of a client: address, credentials, and limits for time, rate and size.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Layout, displayed, neutral};
use crate::transport::{self, Proxies, ProxyError, TlsError, TlsTrust};

use super::base_url::BaseUrl;
use super::error::Failure;
use super::operations::Operation;
use super::pool::ClientPool;
use super::rate_limit::{RateLimit, Timing};
use super::response::{Response, masked};
use super::secret::Secret;
use super::trace::RequestIds;

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// The time until a connection is open.
    pub connect: Duration,
    /// The time until the first piece of an answer, and between two pieces.
    pub idle: Duration,
    /// The time for a whole request.
    pub total: Duration,
    /// The time in which at least [`Self::least`] bytes of an unfinished body have to arrive.
    pub window: Duration,
    /// The bytes that have to arrive in each [`Self::window`].
    pub least: usize,
    /// The largest answer in bytes, after decompression.
    pub body: usize,
    /// The bytes of all answers that are in memory at the same time; a single answer may exceed this.
    pub memory: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            total: Duration::from_mins(3),
            window: Duration::from_secs(30),
            least: 4096,
            body: 512 * 1024 * 1024,
            memory: 1024 * 1024 * 1024,
        }
    }
}

/// One exchange with the service, as `--verbose` prints it, without the token.
#[derive(Debug, Clone)]
pub struct Exchange<'r> {
    /// The operation.
    pub operation: Operation,
    /// The method.
    pub method: &'r http::Method,
    /// Path and query.
    pub path_and_query: MaskedText<'r>,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// The status or the failure.
    pub outcome: ExchangeOutcome<'r>,
    /// The status of an answer.
    pub status: Option<u16>,
    /// Why there was no usable answer, in one word.
    pub failure: Option<&'static str>,
    /// The `x-request-id` of the request.
    pub request_id: &'r str,
    /// How long it took.
    pub took: Duration,
    /// How long it waited before that: for the rate limit, or after a failure.
    pub waited: Duration,
}

/// A text without the token. It is masked only when it is displayed: most exchanges are only counted.
#[derive(Clone, Copy)]
pub struct MaskedText<'r> {
    text: &'r str,
    token: Option<&'r Secret>,
}

/// The status or the failure of an exchange.
#[derive(Clone, Copy)]
pub struct ExchangeOutcome<'r>(pub(super) &'r Result<Response, Failure>);

impl<'r> MaskedText<'r> {
    pub(super) fn new(text: &'r str, token: Option<&'r Secret>) -> Self {
        Self { text, token }
    }
}

displayed!(MaskedText<'_>, |of| "{}", neutral(&masked(of.text, of.token), 2_000));

displayed!(Debug: MaskedText<'_>, |text| "{text}");

impl fmt::Display for ExchangeOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(answer) => write!(f, "{}, {} bytes", answer.status, answer.body.len()),
            Err(failure) => failure.fmt(f),
        }
    }
}

displayed!(Debug: ExchangeOutcome<'_>, |outcome| "{outcome}");

/// Receives every exchange.
pub type ExchangeListener = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// A request that failed and is sent again.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The wait before it.
    pub after: Duration,
    /// The reason, in a few words.
    pub reason: String,
    /// 1 for the first repeat.
    pub number: u32,
    /// How many repeats are allowed for this reason.
    pub most: u32,
}

/// Slow work of a client.
#[derive(Debug)]
pub enum ClientProgress {
    /// A request failed and waits to be sent again.
    Waiting(Retry),
    /// A request was answered, or failed for good.
    Answered,
    /// Lists are being read.
    Reading {
        /// How many lists were read.
        read: usize,
        /// How many lists were requested.
        of: usize,
    },
}

/// Receives the slow work of a client.
pub type ProgressListener = Arc<dyn Fn(&ClientProgress) + Send + Sync>;

/// The settings of a client.
#[derive(Clone)]
pub struct ClientSettings {
    /// The address of the service.
    pub base_url: BaseUrl,
    /// The layout of the service's paths.
    pub layout: Layout,
    /// The API token; `None` if the client is identified by its certificate alone.
    pub token: Option<Secret>,
    /// The address to connect to instead of resolving the host: the port of the embedded service.
    pub address: Option<SocketAddr>,
    /// Certificates.
    pub trust: TlsTrust,
    /// The proxies of the environment; not used for a service on this machine.
    pub proxies: Proxies,
    /// Sizes and times.
    pub bounds: RequestLimits,
    /// The rate limit; `None` for a service on this machine if the user set none.
    pub rate: Option<RateLimit>,
    /// How many requests may be in flight, at least 1.
    pub concurrency: usize,
    /// How to wait.
    pub pace: Timing,
    /// Makes the ids of the requests.
    pub ids: Arc<RequestIds>,
    /// Receives every exchange.
    pub listener: Option<ExchangeListener>,
    /// Receives slow work.
    pub progress: Option<ProgressListener>,
    /// The pool that is shared with other clients of the service; `None` if the client has its own.
    pub pool: Option<ClientPool>,
}

impl ClientSettings {
    /// The usual settings for a service.
    pub fn new(base_url: BaseUrl, layout: Layout, token: Option<Secret>, pace: Timing) -> Self {
        let rate = (!base_url.is_loopback()).then_some(RateLimit::CAREFUL);
        Self {
            base_url,
            layout,
            token,
            address: None,
            trust: TlsTrust::default(),
            proxies: Proxies::default(),
            bounds: RequestLimits::default(),
            rate,
            concurrency: 8,
            pace,
            ids: Arc::new(RequestIds::new(0, None)),
            listener: None,
            progress: None,
            pool: None,
        }
    }

    /// The proxy that the requests go through, as messages show it.
    ///
    /// # Errors
    /// The variable that chooses it has an invalid value.
    pub fn proxy(&self) -> Result<Option<String>, ProxyError> {
        // Requests to this machine, the sandbox included, use no proxy: a token without TLS must not leave it.
        match reqwest::Url::parse(self.base_url.as_str()) {
            Ok(url) if !self.base_url.is_loopback() => Ok(self.proxies.of(&url)?.map(|proxy| transport::name(&proxy))),
            _ => Ok(None),
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

/// Settings that cannot make a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientSettingsError {
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A token that is too short.
    #[error(
        "the token is shorter than 16 characters: it cannot be distinguished from ordinary text, so it is accepted only for a service on this machine"
    )]
    ShortToken,
    /// The HTTP library.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

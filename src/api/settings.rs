//! What a client needs to know: where the service is, who asks, and how long, how often and how much.

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

/// How long and how much is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Until a connection is open.
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
            idle: Duration::from_mins(1),
            total: Duration::from_mins(3),
            window: Duration::from_secs(30),
            least: 4096,
            body: 512 * 1024 * 1024,
            memory: 1024 * 1024 * 1024,
        }
    }
}

/// One exchange with the service, as `--verbose` prints it. It shows no token.
#[derive(Debug, Clone)]
pub struct Exchange<'r> {
    /// The operation.
    pub operation: Operation,
    /// The method.
    pub method: &'r http::Method,
    /// Path and query.
    pub path_and_query: MaskedText<'r>,
    /// 1 for the first time that the request was sent.
    pub attempt: u32,
    /// The status or the failure.
    pub outcome: ExchangeOutcome<'r>,
    /// The status of an answer.
    pub status: Option<u16>,
    /// Why there was no good answer, in a word of ours.
    pub failure: Option<&'static str>,
    /// The `x-request-id` that it was sent with.
    pub request_id: &'r str,
    /// How long it took.
    pub took: Duration,
    /// How long it waited before that: for the rate limit, or after a failure.
    pub waited: Duration,
}

/// A text without the token. It is masked where it is shown: most exchanges are only counted.
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
    /// After this time.
    pub after: Duration,
    /// Why, in few words.
    pub reason: String,
    /// 1 for the first repeat.
    pub number: u32,
    /// Repeats that a request gets for this reason.
    pub most: u32,
}

/// What a client does that takes time.
#[derive(Debug)]
pub enum ClientProgress {
    /// A request failed and waits to be sent again.
    Waiting(Retry),
    /// A request was answered, or failed for good.
    Answered,
    /// So many namespaces are read of those that were asked for.
    Reading {
        /// Namespaces that are read.
        read: usize,
        /// Namespaces that were asked for.
        of: usize,
    },
}

/// Receives what a client does that takes time.
pub type ProgressListener = Arc<dyn Fn(&ClientProgress) + Send + Sync>;

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
    /// The proxies of the environment; a service on this machine is reached without any.
    pub proxies: Proxies,
    /// Sizes and times.
    pub bounds: RequestLimits,
    /// The limit of requests; none where the service is on this machine and none was asked for.
    pub rate: Option<RateLimit>,
    /// Requests at the same time, at least 1.
    pub concurrency: usize,
    /// How to wait.
    pub pace: Timing,
    /// Makes the ids of the requests.
    pub ids: Arc<RequestIds>,
    /// Receives every exchange.
    pub listener: Option<ExchangeListener>,
    /// Receives what takes time.
    pub progress: Option<ProgressListener>,
    /// Shared with other clients of the same service; none where the client has its own.
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
    /// The variable that names it cannot be used.
    pub fn proxy(&self) -> Result<Option<String>, ProxyError> {
        // A token sent without TLS stays on this machine: the sandbox has a name of its own.
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

/// Settings with which no client can be made.
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

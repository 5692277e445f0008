//! Opens connections to one service: its name becomes addresses, a proxy of the environment gives a tunnel, and TLS
//! lies over both. A service on this machine is reached without a resolver and without a proxy.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Uri, uri};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use tower_service::Service;

use super::base_url::SANDBOX_HOST;

/// What `user-agent` says.
pub(super) const AGENT: HeaderValue = HeaderValue::from_static(concat!("trueup/", env!("CARGO_PKG_VERSION")));

/// The sending half of a connection.
pub(super) type Sender = SendRequest<Full<Bytes>>;

/// Why there is no connection.
pub(super) type ConnectError = Box<dyn Error + Send + Sync>;

type Plain = HttpsConnector<HttpConnector<Resolver>>;

/// Opens connections to one service.
pub(super) struct Connector {
    origin: Uri,
    route: ConnectRoute,
    /// The proxy for messages, without its credentials.
    pub(super) proxy: Option<String>,
}

#[derive(Clone)]
enum ConnectRoute {
    Direct(Plain),
    Proxied(Box<HttpsConnector<Tunnel<Plain>>>),
}

impl Connector {
    /// A connector to `origin`, a scheme with a host. Where the service is not on this machine, a proxy of the
    /// environment is used.
    pub(super) fn new(origin: Authority, scheme: Scheme, is_loopback: bool, tls: ClientConfig) -> http::Result<Self> {
        let origin = uri::Builder::new().scheme(scheme).authority(origin);
        let origin = origin.path_and_query(PathAndQuery::from_static("/")).build()?;
        let mut tcp = HttpConnector::new_with_resolver(Resolver);
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let tls = std::sync::Arc::new(tls);
        let direct = HttpsConnector::from((tcp, tls.clone()));
        // Whatever a proxy says, a token sent without TLS stays on this machine.
        let proxy = if is_loopback { None } else { Matcher::from_env().intercept(&origin) };
        let name = proxy.as_ref().map(|proxy| {
            let (uri, port) = (proxy.uri(), proxy.uri().port().map(|port| format!(":{port}")));
            let (scheme, host) = (uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
            format!("{scheme}://{host}{}", port.unwrap_or_default())
        });
        let route = match proxy {
            None => ConnectRoute::Direct(direct),
            Some(proxy) => {
                let tunnel = Tunnel::new(proxy.uri().clone(), direct);
                let tunnel = tunnel.with_headers(HeaderMap::from_iter([(USER_AGENT, AGENT)]));
                let tunnel = match proxy.basic_auth() {
                    Some(login) => tunnel.with_auth(login.clone()),
                    None => tunnel,
                };
                ConnectRoute::Proxied(Box::new(HttpsConnector::from((tunnel, tls))))
            }
        };
        Ok(Self { origin, route, proxy: name })
    }

    /// A new connection, which a task of its own drives.
    pub(super) async fn connect(&self) -> Result<Sender, ConnectError> {
        match self.route.clone() {
            ConnectRoute::Direct(connector) => open(connector, &self.origin).await,
            ConnectRoute::Proxied(connector) => open(*connector, &self.origin).await,
        }
    }
}

async fn open<C>(mut connector: C, origin: &Uri) -> Result<Sender, ConnectError>
where
    C: Service<Uri, Error = ConnectError>,
    C::Response: Read + Write + Send + Unpin + 'static,
{
    poll_fn(|context| connector.poll_ready(context)).await?;
    let stream = connector.call(origin.clone()).await?;
    let (sender, connection) = http1::handshake(stream).await?;
    // How it ended is the answer to its last request.
    tokio::spawn(async move { connection.await.is_ok() });
    Ok(sender)
}

/// The addresses of names; those of this machine without a resolver.
#[derive(Clone)]
struct Resolver;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let addresses = match name.as_str() {
                "localhost" | SANDBOX_HOST => {
                    vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))]
                }
                _ => {
                    let unknown = |_| io::Error::other(format!("the host name `{name}` cannot be resolved"));
                    GaiResolver::new().call(name.clone()).await.map_err(unknown)?.collect()
                }
            };
            Ok(addresses.into_iter())
        })
    }
}

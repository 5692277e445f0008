//! The HTTP stack of the program, shared by the client of the service and the object store. TLS, proxies, host names
//! and idle connections are configured only here. Redirects are not followed and requests are not repeated: only the
//! callers know what a request and its answer mean.

mod exchange;
mod pkcs12;
mod proxy;
mod tls;

use std::error::Error;
use std::future::Future;
use std::io;
use std::iter::successors;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, redirect, retry};
use rustls::ClientConfig;
use tower::util::MapFutureLayer;

pub use exchange::Clearance;
pub(crate) use exchange::{Answer, SendError, send};
pub(crate) use proxy::name;
pub use proxy::{Proxies, ProxyError};
pub use tls::{Identity, TlsError, TlsTrust};
pub(crate) use tls::{Roots, configure, fault, refusal};

/// The host of the embedded service in plans, whatever its port.
pub const SANDBOX_HOST: &str = "sandbox.localhost";
/// How long a request that was cleared may wait for a new connection.
pub const CLEARED: Duration = Duration::from_secs(3);

/// How long an unused connection is kept: less than the usual limit of load balancers before a service.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

tokio::task_local! {
    /// How long the connection of this request may take, if less than usual.
    static LONGEST: Duration;
}

/// The connection was not opened in time.
#[derive(Debug, thiserror::Error)]
#[error("none within {} seconds", .0.as_secs_f64())]
struct ConnectTimedOut(Duration);

/// A client with the rules of the program, whose connections take no longer than `longest`.
pub(crate) fn client(tls: ClientConfig, proxies: Proxies, longest: Duration) -> ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .user_agent(concat!("trueup/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(Resolver))
        .connector_layer(MapFutureLayer::new(move |connecting| in_time(connecting, longest)))
        .pool_idle_timeout(IDLE_CONNECTION)
        .proxy(reqwest::Proxy::custom(move |url| proxies.of(url).ok().flatten()))
}

/// Whether the host of a URL is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The error and its causes, the deepest one last.
pub(crate) fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}

/// Opens a connection within the time limit of the request that needs it.
async fn in_time<C>(
    connecting: impl Future<Output = Result<C, Box<dyn Error + Send + Sync>>>,
    longest: Duration,
) -> Result<C, Box<dyn Error + Send + Sync>> {
    let longest = LONGEST.try_with(|longest_of_request| longest.min(*longest_of_request)).unwrap_or(longest);
    tokio::time::timeout(longest, connecting).await.unwrap_or_else(|_| Err(ConnectTimedOut(longest).into()))
}

/// Resolves host names; names of this machine without a resolver.
struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let name = name.as_str();
            if matches!(name, "localhost" | SANDBOX_HOST) {
                let here = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
                return Ok(Box::new(here.into_iter()) as Addrs);
            }
            let unknown = |_| io::Error::other(format!("the host name `{name}` cannot be resolved"));
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await.map_err(unknown)?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_may_not_wait_for_its_connection_is_not_sent() {
        // It takes connections, and answers no handshake.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("https://{}", silent.local_addr().expect("an address"));
        let tls = configure(Roots::Given, &TlsTrust::default()).expect("TLS");
        let client = client(tls, Proxies::default(), Duration::from_mins(1)).build().expect("a client");
        let sent = LONGEST.scope(Duration::from_millis(20), client.get(&url).send()).await;
        let error = sent.expect_err("there is no connection");
        assert!(error.is_connect(), "{error:?}");
        assert_eq!(causes(&error).last().map(ToString::to_string).as_deref(), Some("none within 0.02 seconds"));
    }
}

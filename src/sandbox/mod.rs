//! The embedded service: one tenant of the configuration API, with every operation of the reference
//! in both path layouts, durable storage, and faults on request. It is what the tests run against
//! and what a newcomer's first command uses. It is built from the reference and the known facts
//! alone and shares only the model's names with the client, so that two readings of the interface
//! check each other.
//!
//! A request passes `server` (connections), `gate` (token, faults, limit, log), `router`, and the
//! handler of its area; what a handler changes goes through `store`, and its answer leaves when that
//! is on disk.

#![expect(dead_code, reason = "the areas that use these parts stand on them next")]

mod admin;
mod answer;
mod clock;
mod endpoint;
mod gate;
mod log;
mod options;
mod query;
mod router;
mod selector;
mod server;
mod service;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use clock::Clock;
pub use endpoint::{Referrer, ViewReference};
pub use log::{Effect, Entry};
pub use options::{Deletion, Options, Rate, Token};
pub use store::{Batch, Error as StoreError, Storage, Store, Ticket};

use endpoint::Endpoints;
use service::Service;

/// Why a sandbox does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the sandbox cannot listen on `{address}`; choose another address with `--listen`")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the request log `{path}` cannot be opened for appending")]
    Log { path: PathBuf, source: std::io::Error },
}

/// A sandbox that answers until it is stopped or dropped.
///
/// # Caveats
/// A drop cannot wait: requests in flight still finish in the background, and only then is the file
/// free for another sandbox. [`Running::stop`] waits for both.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// Opens the storage, listens, and answers in tasks of the runtime that calls it.
///
/// # Errors
/// When the address is taken, or the storage or the log cannot be opened.
pub async fn start(options: Options) -> Result<Running, Error> {
    let listener = listen(options.listen).await?;
    let address = listener.local_addr().map_err(|source| Error::Listen { address: options.listen, source })?;
    let service = Arc::new(open(options)?);
    let (stop, stopped) = watch::channel(false);
    let router = router::router(Arc::clone(&service));
    let serving = tokio::spawn(server::serve(listener, router, stopped));
    Ok(Running { address, service, stop, serving })
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })
}

fn open(options: Options) -> Result<Service, Error> {
    let log = log::Log::open(options.log_size, options.log_file.as_deref())
        .map_err(|source| Error::Log { path: options.log_file.clone().unwrap_or_default(), source })?;
    let store = Arc::new(Store::open(&options.storage)?);
    let endpoints =
        Endpoints::open(Arc::clone(&store), options.clock.clone(), options.tenant.clone(), options.deletion)?;
    Ok(Service {
        tenant: options.tenant,
        clock: options.clock,
        store,
        endpoints,
        token: options.token,
        rate: options.rate,
        window: Mutex::default(),
        log,
    })
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, oldest first, as far back as the log keeps them.
    #[must_use]
    pub fn log(&self) -> Vec<Entry> {
        self.service.log.entries()
    }

    /// The tables behind the service.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.service.store
    }

    /// Takes no new request, answers those in flight, and gives the file free.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // A panic of the accept loop has been told by the runtime; there is nothing left to stop.
        let _ = self.serving.await;
        self.service.store.close();
    }
}

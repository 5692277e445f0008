//! The embedded service: one tenant of the configuration API, with every operation of the reference in both path
//! layouts, durable storage, and injected faults. The tests run against it, and new users try trueup with it. It is
//! written from the reference and the known facts alone and shares no code with the client, so that two readings of the
//! interface check each other.
//!
//! A request passes `server` (connections), `gate` (token, faults, log), `router`, and the handler of its area. A
//! handler writes through `store`, and its answer is sent when the write is on disk.

mod admin;
mod answer;
mod fault;
mod gate;
mod log;
mod message;
mod object;
mod operation;
mod options;
mod parameter;
mod query;
mod router;
mod server;
mod store;
mod timestamp;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use fault::{Scenario, ScenarioError};
pub use log::{LogEntry, RequestEffect};
pub use object::{Deletion, Referrer, Seed, SeedMetadata, ViewReference};
pub use options::{RequiredToken, SandboxOptions};
pub use query::{EventLanguage, Tenant};
pub use store::{Storage, StoreError};

use crate::model::Clock;
use answer::ErrorResponse;
use fault::Faults;
use log::Log;
use object::{Key, ObjectKind, Objects};
use query::Dataset;
use store::Store;

/// Why a sandbox does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken, or is not one of this machine.
    #[error("the sandbox cannot listen on `{address}`; choose another address with `--listen`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The storage cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object of the initial data is refused.
    #[error("the sandbox cannot add the object: {0}")]
    Seed(String),
    /// The log of requests cannot be written.
    #[error("the request log `{path}` cannot be opened for appending")]
    Log {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: crate::file::FileError,
    },
}

/// One tenant's service: what every request shares.
#[derive(Debug)]
pub(crate) struct SandboxState {
    pub clock: Clock,
    pub store: Arc<Store>,
    pub objects: Objects,
    pub query: Dataset,
    pub token: RequiredToken,
    pub log: Log,
    pub faults: Faults,
}

/// The state that a handler receives.
pub(crate) type Shared = State<Arc<SandboxState>>;

/// A sandbox that answers until it is stopped or dropped.
///
/// # Caveats
/// A drop cannot wait: requests in flight still finish in the background, and only then can another sandbox use the
/// file. [`Running::stop`] waits for both.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    service: Arc<SandboxState>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// Opens the storage, listens, and answers in tasks of the caller's runtime.
///
/// # Errors
/// When the address is taken, or the storage or the log cannot be opened.
pub async fn start(options: SandboxOptions) -> Result<Running, Error> {
    let refused = |source| Error::Listen { address: options.listen, source };
    let listener = TcpListener::bind(options.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let header_timeout = options.header_timeout;
    let service = Arc::new(open(options).await?);
    let (stop, stopped) = watch::channel(false);
    let router = router::router(Arc::clone(&service));
    let serving = tokio::spawn(server::serve(listener, router, stopped, header_timeout));
    Ok(Running { address, service, stop, serving })
}

async fn open(options: SandboxOptions) -> Result<SandboxState, Error> {
    let log = Log::open(options.log_size, options.log_file.as_deref(), options.log_file_size)
        .map_err(|source| Error::Log { path: options.log_file.clone().unwrap_or_default(), source })?;
    let store = Arc::new(Store::open(&options.storage)?);
    // The tenant file names the tenant, even if an earlier start seeded it.
    let named = options.tenant_file.as_ref().and_then(|file| file.name.clone());
    let tenant = named.or(query::tenant_name(&store)?).unwrap_or(options.tenant);
    let objects = Objects::open(Arc::clone(&store), options.clock.clone(), tenant, options.deletion)?;
    if let Some(file) = &options.tenant_file {
        if query::is_new(&store, file)? {
            objects.seed_all(file.endpoints.clone()).await?;
        }
        let ticket = query::seed(&store, file, objects.tenant())?;
        store.durable(ticket).await?;
    }
    let query = Dataset::open(&store)?;
    Ok(SandboxState {
        query,
        clock: options.clock,
        store,
        objects,
        token: options.token,
        log,
        faults: Faults::new(options.scenario),
    })
}

impl From<ErrorResponse> for Error {
    fn from(error: ErrorResponse) -> Self {
        Self::Seed(error.message().to_owned())
    }
}

impl Running {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn base_url(&self) -> String {
        let ip = match self.address.ip() {
            // A server on all addresses is reached at this one, the only one that a client accepts without TLS.
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }

    /// The requests so far, oldest first, as far as the log still contains them.
    pub fn log(&self) -> Vec<LogEntry> {
        self.service.log.entries()
    }

    /// Injects the faults of `scenario` from now on.
    pub fn set_scenario(&self, scenario: Scenario) {
        self.service.faults.set(scenario);
    }

    /// Adds objects that no request can create, and replaces existing ones.
    ///
    /// # Errors
    /// [`Error::Seed`] for the first one with a spec that breaks a rule; those before it stay.
    pub async fn seed(&self, seeds: Vec<Seed>) -> Result<(), Error> {
        Ok(self.service.objects.seed_all(seeds).await?)
    }

    /// Changes one field of an endpoint as a concurrent writer would: `metadata.…` or `spec.…`.
    ///
    /// # Errors
    /// [`Error::Seed`] when it is absent or the value does not fit.
    pub async fn interfere(&self, namespace: &str, name: &str, field: &str, value: &Value) -> Result<(), Error> {
        Ok(self.service.objects.interfere(endpoint(namespace, name)?, field, value).await?)
    }

    /// Stops accepting requests, answers those in flight, and releases the file.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // The runtime has reported a panic of the accept loop; there is nothing left to stop.
        let _ = self.serving.await;
        self.service.store.close();
    }
}

/// An endpoint by its namespace and its name.
fn endpoint<'a>(namespace: &'a str, name: &'a str) -> Result<Key<'a>, Error> {
    let unknown = || Error::Seed("there are no endpoints".to_owned());
    Ok(Key { kind: ObjectKind::find("endpoint").ok_or_else(unknown)?, namespace, name })
}

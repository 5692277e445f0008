//! What the sandbox keeps of these areas: seeded into the store from a tenant file, and opened from it.
//! Everything is durable. A file that was seeded before and has not changed is seeded again without its
//! DDoS events, sites, versions and endpoints, so that edits stay and an upgrade goes on, while the
//! times of its security events, which nobody can edit, are fresh at each start.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::ops::Bound;
use std::sync::Mutex;

use super::ddos;
use super::event::store::{Event, EventStore};
use super::tenant::Tenant;
use super::upgrade::Site;
use super::version::Version;
use super::window::TimeWindow;
use crate::sandbox::store::{Batch, Store, StoreError, Ticket};

const TENANT: &str = "tenant";
const SEEDED: &str = "seeded";
const SITES: &str = "site";
const VERSIONS: &str = "sw_version";
const DDOS_EVENTS: &str = "ddos_event";
const SECURITY_EVENTS: &str = "security_event";
const QUERIES: &str = "security_event_query";

/// Queries that the record keeps; older ones go.
const QUERIES_KEPT: u64 = 10_000;

/// The areas of one tenant.
#[derive(Debug)]
pub struct Dataset {
    pub events: EventStore,
    /// Changes whenever the positions of events mean other events.
    pub edition: u64,
    next_query: Mutex<u64>,
    /// Held by whoever reads a DDoS event to write it.
    pub editing: tokio::sync::Mutex<()>,
}

/// Whether a tenant file is new to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeding {
    New,
    /// The same file was seeded before.
    Again,
}

#[derive(Debug, Serialize, Deserialize)]
struct DatasetMark {
    digest: String,
    name: Option<String>,
    read_at: Timestamp,
    namespaces: Vec<String>,
}

/// A security event query that was made: the event that the operation declares to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedQuery {
    pub time: Timestamp,
    pub namespace: String,
    pub query: String,
    pub start_time: Timestamp,
    pub end_time: Timestamp,
    pub hits: u64,
}

/// Whether a tenant file was seeded before.
///
/// # Errors
/// When the store cannot be read.
pub fn known(store: &Store, tenant: &Tenant) -> Result<Seeding, StoreError> {
    let before: Option<DatasetMark> = one(store, TENANT, SEEDED)?;
    Ok(if before.is_some_and(|mark| mark.digest == tenant.digest) { Seeding::Again } else { Seeding::New })
}

/// The name of the tenant whose file was seeded, where the file gives one.
///
/// # Errors
/// When the store cannot be read.
pub fn tenant_name(store: &Store) -> Result<Option<String>, StoreError> {
    Ok(one::<DatasetMark>(store, TENANT, SEEDED)?.and_then(|mark| mark.name))
}

/// Queues what a tenant file says, its endpoints aside; `name` is the tenant's. It can be opened once
/// the ticket is durable.
///
/// # Errors
/// When the store cannot be read.
pub fn lay(store: &Store, tenant: &Tenant, name: &str) -> Result<Ticket, StoreError> {
    let mut batch = Batch::new();
    if known(store, tenant)? == Seeding::New {
        clear(store, &mut batch, SITES)?;
        clear(store, &mut batch, VERSIONS)?;
        clear(store, &mut batch, DDOS_EVENTS)?;
        for site in &tenant.sites {
            put(&mut batch, SITES, format!("{}/{}", site.namespace, site.name), site);
        }
        for (index, version) in tenant.versions.iter().enumerate() {
            put(&mut batch, VERSIONS, format!("{index:08}"), version);
        }
        for event in &tenant.ddos_events {
            put(&mut batch, DDOS_EVENTS, event.id.clone(), event);
        }
    }
    clear(store, &mut batch, SECURITY_EVENTS)?;
    for (index, event) in tenant.security_events.iter().enumerate() {
        let mut event = event.clone();
        if let Some(fields) = event.event.as_object_mut() {
            fields.entry("tenant").or_insert_with(|| name.into());
        }
        put(&mut batch, SECURITY_EVENTS, format!("{index:08}"), &event);
    }
    let mark = DatasetMark {
        digest: tenant.digest.clone(),
        name: tenant.name().map(ToOwned::to_owned),
        read_at: tenant.read_at,
        namespaces: tenant.namespaces().to_vec(),
    };
    put(&mut batch, TENANT, SEEDED.to_owned(), &mark);
    Ok(store.write(batch))
}

impl Dataset {
    /// Reads what the store holds.
    ///
    /// # Errors
    /// When the store cannot be read or holds something else.
    pub fn open(store: &Store) -> Result<Self, StoreError> {
        let mark = store.get(TENANT, SEEDED)?.unwrap_or_default();
        let digest = Sha256::digest(&mark);
        let edition = digest.iter().take(8).fold(0, |edition, byte| edition << 8 | u64::from(*byte));
        let last = store.scan(QUERIES)?.pop().and_then(|(key, _)| key.parse::<u64>().ok());
        Ok(Self {
            events: EventStore::new(all::<Event>(store, SECURITY_EVENTS)?),
            edition,
            next_query: Mutex::new(last.map_or(0, |last| last + 1)),
            editing: tokio::sync::Mutex::default(),
        })
    }

    /// Queues the record of a query.
    pub fn record(&self, store: &Store, asked: &RecordedQuery) -> Ticket {
        let mut next = self.next_query.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut batch = Batch::new();
        put(&mut batch, QUERIES, format!("{:020}", *next), asked);
        if let Some(oldest) = next.checked_sub(QUERIES_KEPT) {
            batch.remove(QUERIES, format!("{oldest:020}"));
        }
        *next += 1;
        store.write(batch)
    }
}

impl RecordedQuery {
    /// The record of a query over `window`.
    #[must_use]
    pub fn new(time: Timestamp, namespace: &str, query: &str, window: TimeWindow, hits: u64) -> Self {
        Self {
            time,
            namespace: namespace.to_owned(),
            query: query.to_owned(),
            start_time: window.from,
            end_time: window.to,
            hits,
        }
    }
}

/// The queries that were made, oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn queries(store: &Store) -> Result<Vec<RecordedQuery>, StoreError> {
    all(store, QUERIES)
}

/// # Errors
/// When the store cannot be read.
pub fn site(store: &Store, namespace: &str, name: &str) -> Result<Option<Site>, StoreError> {
    one(store, SITES, &format!("{namespace}/{name}"))
}

/// # Errors
/// When the store cannot be read.
pub fn versions(store: &Store) -> Result<Vec<Version>, StoreError> {
    all(store, VERSIONS)
}

/// # Errors
/// When the store cannot be read.
pub fn ddos_events(store: &Store) -> Result<Vec<ddos::Event>, StoreError> {
    all(store, DDOS_EVENTS)
}

/// # Errors
/// When the store cannot be read.
pub fn ddos_event(store: &Store, id: &str) -> Result<Option<ddos::Event>, StoreError> {
    one(store, DDOS_EVENTS, id)
}

/// Queues an edited event.
pub fn store_event(store: &Store, event: &ddos::Event) -> Ticket {
    let mut batch = Batch::new();
    put(&mut batch, DDOS_EVENTS, event.id.clone(), event);
    store.write(batch)
}

fn put(batch: &mut Batch, table: &'static str, key: String, value: &impl Serialize) {
    // Texts, numbers and JSON values: there is nothing that JSON cannot hold.
    batch.put(table, key, serde_json::to_vec(value).unwrap_or_default());
}

fn clear(store: &Store, batch: &mut Batch, table: &'static str) -> Result<(), StoreError> {
    for (key, _) in store.range(table, (Bound::Unbounded, Bound::Unbounded), usize::MAX)? {
        batch.remove(table, key);
    }
    Ok(())
}

fn one<T: DeserializeOwned>(store: &Store, table: &'static str, key: &str) -> Result<Option<T>, StoreError> {
    store.get(table, key)?.map(|bytes| read(table, key.to_owned(), &bytes)).transpose()
}

fn all<T: DeserializeOwned>(store: &Store, table: &'static str) -> Result<Vec<T>, StoreError> {
    store.scan(table)?.into_iter().map(|(key, bytes)| read(table, key, &bytes)).collect()
}

fn read<T: DeserializeOwned>(table: &str, key: String, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|source| StoreError::Damaged { table: table.to_owned(), key, source })
}
